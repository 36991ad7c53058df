//! Setting the clock does no harm: at most one run is made up, and no task stops running.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use chrono::{DateTime, SubsecRound, TimeDelta, Utc};
use pieme::due::{self, ScheduleSlot};
use pieme::model::task::Schedule;
use pieme::model::{TaskName, TimeSpan};

use super::slots::lay_out;
use super::{report, times};
use crate::stage::Stage;

const TASK: &str = "steady";
const BY_CRON: &str = "by-cron";
/// After a jump a run begins within this time.
const SILENCE: Duration = Duration::from_secs(10 + 60);
const SILENCE_OF_CRON: Duration = Duration::from_secs(60 + 60);

/// How far the clock is set, and its name.
const JUMPS: [(&str, i64); 6] = [
    ("-1 h", -3_600),
    ("+1 d", 86_400),
    ("+1 h", 3_600),
    ("-1 d", -86_400),
    ("2038", 365 * 86_400 * 12),
    ("1970 and back", -365 * 86_400 * 56),
];

#[test]
fn promise_11_a_clock_that_is_set_does_no_harm() {
    let (tries, mut violations, control) = on_paper();
    let jumps = &JUMPS[..times(1, JUMPS.len())];
    // Where libfaketime is not installed the pure parts are checked alone; tests/all.sh installs it.
    let on_the_daemon =
        libfaketime().map(|library| jumps.iter().map(|jump| set_the_clock(&library, jump)).sum::<usize>());
    violations += on_the_daemon.unwrap_or(0);
    let where_else =
        if on_the_daemon.is_some() { format!(", {} jumps of a daemon's clock", jumps.len()) } else { String::new() };
    let counted = format!(
        "{tries} jumps on paper{where_else}: more than one run made up, silence of more than a period and 60 s"
    );
    report(11, &counted, violations, control);
}

/// The plan right after each jump, at many moments of the period. The control keeps the old plan.
fn on_paper() -> (usize, usize, usize) {
    let name = TaskName::new(TASK).expect("a name");
    let hourly = Schedule { every: Some(TimeSpan::seconds(3_600)), ..Schedule::default() };
    let daily = Schedule { cron: Some("30 1 * * *".to_owned()), ..Schedule::default() };
    let (mut tries, mut silent, mut control) = (0, 0, 0);
    for (schedule, period) in [(&hourly, TimeDelta::hours(1)), (&daily, TimeDelta::days(1))] {
        for minute in 0..60 {
            let before = DateTime::from_timestamp(1_800_000_000 + minute * 60, 0).expect("a time of this century");
            let planned = due::next_due(schedule, before, &name).expect("a slot").slot;
            for (_, seconds) in JUMPS {
                let now = before + TimeDelta::seconds(seconds);
                let missed = due::missed(schedule, planned, now, &name).expect("a plan");
                let is_late = |next: ScheduleSlot| next.0 - now > period + TimeDelta::seconds(60);
                tries += 1;
                silent += usize::from(is_late(missed.next.slot) || missed.next.slot.0 <= now);
                control += usize::from(is_late(planned));
            }
        }
    }
    (tries, silent, control)
}

/// The real daemon under a clock that jumps once.
fn set_the_clock(library: &Path, (name, seconds): &(&str, i64)) -> usize {
    let mut stage = Stage::new();
    lay_out(&stage, TASK, "/bad/404", "every = \"10s\"", Utc::now().trunc_subsecs(3));
    lay_out(&stage, BY_CRON, "/bad/404", "cron = \"* * * * *\"", Utc::now() + TimeDelta::minutes(1));
    stage.write("clock", "+0");
    let (library, clock) = (library.display().to_string(), stage.path("clock").display().to_string());
    stage.start_daemon_with(&[
        ("LD_PRELOAD", &library),
        ("FAKETIME_TIMESTAMP_FILE", &clock),
        ("FAKETIME_NO_CACHE", "1"),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
    ]);
    let noticed = || stage.read("log").contains("the system clock jumped");
    stage.wait_for("a first run", || runs(&stage, TASK) > 0);
    // Cron's shortest period is a minute: the long form has the time to wait for one that comes a second time.
    let by_cron = times(0, 1) > 0 && *seconds == -3_600;
    if by_cron {
        stage.wait_long_for("a first run by cron", SILENCE_OF_CRON, || runs(&stage, BY_CRON) > 0);
    }
    stage.write("clock", &format!("{seconds:+}"));
    if name.contains("back") {
        stage.wait_for("the jump to be noticed", noticed);
        stage.write("clock", "+0");
    }
    let (before, before_by_cron, jumped) = (runs(&stage, TASK), runs(&stage, BY_CRON), Instant::now());
    stage.wait_for("the jump to be noticed", noticed);
    stage.wait_long_for("a run after it", SILENCE * 2, || runs(&stage, TASK) > before);
    let mut violations = usize::from(jumped.elapsed() > SILENCE);
    if by_cron {
        stage.wait_long_for("a run by cron after it", SILENCE_OF_CRON * 2, || runs(&stage, BY_CRON) > before_by_cron);
        violations += usize::from(jumped.elapsed() > SILENCE_OF_CRON);
    }
    let made_up = stage.sql("SELECT count(*) FROM _runs WHERE trigger = 'catch-up' GROUP BY task");
    // One may come from the start itself.
    violations += made_up.lines().map(|count| count.parse::<usize>().unwrap_or(0).saturating_sub(2)).sum::<usize>();
    violations
}

fn runs(stage: &Stage, task: &str) -> usize {
    let sql = format!("SELECT count(*) FROM _runs WHERE task = '{task}' AND trigger != 'person'");
    stage.sql(&sql).parse().expect("a number")
}

fn libfaketime() -> Option<PathBuf> {
    let places = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib"];
    places.iter().map(|place| PathBuf::from(place).join("faketime/libfaketime.so.1")).find(|it| it.exists())
}
