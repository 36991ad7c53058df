//! Starts a run in the background; its end comes back as an event.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use crate::model::RunId;
use crate::store::RunStart;
use crate::tasks::TaskFolder;

use super::runner::{RunEnd, RunOrder, RunResult, Runner};
use super::verdict::store_failure;
use crate::daemon::Event;
use crate::daemon::runs::collect::TraceListener;
use crate::daemon::schedule::queue::QueuedRun;

/// A run to start now.
pub struct NextRun {
    folder: Arc<TaskFolder>,
    start: RunStart,
    /// The task's next due time.
    next_due: Option<DateTime<Utc>>,
}

impl NextRun {
    pub fn new(
        folder: Arc<TaskFolder>,
        queued: QueuedRun,
        next_due: Option<DateTime<Utc>>,
        now: DateTime<Utc>,
    ) -> NextRun {
        let QueuedRun { name: task, slot, trigger } = queued;
        let slot = slot.map(|slot| slot.0);
        let start = RunStart { run: RunId::new(), task, slot, trigger, started_at: now, pid: None };
        NextRun { folder, start, next_due }
    }

    pub fn record(&self) -> &RunStart {
        &self.start
    }

    /// `stop` becomes true when the run must end now.
    pub fn start(
        self,
        runner: Runner,
        listener: Option<TraceListener>,
        stop: watch::Receiver<bool>,
        events: mpsc::Sender<Event>,
    ) {
        let NextRun { folder, start, next_due } = self;
        let order = RunOrder { folder, start, next_due, listener, stop };
        tokio::spawn(async move {
            let (task, began) = (order.start.task.clone(), Instant::now());
            let end = match runner.run_catching_panics(order).await {
                Ok(RunResult::Run(end)) => Some(end),
                Ok(RunResult::SlotTaken | RunResult::NotOurs) => None,
                Err(error) => {
                    tracing::error!(%task, "{task}: starting the run failed: {error}");
                    Some(Box::new(RunEnd::failed(store_failure(error))))
                }
            };
            // The loop is gone only when the daemon is.
            let _ = events.send(Event::RunEnded { task, end, took: began.elapsed() }).await;
        });
    }
}
