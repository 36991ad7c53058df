//! A writer that a test can kill: a process that publishes one generation after another and reports each.
//!
//! Every row contains its generation's number, which determines the number of rows, so an incomplete set is detected.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use chrono::Utc;
use pieme::model::{Failure, Outcome, Publication, Row, RunId, TaskName, Verdict};
use pieme::store::{RunStart, Store, StoreError, Trigger};
use rusqlite::Connection;

use super::{Dice, again};

/// Small generations refill the tables that are there; for large ones the view moves to a new table.
pub const TASKS: [&str; 2] = ["small", "large"];

/// One generation in this many is large.
const LARGE_EVERY: u64 = 6;

const FOLDER: &str = "PIEME_PROMISE_FOLDER";
const COUNT: &str = "PIEME_PROMISE_COUNT";

/// How many rows generation `number` of a task has.
pub fn rows(task: &str, number: u64) -> u64 {
    // More than 5,000 are published by moving the view.
    (if task == "small" { 40 } else { 5_001 }) + number % 7
}

pub fn database(folder: &Path) -> PathBuf {
    folder.join("pieme.db")
}

/// An acknowledged publication.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ack {
    pub task: String,
    pub number: u64,
    /// `None` for a control, which records no runs.
    pub run: Option<RunId>,
}

impl Ack {
    fn parse(line: &str) -> Option<Ack> {
        let mut words = line.split(' ');
        let (task, number) = (words.next()?.to_owned(), words.next()?.parse().ok()?);
        // The last line of a killed writer may be cut: it counts only with its full stop.
        let run = words.next()?;
        (words.next() == Some(".")).then(|| Ack { task, number, run: run.parse().ok() })
    }

    pub fn parse_all(text: &str) -> Vec<Ack> {
        text.lines().filter_map(Ack::parse).collect()
    }

    pub fn read(folder: &Path) -> Vec<Ack> {
        Ack::parse_all(&fs::read_to_string(folder.join("acks")).unwrap_or_default())
    }
}

/// Starts the writer `role` out of the test `name`; it stops by itself after `count` generations.
pub fn start(name: &str, role: &str, folder: &Path, count: usize, environment: &[(&str, &str)]) -> Child {
    again(name, role)
        .env(FOLDER, folder)
        .env(COUNT, count.to_string())
        .envs(environment.iter().copied())
        .stdout(Stdio::null())
        .stderr(File::create(folder.join("stderr")).expect("a file for its last words"))
        .spawn()
        .expect("the writer starts")
}

/// The working folder of the started process.
pub fn folder() -> PathBuf {
    PathBuf::from(std::env::var_os(FOLDER).expect("the test names a folder"))
}

/// The process itself. `product` publishes as the daemon does; the others are the controls.
pub fn main(role: &str) {
    let folder = folder();
    let count: u64 = std::env::var(COUNT).ok().and_then(|it| it.parse().ok()).expect("the test says how many");
    let mut acks = OpenOptions::new().create(true).append(true).open(folder.join("acks")).expect("a file for the acks");
    let mut store = Store::open(&database(&folder)).expect("a sound database");
    store.end_interrupted_runs(Utc::now()).expect("what was cut short is recorded");
    let mut control = (role != "product").then(|| control(&folder, role));
    let looker = Connection::open(database(&folder)).expect("a reader");
    for _ in 0..count {
        // Continues where the previous writer was killed, so that a large generation is retried until it is done.
        let newest = TASKS.map(|task| look(&looker, task).map_or(0, |seen| seen.newest));
        let turn = usize::from(newest.iter().sum::<u64>() % LARGE_EVERY == LARGE_EVERY - 1);
        let (task, number) = (TASKS[turn], newest[turn] + 1);
        let run = match &mut control {
            None => publish(&mut store, task, number).to_string(),
            Some(connection) => {
                replace(connection, role, task, number).expect("the control writes");
                "-".to_owned()
            }
        };
        // In one write, so that a kill leaves a whole line or none.
        acks.write_all(format!("{task} {number} {run} .\n").as_bytes()).expect("the ack is written");
    }
}

/// A whole run that found generation `number`.
fn publish(store: &mut Store, task: &str, number: u64) -> RunId {
    let run = RunId::new();
    try_publish(store, task, number, run).expect("published");
    run
}

/// The same for a run that may fail.
pub fn try_publish(store: &mut Store, task: &str, number: u64, run: RunId) -> Result<(), StoreError> {
    let name = TaskName::new(task).expect("a good name");
    let start =
        RunStart { run, task: name.clone(), slot: None, trigger: Trigger::Schedule, started_at: Utc::now(), pid: None };
    store.begin_run(&start)?;
    let columns = ["name", "generation"].map(str::to_owned);
    let count = rows(task, number);
    let all: Vec<Row> = (0..count)
        .map(|row| Row { cells: vec![Some(format!("a name, {row}")), Some(number.to_string())], page: 0 })
        .collect();
    for page in all.chunks(500) {
        store.stage_rows(run, &name, &columns, &["name".to_owned()], page, Utc::now())?;
    }
    let outcome = Outcome::Published(Publication::Changed);
    let verdict = Verdict { outcome, rows: count, ..Verdict::failed(Failure::Internal, "found") };
    let ended = store.end_run(run, &verdict, Utc::now())?;
    assert_eq!(ended.outcome, outcome);
    Ok(())
}

/// The controls: publishing row by row, or without waiting for the disk.
pub fn control(folder: &Path, role: &str) -> Connection {
    let connection = Connection::open(database(folder)).expect("the database");
    connection.busy_timeout(std::time::Duration::from_secs(10)).expect("patience");
    let synchronous = if role == "normal" { "NORMAL" } else { "OFF" };
    connection.pragma_update(None, "synchronous", synchronous).expect("a pragma");
    for task in TASKS {
        let sql = format!("CREATE TABLE IF NOT EXISTS \"{task}\" (name TEXT, generation TEXT)");
        connection.execute_batch(&sql).expect("a table");
    }
    connection
}

pub fn replace(connection: &mut Connection, role: &str, task: &str, number: u64) -> rusqlite::Result<()> {
    let in_one = role == "normal";
    if in_one {
        connection.execute_batch("BEGIN IMMEDIATE")?;
    }
    connection.execute(&format!("DELETE FROM \"{task}\""), [])?;
    for row in 0..rows(task, number) {
        let sql = format!("INSERT INTO \"{task}\" VALUES (?1, ?2)");
        connection.prepare_cached(&sql)?.execute([format!("a name, {row}"), number.to_string()])?;
    }
    if in_one {
        connection.execute_batch("COMMIT")?;
    }
    Ok(())
}

/// What a reader sees of a task in one read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    pub rows: u64,
    pub oldest: u64,
    pub newest: u64,
}

impl Seen {
    /// Whether these are all rows of exactly one generation.
    pub fn is_whole(self, task: &str) -> bool {
        self.oldest == self.newest && self.newest > 0 && self.rows == rows(task, self.newest)
    }
}

/// Reads a task's view; `None` while it does not exist.
pub fn look(connection: &Connection, task: &str) -> Option<Seen> {
    let sql = format!(
        "SELECT count(*), coalesce(min(CAST(generation AS INTEGER)), 0), coalesce(max(CAST(generation AS INTEGER)), 0)
         FROM \"{task}\""
    );
    let mut statement = connection.prepare_cached(&sql).ok()?;
    let number = |row: &rusqlite::Row<'_>, index| row.get::<_, u32>(index).map(u64::from);
    statement
        .query_row([], |row| Ok(Seen { rows: number(row, 0)?, oldest: number(row, 1)?, newest: number(row, 2)? }))
        .ok()
}

/// What is wrong with a database after its writer was killed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Harm {
    pub corrupt: usize,
    /// Acknowledged publications that are lost.
    pub lost: usize,
}

/// Opens the database as the next start would, and looks for everything that was acknowledged.
pub fn inspect(folder: &Path, acks: &[Ack]) -> Harm {
    let mut harm = Harm::default();
    let path = database(folder);
    let store = match Store::open(&path) {
        Ok(store) => store,
        Err(_) => return Harm { corrupt: 1, lost: 0 },
    };
    let connection = Connection::open(&path).expect("the database");
    let answer: rusqlite::Result<String> = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0));
    harm.corrupt += usize::from(answer.is_ok_and(|it| it != "ok"));
    for task in TASKS {
        let acked = acks.iter().filter(|ack| ack.task == task).map(|ack| ack.number).max();
        let kept = |seen: Seen| seen.is_whole(task) && Some(seen.newest) >= acked;
        harm.lost += usize::from(acked.is_some() && !look(&connection, task).is_some_and(kept));
    }
    for run in acks.iter().filter_map(|ack| ack.run) {
        let ended = store.run(run).ok().flatten().and_then(|row| row.end);
        harm.lost += usize::from(!ended.is_some_and(|(_, verdict)| verdict.outcome.is_published()));
    }
    harm
}

/// A random, bounded wait: the moment of a kill.
pub fn wait(dice: &mut Dice, most_micros: usize) {
    std::thread::park_timeout(std::time::Duration::from_micros(dice.below(most_micros) as u64));
}
