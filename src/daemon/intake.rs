//! What stands in tasks/, taken in: new and changed folders, broken ones, removed ones.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use chrono::Utc;
use futures_util::FutureExt;
use tokio::time::Instant;

use crate::due;
use crate::model::{Span, TaskName};
use crate::store::{Seen, StoreError, TaskRow, Trigger};
use crate::taskdir::{self, Change, Shelf, TaskFolder};

use super::adopt;
use super::service::Service;
use super::threads;

/// Where tasks/ cannot be watched it is looked through this often, and after a look that failed.
pub(super) const RESCAN_UNWATCHED: Duration = Duration::from_secs(2);

impl Service {
    /// Looks through tasks/ and takes in what has changed. Where the store fails in the middle, everything counts as new
    /// again, so that no change is lost: taking a known folder in once more does no harm.
    pub(super) async fn rescan(&mut self) -> Result<(), StoreError> {
        self.rescan_at = None;
        self.share_folders().await;
        // A folder that brings the scan down would bring the daemon down at every start.
        let taken = AssertUnwindSafe(self.take_in_changes()).catch_unwind().await.unwrap_or_else(|panic| {
            let why = threads::words(panic);
            tracing::error!("looking through tasks/ panicked: {why}; the tasks stay as they were known");
            Ok(())
        });
        if self.shelf.trouble().is_some() {
            self.rescan_at = Some(Instant::now() + RESCAN_UNWATCHED);
        }
        if taken.is_err() {
            self.shelf = Shelf::new(self.config.tasks.clone()).with_channels(self.config.channels());
            self.rescan_at = Some(Instant::now() + RESCAN_UNWATCHED);
        }
        taken
    }

    async fn take_in_changes(&mut self) -> Result<(), StoreError> {
        let mut changes = self.shelf.rescan();
        if let Some(problem) = self.shelf.trouble() {
            tracing::error!("{problem}");
        }
        if changes.is_empty() {
            return Ok(());
        }
        let known = self.runner.keeper.ask(|store| store.tasks()).await?;
        let known: BTreeMap<TaskName, TaskRow> = known.into_iter().map(|row| (row.name.clone(), row)).collect();
        // Folders that went while no daemon was there to see it.
        let gone = known.values().filter(|row| self.is_gone(row)).map(|row| Change::Removed(row.name.clone()));
        let gone: Vec<Change> = gone.filter(|_| self.shelf.trouble().is_none()).collect();
        changes.retain(|change| !gone.contains(change));
        changes.extend(gone);
        let seen: Vec<Seen> = changes.iter().filter_map(|change| self.seen(change)).collect();
        let kept = changes.iter().map(Change::name).filter_map(|name| Some((name.clone(), self.folder(name)?)));
        let kept: Vec<(TaskName, Span)> = kept.map(|(name, folder)| (name, folder.task.data.history)).collect();
        let noted = self.runner.keeper.ask(move |store| {
            store.note_seen(&seen, Utc::now())?;
            store.keep_history(&kept)
        });
        noted.await?;
        self.watch(&changes).await?;
        for change in changes {
            match change {
                Change::Added(name) | Change::Edited(name) => self.take_in(name.clone(), known.get(&name)).await?,
                Change::Broken(_) => {}
                Change::Removed(name) => self.let_go(&name),
            }
        }
        self.keep_promises().await
    }

    /// What the store is to know of a change.
    fn seen(&self, change: &Change) -> Option<Seen> {
        match change {
            Change::Added(name) | Change::Edited(name) => {
                let title = self.folder(name)?.task.title.clone();
                Some(Seen::Good { name: name.clone(), title })
            }
            Change::Broken(name) => {
                let problem = self.shelf.get(name)?.problem.as_ref()?.to_string();
                tracing::warn!(task = %name, "{problem}");
                adopt::ask_for(&self.config.tasks.join(name.as_str()));
                Some(Seen::Broken { name: name.clone(), problem })
            }
            Change::Removed(name) => Some(Seen::Gone { name: name.clone() }),
        }
    }

    fn let_go(&mut self, name: &TaskName) {
        tracing::info!(task = %name, "{name}: the folder is gone; its published rows stay");
        self.turn_away(name, "its folder went before its turn came");
        self.agenda.forget(name);
        self.templates.remove(name);
        self.unexplained.remove(name);
        self.left_alone.remove(name);
    }

    /// A new or changed folder: planned, and run at once where that is what a person expects.
    pub(super) async fn take_in(&mut self, name: TaskName, known: Option<&TaskRow>) -> Result<(), StoreError> {
        let Some(folder) = self.folder(&name) else { return Ok(()) };
        adopt::ask_for(&folder.dir);
        let now = Utc::now();
        // The clock was ahead when the last daemon ran.
        self.repeated_until = self.repeated_until.max(known.and_then(|row| row.last_slot).filter(|slot| *slot > now));
        self.look_for_crashes(&folder, known).await?;
        let relabelled = self.is_relabelled(&folder, known);
        if !self.is_ours(&name) {
            return Ok(());
        }
        if !folder.task.enabled || known.is_some_and(|row| row.paused) {
            self.promise(name, None);
            return Ok(());
        }
        let never_ran = known.is_none_or(|row| row.last_run.is_none());
        if relabelled {
            self.run_relabelled(name.clone());
        } else if never_ran && !self.unexplained.contains_key(&name) {
            tracing::info!(task = %name, "{name}: new task");
            self.agenda.new_task(name.clone());
        } else {
            return self.resume(&folder, known.and_then(|row| row.next_due), now).await;
        }
        let planned = due::next_due(&folder.task.schedule, now, &name);
        self.promise_planned(name, planned);
        Ok(())
    }

    /// Whether a person has given the folder another template.
    fn is_relabelled(&mut self, folder: &TaskFolder, known: Option<&TaskRow>) -> bool {
        let (name, template) = (folder.name.clone(), folder.template.clone());
        let before = self.templates.get(&name).cloned();
        let is_other = before.as_ref().is_some_and(|before| *before != template && template.is_some());
        if is_other && self.agenda.running_for(&name).is_some() {
            // Perhaps the run that is going has learned it; whose it is shows when it ends.
            self.unexplained.insert(name, template);
            return false;
        }
        self.templates.insert(name, template);
        is_other && !(before == Some(None) && is_learned_elsewhere(folder, known))
    }

    /// A template that came while a run was going is a person's unless that run has learned it.
    pub(super) fn explain_template(&mut self, name: &TaskName) {
        let Some(seen) = self.unexplained.remove(name) else { return };
        if self.templates.insert(name.clone(), seen.clone()) != Some(seen) && self.is_ours(name) {
            self.run_relabelled(name.clone());
        }
    }

    fn run_relabelled(&mut self, name: TaskName) {
        tracing::info!(task = %name, "{name}: new template");
        self.agenda.now(name, Trigger::Learned);
    }
}

/// A run of another daemon has learned it, and the file came after the task: the last run was under a template that nobody has
/// said yes to, and nobody has since.
fn is_learned_elsewhere(folder: &TaskFolder, known: Option<&TaskRow>) -> bool {
    let is_provisional = known.and_then(|row| row.last_run.as_ref()).is_some_and(|run| run.verdict.provisional);
    is_provisional && taskdir::read_labels(&folder.dir).is_ok_and(|labels| !labels.is_confirmed())
}
