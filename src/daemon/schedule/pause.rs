//! Pauses and resumes tasks. A paused task is not scheduled until a person resumes it; restarts and edits change
//! nothing.

use crate::model::TaskName;
use crate::store::StoreError;

use crate::daemon::control::{ControlReply, ReplySender};
use crate::daemon::service::Service;

impl Service {
    /// Pauses or resumes a task. A run under way finishes; a queued one does not start.
    pub(in crate::daemon) async fn handle_pause_request(
        &mut self,
        name: TaskName,
        paused: bool,
        replies: ReplySender,
    ) -> Result<(), StoreError> {
        if self.registry.get(&name).is_none() {
            let sentence = format!("there is no task `{name}` in {}", self.config.tasks.display());
            drop(replies.send(ControlReply::Refused { sentence }));
            return Ok(());
        }
        let done = self.set_paused(name, paused).await;
        // The client may have left.
        let _ = replies.send(match &done {
            Ok(()) => ControlReply::Done,
            Err(error) => ControlReply::failed(error),
        });
        done
    }

    async fn set_paused(&mut self, name: TaskName, paused: bool) -> Result<(), StoreError> {
        tracing::info!(task = %name, "{name}: {}", if paused { "paused" } else { "resumed" });
        let task = name.clone();
        self.runner.store.call(move |store| store.set_paused(&task, paused)).await?;
        if paused {
            self.refuse_waiting_clients(&name, "the task was paused before the run started");
            self.set_next_due(name, None);
            return self.save_due_times().await;
        }
        let known = self.runner.store.call(|store| store.tasks()).await?;
        let known = known.into_iter().find(|row| row.name == name);
        self.load_task(name, known.as_ref()).await?;
        self.save_due_times().await
    }
}
