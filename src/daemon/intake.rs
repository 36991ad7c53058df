//! Applies changes in tasks/ to the schedule and the store: folders that are new, changed, broken or removed.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use chrono::Utc;
use futures_util::FutureExt;
use tokio::time::Instant;

use crate::due;
use crate::model::{TaskName, TimeSpan};
use crate::store::{FolderState, StoreError, TaskRow, Trigger};
use crate::tasks;
use crate::tasks::{FolderChange, TaskFolder, TaskRegistry};

use super::adopt;
use super::service::Service;
use super::threads;

/// How often tasks/ is scanned where it cannot be watched, and when a failed scan is retried.
pub(super) const RESCAN_UNWATCHED: Duration = Duration::from_secs(2);

impl Service {
    /// Scans tasks/ and applies what has changed. If the store fails midway, every folder counts as new at the next
    /// scan, so that no change is lost: applying a known folder again is idempotent.
    pub(super) async fn rescan(&mut self) -> Result<(), StoreError> {
        self.rescan_at = None;
        self.sync_task_folders().await;
        // Without this a folder that makes the scan panic would end the daemon at every start.
        let taken = AssertUnwindSafe(self.apply_folder_changes()).catch_unwind().await.unwrap_or_else(|panic| {
            let why = threads::panic_message(panic);
            tracing::error!(
                "scanning the tasks folder panicked: {why}; the tasks stay as they were. Please report this bug"
            );
            Ok(())
        });
        if self.registry.scan_problem().is_some() {
            self.rescan_at = Some(Instant::now() + RESCAN_UNWATCHED);
        }
        if taken.is_err() {
            self.registry = TaskRegistry::new(self.config.tasks.clone()).with_channels(self.config.channels());
            self.rescan_at = Some(Instant::now() + RESCAN_UNWATCHED);
        }
        taken
    }

    async fn apply_folder_changes(&mut self) -> Result<(), StoreError> {
        let mut changes = self.registry.rescan();
        if let Some(problem) = self.registry.scan_problem() {
            tracing::error!("{problem}");
        }
        if changes.is_empty() {
            return Ok(());
        }
        let known = self.runner.store.call(|store| store.tasks()).await?;
        let known: BTreeMap<TaskName, TaskRow> = known.into_iter().map(|row| (row.name.clone(), row)).collect();
        // Folders that were removed while no daemon ran.
        let gone = known.values().filter(|row| self.is_gone(row)).map(|row| FolderChange::Removed(row.name.clone()));
        let gone: Vec<FolderChange> = gone.filter(|_| self.registry.scan_problem().is_none()).collect();
        changes.retain(|change| !gone.contains(change));
        changes.extend(gone);
        let seen: Vec<FolderState> = changes.iter().filter_map(|change| self.store_update(change)).collect();
        let kept = changes.iter().map(FolderChange::name).filter_map(|name| Some((name.clone(), self.folder(name)?)));
        let kept: Vec<(TaskName, TimeSpan)> = kept.map(|(name, folder)| (name, folder.task.data.history)).collect();
        let noted = self.runner.store.call(move |store| {
            store.record_folder_states(&seen, Utc::now())?;
            store.keep_history(&kept)
        });
        noted.await?;
        self.update_alert_settings(&changes).await?;
        for change in changes {
            match change {
                FolderChange::Added(name) | FolderChange::Edited(name) => {
                    self.load_task(name.clone(), known.get(&name)).await?
                }
                FolderChange::Broken(_) => {}
                FolderChange::Removed(name) => self.drop_task(&name),
            }
        }
        self.save_due_times().await
    }

    /// What the store records of a change.
    fn store_update(&self, change: &FolderChange) -> Option<FolderState> {
        match change {
            FolderChange::Added(name) | FolderChange::Edited(name) => {
                let title = self.folder(name)?.task.title.clone();
                Some(FolderState::Good { name: name.clone(), title })
            }
            FolderChange::Broken(name) => {
                let problem = self.registry.get(name)?.problem.as_ref()?.to_string();
                tracing::warn!(task = %name, "{problem}");
                adopt::request_adoption(&self.config.tasks.join(name.as_str()));
                Some(FolderState::Broken { name: name.clone(), problem })
            }
            FolderChange::Removed(name) => Some(FolderState::Gone { name: name.clone() }),
        }
    }

    fn drop_task(&mut self, name: &TaskName) {
        tracing::info!(task = %name, "{name}: task removed with its folder; its published rows stay");
        self.refuse_waiting_clients(name, "its folder was removed before the run started");
        self.queue.forget(name);
        self.templates.remove(name);
        self.unresolved_templates.remove(name);
        self.crash_backoff.remove(name);
    }

    /// Plans a new or changed folder. A new task and one with a new template run at once.
    pub(super) async fn load_task(&mut self, name: TaskName, known: Option<&TaskRow>) -> Result<(), StoreError> {
        let Some(folder) = self.folder(&name) else { return Ok(()) };
        adopt::request_adoption(&folder.dir);
        let now = Utc::now();
        // The clock was ahead when the last daemon ran.
        self.repeated_until = self.repeated_until.max(known.and_then(|row| row.last_slot).filter(|slot| *slot > now));
        self.load_crash_backoff(&folder, known).await?;
        let relabelled = self.is_relabelled(&folder, known);
        if !self.is_ours(&name) {
            return Ok(());
        }
        if !folder.task.enabled || known.is_some_and(|row| row.paused) {
            self.set_next_due(name, None);
            return Ok(());
        }
        let never_ran = known.is_none_or(|row| row.last_run.is_none());
        if relabelled {
            self.run_relabelled(name.clone());
        } else if never_ran && !self.unresolved_templates.contains_key(&name) {
            tracing::info!(task = %name, "{name}: new task; its first run is queued");
            self.queue.queue_last(name.clone());
        } else {
            return self.resume_schedule(&folder, known.and_then(|row| row.next_due), now).await;
        }
        let planned = due::next_due(&folder.task.schedule, now, &name);
        self.set_planned_due(name, planned);
        Ok(())
    }

    /// Whether a person has changed the folder's template.
    fn is_relabelled(&mut self, folder: &TaskFolder, known: Option<&TaskRow>) -> bool {
        let (name, template) = (folder.name.clone(), folder.template.clone());
        let before = self.templates.get(&name).cloned();
        let is_other = before.as_ref().is_some_and(|before| *before != template && template.is_some());
        if is_other && self.queue.is_running(&name) {
            // The run under way may have learned it; that is known when the run ends.
            self.unresolved_templates.insert(name, template);
            return false;
        }
        self.templates.insert(name, template);
        is_other && !(before == Some(None) && is_learned_elsewhere(folder, known))
    }

    /// Decides who changed a template during a run: a person, unless the run has learned it.
    pub(super) fn resolve_template_origin(&mut self, name: &TaskName) {
        let Some(seen) = self.unresolved_templates.remove(name) else { return };
        if self.templates.insert(name.clone(), seen.clone()) != Some(seen) && self.is_ours(name) {
            self.run_relabelled(name.clone());
        }
    }

    fn run_relabelled(&mut self, name: TaskName) {
        tracing::info!(task = %name, "{name}: new template; a run is queued");
        self.queue.queue_first(name, Trigger::Learned);
    }
}

/// Whether a run on another daemon has learned the template, and the file arrived after the task: the last run is
/// provisional, and no person has confirmed the template since.
fn is_learned_elsewhere(folder: &TaskFolder, known: Option<&TaskRow>) -> bool {
    let is_provisional = known.and_then(|row| row.last_run.as_ref()).is_some_and(|run| run.verdict.provisional);
    is_provisional && tasks::read_labels(&folder.dir).is_ok_and(|labels| !labels.is_confirmed())
}
