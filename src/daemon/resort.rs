//! Rows that are not published, at a person's word: accepted, dropped, or those of before brought back.

use chrono::Utc;

use crate::model::TaskName;
use crate::store::Resort;

use super::Event;
use super::control::{Replies, Reply};
use super::service::Service;

impl Service {
    /// Beside the loop: half a million rows take seconds.
    pub(super) fn asked_to_resort(&self, task: TaskName, what: Resort, replies: Replies) {
        let key = self
            .shelf
            .get(&task)
            .and_then(|it| it.good.as_ref())
            .map(|it| it.task.data.key.clone())
            .unwrap_or_default();
        let (keeper, events) = (self.runner.keeper.clone(), self.events.clone());
        tokio::spawn(async move {
            tracing::info!(%task, "asked to {what:?} rows");
            let name = task.clone();
            let done = keeper.ask(move |store| store.resort(&name, what, &key, Utc::now())).await;
            // The task may be well again by it, and its people want to know; the loop is gone only when the daemon is.
            let _ = events.send(Event::Resorted(task)).await;
            // Whoever asked may have gone.
            let _ = replies.send(match done {
                Ok(Some(verdict)) => Reply::Ended(verdict),
                Ok(None) => Reply::Done,
                Err(error) => Reply::failed(&error),
            });
        });
    }
}
