//! The store through its public interface: what readers see, what survives a restart, and what is refused.

/// The same tests on each database: `sqlite::NAME` and `postgres::NAME`.
macro_rules! on_both {
    ($($name:ident)*) => {
        mod sqlite {
            $(#[test] fn $name() { super::$name(super::Kind::Sqlite) })*
        }
        mod postgres {
            $(#[test] fn $name() { super::$name(super::Kind::Postgres) })*
        }
    };
}

mod aside;
mod copy;
mod damage;
mod fleet;
mod gc;
mod history;
mod keys;
mod publishing;
mod readers;
mod retention;
mod server;
mod tls;
mod unchanged;
mod values;

use std::path::{Path, PathBuf};
use std::process::Command;

use chrono::{DateTime, TimeDelta, Utc};
use pieme::model::{
    Emptiness, Failure, Outcome, Publication, Quarantine, Row, RunId, RunStatistics, StoreAddress, TaskName, Verdict,
};
use pieme::store::{BeginOutcome, RunStart, Store, Trigger};
use tempfile::TempDir;

use crate::postgres::Schema;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Sqlite,
    Postgres,
}

/// Where a test's database is.
enum Home {
    Sqlite(TempDir),
    Postgres(Schema),
}

impl Home {
    fn new(kind: Kind) -> Home {
        match kind {
            Kind::Sqlite => Home::Sqlite(tempfile::tempdir().expect("a scratch folder")),
            Kind::Postgres => Home::Postgres(crate::postgres::shared().schema()),
        }
    }

    fn address(&self) -> StoreAddress {
        match self {
            Home::Sqlite(folder) => StoreAddress::Sqlite(folder.path().join("pieme.db")),
            Home::Postgres(schema) => schema.address(),
        }
    }
}

/// A database of its own, with a clock that advances by a minute at each look.
struct Scene {
    home: Home,
    store: Store,
    task: TaskName,
    minutes: i64,
}

impl Scene {
    fn on(kind: Kind) -> Scene {
        let home = Home::new(kind);
        let store = Store::open(home.address()).expect("a new database");
        Scene { home, store, task: name("halifax-hotels"), minutes: 0 }
    }

    /// Closes and reopens the writer; only the database survives.
    fn reopened(self) -> Scene {
        let Scene { home, store, task, minutes } = self;
        drop(store);
        let store = Store::open(home.address()).expect("the same database");
        Scene { home, store, task, minutes }
    }

    fn reader(&self) -> Store {
        Store::open_reader(self.home.address()).expect("a reader")
    }

    fn path(&self) -> PathBuf {
        match &self.home {
            Home::Sqlite(folder) => folder.path().join("pieme.db"),
            Home::Postgres(_) => panic!("a database on a server has no path"),
        }
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
        assert_eq!(self.store.begin_run(&start).expect("a run"), BeginOutcome::Started);
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

    /// A complete run that found these names and prices.
    fn go(&mut self, outcome: Outcome, rows: &[&[&str]]) -> RunId {
        let run = self.begin();
        self.stage(run, &["name", "price"], rows);
        self.end(run, outcome, rows.len() as u64);
        run
    }

    /// The published rows in short: `name=price` of each.
    fn shown(&self) -> Vec<String> {
        let rows = self.reader().published(&self.task, 100, 0).expect("rows");
        rows.map(|rows| rows.table.rows).unwrap_or_default().iter().map(short).collect()
    }

    /// The answer of the sqlite3 or psql program, as any user may ask it.
    fn ask(&self, sql: &str) -> String {
        match &self.home {
            Home::Sqlite(_) => sqlite3(&self.path(), sql),
            Home::Postgres(schema) => schema.psql(sql),
        }
    }

    /// The minute of an instant, in the database's own format.
    fn minute_of(&self, column: &str) -> String {
        match &self.home {
            Home::Sqlite(_) => format!("strftime('%M', {column})"),
            Home::Postgres(_) => format!("to_char({column}, 'MI')"),
        }
    }

    /// The generations whose rows exist.
    fn generations(&self) -> Vec<String> {
        let lines = |text: String| text.lines().map(str::to_owned).collect::<Vec<_>>();
        let tables = match &self.home {
            Home::Sqlite(_) => {
                return lines(
                    self.ask(
                        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB '_rows_*' ORDER BY name",
                    ),
                );
            }
            Home::Postgres(_) => {
                "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND tablename LIKE '\\_rows\\_%'"
            }
        };
        let of_table = |table: String| lines(self.ask(&format!("SELECT DISTINCT _generation FROM {table}")));
        lines(self.ask(tables)).into_iter().flat_map(of_table).collect()
    }

    /// The rows of the previous generation: `name|price` of each.
    fn previous(&self, column: &str) -> String {
        match &self.home {
            Home::Sqlite(_) => {
                let id = self.ask("SELECT id FROM _generation WHERE state = 'previous'");
                self.ask(&format!("SELECT name, {column} FROM _rows_{id}"))
            }
            Home::Postgres(_) => {
                let shape = self.ask("SELECT shape FROM _generation WHERE state = 'previous'");
                let of = "_generation = (SELECT id FROM _generation WHERE state = 'previous')";
                self.ask(&format!("SELECT c1, c2 FROM _rows_{shape} WHERE {of} ORDER BY _n"))
            }
        }
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
        statistics: RunStatistics::default(),
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
