//! Plans the runs of tasks: queues due ones, makes up for missed ones, and stores the next due times.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};

use crate::due::{self, Due, DueError, ScheduleSlot};
use crate::model::TaskName;
use crate::store::{StoreError, Trigger};
use crate::tasks::TaskFolder;

use crate::daemon::service::Service;

impl Service {
    /// Queues a due run and plans the next.
    pub(in crate::daemon) async fn queue_due_run(
        &mut self,
        name: TaskName,
        slot: ScheduleSlot,
        now: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        let Some(folder) = self.folder(&name) else { return Ok(()) };
        let schedule = &folder.task.schedule;
        let mut queued = false;
        // If the store cannot be read, this run is skipped, but not the next.
        if self.is_login_held(&folder).await.unwrap_or(true) {
            tracing::warn!(task = %name, "{name}: run skipped: the login was refused, and nothing has changed since");
        } else {
            queued = self.queue.queue_slot(name.clone(), slot, Trigger::Schedule, schedule.overlap);
            if !queued {
                tracing::warn!(task = %name, "{name}: run skipped: the previous run is still going");
            }
        }
        let next = due::missed(schedule, slot, now, &name).map(|missed| missed.next);
        self.plan_next(name, next, queued);
        Ok(())
    }

    pub(in crate::daemon) async fn replan_all(&mut self, now: DateTime<Utc>) -> Result<(), StoreError> {
        let folders: Vec<Arc<TaskFolder>> = self.registry.iter().filter_map(|(_, entry)| entry.good.clone()).collect();
        for folder in folders {
            if let Some(due) = self.queue.planned(&folder.name) {
                self.resume_schedule(&folder, Some(due.slot.0), now).await?;
            }
        }
        Ok(())
    }

    /// Resumes a schedule: a missed run is made up once, if it is not too old. A stored due time is kept, unless the
    /// clock or the schedule was changed so that it is too far ahead.
    pub(in crate::daemon) async fn resume_schedule(
        &mut self,
        folder: &TaskFolder,
        promised: Option<DateTime<Utc>>,
        now: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        let (name, schedule) = (folder.name.clone(), &folder.task.schedule);
        // A task in crash backoff resumes after it.
        let from = self.crash_backoff.get(&name).copied().map_or(now, |until| until.max(now));
        match (promised, due::next_due(schedule, from, &name)) {
            (Some(slot), _) if slot <= now => self.queue_missed_run(folder, ScheduleSlot(slot), now).await?,
            (Some(slot), Ok(fresh)) if schedule.cron.is_none() && slot <= fresh.slot.0 => {
                let start_at = due::start_at(schedule, ScheduleSlot(slot), &name);
                self.set_planned_due(name, Ok(Due { slot: ScheduleSlot(slot), start_at }));
            }
            (_, planned) => self.set_planned_due(name, planned),
        }
        Ok(())
    }

    async fn queue_missed_run(
        &mut self,
        folder: &TaskFolder,
        slot: ScheduleSlot,
        now: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        let (name, schedule) = (folder.name.clone(), &folder.task.schedule);
        let missed = due::missed(schedule, slot, now, &name);
        let newest = missed.as_ref().ok().and_then(|it| it.catch_up).unwrap_or(slot);
        let mut queued = false;
        if self.is_login_held(folder).await? {
            tracing::warn!(task = %name, "{name}: missed run skipped: the login was refused and nothing has changed");
        } else if let Some(until) = self.crash_backoff.get(&name).filter(|until| **until > now) {
            tracing::warn!(task = %name, "{name}: missed run skipped: repeated crashes, next attempt after {until}");
        } else if (now - newest.0).to_std().is_ok_and(|late| late <= schedule.catch_up.0) {
            tracing::info!(task = %name, "{name}: making up the missed run of {}", newest.0);
            queued = self.queue.queue_slot(name.clone(), newest, Trigger::CatchUp, schedule.overlap);
        } else {
            tracing::warn!(task = %name, "{name}: missed run of {} skipped: older than schedule.catch_up", newest.0);
        }
        self.plan_next(name, missed.map(|it| it.next), queued);
        Ok(())
    }

    /// Plans what comes after a slot. While the slot's run is queued the store keeps the slot as due, so that a `kill
    /// -9` or a stop does not lose it. The next due time is stored when the run has begun.
    fn plan_next(&mut self, name: TaskName, planned: Result<Due, DueError>, queued: bool) {
        match planned {
            Ok(due) if queued => self.queue.plan(name, due),
            planned => self.set_planned_due(name, planned),
        }
    }

    /// Plans the next run and stores its due time for a restart.
    pub(in crate::daemon) fn set_planned_due(&mut self, name: TaskName, planned: Result<Due, DueError>) {
        if let Err(error) = &planned {
            tracing::error!(task = %name, "{name}: no next run: {error}");
        }
        let due = planned.ok().map(|due| self.after_backoff(&name, due));
        self.set_next_due(name, due);
    }

    /// The due time, or the first one after the crash backoff.
    fn after_backoff(&self, name: &TaskName, due: Due) -> Due {
        let put_off = || {
            let until = self.crash_backoff.get(name).filter(|until| due.slot.0 < **until)?;
            let schedule = &self.registry.get(name)?.good.as_ref()?.task.schedule;
            let just_before = *until - TimeDelta::milliseconds(1);
            due::missed(schedule, due.slot, just_before, name).ok().map(|missed| missed.next)
        };
        put_off().unwrap_or(due)
    }

    pub(in crate::daemon) fn set_next_due(&mut self, name: TaskName, due: Option<Due>) {
        match due {
            Some(due) => self.queue.plan(name.clone(), due),
            None => self.queue.forget(&name),
        }
        self.unsaved_due_times.push((name, due.map(|due| due.slot.0)));
    }

    /// Stores the due times that were planned since the last call, in one transaction.
    pub(in crate::daemon) async fn save_due_times(&mut self) -> Result<(), StoreError> {
        let promised = std::mem::take(&mut self.unsaved_due_times);
        if promised.is_empty() {
            return Ok(());
        }
        self.runner.store.call(move |store| store.set_all_next_due(&promised)).await
    }
}
