//! Detects runs that should have ended long ago. The check is made by whoever shows a task's state, against the clock:
//! a daemon that hangs or was killed ends none of its runs.

use std::path::Path;

use chrono::{DateTime, TimeDelta, Utc};

use crate::model::task::Limits;
use crate::store::TaskRow;
use crate::tasks;

/// What may still follow after a run's time limit: it is killed, the list is repaired after a redesign (a minute at
/// most), and its rows are published (half a million take seconds) after those of other runs.
const END_GRACE: TimeDelta = TimeDelta::minutes(5);

/// By when the task's run under way must have ended; `None` if there is no run.
pub fn must_end_by(tasks: &Path, row: &TaskRow) -> Option<DateTime<Utc>> {
    let since = row.running_since?;
    // The limit of a missing or broken folder is not known.
    let limits = tasks::read_task(&tasks.join(row.name.as_str())).map_or_else(|_| Limits::default(), |it| it.limits);
    Some(since + TimeDelta::from_std(limits.timeout.0).unwrap_or(TimeDelta::MAX / 2) + END_GRACE)
}
