//! Delivers alerts from the outbox in the background, with retries. An entry is marked in the store once it was
//! delivered.
//!
//! Delivery is at least once: a `kill -9` between delivery and mark delivers it again, under the same id.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use tokio::sync::{Notify, watch};
use tokio::task::{JoinHandle, JoinSet};

use crate::alert::{self, DeliveryContext, DeliveryError, DeliveryTarget};
use crate::config::{Config, secret_use, secrets};
use crate::store::{OutboxEntry, Store, StoreError};

use crate::daemon::http::metrics::DaemonMetrics;
use crate::daemon::store_handle::StoreHandle;
use crate::daemon::threads;

/// Deliveries at the same time.
const MAX_CONCURRENT: usize = 8;
/// Outbox entries that are read from the store at once.
const BATCH_SIZE: usize = 64;
/// Pauses between attempts, in seconds; after the last one delivery is given up. About a day in all.
const RETRY_DELAYS: &[i64] = &[10, 60, 300, 1_800, 3_600, 7_200, 21_600, 43_200];
/// When the store cannot be read, that is retried after this long.
const STORE_RETRY_DELAY: Duration = Duration::from_secs(30);
/// Deliveries under way have this long to finish when the daemon stops.
const STOP_GRACE: Duration = Duration::from_secs(5);

/// A handle on the delivery loop.
#[derive(Clone)]
pub struct Notifier {
    wake_up: Arc<Notify>,
}

/// Stops the delivery loop with the daemon.
pub struct NotifierTask {
    stop: watch::Sender<bool>,
    handle: JoinHandle<()>,
}

impl Notifier {
    pub fn start(
        config: Arc<Config>,
        store_handle: StoreHandle,
        figures: Arc<DaemonMetrics>,
    ) -> (Notifier, NotifierTask) {
        let notifier = Notifier { wake_up: Arc::new(Notify::new()) };
        let (stop, stopped) = watch::channel(false);
        let bag = NotifierContext { config, store: store_handle, metrics: figures };
        let going = tokio::spawn(delivery_loop(bag, notifier.clone(), stopped));
        (notifier, NotifierTask { stop, handle: going })
    }

    /// Wakes the loop after an alert was queued.
    pub fn wake(&self) {
        self.wake_up.notify_one();
    }
}

impl NotifierTask {
    /// Waits up to [`STOP_GRACE`] for deliveries under way.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        if tokio::time::timeout(STOP_GRACE, self.handle).await.is_err() {
            tracing::warn!("alert deliveries were interrupted by the stop; they are repeated at the next start");
        }
    }
}

/// What a delivery needs.
#[derive(Clone)]
struct NotifierContext {
    config: Arc<Config>,
    store: StoreHandle,
    metrics: Arc<DaemonMetrics>,
}

async fn delivery_loop(bag: NotifierContext, notifier: Notifier, mut stopped: watch::Receiver<bool>) {
    let mut going: JoinSet<OutboxEntry> = JoinSet::new();
    let mut under_way: BTreeSet<(String, String)> = BTreeSet::new();
    let mut waiting: VecDeque<OutboxEntry> = VecDeque::new();
    while !*stopped.borrow() {
        let mut pause = STORE_RETRY_DELAY;
        if waiting.is_empty() {
            match due_entries(&bag, &under_way).await {
                Ok((letters, until_next)) => (waiting, pause) = (letters, until_next),
                Err(error) => tracing::error!(
                    "reading the alert outbox failed: {error}; retrying in {} s",
                    STORE_RETRY_DELAY.as_secs()
                ),
            }
        }
        while going.len() < MAX_CONCURRENT
            && let Some(letter) = waiting.pop_front()
        {
            under_way.insert((letter.id.clone(), letter.target.clone()));
            let bag = bag.clone();
            going.spawn(async move {
                deliver_entry(&bag, &letter).await;
                letter
            });
        }
        tokio::select! {
            Some(done) = going.join_next() => {
                if let Ok(letter) = done {
                    under_way.remove(&(letter.id, letter.target));
                }
            }
            () = notifier.wake_up.notified() => {}
            () = tokio::time::sleep(pause) => {}
            _ = stopped.changed() => {}
        }
    }
    while going.join_next().await.is_some() {}
}

/// The entries that are due now, and how long until the next one is.
async fn due_entries(
    bag: &NotifierContext,
    under_way: &BTreeSet<(String, String)>,
) -> Result<(VecDeque<OutboxEntry>, Duration), StoreError> {
    let most = BATCH_SIZE + under_way.len();
    let ask = move |store: &mut Store| {
        Ok::<_, StoreError>((store.due_deliveries(Utc::now(), most)?, store.next_delivery_at()?))
    };
    let (mut letters, next) = bag.store.call(ask).await?;
    letters.retain(|letter| !under_way.contains(&(letter.id.clone(), letter.target.clone())));
    let until_next = next.map_or(STORE_RETRY_DELAY, |at| (at - Utc::now()).to_std().unwrap_or_default());
    // Entries under way, or queued behind one, are due already; the end of a delivery wakes the loop.
    Ok((letters.into(), until_next.clamp(Duration::from_secs(1), STORE_RETRY_DELAY)))
}

/// Makes one attempt and stores its result.
async fn deliver_entry(bag: &NotifierContext, letter: &OutboxEntry) {
    // A panic is retried like any error; otherwise the entry would stay under way for ever.
    let done = threads::catch_panic_of(try_once(bag, letter)).await;
    let done = done.unwrap_or_else(|why| Err(format!("pieme panicked: {why}").into()));
    let (now, task, target) = (Utc::now(), &letter.task, DeliveryTarget::redacted(&letter.target));
    bag.metrics.count_delivery(done.is_ok());
    let marked = match done {
        Ok(()) => {
            tracing::info!(%task, id = %letter.id, "{task}: alert delivered to {target}");
            let letter = letter.clone();
            bag.store.call(move |store| store.mark_delivered(&letter, now)).await
        }
        Err(why) => {
            let next_try = next_try(letter.attempts, why.retry_after, now);
            let then =
                next_try.map_or("given up".to_owned(), |at| format!("next attempt at {}", at.format("%H:%M:%S UTC")));
            tracing::warn!(%task, id = %letter.id, "{task}: alert delivery to {target} failed: {why}; {then}");
            let letter = letter.clone();
            bag.store.call(move |store| store.mark_undelivered(&letter, &why.sentence, next_try)).await
        }
    };
    if let Err(error) = marked {
        tracing::error!(%task, id = %letter.id, "{task}: storing an alert's delivery result failed: {error}");
    }
}

async fn try_once(bag: &NotifierContext, letter: &OutboxEntry) -> Result<(), DeliveryError> {
    let notice =
        serde_json::from_str(&letter.json).map_err(|error| format!("the stored alert cannot be parsed: {error}"))?;
    let (settings, smtp) = (&bag.config.alert, &bag.config.smtp);
    let granted = secret_use::granted_for_alert(&bag.config, Some(&letter.task), &letter.target);
    let granted = granted.map_err(|error| error.to_string())?;
    let names = alert::config_secrets(&letter.target, settings, smtp);
    let secrets = secrets::lookup_all(&bag.config, &names).map_err(|error| error.to_string())?;
    let daemon_ports = bag.config.grants.current().daemon_ports;
    let means = DeliveryContext { settings, smtp, daemon_ports, secrets, granted };
    alert::deliver(&means, &letter.target, &notice, Utc::now()).await
}

/// When the next attempt is made after `tries` earlier ones; `None` when delivery is given up.
fn next_try(tries: u32, wait: Option<Duration>, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    let pause = *RETRY_DELAYS.get(usize::try_from(tries).ok()?)?;
    let wait = wait.and_then(|wait| i64::try_from(wait.as_secs()).ok()).unwrap_or(0);
    Some(now + TimeDelta::seconds(pause.max(wait)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_that_is_away_is_tried_for_a_day_and_then_given_up() {
        let now = DateTime::from_timestamp(1_800_000_000, 0).expect("a time of this century");
        let pauses: Vec<i64> =
            (0..).map_while(|tries| next_try(tries, None, now)).map(|at| (at - now).num_seconds()).collect();
        assert_eq!(pauses, RETRY_DELAYS);
        assert!((20..28).contains(&(pauses.iter().sum::<i64>() / 3_600)), "about a day");
        let asked = next_try(0, Some(Duration::from_secs(120)), now).expect("a second try");
        assert_eq!((asked - now).num_seconds(), 120, "as long as the other side asks for");
    }
}
