//! Tasks with known slots, under a daemon that is repeatedly killed or stopped.

use chrono::{DateTime, TimeDelta, Utc};
use pieme::model::{Failure, RunId, TaskName, Verdict};
use pieme::store::{RunStart, Store, Trigger};

use crate::stage::Stage;

/// The shortest period that a schedule allows.
pub const PERIOD: TimeDelta = TimeDelta::seconds(10);

/// A time without a daemon.
#[derive(Clone, Copy, Debug)]
pub struct Down {
    pub from: DateTime<Utc>,
    pub to: DateTime<Utc>,
}

/// Creates a task and records one good run of it, so that its next slot is at `first` and not when the daemon starts.
pub fn lay_out(stage: &Stage, task: &str, path: &str, schedule: &str, first: DateTime<Utc>) {
    stage.write_task(task, path, &format!("[schedule]\n{schedule}\n"));
    std::fs::create_dir_all(stage.path("state")).expect("a state folder");
    let mut store = Store::open(&stage.path("state/pieme.db")).expect("a store");
    let name = TaskName::new(task).expect("a name");
    let started_at = (first - PERIOD).min(Utc::now());
    let start =
        RunStart { run: RunId::new(), task: name.clone(), slot: None, trigger: Trigger::Person, started_at, pid: None };
    store.begin_run(&start).expect("begun");
    store.end_run(start.run, &Verdict::failed(Failure::Http, "before"), started_at).expect("ended");
    store.set_next_due(&name, Some(first)).expect("promised");
}

/// The slots that a task's runs were for, oldest first.
pub fn slots(stage: &Stage, task: &str) -> Vec<DateTime<Utc>> {
    let rows = stage.sql(&format!("SELECT slot FROM _runs WHERE task = '{task}' AND slot IS NOT NULL ORDER BY slot"));
    rows.lines().map(|slot| slot.parse().expect("an instant")).collect()
}

/// Counts the slots from `first` to `end` without a run or with several, and the runs that were not due. Of the slots
/// missed without a daemon only the newest is made up.
pub fn wrong(slots: &[DateTime<Utc>], first: DateTime<Utc>, end: DateTime<Utc>, downs: &[Down]) -> usize {
    let mut wrong = 0;
    let mut due = first;
    while due <= end {
        let runs = slots.iter().filter(|slot| **slot == due).count();
        let replaced = downs.iter().any(|down| down.from <= due && due + PERIOD <= down.to);
        wrong += match runs {
            0 => usize::from(!replaced),
            more => more - 1,
        };
        due += PERIOD;
    }
    let step = PERIOD.num_milliseconds();
    wrong + slots.iter().filter(|slot| (**slot - first).num_milliseconds().rem_euclid(step) != 0).count()
}
