//! How every task stands, read once for all who look. What the clock alone changes is judged for each of them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use tokio::sync::Mutex;

use crate::daemon::door::Door;
use crate::daemon::progress::Progress;
use crate::model::{State, TaskName};
use crate::show::Line;
use crate::show::lines::{self, Known};

use super::reader::Reader;
use super::trouble::Trouble;

/// While runs write, ten thousand tasks are not read more often than that.
const FRESH: Duration = Duration::from_millis(500);

#[derive(Clone)]
pub struct Overview {
    reader: Reader,
    door: Door,
    seen: Arc<Mutex<Option<Seen>>>,
}

struct Seen {
    lines: Arc<Vec<Line>>,
    at: Instant,
    /// How many jobs the store's thread had done before.
    change: u64,
}

impl Overview {
    pub fn new(reader: Reader, door: Door) -> Overview {
        Overview { reader, door, seen: Arc::default() }
    }

    pub fn door(&self) -> &Door {
        &self.door
    }

    /// All tasks as they were read last, by name; they may be half a second old.
    pub async fn lines(&self) -> Result<Arc<Vec<Line>>, Trouble> {
        let mut seen = self.seen.lock().await;
        let change = *self.door.changes().borrow();
        if let Some(seen) = seen.as_ref()
            && (seen.change == change || seen.at.elapsed() < FRESH)
        {
            return Ok(Arc::clone(&seen.lines));
        }
        let at = Instant::now();
        let now = Utc::now();
        let read = self.reader.work(move |store, config| {
            let known = |row| Known { is_disabled: lines::is_disabled(config, &row), row, tags: None };
            let rows = store.tasks()?.into_iter().filter(|row| !row.removed);
            Ok(rows.map(|row| lines::line(known(row), true, now)).collect::<Vec<Line>>())
        });
        let lines = Arc::new(read.await?);
        *seen = Some(Seen { lines: Arc::clone(&lines), at, change });
        Ok(lines)
    }

    /// Something was done just now: whoever looks next sees it.
    pub async fn forget(&self) {
        *self.seen.lock().await = None;
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
