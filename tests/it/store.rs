//! The database: what readers see, what survives, what is refused.

mod damage;
mod gc;
mod history;
mod publishing;
mod readers;
mod retention;
mod unchanged;
mod values;

use std::path::{Path, PathBuf};
use std::process::Command;

use chrono::{DateTime, TimeDelta, Utc};
use pieme::model::{Emptiness, Failure, Figures, Outcome, Publication, Quarantine, Row, RunId, TaskName, Verdict};
use pieme::store::{Begun, RunStart, Store, Trigger};
use tempfile::TempDir;

/// A database in a scratch folder, with a clock that goes on by a minute at each look.
struct Scene {
    folder: TempDir,
    store: Store,
    task: TaskName,
    minutes: i64,
}

impl Scene {
    fn new() -> Scene {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let store = Store::open(&folder.path().join("pieme.db")).expect("a new database");
        Scene { folder, store, task: name("halifax-hotels"), minutes: 0 }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("pieme.db")
    }

    fn now(&mut self) -> DateTime<Utc> {
        self.minutes += 1;
        minute(self.minutes)
    }

    fn begin(&mut self) -> RunId {
        let start = RunStart {
            run: RunId::new(),
            task: self.task.clone(),
            slot: None,
            trigger: Trigger::Schedule,
            started_at: self.now(),
            pid: Some(42),
        };
        assert_eq!(self.store.begin_run(&start).expect("a run"), Begun::Started);
        start.run
    }

    fn stage(&mut self, run: RunId, columns: &[&str], rows: &[&[&str]]) {
        let (task, now) = (self.task.clone(), self.now());
        let columns: Vec<String> = columns.iter().map(|&column| column.to_owned()).collect();
        let rows: Vec<Row> = rows.iter().map(|cells| row(cells)).collect();
        self.store.stage_rows(run, &task, &columns, &["name".to_owned()], &rows, now).expect("rows");
    }

    fn end(&mut self, run: RunId, outcome: Outcome, rows: u64) -> Verdict {
        let now = self.now();
        self.store.end_run(run, &verdict(outcome, rows), now).expect("an end")
    }

    /// A whole run that found these names and prices.
    fn go(&mut self, outcome: Outcome, rows: &[&[&str]]) -> RunId {
        let run = self.begin();
        self.stage(run, &["name", "price"], rows);
        self.end(run, outcome, rows.len() as u64);
        run
    }

    /// The published rows in short: `name=price` of each.
    fn shown(&self) -> Vec<String> {
        let reader = Store::open_reader(&self.path()).expect("a reader");
        let rows = reader.published(&self.task, 100, 0).expect("rows");
        rows.map(|rows| rows.table.rows).unwrap_or_default().iter().map(short).collect()
    }

    /// What the sqlite3 program answers, as anybody may ask.
    fn sqlite3(&self, sql: &str) -> String {
        sqlite3(&self.path(), sql)
    }

    /// All tables of rows that there are.
    fn row_tables(&self) -> Vec<String> {
        let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB '_rows_*' ORDER BY name";
        self.sqlite3(sql).lines().map(str::to_owned).collect()
    }
}

const CHANGED: Outcome = Outcome::Published(Publication::Changed);
const LAYOUT: Outcome = Outcome::Quarantined(Quarantine::Layout);

fn name(text: &str) -> TaskName {
    TaskName::new(text).expect("a good name")
}

fn minute(n: i64) -> DateTime<Utc> {
    DateTime::<Utc>::UNIX_EPOCH + TimeDelta::days(20_000) + TimeDelta::minutes(n)
}

/// A row of cells; `-` stands for an empty one.
fn row(cells: &[&str]) -> Row {
    Row { cells: cells.iter().map(|&cell| (cell != "-").then(|| cell.to_owned())).collect(), page: 0 }
}

fn short(row: &Row) -> String {
    row.cells.iter().map(|cell| cell.as_deref().unwrap_or("-")).collect::<Vec<_>>().join("=")
}

fn verdict(outcome: Outcome, rows: u64) -> Verdict {
    Verdict {
        outcome,
        sentence: "as the test says".to_owned(),
        similarity: Some(0.9),
        rows,
        pages: 1,
        provisional: false,
        figures: Figures::default(),
    }
}

fn sqlite3(path: &Path, sql: &str) -> String {
    let output = Command::new("sqlite3").arg(path).arg(sql).output().expect("the sqlite3 program is installed");
    assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text").trim_end().to_owned()
}

/// Every outcome that publishes nothing.
fn bad_outcomes() -> Vec<Outcome> {
    let quarantined = Quarantine::ALL.iter().map(|&cause| Outcome::Quarantined(cause));
    let empty = Emptiness::ALL.iter().map(|&cause| Outcome::Empty(cause));
    let failed = Failure::ALL.iter().map(|&cause| Outcome::Failed(cause));
    quarantined.chain(empty).chain(failed).collect()
}
