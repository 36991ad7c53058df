//! Alerts: which notifications are due, and their delivery from the outbox.

pub mod evaluate;
pub mod notifier;

use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::config::Config;
use crate::store::AlertTaskFilter;

use super::http::metrics::DaemonMetrics;
use super::maintenance::chores::ChoreGuard;
use super::store_handle::StoreHandle;
use notifier::{Notifier, NotifierTask};

/// Evaluates the alert rules in the background, and wakes the delivery.
pub struct Alerts {
    config: Arc<Config>,
    store: StoreHandle,
    notifier: Notifier,
    /// When the daemon started: before that no run was overdue.
    started_at: DateTime<Utc>,
}

impl Alerts {
    /// Also starts the delivery, which the returned task stops.
    pub fn start(
        config: Arc<Config>,
        store: StoreHandle,
        metrics: Arc<DaemonMetrics>,
        started_at: DateTime<Utc>,
    ) -> (Alerts, NotifierTask) {
        let (notifier, delivery) = Notifier::start(Arc::clone(&config), store.clone(), metrics);
        (Alerts { config, store, notifier, started_at }, delivery)
    }

    /// Evaluates the alert rules of these tasks in the background and queues notifications.
    pub fn evaluate(&self, which: AlertTaskFilter) {
        tokio::spawn(self.evaluation(which));
    }

    /// The same for tasks whose run should have started. `chore` is held until that is done.
    pub fn evaluate_overdue(&self, chore: ChoreGuard) {
        let evaluated = self.evaluation(AlertTaskFilter::DueBefore(Utc::now()));
        tokio::spawn(async move {
            let _until_done = chore;
            evaluated.await;
        });
    }

    fn evaluation(&self, which: AlertTaskFilter) -> impl Future<Output = ()> + use<> {
        let (store, notifier, config) = (self.store.clone(), self.notifier.clone(), Arc::clone(&self.config));
        let since = self.started_at;
        async move {
            let evaluated = store.call(move |store| {
                evaluate::evaluate_tasks(store, (&config.alert, &config.tasks), &which, since, Utc::now())
            });
            match evaluated.await {
                Ok(0) => {}
                Ok(_) => notifier.wake(),
                // Repeated after the next run, and every half minute for overdue tasks.
                Err(error) => tracing::error!("alert evaluation failed: {error}"),
            }
        }
    }
}
