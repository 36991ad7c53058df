//! docs/design/safety.md 2.7: a migration is all or nothing, also under `kill -9`. Not in tests/it/promises, because
//! the migrations to come are made up.

#![allow(clippy::print_stdout, reason = "the line is gathered into docs/promises.md")]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::super::schema::{MIGRATIONS, migrate_with};

const NAME: &str = "store::sqlite::tests::upgrade::promise_07_a_migration_is_all_or_nothing";
const FOLDER: &str = "PIEME_PROMISE_FOLDER";
const CONTROL: &str = "PIEME_PROMISE_CONTROL";
/// A process that does not even begin for so long hangs.
const PATIENCE: Duration = Duration::from_secs(20);

const SECOND: &str = "
    CREATE TABLE _second (n INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
        INSERT INTO _second SELECT i, printf('some text, number %d', i) FROM n;
    CREATE INDEX _second_text ON _second (text);
    CREATE TABLE _second_too (n INTEGER) STRICT;
";
const THIRD: &str = "
    ALTER TABLE _second ADD COLUMN more TEXT;
    UPDATE _second SET more = upper(text);
    ALTER TABLE _task ADD COLUMN third TEXT;
    DROP TABLE _second_too;
";

fn migrations() -> Vec<&'static str> {
    MIGRATIONS.iter().copied().chain([SECOND, THIRD]).collect()
}

#[test]
fn promise_07_a_migration_is_all_or_nothing() {
    if let Some(folder) = env::var_os(FOLDER) {
        return upgrade(Path::new(&folder), env::var_os(CONTROL).is_some());
    }
    let long = env::var_os("PIEME_LONG").is_some_and(|it| it == "1");
    let (kills, control_kills) = if long { (200, 40) } else { (12, 12) };
    let formats = [1, 2, 3].map(|version| shape(&made(version).1));
    let between = |control, kills| {
        let whole = fs::read(made(1).1).expect("a database");
        (0..kills).filter(|&kill| !formats.contains(&cut_short(&whole, kill, kills, control))).count()
    };
    let (violations, control) = (between(false, kills), between(true, control_kills));
    println!(
        "PROMISE 07 | {kills} kill -9 during an upgrade over two formats: neither old nor new \
         | {violations} | control: {control}"
    );
    assert_eq!((violations, control > 0), (0, true));
}

/// A database in one of the formats.
fn made(version: usize) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = folder.path().join("pieme.db");
    let mut connection = Connection::open(&path).expect("a new database");
    migrate_with(&mut connection, &migrations()[..MIGRATIONS.len() + version - 1]).expect("made");
    let mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0)).expect("a pragma");
    assert_eq!(mode, "wal");
    drop(connection);
    (folder, path)
}

/// All that a format is: its version, its tables, their columns and how many rows they have.
fn shape(path: &Path) -> Vec<String> {
    let connection = Connection::open(path).expect("the database");
    let mut shape: Vec<String> = connection
        .prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name")
        .and_then(|mut found| found.query_map([], |row| row.get(0))?.collect())
        .expect("a schema");
    for pragma in ["user_version", "integrity_check"] {
        let answer =
            connection.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get::<_, rusqlite::types::Value>(0));
        shape.push(format!("{:?}", answer.expect("an answer")));
    }
    for count in ["count(*)", "count(more)"] {
        let rows: rusqlite::Result<i64> =
            connection.query_row(&format!("SELECT {count} FROM _second"), [], |row| row.get(0));
        shape.push(format!("{:?}", rows.ok()));
    }
    shape
}

/// Starts an upgrade, kills it at its own fraction of a fixed time, and looks at what is left.
fn cut_short(old: &[u8], kill: u32, kills: u32, control: bool) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = folder.path().join("pieme.db");
    fs::write(&path, old).expect("a file");
    let whole = Duration::from_millis(if control { 200 } else { 150 });
    let mut command = Command::new(env::current_exe().expect("this program"));
    command.args([NAME, "--exact"]).env(FOLDER, folder.path()).stdout(Stdio::null()).stderr(Stdio::null());
    if control {
        command.env(CONTROL, "1");
    }
    let mut child = command.spawn().expect("it starts");
    let started = Instant::now();
    while !folder.path().join("begun").exists() {
        assert!(started.elapsed() < PATIENCE, "the upgrade does not begin");
        thread::park_timeout(Duration::from_micros(200));
    }
    thread::park_timeout(whole * kill / kills);
    // It may have ended already.
    let _ = child.kill();
    child.wait().expect("it is gone");
    shape(&path)
}

/// The process that is killed.
fn upgrade(folder: &Path, control: bool) {
    let mut connection = Connection::open(folder.join("pieme.db")).expect("the database");
    fs::write(folder.join("begun"), "").expect("a file");
    if !control {
        return migrate_with(&mut connection, &migrations()).expect("upgraded");
    }
    // One statement after the other, each for itself.
    for (version, migration) in [(2, SECOND), (3, THIRD)] {
        for statement in migration.split_inclusive(";\n") {
            connection.execute_batch(statement).expect("a statement");
        }
        connection.pragma_update(None, "user_version", version).expect("a pragma");
    }
}
