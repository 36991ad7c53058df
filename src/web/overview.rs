//! How every task stands, read once for all who look. What the clock alone changes is judged for each of them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};

use crate::daemon::door::Door;
use crate::daemon::progress::Progress;
use crate::model::{State, TaskName};
use crate::show::Line;
use crate::show::lines::{self, Known};

use super::reader::Reader;
use super::trouble::Trouble;

/// While runs write, ten thousand tasks are not read more often than that.
const FRESH: Duration = Duration::from_millis(500);
/// Where reading takes longer than this, nobody waits for it who can be shown what was read a moment ago: news follow.
const LONG: Duration = Duration::from_millis(50);
const MOMENT: Duration = Duration::from_secs(10);

#[derive(Clone)]
pub struct Overview {
    reader: Reader,
    door: Door,
    seen: Arc<Mutex<Option<Seen>>>,
    /// Held by who reads: the others take what it has read.
    reading: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Clone)]
struct Seen {
    lines: Arc<Vec<Line>>,
    at: Instant,
    took: Duration,
    /// How many jobs the store's thread had done before.
    change: u64,
}

impl Overview {
    pub fn new(reader: Reader, door: Door) -> Overview {
        Overview { reader, door, seen: Arc::default(), reading: Arc::default() }
    }

    pub fn door(&self) -> &Door {
        &self.door
    }

    /// All tasks, by name; where there are many, they may be some seconds old.
    pub async fn lines(&self) -> Result<Arc<Vec<Line>>, Trouble> {
        let seen = self.seen().clone();
        match seen {
            Some(seen) if seen.took > LONG && seen.at.elapsed() < MOMENT => {
                if !self.is_fresh(&seen) {
                    let overview = self.clone();
                    tokio::spawn(async move { overview.fresh().await });
                }
                Ok(seen.lines)
            }
            _ => self.fresh().await,
        }
    }

    /// The same, half a second old at most.
    pub async fn fresh(&self) -> Result<Arc<Vec<Line>>, Trouble> {
        let _reading = self.reading.lock().await;
        let seen = self.seen().clone();
        if let Some(seen) = seen.filter(|seen| self.is_fresh(seen)) {
            return Ok(seen.lines);
        }
        let (at, change, now) = (Instant::now(), *self.door.changes().borrow(), Utc::now());
        let read = self.reader.work(move |store, config| {
            let rows = store.tasks()?.into_iter().filter(|row| !row.removed);
            let mut lines: Vec<Line> = rows.map(|row| lines::line(Known::of(config, row), true, now)).collect();
            lines::hold_refused(config, &mut lines);
            Ok(lines)
        });
        let lines = Arc::new(read.await?);
        *self.seen() = Some(Seen { lines: Arc::clone(&lines), at, took: at.elapsed(), change });
        Ok(lines)
    }

    fn is_fresh(&self, seen: &Seen) -> bool {
        seen.change == *self.door.changes().borrow() || seen.at.elapsed() < FRESH.max(seen.took)
    }

    fn seen(&self) -> MutexGuard<'_, Option<Seen>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something was done just now: whoever looks next sees it.
    pub fn forget(&self) {
        *self.seen() = None;
    }

    /// One task as it stands now.
    pub async fn line(&self, name: &TaskName) -> Result<Line, Trouble> {
        let lines = self.lines().await?;
        let found = lines.binary_search_by(|line| line.task.cmp(name)).ok().map(|at| &lines[at]);
        let found = found.or_else(|| lines.iter().find(|line| line.task == *name));
        let mut line = found.ok_or_else(|| Trouble::NoTask(name.to_string()))?.at(Utc::now());
        line.progress = self.going().remove(name);
        Ok(line)
    }

    /// The runs under way.
    pub fn going(&self) -> BTreeMap<TaskName, Progress> {
        let all = self.door.runner.board.all();
        all.into_iter().map(|run| (run.task.clone(), run)).collect()
    }
}

/// Worst first, those alone that are wanted.
pub fn worst_first(lines: &[Line], now: DateTime<Utc>, wanted: impl Fn(&Line, State) -> bool) -> Vec<(State, &Line)> {
    let judged = lines.iter().map(|line| (line.state_at(now), line));
    let mut found: Vec<(State, &Line)> = judged.filter(|(state, line)| wanted(line, *state)).collect();
    found.sort_by(|(a, one), (b, other)| (a, &one.task).cmp(&(b, &other.task)));
    found
}
