//! Rows that are not published, at a person's word: accepted, dropped, or those of before brought back.

use chrono::Utc;

use crate::model::TaskName;
use crate::store::ReviewAction;

use super::Event;
use super::control::{ControlReply, ReplySender};
use super::service::Service;

impl Service {
    /// Beside the loop: half a million rows take seconds.
    pub(super) fn handle_resort_request(&self, task: TaskName, what: ReviewAction, replies: ReplySender) {
        let key = self
            .registry
            .get(&task)
            .and_then(|it| it.good.as_ref())
            .map(|it| it.task.data.key.clone())
            .unwrap_or_default();
        let (keeper, events) = (self.runner.store.clone(), self.events.clone());
        tokio::spawn(async move {
            tracing::info!(%task, "asked to {what:?} rows");
            let name = task.clone();
            let done = keeper.call(move |store| store.apply_review(&name, what, &key, Utc::now())).await;
            // The task may be well again by it, and its people want to know; the loop is gone only when the daemon is.
            let _ = events.send(Event::Resorted(task)).await;
            // Whoever asked may have gone.
            let _ = replies.send(match done {
                Ok(Some(verdict)) => ControlReply::Ended(verdict),
                Ok(None) => ControlReply::Done,
                Err(error) => ControlReply::failed(&error),
            });
        });
    }
}
