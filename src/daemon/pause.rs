//! A task that a person has paused: the clock leaves it alone until it is resumed, over restarts and edits.

use crate::model::TaskName;
use crate::store::StoreError;

use super::control::{Replies, Reply};
use super::service::Service;

impl Service {
    /// Pauses or resumes a task. A run under way goes on; one that waits in line does not start.
    pub(super) async fn asked_to_pause(
        &mut self,
        name: TaskName,
        paused: bool,
        replies: Replies,
    ) -> Result<(), StoreError> {
        if self.shelf.get(&name).is_none() {
            let sentence = format!("there is no task `{name}` in {}", self.config.tasks.display());
            drop(replies.send(Reply::Refused { sentence }));
            return Ok(());
        }
        let done = self.set_paused(name, paused).await;
        // Whoever asked may have gone.
        let _ = replies.send(match &done {
            Ok(()) => Reply::Done,
            Err(error) => Reply::failed(error),
        });
        done
    }

    async fn set_paused(&mut self, name: TaskName, paused: bool) -> Result<(), StoreError> {
        tracing::info!(task = %name, "{name}: {}", if paused { "paused" } else { "resumed" });
        let task = name.clone();
        self.runner.keeper.ask(move |store| store.set_paused(&task, paused)).await?;
        if paused {
            self.turn_away(&name, "it was paused before its turn came");
            self.promise(name, None);
            return self.keep_promises().await;
        }
        let known = self.runner.keeper.ask(|store| store.tasks()).await?;
        let known = known.into_iter().find(|row| row.name == name);
        self.take_in(name, known.as_ref()).await?;
        self.keep_promises().await
    }
}
