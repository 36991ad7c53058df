//! A damaged database is refused with a message, or its data is intact; it is never created anew.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use pieme::model::TaskName;
use pieme::store::{Store, StoreError};
use rusqlite::Connection;

use super::writer::{self, TASKS, database, look};
use super::{Dice, report, times};
use crate::stage::{Said, Stage, is_alive};

const SHOP: &str = "practice-shop";

#[test]
fn promise_06_a_damaged_database_is_refused_or_whole() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let whole = made(folder.path());
    let (flips, cuts) = (times(60, 200), times(15, 50));
    let mut dice = Dice(6);
    let mut damaged: Vec<Vec<u8>> = Vec::new();
    for part in 0..flips {
        let mut bytes = whole.clone();
        // One in every section of the file, at a random place.
        let at = whole.len() * part / flips + dice.below(whole.len() / flips);
        bytes[at] ^= 1 << dice.below(8);
        damaged.push(bytes);
    }
    damaged.extend((0..cuts).map(|part| whole[..whole.len() * part / cuts].to_vec()));
    let product = damaged.iter().map(|bytes| judge(bytes, |path| Store::open(path)));
    let (refused, wrong) = product.fold((0, 0), |sum, (refused, wrong)| (sum.0 + refused, sum.1 + wrong));
    let control: usize = damaged.iter().map(|bytes| judge(bytes, open_or_start_anew).1).sum();
    let counted = format!("{flips} flipped bits, {cuts} truncations, {refused} refused: neither refused nor whole");
    report(6, &counted, wrong, control);
    assert!(refused > cuts, "damage is noticed");
}

/// The control: replaces a file that cannot be read.
fn open_or_start_anew(path: &Path) -> Result<Store, StoreError> {
    Store::open(path).or_else(|_| {
        fs::remove_file(path).expect("a file");
        Store::open(path)
    })
}

/// The bytes of a database that was closed, with some generations of a small and a large task.
fn made(folder: &Path) -> Vec<u8> {
    let mut store = Store::open(&database(folder)).expect("a new database");
    for (task, number) in [("small", 1), ("small", 2), ("small", 3), ("large", 1)] {
        writer::try_publish(&mut store, task, number, pieme::model::RunId::new()).expect("published");
    }
    drop(store);
    fs::read(database(folder)).expect("a file")
}

/// Counts, to be added up: whether it was refused, and whether something is wrong.
fn judge(bytes: &[u8], open: impl Fn(&Path) -> Result<Store, StoreError>) -> (usize, usize) {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = database(folder.path());
    fs::write(&path, bytes).expect("a file");
    match open(&path) {
        Err(error) => {
            let untouched = fs::read(&path).is_ok_and(|now| now == bytes);
            (1, usize::from(error.to_string().is_empty() || !untouched))
        }
        Ok(store) => (0, usize::from(!is_whole(&store, &path))),
    }
}

fn is_whole(store: &Store, path: &Path) -> bool {
    let connection = Connection::open(path).expect("the database");
    TASKS.into_iter().zip([3, 1]).all(|(task, number)| {
        let Some(seen) = look(&connection, task) else { return false };
        let rows = store.published(&TaskName::new(task).expect("a good name"), u64::MAX, 0).ok().flatten();
        let expected = |(row, found): (usize, &pieme::model::Row)| {
            found.cells == [Some(format!("a name, {row}")), Some(number.to_string())]
        };
        seen.is_whole(task) && rows.is_some_and(|rows| rows.table.rows.iter().enumerate().all(expected))
    })
}

/// Starts the daemon on the damaged file; it must not come up.
fn refused(stage: &Stage) -> Said {
    Command::new(env!("CARGO_BIN_EXE_pieme-daemon"))
        .arg("--config")
        .arg(stage.path("config.toml"))
        .output()
        .expect("it starts")
        .into()
}

#[test]
fn promise_06_the_daemon_does_not_start_on_a_damaged_database() {
    let stage = Stage::new();
    stage.drop_folder(SHOP);
    assert_eq!(stage.pieme(&["run", SHOP]).code, 0);
    let path = stage.path("state/pieme.db");
    // Closed properly, so that nothing is left in its log.
    stage.sql("PRAGMA wal_checkpoint(TRUNCATE)");
    let whole = fs::read(&path).expect("a file");
    for (bytes, word) in [
        (&whole[..whole.len() / 2], "damaged"),
        (&whole[..0], "is empty"),
        (b"a letter, not a database, and rather a short one", "damaged"),
    ] {
        fs::write(&path, bytes).expect("a file");
        let said = refused(&stage);
        assert_eq!(said.code, 1, "{}", said.stderr);
        assert!(said.stderr.contains(word) && said.stderr.contains("pieme.db"), "{}", said.stderr);
        assert!(fs::read(&path).is_ok_and(|now| now == bytes), "it was not touched");
    }
}

#[test]
fn input_60_a_database_that_is_a_folder_or_locked_is_said() {
    let stage = Stage::new();
    stage.drop_folder(SHOP);
    assert_eq!(stage.pieme(&["run", SHOP]).code, 0);
    let path = stage.path("state/pieme.db");
    let other = Connection::open(&path).expect("another process");
    other.execute_batch("BEGIN IMMEDIATE").expect("the lock");
    let said = refused(&stage);
    assert_eq!(said.code, 75, "{}", said.stderr);
    assert!(said.stderr.contains("another process is writing"), "{}", said.stderr);
    drop(other);
    fs::remove_file(&path).expect("a file");
    fs::create_dir(&path).expect("a folder");
    let said = refused(&stage);
    assert_eq!(said.code, 1, "{}", said.stderr);
    assert!(said.stderr.contains("is not a database of pieme"), "{}", said.stderr);
    assert!(path.is_dir());
}

#[test]
fn input_60_a_database_that_cannot_be_written_to_is_said() {
    const NOBODY: u32 = 65_534;
    let stage = Stage::new();
    stage.drop_folder(SHOP);
    assert_eq!(stage.pieme(&["run", SHOP]).code, 0);
    let mode = |inside: &str, mode| {
        fs::set_permissions(stage.path(inside), fs::Permissions::from_mode(mode)).expect("a file of ours");
    };
    for (inside, bits) in [("", 0o755), ("state", 0o777), ("state/lock", 0o666), ("state/pieme.db", 0o444)] {
        mode(inside, bits);
    }
    for inside in ["state/pieme.db-wal", "state/pieme.db-shm"].into_iter().filter(|it| stage.path(it).exists()) {
        mode(inside, 0o444);
    }
    let mut daemon = Command::new(env!("CARGO_BIN_EXE_pieme-daemon"));
    daemon.arg("--config").arg(stage.path("config.toml"));
    if nix::unistd::geteuid().is_root() {
        // Root ignores file modes.
        daemon.uid(NOBODY).gid(NOBODY);
    }
    let said: Said = daemon.output().expect("it starts").into();
    assert_eq!(said.code, 1, "{}", said.stderr);
    assert!(said.stderr.contains("read-only"), "{}", said.stderr);
}

#[test]
fn input_60_a_database_that_is_removed_under_the_daemon_is_said_and_not_made_anew() {
    let mut stage = Stage::new();
    stage.drop_folder(SHOP);
    let daemon = stage.start_daemon();
    stage.wait_for_state(SHOP, "ok");
    let (path, aside) = (stage.path("state/pieme.db"), stage.path("state/aside"));
    fs::rename(&path, &aside).expect("a file");
    let verdict = stage.pieme(&["run", SHOP, "--json"]).json();
    assert_eq!(verdict["cause"], "internal", "{verdict}");
    assert!(verdict["sentence"].as_str().is_some_and(|it| it.contains("removed or replaced")), "{verdict}");
    assert!(!path.exists(), "no other database in its place");
    fs::rename(&aside, &path).expect("a file");
    let verdict = stage.pieme(&["run", SHOP, "--json"]).json();
    assert_eq!(verdict["outcome"], "published", "{verdict}");
    assert!(is_alive(daemon));
}
