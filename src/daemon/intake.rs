//! What stands in tasks/, taken in: new and changed folders, broken ones, removed ones.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::Utc;
use tokio::time::Instant;

use crate::due;
use crate::model::TaskName;
use crate::store::{StoreError, TaskRow, Trigger};
use crate::taskdir::{Change, Shelf};

use super::service::Service;

/// Without any hint tasks/ is looked through this often all the same.
const RESCAN_EVERY: Duration = Duration::from_secs(60);
/// Where tasks/ cannot be watched it is looked through this often.
const RESCAN_UNWATCHED: Duration = Duration::from_secs(2);

impl Service {
    /// Looks through tasks/ and takes in what has changed. Where the store fails in the middle, everything counts as new
    /// again, so that no change is lost: taking a known folder in once more does no harm.
    pub(super) async fn rescan(&mut self) -> Result<(), StoreError> {
        self.rescan_at = Instant::now() + if self.watched { RESCAN_EVERY } else { RESCAN_UNWATCHED };
        let taken = self.take_in_changes().await;
        if taken.is_err() {
            self.shelf = Shelf::new(self.config.tasks.clone());
            self.rescan_at = Instant::now() + RESCAN_UNWATCHED;
        }
        taken
    }

    async fn take_in_changes(&mut self) -> Result<(), StoreError> {
        let changes = self.shelf.rescan();
        if let Some(problem) = self.shelf.trouble() {
            tracing::error!("{problem}");
        }
        if changes.is_empty() {
            return Ok(());
        }
        let known = self.runner.keeper.ask(|store| store.tasks()).await?;
        let known: BTreeMap<TaskName, TaskRow> = known.into_iter().map(|row| (row.name.clone(), row)).collect();
        for change in changes {
            match change {
                Change::Added(name) | Change::Edited(name) => self.take_in(name.clone(), known.get(&name)).await?,
                Change::Broken(name) => self.note_problem(name).await?,
                Change::Removed(name) => self.let_go(name).await?,
            }
        }
        // Folders that went while no daemon was there to see it.
        for (name, row) in known {
            if !row.removed && self.shelf.get(&name).is_none() && self.shelf.trouble().is_none() {
                self.let_go(name).await?;
            }
        }
        Ok(())
    }

    async fn let_go(&mut self, name: TaskName) -> Result<(), StoreError> {
        tracing::info!(task = %name, "the folder is gone; its published rows stay");
        self.agenda.forget(&name);
        self.templates.remove(&name);
        self.runner.keeper.ask(move |store| store.forget_task(&name, Utc::now())).await
    }

    /// A new or changed folder: remembered, planned, and run at once where that is what a person expects.
    async fn take_in(&mut self, name: TaskName, known: Option<&TaskRow>) -> Result<(), StoreError> {
        let Some(folder) = self.folder(&name) else { return Ok(()) };
        let now = Utc::now();
        let title = folder.task.title.clone();
        let task = name.clone();
        self.runner
            .keeper
            .ask(move |store| {
                store.remember_task(&task, title.as_deref(), now)?;
                store.set_problem(&task, None)
            })
            .await?;
        let before = self.templates.insert(name.clone(), folder.template.clone());
        if !folder.task.enabled || known.is_some_and(|row| row.paused) {
            return self.promise(name, None).await;
        }
        let relabelled = before.is_some_and(|before| before != folder.template && folder.template.is_some());
        let never_ran = known.is_none_or(|row| row.last_run.is_none());
        if relabelled || never_ran {
            tracing::info!(task = %name, "{}", if relabelled { "a new template" } else { "a new task" });
            let trigger = if relabelled { Trigger::Learned } else { Trigger::Schedule };
            self.agenda.now(name.clone(), trigger);
            let planned = due::next_due(&folder.task.schedule, now, &name);
            return self.promise_planned(name, planned).await;
        }
        self.resume(&folder, known.and_then(|row| row.next_due), now).await
    }

    async fn note_problem(&mut self, name: TaskName) -> Result<(), StoreError> {
        let Some(entry) = self.shelf.get(&name) else { return Ok(()) };
        let Some(problem) = entry.problem.as_ref().map(ToString::to_string) else { return Ok(()) };
        tracing::warn!(task = %name, "{problem}");
        self.runner
            .keeper
            .ask(move |store| {
                store.remember_task(&name, None, Utc::now())?;
                store.set_problem(&name, Some(&problem))
            })
            .await
    }
}
