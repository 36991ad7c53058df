//! `kill -9` during writes to the store, on both databases: nothing is lost and nothing is half-written. `PIEME_LONG=1`
//! kills a hundred times each.
//!
//! The killed process is a separate one: this test program again, or `pieme` itself.

#![allow(clippy::print_stdout, reason = "how often it was killed is written down in docs/promises.md")]

mod copying;
mod collecting;
mod publishing;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use pieme::model::{PostgresAddress, StoreAddress};
use tempfile::TempDir;

use crate::postgres::{self, Schema};
use crate::promises::{Dice, again};

/// A process that has not begun after this time hangs.
const PATIENCE: Duration = Duration::from_secs(40);

const FOLDER: &str = "PIEME_KILLED_FOLDER";
const STORE: &str = "PIEME_KILLED_STORE";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Sqlite,
    Postgres,
}

/// Where the killed process works.
struct Place {
    folder: TempDir,
    schema: Option<Schema>,
}

impl Place {
    fn new(kind: Kind) -> Place {
        let folder = tempfile::tempdir().expect("a scratch folder");
        Place { folder, schema: (kind == Kind::Postgres).then(|| postgres::shared().schema()) }
    }

    /// As config.toml would name it.
    fn store(&self) -> String {
        match &self.schema {
            Some(schema) => schema.url(),
            None => self.folder.path().join("pieme.db").display().to_string(),
        }
    }

    fn address(&self) -> StoreAddress {
        address(&self.store())
    }

    fn path(&self, inside: &str) -> PathBuf {
        self.folder.path().join(inside)
    }

    /// Starts the process of a role out of the test `name`, and waits until it has begun.
    fn start(&self, name: &str, role: &str) -> Child {
        let begun = self.path("begun");
        let _ = fs::remove_file(&begun);
        let errors = fs::File::create(self.path("stderr")).expect("a file for its last words");
        let mut command = again(name, role);
        command.env(FOLDER, self.folder.path()).env(STORE, self.store()).stdout(Stdio::null()).stderr(errors);
        let mut child = command.spawn().expect("it starts");
        let started = Instant::now();
        while !begun.exists() {
            let words = || fs::read_to_string(self.path("stderr")).unwrap_or_default();
            assert!(child.try_wait().expect("its state").is_none() || begun.exists(), "it ended: {}", words());
            assert!(started.elapsed() < PATIENCE, "it does not begin: {}", words());
            std::thread::park_timeout(Duration::from_micros(200));
        }
        child
    }
}

fn address(text: &str) -> StoreAddress {
    if StoreAddress::is_postgres(text) {
        StoreAddress::Postgres(PostgresAddress::new(text, text).expect("an address"))
    } else {
        StoreAddress::Sqlite(text.into())
    }
}

/// What the test has told the process that it started.
fn told() -> (PathBuf, StoreAddress) {
    let folder = PathBuf::from(std::env::var_os(FOLDER).expect("the test names a folder"));
    (folder, address(&std::env::var(STORE).expect("the test names a store")))
}

/// Reports that the process has begun.
fn begun(folder: &Path) {
    fs::write(folder.join("begun"), "").expect("a file");
}

/// Kills a process within a time, unless it ends before; returns whether it was killed.
fn kill_within(child: &mut Child, time: Duration, dice: &mut Dice) -> bool {
    let micros = usize::try_from(time.as_micros()).unwrap_or(usize::MAX);
    let until = Instant::now() + Duration::from_micros(dice.below(micros) as u64);
    while Instant::now() < until {
        if child.try_wait().expect("its state").is_some() {
            return false;
        }
        std::thread::park_timeout(Duration::from_micros(200));
    }
    child.kill().expect("it can be killed");
    // A process that ended by itself has an exit code.
    child.wait().expect("it is gone").code().is_none()
}

/// How long it takes without a kill.
fn timed(mut child: Child) -> Duration {
    let started = Instant::now();
    assert!(child.wait().expect("it ends").success());
    started.elapsed()
}

/// The program itself, over the stores of a place.
fn pieme(place: &Place, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pieme"));
    command.arg("--config").arg(place.path("config.toml")).args(words);
    command.current_dir(place.folder.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}
