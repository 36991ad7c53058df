//! Rows published by the test itself and read by the real program: no site, no daemon.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use chrono::{DateTime, TimeDelta, Utc};
use pieme::model::{Failure, Outcome, Publication, Row, RunId, TaskName, ValueColumn, Verdict};
use pieme::store::{RunStart, Store, Trigger};
use tempfile::TempDir;

use super::postgres::Schema;
use super::stage::Said;

pub struct Kept {
    pub folder: TempDir,
    pub store: Store,
    /// The database, if it is not an SQLite file.
    _schema: Option<Schema>,
    minutes: i64,
}

/// The table that a run found; a cell without text is empty.
pub struct Found<'f> {
    pub columns: &'f [&'f str],
    pub values: &'f [ValueColumn],
    pub key: &'f [&'f str],
    pub rows: Vec<Vec<String>>,
}

impl Kept {
    pub fn new() -> Kept {
        let folder = tempfile::tempdir().expect("a scratch folder");
        std::fs::write(folder.path().join("config.toml"), "").expect("a configuration");
        std::fs::create_dir(folder.path().join("tasks")).expect("a folder for tasks");
        let store = Store::open(&folder.path().join("state/pieme.db")).expect("a new database");
        Kept { folder, store, _schema: None, minutes: 0 }
    }

    /// The same with the rows in PostgreSQL.
    pub fn on_postgres() -> Kept {
        let schema = super::postgres::shared().schema();
        let kept = Kept::new();
        std::fs::write(kept.path("config.toml"), format!("store = \"{}\"\n", schema.url())).expect("a configuration");
        let store = Store::open(schema.address()).expect("a new database");
        Kept { store, _schema: Some(schema), ..kept }
    }

    pub fn path(&self, inside: &str) -> PathBuf {
        self.folder.path().join(inside)
    }

    /// A clock that advances by a minute at each call.
    pub fn now(&mut self) -> DateTime<Utc> {
        self.minutes += 1;
        DateTime::<Utc>::UNIX_EPOCH + TimeDelta::days(20_000) + TimeDelta::minutes(self.minutes)
    }

    /// A whole run, published.
    pub fn publish(&mut self, task: &str, found: &Found<'_>) -> RunId {
        let (run, task) = (RunId::new(), name(task));
        let started_at = self.now();
        let start = RunStart { run, task: task.clone(), slot: None, trigger: Trigger::Person, started_at, pid: None };
        self.store.begin_run(&start).expect("a run");
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let cell = |text: &String| (!text.is_empty()).then(|| text.clone());
        let row = |cells: &Vec<String>| Row { cells: cells.iter().map(cell).collect(), page: 0 };
        let rows: Vec<Row> = found.rows.iter().map(row).collect();
        let (columns, key, now) = (owned(found.columns), owned(found.key), self.now());
        self.store.stage_values(run, &task, (&columns, found.values), &key, &rows, now).expect("rows");
        let outcome = Outcome::Published(Publication::Changed);
        let verdict = Verdict { outcome, rows: rows.len() as u64, ..Verdict::failed(Failure::Internal, "found") };
        let now = self.now();
        assert_eq!(self.store.end_run(run, &verdict, now).expect("an end").outcome, outcome);
        run
    }

    /// Texts without types.
    pub fn publish_texts(&mut self, task: &str, columns: &[&str], rows: &[&[&str]]) -> RunId {
        let key = &columns[..1];
        self.publish(task, &Found { columns, values: &[], key, rows: texts(rows) })
    }

    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pieme"));
        command.arg("--config").arg(self.path("config.toml")).args(words).stdin(Stdio::null());
        command.current_dir(self.folder.path());
        command
    }

    pub fn pieme(&self, words: &[&str]) -> Said {
        self.command(words).output().expect("pieme starts").into()
    }
}

pub fn name(text: &str) -> TaskName {
    TaskName::new(text).expect("a good name")
}

pub fn texts(rows: &[&[&str]]) -> Vec<Vec<String>> {
    rows.iter().map(|row| row.iter().map(|&cell| cell.to_owned()).collect()).collect()
}
