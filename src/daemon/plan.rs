//! When the daemon's tasks run next: what falls due, what is promised, what is made up.

use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::due::{self, Due, DueError, Slot};
use crate::model::TaskName;
use crate::store::{StoreError, Trigger};
use crate::taskdir::TaskFolder;

use super::service::Service;

impl Service {
    /// Puts a due run in line and plans the next.
    pub(super) async fn fall_due(&mut self, name: TaskName, slot: Slot, now: DateTime<Utc>) -> Result<(), StoreError> {
        let Some(folder) = self.folder(&name) else { return Ok(()) };
        let schedule = &folder.task.schedule;
        if self.is_refused(&folder).await? {
            tracing::warn!(task = %name, "skipped: its log-in was refused, and nothing is new since");
        } else if !self.agenda.queue(name.clone(), slot, Trigger::Schedule, schedule.overlap) {
            tracing::warn!(task = %name, "skipped: the run before is still going");
        }
        let next = due::missed(schedule, slot, now, &name).map(|missed| missed.next);
        self.promise_planned(name, next).await
    }

    pub(super) async fn plan_all_anew(&mut self, now: DateTime<Utc>) -> Result<(), StoreError> {
        let folders: Vec<Arc<TaskFolder>> = self.shelf.iter().filter_map(|(_, entry)| entry.good.clone()).collect();
        for folder in folders {
            if let Some(due) = self.agenda.planned(&folder.name) {
                self.resume(&folder, Some(due.slot.0), now).await?;
            }
        }
        Ok(())
    }

    /// Goes on where the schedule stood: what was missed is made up once, if it is not too old; what is promised is kept,
    /// unless the clock or the schedule was changed so that it lies too far ahead.
    pub(super) async fn resume(
        &mut self,
        folder: &TaskFolder,
        promised: Option<DateTime<Utc>>,
        now: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        let (name, schedule) = (folder.name.clone(), &folder.task.schedule);
        match (promised, due::next_due(schedule, now, &name)) {
            (Some(slot), _) if slot <= now => self.make_up(folder, Slot(slot), now).await,
            (Some(slot), Ok(fresh)) if schedule.cron.is_none() && slot <= fresh.slot.0 => {
                let start_at = due::start_at(schedule, Slot(slot), &name);
                self.promise(name, Some(Due { slot: Slot(slot), start_at })).await
            }
            (_, planned) => self.promise_planned(name, planned).await,
        }
    }

    async fn make_up(&mut self, folder: &TaskFolder, slot: Slot, now: DateTime<Utc>) -> Result<(), StoreError> {
        let (name, schedule) = (folder.name.clone(), &folder.task.schedule);
        let missed = due::missed(schedule, slot, now, &name);
        let newest = missed.as_ref().ok().and_then(|it| it.make_up).unwrap_or(slot);
        if self.is_refused(folder).await? {
            tracing::warn!(task = %name, "not made up: its log-in was refused, and nothing is new since");
        } else if (now - newest.0).to_std().is_ok_and(|late| late <= schedule.catch_up.0) {
            tracing::info!(task = %name, "makes up the run of {}", newest.0);
            self.agenda.queue(name.clone(), newest, Trigger::CatchUp, schedule.overlap);
        } else {
            tracing::warn!(task = %name, "the run of {} was missed and is too old to be made up", newest.0);
        }
        self.promise_planned(name, missed.map(|it| it.next)).await
    }

    /// Keeps the next due time in the store, so that a restart knows what was promised.
    pub(super) async fn promise_planned(
        &mut self,
        name: TaskName,
        planned: Result<Due, DueError>,
    ) -> Result<(), StoreError> {
        if let Err(error) = &planned {
            tracing::error!(task = %name, "no next run: {error}");
        }
        self.promise(name, planned.ok()).await
    }

    pub(super) async fn promise(&mut self, name: TaskName, due: Option<Due>) -> Result<(), StoreError> {
        match due {
            Some(due) => self.agenda.plan(name.clone(), due),
            None => self.agenda.forget(&name),
        }
        let slot = due.map(|due| due.slot.0);
        self.runner.keeper.ask(move |store| store.set_next_due(&name, slot)).await
    }
}
