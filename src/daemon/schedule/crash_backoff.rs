//! Crash backoff: the schedule of a task that crashes repeatedly is slowed down exponentially (docs/design/safety.md
//! 2.19).
//!
//! The backoff is not stored. It is derived from the runs in the store and from the folder, so it is the same after a
//! restart. A manual run, an edit of the folder, a new template or a good run ends it.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};

use crate::due::{self, Due};
use crate::model::task::Schedule;
use crate::model::{Failure, Outcome, RunId, TaskName, Verdict};
use crate::store::{RunRow, Store, StoreError, TaskRow, Trigger};
use crate::tasks;
use crate::tasks::TaskFolder;

use crate::daemon::store_handle::StoreHandle;

/// Consecutive crashes after which the backoff starts.
const CRASHES_BEFORE_BACKOFF: usize = 3;
/// The longest pause: the task is tried at least once a day.
const MAX_BACKOFF: TimeDelta = TimeDelta::hours(24);
/// Past runs that are read: from the shortest period, 10 s, it takes 16 crashes to reach a day.
const MAX_PAST_RUNS: u32 = 32;
/// From 10 s to a day it takes 14.
const MAX_DOUBLINGS: u32 = 16;

/// Until when the schedule skips a task with these runs, newest first. Two periods after three crashes, four after
/// four, and so on.
pub fn backoff_until(runs: &[RunRow], schedule: &Schedule, changed_at: Option<DateTime<Utc>>) -> Option<DateTime<Utc>> {
    let in_a_row = || {
        // A run that was interrupted with its daemon says nothing about the task.
        let own = runs.iter().filter(|run| !run.end.as_ref().is_some_and(|(_, verdict)| verdict.is_interrupted()));
        own.take_while(|run| is_scheduled_crash(run) && changed_at.is_none_or(|at| at < run.start.started_at))
    };
    let last = in_a_row().next()?;
    let doublings =
        u32::try_from((in_a_row().count() + 1).checked_sub(CRASHES_BEFORE_BACKOFF)?).unwrap_or(MAX_PAST_RUNS);
    let from = last.start.slot.unwrap_or(last.start.started_at);
    let period = due::period(schedule, from)?;
    // Never less than the schedule itself asks for.
    let pause = period.checked_mul(1 << doublings.min(MAX_DOUBLINGS)).unwrap_or(MAX_BACKOFF).min(MAX_BACKOFF);
    (doublings > 0 && pause > period).then(|| from + pause)
}

/// A crash of a scheduled run. Runs that a person asked for do not count.
fn is_scheduled_crash(run: &RunRow) -> bool {
    let by_the_clock = matches!(run.start.trigger, Trigger::Schedule | Trigger::CatchUp);
    by_the_clock && run.end.as_ref().is_some_and(|(_, verdict)| is_crash_verdict(verdict))
}

fn is_crash_verdict(verdict: &Verdict) -> bool {
    matches!(verdict.outcome, Outcome::Failed(Failure::Crash | Failure::Memory))
}

/// The backoff from the stored runs, and the run that is about to end, if there is one.
fn load_backoff(
    store: &Store,
    folder: &TaskFolder,
    ending: Option<RunRow>,
) -> Result<Option<DateTime<Utc>>, StoreError> {
    let past = store.past_runs(&folder.name, MAX_PAST_RUNS)?;
    let runs: Vec<RunRow> = ending.into_iter().chain(past).collect();
    Ok(backoff_until(&runs, &folder.task.schedule, tasks::changed_at(&folder.dir).map(DateTime::from)))
}

/// Computes the backoff before a run ends, and adds it to the sentence of the verdict.
pub(in crate::daemon) fn apply_to_verdict(
    store: &Store,
    folder: &TaskFolder,
    run: RunId,
    verdict: &mut Verdict,
    now: DateTime<Utc>,
) -> Result<Option<DateTime<Utc>>, StoreError> {
    if !is_crash_verdict(verdict) || verdict.is_interrupted() {
        return Ok(None);
    }
    let ending = store.run(run)?.map(|row| RunRow { end: Some((now, verdict.clone())), ..row });
    let until = load_backoff(store, folder, ending)?;
    if let Some(until) = until {
        let (until, name) = (until.format("%Y-%m-%d %H:%M:%S UTC"), &folder.name);
        verdict.sentence = format!(
            "{}; repeated crashes: not scheduled again before {until}; `pieme run {name}` tries at once",
            verdict.sentence
        );
    }
    Ok(until)
}

/// A task's backoff after a start or an edit. The status row spares most tasks a read of their runs.
pub(in crate::daemon) async fn load(
    store: &StoreHandle,
    folder: &TaskFolder,
    known: Option<&TaskRow>,
) -> Result<Option<DateTime<Utc>>, StoreError> {
    let worth_a_look = known.is_some_and(|row| {
        row.fails_in_a_row as usize >= CRASHES_BEFORE_BACKOFF
            && row.last_run.as_ref().is_some_and(|run| is_crash_verdict(&run.verdict))
    });
    if !worth_a_look {
        return Ok(None);
    }
    let folder = folder.clone();
    store.call(move |store| load_backoff(store, &folder, None)).await
}

/// The tasks in crash backoff, and until when the schedule skips them.
#[derive(Debug, Default)]
pub struct CrashBackoff(BTreeMap<TaskName, DateTime<Utc>>);

impl CrashBackoff {
    /// Returns whether this is a change.
    pub fn set(&mut self, name: &TaskName, until: Option<DateTime<Utc>>) -> bool {
        let before = match until {
            Some(until) => self.0.insert(name.clone(), until),
            None => self.0.remove(name),
        };
        before != until
    }

    pub fn until(&self, name: &TaskName) -> Option<DateTime<Utc>> {
        self.0.get(name).copied()
    }

    /// The due time, or the first one after the backoff.
    pub fn postpone(&self, folder: &TaskFolder, due: Due) -> Due {
        let Some(until) = self.until(&folder.name).filter(|until| due.slot.0 < *until) else { return due };
        let just_before = until - TimeDelta::milliseconds(1);
        due::missed(&folder.task.schedule, due.slot, just_before, &folder.name).map_or(due, |missed| missed.next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::TimeSpan;
    use crate::store::RunStart;

    const HOUR: i64 = 3_600;

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000 + seconds, 0).expect("a time of this century")
    }

    fn run(seconds: i64, trigger: Trigger, verdict: Verdict) -> RunRow {
        let task = TaskName::new("poison").expect("a name");
        let start =
            RunStart { run: RunId::new(), task, slot: Some(at(seconds)), trigger, started_at: at(seconds), pid: None };
        RunRow { start, boot: None, end: Some((at(seconds + 1), verdict)) }
    }

    fn crashes(hours: std::ops::Range<i64>) -> Vec<RunRow> {
        let crash = || Verdict::failed(Failure::Crash, "killed by signal 9");
        hours.rev().map(|hour| run(hour * HOUR, Trigger::Schedule, crash())).collect()
    }

    fn hours_off(runs: &[RunRow], changed_at: Option<DateTime<Utc>>) -> Option<i64> {
        let hourly = Schedule { every: Some(TimeSpan::seconds(3_600)), ..Schedule::default() };
        let last = runs.first()?.start.started_at;
        backoff_until(runs, &hourly, changed_at).map(|until| (until - last).num_hours())
    }

    #[test]
    fn the_pause_doubles_from_the_third_crash_and_ends_at_a_day() {
        let pauses: Vec<Option<i64>> = (1..10).map(|count| hours_off(&crashes(0..count), None)).collect();
        assert_eq!(pauses, [None, None, Some(2), Some(4), Some(8), Some(16), Some(24), Some(24), Some(24)]);
        assert_eq!(hours_off(&crashes(0..40), None), Some(24));
    }

    #[test]
    fn memory_counts_as_a_crash_and_a_time_out_does_not() {
        let mut runs = crashes(0..3);
        runs[1].end = Some((at(HOUR), Verdict::failed(Failure::Memory, "too much")));
        assert_eq!(hours_off(&runs, None), Some(2));
        runs[1].end = Some((at(HOUR), Verdict::failed(Failure::Timeout, "too long")));
        assert_eq!(hours_off(&runs, None), None);
    }

    #[test]
    fn a_person_or_an_edit_ends_it_and_a_killed_daemon_does_not_count() {
        let mut runs = crashes(0..4);
        assert_eq!(hours_off(&runs, Some(at(-1))), Some(4));
        assert_eq!(hours_off(&runs, Some(at(2 * HOUR + 1))), None, "edited after the third");
        runs[1].end = Some((at(HOUR), Verdict::interrupted()));
        assert_eq!(hours_off(&runs, None), Some(2), "three of its own");
        runs[0].start.trigger = Trigger::Person;
        assert_eq!(hours_off(&runs, None), None, "somebody is looking after it");
    }

    #[test]
    fn a_weekly_task_is_not_put_off_to_an_earlier_day() {
        let weekly = Schedule { every: Some(TimeSpan::seconds(7 * 86_400)), ..Schedule::default() };
        assert_eq!(backoff_until(&crashes(0..5), &weekly, None), None);
    }

    #[test]
    fn only_a_new_end_of_the_backoff_is_a_change() {
        let (mut backoff, name) = (CrashBackoff::default(), TaskName::new("poison").expect("a name"));
        assert!(!backoff.set(&name, None), "there was none");
        assert!(backoff.set(&name, Some(at(HOUR))));
        assert!(!backoff.set(&name, Some(at(HOUR))));
        assert!(backoff.set(&name, Some(at(2 * HOUR))));
        assert_eq!(backoff.until(&name), Some(at(2 * HOUR)));
        assert!(backoff.set(&name, None));
        assert_eq!(backoff.until(&name), None);
    }
}
