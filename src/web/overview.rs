//! Cache of the status of all tasks, shared by all pages. What depends on the time alone is computed for each reader.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};

use crate::daemon::http::handle::DaemonHandle;
use crate::daemon::runs::progress::Progress;
use crate::model::{State, TaskName};
use crate::show::StatusLine;
use crate::show::task_status;
use crate::show::task_status::TaskFacts;

use super::error::WebError;
use super::read_pool::ReadPool;

/// While runs write, the tasks (there may be 10,000) are not read again within this time.
const MAX_FRESH_AGE: Duration = Duration::from_millis(500);
/// Without a write of this daemon the status is read again after this time all the same: other daemons write too, and
/// a hold on logins ends with a file.
const MAX_UNCHANGED_AGE: Duration = Duration::from_secs(1);
/// If reading takes longer than this, pages get the cached status at once and an event when it is renewed.
const SLOW_READ: Duration = Duration::from_millis(50);
const MAX_STALE_AGE: Duration = Duration::from_secs(10);

#[derive(Clone)]
pub(super) struct Overview {
    reader: ReadPool,
    pub daemon: DaemonHandle,
    cache: Arc<Mutex<Option<CachedLines>>>,
    /// Held while the store is read; others wait and use the result.
    reading: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Clone)]
struct CachedLines {
    lines: Arc<Vec<StatusLine>>,
    at: Instant,
    took: Duration,
    /// The store's change counter before the read.
    change: u64,
}

impl Overview {
    pub fn new(reader: ReadPool, door: DaemonHandle) -> Overview {
        Overview { reader, daemon: door, cache: Arc::default(), reading: Arc::default() }
    }

    /// All tasks by name. If reading is slow, the result may be up to 10 s old.
    pub async fn lines(&self) -> Result<Arc<Vec<StatusLine>>, WebError> {
        let seen = self.cache().clone();
        match seen {
            Some(seen) if seen.took > SLOW_READ && seen.at.elapsed() < MAX_STALE_AGE => {
                if !self.is_fresh(&seen) {
                    let overview = self.clone();
                    tokio::spawn(async move { overview.fresh().await });
                }
                Ok(seen.lines)
            }
            _ => self.fresh().await,
        }
    }

    /// All tasks by name, at most half a second old, or as old as the last read took.
    pub async fn fresh(&self) -> Result<Arc<Vec<StatusLine>>, WebError> {
        let _reading = self.reading.lock().await;
        let seen = self.cache().clone();
        if let Some(seen) = seen.filter(|seen| self.is_fresh(seen)) {
            return Ok(seen.lines);
        }
        let (at, change, now) = (Instant::now(), *self.daemon.store_changes().borrow(), Utc::now());
        let read = self.reader.work(move |store, config| {
            let rows = store.tasks()?.into_iter().filter(|row| !row.removed);
            let mut lines: Vec<StatusLine> =
                rows.map(|row| task_status::status_line(TaskFacts::of(config, row), true, now)).collect();
            task_status::mark_login_holds(config, &mut lines);
            Ok(lines)
        });
        let lines = Arc::new(read.await?);
        *self.cache() = Some(CachedLines { lines: Arc::clone(&lines), at, took: at.elapsed(), change });
        Ok(lines)
    }

    fn is_fresh(&self, seen: &CachedLines) -> bool {
        let max_age = match seen.change == *self.daemon.store_changes().borrow() {
            true => MAX_UNCHANGED_AGE,
            false => MAX_FRESH_AGE,
        };
        seen.at.elapsed() < max_age.max(seen.took)
    }

    fn cache(&self) -> MutexGuard<'_, Option<CachedLines>> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops the cache, so that the next reader sees the effect of an action.
    pub fn invalidate(&self) {
        *self.cache() = None;
    }

    /// The status of one task now.
    pub async fn line(&self, name: &TaskName) -> Result<StatusLine, WebError> {
        let lines = self.lines().await?;
        let found = lines.binary_search_by(|line| line.task.cmp(name)).ok().map(|at| &lines[at]);
        let found = found.or_else(|| lines.iter().find(|line| line.task == *name));
        let mut line = found.ok_or_else(|| WebError::NoTask(name.to_string()))?.at(Utc::now());
        line.progress = self.progress().remove(name);
        Ok(line)
    }

    /// The progress of the runs that are in progress.
    pub fn progress(&self) -> BTreeMap<TaskName, Progress> {
        let all = self.daemon.runner.board.all();
        all.into_iter().map(|run| (run.task.clone(), run)).collect()
    }
}

/// The tasks that `wanted` selects, worst state first.
pub(super) fn worst_first(
    lines: &[StatusLine],
    now: DateTime<Utc>,
    wanted: impl Fn(&StatusLine, State) -> bool,
) -> Vec<(State, &StatusLine)> {
    let judged = lines.iter().map(|line| (line.state_at(now), line));
    let mut found: Vec<(State, &StatusLine)> = judged.filter(|(state, line)| wanted(line, *state)).collect();
    found.sort_by(|(a, one), (b, other)| (a, &one.task).cmp(&(b, &other.task)));
    found
}
