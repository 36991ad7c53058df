//! Carries out a person's review: quarantined rows are accepted or dropped, or the previous rows are published again.

use chrono::Utc;

use crate::model::TaskName;
use crate::store::ReviewAction;

use super::Event;
use super::control::{ControlReply, ReplySender};
use super::service::Service;

impl Service {
    /// In the background: half a million rows take seconds.
    pub(super) fn handle_resort_request(&self, task: TaskName, what: ReviewAction, replies: ReplySender) {
        let key = self
            .registry
            .get(&task)
            .and_then(|it| it.good.as_ref())
            .map(|it| it.task.data.key.clone())
            .unwrap_or_default();
        let (store_handle, events) = (self.runner.store.clone(), self.events.clone());
        tokio::spawn(async move {
            tracing::info!(%task, action = ?what, "{task}: review requested: {what:?}");
            let name = task.clone();
            let done = store_handle.call(move |store| store.apply_review(&name, what, &key, Utc::now())).await;
            // The task may have recovered, which is worth an alert. The loop ends only with the daemon.
            let _ = events.send(Event::Resorted(task)).await;
            // The client may have left.
            let _ = replies.send(match done {
                Ok(Some(verdict)) => ControlReply::Ended(verdict),
                Ok(None) => ControlReply::Done,
                Err(error) => ControlReply::failed(&error),
            });
        });
    }
}
