//! Runs that should have ended long ago. Whoever shows how a task stands looks at the clock: a daemon that is stuck, or was
//! killed, ends none of its runs.

use std::path::Path;

use chrono::{DateTime, TimeDelta, Utc};

use crate::model::task::Limits;
use crate::store::TaskRow;
use crate::tasks;

/// What may still follow when a run's time is up: it is killed, its list is looked for after a redesign (a minute at most), its rows are
/// published (half a million take seconds) behind those of others.
const END_GRACE: TimeDelta = TimeDelta::minutes(5);

/// When the task's run under way has ended at the latest; none where there is none.
pub fn must_end_by(tasks: &Path, row: &TaskRow) -> Option<DateTime<Utc>> {
    let since = row.running_since?;
    // Of a folder that is gone or broken nobody knows the limit any more.
    let limits = tasks::read_task(&tasks.join(row.name.as_str())).map_or_else(|_| Limits::default(), |it| it.limits);
    Some(since + TimeDelta::from_std(limits.timeout.0).unwrap_or(TimeDelta::MAX / 2) + END_GRACE)
}
