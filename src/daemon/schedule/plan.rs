//! The schedule of all tasks: queues due runs, makes up for missed ones, and plans the next. Pure: folders, times and
//! what the store knows come as arguments, and new due times are taken out with
//! [`Scheduler::take_unsaved_due_times`].

use chrono::{DateTime, TimeDelta, Utc};
use tokio::time::Instant;
use url::Url;

use crate::due::{self, Due, DueError, ScheduleSlot};
use crate::model::TaskName;
use crate::model::address::rate_limit_key;
use crate::store::Trigger;
use crate::tasks::TaskFolder;

use super::clock::JumpWatch;
use super::crash_backoff::CrashBackoff;
use super::queue::{QueuedRun, RunQueue};

pub struct Scheduler {
    queue: RunQueue,
    backoff: CrashBackoff,
    /// Next due times that are not in the store yet.
    unsaved_due_times: Vec<(TaskName, Option<DateTime<Utc>>)>,
    jumps: JumpWatch,
    /// Set when the clock was set back: slots up to this time have had their runs already.
    repeated_until: Option<DateTime<Utc>>,
}

impl Scheduler {
    pub fn new(now: DateTime<Utc>, steady: Instant) -> Scheduler {
        Scheduler {
            queue: RunQueue::default(),
            backoff: CrashBackoff::default(),
            unsaved_due_times: Vec::new(),
            jumps: JumpWatch::new(now, steady),
            repeated_until: None,
        }
    }

    pub fn queue(&self) -> &RunQueue {
        &self.queue
    }

    /// Whether the wall clock was set since the last call; then all due times have to be computed again.
    pub fn notice_jump(&mut self, now: DateTime<Utc>, steady: Instant) -> bool {
        let Some(jump) = self.jumps.jump(now, steady) else { return false };
        tracing::warn!("the system clock jumped by {} s; recomputing all due times", jump.num_seconds());
        if jump < TimeDelta::zero() {
            self.repeated_until = self.repeated_until.max(Some(now - jump));
        }
        true
    }

    /// Remembers a slot that is ahead of the clock: the clock was ahead when the last daemon ran.
    pub fn note_last_slot(&mut self, last_slot: Option<DateTime<Utc>>, now: DateTime<Utc>) {
        self.repeated_until = self.repeated_until.max(last_slot.filter(|slot| *slot > now));
    }

    /// Removes and returns the slots that are due; each goes to [`Scheduler::queue_due_run`].
    pub fn take_due(&mut self, now: DateTime<Utc>) -> Vec<(TaskName, ScheduleSlot)> {
        self.queue.take_due(now)
    }

    /// Queues a due run and plans the next.
    pub fn queue_due_run(&mut self, folder: &TaskFolder, slot: ScheduleSlot, is_login_held: bool, now: DateTime<Utc>) {
        let (name, schedule) = (&folder.name, &folder.task.schedule);
        let mut queued = false;
        if is_login_held {
            tracing::warn!(task = %name, "{name}: run skipped: the login was refused, and nothing has changed since");
        } else {
            queued = self.queue.queue_slot(name.clone(), slot, Trigger::Schedule, schedule.overlap);
            if !queued {
                tracing::warn!(task = %name, "{name}: run skipped: the previous run is still going");
            }
        }
        self.plan_next(folder, due::missed(schedule, slot, now, name).map(|missed| missed.next), queued);
    }

    /// Whether a stored due time has passed without its run.
    pub fn is_missed(promised: Option<DateTime<Utc>>, now: DateTime<Utc>) -> bool {
        promised.is_some_and(|slot| slot <= now)
    }

    /// Resumes a schedule: a missed run is made up once, if it is not too old. A stored due time is kept, unless the
    /// clock or the schedule was changed so that it is too far ahead.
    pub fn resume(
        &mut self,
        folder: &TaskFolder,
        promised: Option<DateTime<Utc>>,
        is_login_held: bool,
        now: DateTime<Utc>,
    ) {
        let (name, schedule) = (&folder.name, &folder.task.schedule);
        // A task in crash backoff resumes after it.
        let from = self.backoff.until(name).map_or(now, |until| until.max(now));
        match (promised, due::next_due(schedule, from, name)) {
            (Some(slot), _) if slot <= now => self.queue_missed_run(folder, ScheduleSlot(slot), is_login_held, now),
            (Some(slot), Ok(fresh)) if schedule.cron.is_none() && slot <= fresh.slot.0 => {
                let start_at = due::start_at(schedule, ScheduleSlot(slot), name);
                self.set_planned_due(folder, Ok(Due { slot: ScheduleSlot(slot), start_at }));
            }
            (_, planned) => self.set_planned_due(folder, planned),
        }
    }

    fn queue_missed_run(&mut self, folder: &TaskFolder, slot: ScheduleSlot, is_login_held: bool, now: DateTime<Utc>) {
        let (name, schedule) = (&folder.name, &folder.task.schedule);
        let missed = due::missed(schedule, slot, now, name);
        let newest = missed.as_ref().ok().and_then(|it| it.catch_up).unwrap_or(slot);
        let mut queued = false;
        if is_login_held {
            tracing::warn!(task = %name, "{name}: missed run skipped: the login was refused and nothing has changed");
        } else if let Some(until) = self.backoff.until(name).filter(|until| *until > now) {
            tracing::warn!(task = %name, "{name}: missed run skipped: repeated crashes, next attempt after {until}");
        } else if (now - newest.0).to_std().is_ok_and(|late| late <= schedule.catch_up.0) {
            tracing::info!(task = %name, "{name}: making up the missed run of {}", newest.0);
            queued = self.queue.queue_slot(name.clone(), newest, Trigger::CatchUp, schedule.overlap);
        } else {
            tracing::warn!(task = %name, "{name}: missed run of {} skipped: older than schedule.catch_up", newest.0);
        }
        self.plan_next(folder, missed.map(|it| it.next), queued);
    }

    /// Plans what comes after a slot. While the slot's run is queued the store keeps the slot as due, so that a `kill
    /// -9` or a stop does not lose it. The next due time is stored when the run has begun.
    fn plan_next(&mut self, folder: &TaskFolder, planned: Result<Due, DueError>, queued: bool) {
        match planned {
            Ok(due) if queued => self.queue.plan(folder.name.clone(), due),
            planned => self.set_planned_due(folder, planned),
        }
    }

    /// Queues the first run of a new task, and plans the next.
    pub fn queue_first_run(&mut self, folder: &TaskFolder, now: DateTime<Utc>) {
        let name = &folder.name;
        tracing::info!(task = %name, "{name}: new task; its first run is queued");
        self.queue.queue_last(name.clone());
        self.set_planned_due(folder, due::next_due(&folder.task.schedule, now, name));
    }

    /// Queues a run of a task whose template a person has changed, and plans the next.
    pub fn queue_relabelled_run(&mut self, folder: &TaskFolder, now: DateTime<Utc>) {
        self.queue_relabelled(folder.name.clone());
        self.set_planned_due(folder, due::next_due(&folder.task.schedule, now, &folder.name));
    }

    /// The same, and the next run stays as planned.
    pub fn queue_relabelled(&mut self, name: TaskName) {
        tracing::info!(task = %name, "{name}: new template; a run is queued");
        self.queue.queue_first(name, Trigger::Learned);
    }

    /// Queues a run that a person asked for.
    pub fn queue_requested(&mut self, name: TaskName) {
        self.queue.queue_first(name, Trigger::Person);
    }

    /// Plans the next run and stores its due time for a restart.
    fn set_planned_due(&mut self, folder: &TaskFolder, planned: Result<Due, DueError>) {
        let name = &folder.name;
        if let Err(error) = &planned {
            tracing::error!(task = %name, "{name}: no next run: {error}");
        }
        match planned.map(|due| self.backoff.postpone(folder, due)) {
            Ok(due) => {
                self.queue.plan(name.clone(), due);
                self.unsaved_due_times.push((name.clone(), Some(due.slot.0)));
            }
            Err(_) => self.suspend(name.clone()),
        }
    }

    /// Plans no further run: the task is paused or disabled. A run under way finishes.
    pub fn suspend(&mut self, name: TaskName) {
        self.queue.forget(&name);
        self.unsaved_due_times.push((name, None));
    }

    /// Forgets a task that was removed, or assigned to another daemon; its stored due time stays.
    pub fn forget(&mut self, name: &TaskName) {
        self.queue.forget(name);
        self.queue.set_server(name, None);
        self.backoff.set(name, None);
    }

    /// Forgets plan and queued run of a task that is planned anew.
    pub fn forget_plan(&mut self, name: &TaskName) {
        self.queue.forget(name);
    }

    pub fn set_backoff(&mut self, name: &TaskName, until: Option<DateTime<Utc>>) {
        self.backoff.set(name, until);
    }

    /// Postpones the schedule after a run, or resumes it.
    pub fn postpone_after_run(&mut self, folder: &TaskFolder, until: Option<DateTime<Utc>>, now: DateTime<Utc>) {
        let name = &folder.name;
        let is_changed = self.backoff.set(name, until);
        let Some(planned) = self.queue.planned(name).filter(|_| is_changed) else { return };
        if let Some(until) = until {
            tracing::warn!(task = %name, "{name}: repeated crashes; not scheduled again before {until}");
        }
        let next = due::missed(&folder.task.schedule, planned.slot, now, name).map(|missed| missed.next);
        self.set_planned_due(folder, next);
    }

    /// Notes the server that the task begins at.
    pub fn note_server(&mut self, folder: &TaskFolder) {
        let task_url = folder.task.url.clone();
        let url = task_url.or_else(|| folder.script.addresses().iter().find_map(|text| Url::parse(text).ok()));
        self.queue.set_server(&folder.name, url.map(|url| rate_limit_key(&url)));
    }

    /// The next run to start, if a slot is free. After the clock was set back the same slot comes again; such a run
    /// has no slot, so that it is not rejected as a duplicate.
    pub fn start_next(&mut self, max_running: usize, per_host: usize) -> Option<QueuedRun> {
        let next = self.queue.start_next(max_running, per_host)?;
        let slot = next.slot.filter(|slot| Some(slot.0) > self.repeated_until);
        Some(QueuedRun { slot, ..next })
    }

    pub fn finish(&mut self, name: &TaskName) {
        self.queue.finish(name);
    }

    /// The due times that were planned since the last call, for the store.
    pub fn take_unsaved_due_times(&mut self) -> Vec<(TaskName, Option<DateTime<Utc>>)> {
        std::mem::take(&mut self.unsaved_due_times)
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::time::Duration;

    use super::*;
    use crate::model::task::{Overlap, Schedule};
    use crate::model::{Script, Task, TimeSpan};

    fn at(minutes: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000 + minutes * 60, 0).expect("a time of this century")
    }

    /// A task that runs every hour.
    fn hourly() -> TaskFolder {
        let mut task: Task = serde_json::from_str(r#"{"url": "https://shop.test/"}"#).expect("the smallest task");
        task.schedule = Schedule { every: Some(TimeSpan::seconds(3_600)), ..Schedule::default() };
        TaskFolder {
            name: TaskName::new("hotels").expect("a name"),
            dir: PathBuf::new(),
            task,
            script: Script::default(),
            template: None,
            notes: Vec::new(),
        }
    }

    fn scheduler() -> (Scheduler, Instant) {
        let start = Instant::now();
        (Scheduler::new(at(0), start), start)
    }

    /// The due times that are new for the store, in minutes.
    fn unsaved(schedule: &mut Scheduler) -> Vec<Option<i64>> {
        let minutes = |due: DateTime<Utc>| (due - at(0)).num_minutes();
        schedule.take_unsaved_due_times().into_iter().map(|(_, due)| due.map(minutes)).collect()
    }

    /// The runs that start now: why, and for which slot.
    fn started(schedule: &mut Scheduler) -> Vec<(Trigger, Option<i64>)> {
        let minutes = |slot: ScheduleSlot| (slot.0 - at(0)).num_minutes();
        std::iter::from_fn(|| schedule.start_next(9, 1)).map(|run| (run.trigger, run.slot.map(minutes))).collect()
    }

    #[test]
    fn a_slot_stays_due_in_the_store_until_its_run_has_begun() {
        let ((mut schedule, _), folder) = (scheduler(), hourly());
        schedule.queue_first_run(&folder, at(0));
        assert_eq!(unsaved(&mut schedule), [Some(60)]);
        assert_eq!(started(&mut schedule), [(Trigger::Schedule, None)]);
        schedule.finish(&folder.name);
        for (name, slot) in schedule.take_due(at(61)) {
            assert_eq!(name, folder.name);
            schedule.queue_due_run(&folder, slot, false, at(61));
        }
        assert_eq!(unsaved(&mut schedule), [], "the next is stored when this one has begun");
        assert_eq!(started(&mut schedule), [(Trigger::Schedule, Some(60))]);
        assert_eq!(schedule.queue().planned(&folder.name).map(|due| due.slot.0), Some(at(120)));
    }

    #[test]
    fn a_run_that_is_skipped_costs_only_itself() {
        let ((mut schedule, _), folder) = (scheduler(), hourly());
        schedule.queue_due_run(&folder, ScheduleSlot(at(0)), true, at(0));
        assert_eq!((started(&mut schedule), unsaved(&mut schedule)), (vec![], vec![Some(60)]), "its login is on hold");
        schedule.queue_due_run(&folder, ScheduleSlot(at(60)), false, at(60));
        assert_eq!((started(&mut schedule).len(), unsaved(&mut schedule)), (1, vec![]));
        assert_eq!(folder.task.schedule.overlap, Overlap::Skip);
        schedule.queue_due_run(&folder, ScheduleSlot(at(120)), false, at(120));
        schedule.finish(&folder.name);
        assert_eq!((started(&mut schedule), unsaved(&mut schedule)), (vec![], vec![Some(180)]), "the last still went");
    }

    #[test]
    fn a_missed_run_is_made_up_once_unless_it_is_too_old_or_its_login_is_on_hold() {
        // The stored due time and the time of the start, in minutes.
        for (promised, now, is_login_held, run, next) in [
            (0, 130, false, Some(120), None),
            (0, 0, false, Some(0), None),
            (0, 130, true, None, Some(180)),
            (30, 0, false, None, Some(30)),
            (90, 0, false, None, Some(60)),
        ] {
            let ((mut schedule, _), folder) = (scheduler(), hourly());
            assert_eq!(Scheduler::is_missed(Some(at(promised)), at(now)), promised <= now);
            schedule.resume(&folder, Some(at(promised)), is_login_held, at(now));
            let due = (started(&mut schedule), unsaved(&mut schedule));
            let run: Vec<_> = run.map(|slot| (Trigger::CatchUp, Some(slot))).into_iter().collect();
            let next: Vec<_> = next.map(Some).into_iter().collect();
            assert_eq!(due, (run, next), "due at {promised}, started at {now}, held: {is_login_held}");
        }
        let ((mut schedule, _), mut folder) = (scheduler(), hourly());
        folder.task.schedule.catch_up = TimeSpan::seconds(60);
        schedule.resume(&folder, Some(at(0)), false, at(50));
        assert_eq!((started(&mut schedule), unsaved(&mut schedule)), (vec![], vec![Some(60)]), "too old");
    }

    #[test]
    fn repeated_crashes_postpone_the_schedule_and_a_good_run_brings_it_back() {
        let ((mut schedule, _), folder) = (scheduler(), hourly());
        schedule.resume(&folder, Some(at(60)), false, at(0));
        assert_eq!(unsaved(&mut schedule), [Some(60)]);
        schedule.postpone_after_run(&folder, Some(at(240)), at(10));
        assert_eq!(unsaved(&mut schedule), [Some(240)], "the first slot that is not before the end of the backoff");
        schedule.postpone_after_run(&folder, Some(at(240)), at(20));
        assert_eq!(unsaved(&mut schedule), [], "nothing has changed");
        schedule.resume(&folder, Some(at(0)), false, at(30));
        assert_eq!(started(&mut schedule), [], "a missed run is not made up during the backoff");
        assert_eq!(unsaved(&mut schedule), [Some(240)]);
        schedule.postpone_after_run(&folder, None, at(30));
        assert_eq!(unsaved(&mut schedule), [Some(60)], "a person has run it with success");
    }

    #[test]
    fn a_paused_task_starts_nothing_and_a_forgotten_one_leaves_its_stored_due_time() {
        let ((mut schedule, _), folder) = (scheduler(), hourly());
        schedule.resume(&folder, Some(at(60)), false, at(0));
        schedule.queue_requested(folder.name.clone());
        schedule.take_unsaved_due_times();
        schedule.suspend(folder.name.clone());
        assert_eq!((started(&mut schedule), unsaved(&mut schedule)), (vec![], vec![None]));
        assert_eq!(schedule.take_due(at(999)), []);
        schedule.queue_relabelled_run(&folder, at(0));
        schedule.take_unsaved_due_times();
        schedule.forget(&folder.name);
        assert_eq!((started(&mut schedule), unsaved(&mut schedule)), (vec![], vec![]));
    }

    #[test]
    fn after_the_clock_was_set_back_slots_that_come_again_still_run() {
        let ((mut schedule, start), folder) = (scheduler(), hourly());
        assert!(!schedule.notice_jump(at(5), start + Duration::from_secs(5 * 60)));
        assert!(schedule.notice_jump(at(-175), start + Duration::from_secs(5 * 60)));
        schedule.queue_due_run(&folder, ScheduleSlot(at(-120)), false, at(-120));
        assert_eq!(started(&mut schedule), [(Trigger::Schedule, None)], "this slot had its run before");
        schedule.finish(&folder.name);
        schedule.queue_due_run(&folder, ScheduleSlot(at(60)), false, at(60));
        assert_eq!(started(&mut schedule), [(Trigger::Schedule, Some(60))]);
        schedule.finish(&folder.name);
        schedule.note_last_slot(Some(at(180)), at(70));
        schedule.queue_due_run(&folder, ScheduleSlot(at(120)), false, at(120));
        assert_eq!(started(&mut schedule), [(Trigger::Schedule, None)], "the last daemon's clock was ahead");
    }
}
