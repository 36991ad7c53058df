//! Answers requests that take time, in the background, and tells clients how their runs go. A client that has left is
//! no error.

use chrono::{DateTime, Utc};
use tokio::sync::mpsc;

use crate::model::{RunId, TaskName, Verdict};
use crate::store::{GcCounts, ReviewAction, Store, StoreError};

use super::control::{ControlReply, ReplySender};
use crate::daemon::Event;
use crate::daemon::runs::collect::TraceListener;
use crate::daemon::store_handle::StoreHandle;

/// The rows of the status table.
pub fn send_task_rows(store: StoreHandle, undelivered_since: DateTime<Utc>, client: ReplySender) {
    tokio::spawn(async move {
        let read = move |store: &mut Store| {
            Ok::<_, StoreError>((store.tasks()?, store.failing_deliveries(undelivered_since)?))
        };
        let _ = client.send(match store.call(read).await {
            Ok((rows, undelivered)) => ControlReply::Tasks { rows, undelivered },
            Err(error) => ControlReply::failed(&error),
        });
    });
}

/// Carries out a person's review: quarantined rows are accepted or dropped, or the previous rows are published again.
/// Half a million rows take seconds.
pub fn apply_review(
    store: StoreHandle,
    events: mpsc::Sender<Event>,
    (key, task): (Vec<String>, TaskName),
    action: ReviewAction,
    client: ReplySender,
) {
    tokio::spawn(async move {
        tracing::info!(%task, ?action, "{task}: review requested: {action:?}");
        let name = task.clone();
        let done = store.call(move |store| store.apply_review(&name, action, &key, Utc::now())).await;
        // The task may have recovered, which is worth an alert. The loop ends only with the daemon.
        let _ = events.send(Event::Resorted(task)).await;
        let _ = client.send(match done {
            Ok(Some(verdict)) => ControlReply::Ended(Box::new(verdict)),
            Ok(None) => ControlReply::Done,
            Err(error) => ControlReply::failed(&error),
        });
    });
}

/// Sends a reply, or why there is none; the error goes on to the event loop.
pub fn send(client: &ReplySender, reply: Result<ControlReply, StoreError>) -> Result<(), StoreError> {
    let (reply, done) = match reply {
        Ok(reply) => (reply, Ok(())),
        Err(error) => (ControlReply::failed(&error), Err(error)),
    };
    let _ = client.send(reply);
    done
}

pub fn send_collected(client: &ReplySender, collected: Result<GcCounts, StoreError>) {
    let _ = client.send(collected.map_or_else(|error| ControlReply::failed(&error), ControlReply::Collected));
}

/// Tells the clients of a run that it has started, and forwards its trace to them.
pub fn forward_trace(clients: Vec<ReplySender>, run: RunId) -> Option<TraceListener> {
    if clients.is_empty() {
        return None;
    }
    for client in &clients {
        let _ = client.send(ControlReply::Started { run });
    }
    let (listener, mut lines) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(line) = lines.recv().await {
            for client in &clients {
                let _ = client.send(ControlReply::Trace(Clone::clone(&line)));
            }
        }
    });
    Some(listener)
}

/// Tells the clients of a run how it ended. `None`: it was not recorded.
pub fn send_end(clients: Vec<ReplySender>, verdict: Option<&Verdict>) {
    for client in clients {
        let _ = client.send(match verdict {
            Some(verdict) => ControlReply::Ended(Box::new(verdict.clone())),
            None => ControlReply::Refused {
                sentence: "the run could not be recorded; the daemon's log says why: journalctl -u pieme-daemon"
                    .to_owned(),
            },
        });
    }
}

/// Tells the clients of a run that it will not start.
pub fn send_refusal(clients: Vec<ReplySender>, task: &TaskName, why: &str) {
    for client in clients {
        let _ = client.send(ControlReply::Busy { sentence: format!("`{task}` was not run: {why}") });
    }
}
