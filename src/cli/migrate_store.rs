//! `pieme migrate-store`: copy everything that is kept into another store.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, absolute};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::config::{Config, store};
use crate::daemon::folders::Folders;
use crate::daemon::lock::StateLock;
use crate::model::StoreAddress;
use crate::store::{Copied, Store, copy, nobody_at_work};

use super::{Complaint, Done, exit, out};

/// Copy everything that is kept into another store
#[derive(clap::Args)]
#[command(
    long_about = "Copy everything that is kept into another store: from a file of SQLite into PostgreSQL, back, or into another of \
                  the same kind. Tasks, published rows, those before them and those kept aside, history, runs, traces, \
                  pages and alerts go over; the index of words is made anew by the daemon. \
                  The store that is copied is only read. The new one cannot be opened before it is whole: a copy that was \
                  cut short is begun anew by the same command.",
    after_help = "Examples:
  pieme migrate-store 'postgres://pieme:${secret:db}@db.example/rows'
  pieme migrate-store 'postgres://pieme@%2Frun%2Fpostgresql/rows?schema=fleet' --json
  pieme migrate-store state/pieme.db --from 'postgres://pieme:${secret:db}@db.example/rows'

Stop the daemon first (systemctl stop pieme-daemon), in a fleet all of them; afterwards write the line that is
printed into config.toml, and start it again."
)]
pub struct Args {
    /// The new store: a file that is not there yet, or postgres://user@host/database
    #[arg(value_name = "TO")]
    to: String,
    /// The store to copy; default: the one of config.toml
    #[arg(long, value_name = "STORE")]
    from: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// How often a person hears how far it is.
const NEWS: Duration = Duration::from_millis(200);

pub fn run(config: &Config, args: Args) -> Done {
    let from = args.from.as_deref().map_or(Ok(config.store.clone()), |text| named(config, text))?;
    let to = named(config, &args.to)?;
    if from == to {
        return Err(Complaint::new(
            exit::USAGE,
            format!("{from} is the store to copy; name another one to copy it into"),
        ));
    }
    let taken =
        |error| Complaint::new(exit::TEMPORARY, format!("{error}: stop it first (systemctl stop pieme-daemon)"));
    let _lock = StateLock::take(&config.lock()).map_err(taken)?;
    // Nothing is made where nothing is: a reader's error says so.
    drop(Store::open_reader(&from)?);
    let source = Store::open(&from)?;
    nobody_at_work(&source)?;
    if matches!((&from, &to), (StoreAddress::Postgres(_), StoreAddress::Sqlite(_))) {
        fetch_folders(config, &source)?;
    }
    let mut news = News::new();
    let copied = copy(&source, &to, &mut |copied| news.tell(copied));
    news.end();
    let copied = copied?;
    let line = store_line(&args.to, &to);
    if args.json {
        out::json(&json!({ "from": from.to_string(), "to": to.to_string(), "copied": copied, "store": line }));
    } else {
        out::say(format!("copied {} from {from} into {to}", in_words(&copied)));
        out::say(format!("Now put this line into config.toml, and start the daemon:\n  store = \"{line}\""));
        out::say(format!("What stands in {from} is as it was."));
    }
    Ok(exit::DONE)
}

/// A store as it is typed: a path is one of the folder where we are.
fn named(config: &Config, text: &str) -> Result<StoreAddress, Complaint> {
    let here = absolute(Path::new(".")).unwrap_or_default();
    let read = store::read(text, &here, &config.secrets).map_err(|error| {
        let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
        Complaint::new(exit::USAGE, format!("`{}`: {error}{hint}", shown(text)))
    })?;
    Ok(read.with_timeouts(config.postgres))
}

/// A password that somebody typed all the same is not said again.
fn shown(text: &str) -> &str {
    if StoreAddress::is_postgres(text) { "postgres://…" } else { text }
}

/// As it is to be written into config.toml: an address as it was typed, with the names of its secrets.
fn store_line(typed: &str, to: &StoreAddress) -> String {
    match to {
        StoreAddress::Postgres(_) => typed.to_owned(),
        StoreAddress::Sqlite(path) => path.display().to_string(),
    }
}

/// A file shares no folders: what other daemons have edited must be on this disk.
fn fetch_folders(config: &Config, source: &Store) -> Result<(), Complaint> {
    let folders = Folders::open(&config.tasks, &config.state.join("folders.json"));
    let fetched = folders.fetch(source).map_err(|error| Complaint::new(exit::FAILED, error.to_string()))?;
    if fetched > 0 {
        out::note(format!("{fetched} task folders were brought up to date from the store"));
    }
    Ok(())
}

fn in_words(copied: &Copied) -> String {
    let Copied { tasks, runs, sets, rows, pages, changes } = copied;
    format!("{tasks} tasks, {rows} rows in {sets} sets, {runs} runs, {pages} pages and {changes} changes")
}

/// How far it is, on one line of a terminal.
struct News {
    wanted: bool,
    told: Option<Instant>,
}

impl News {
    fn new() -> News {
        News { wanted: io::stderr().is_terminal(), told: None }
    }

    fn tell(&mut self, copied: &Copied) {
        if !self.wanted || self.told.is_some_and(|at| at.elapsed() < NEWS) {
            return;
        }
        self.told = Some(Instant::now());
        self.line(&in_words(copied));
    }

    fn end(&self) {
        if self.told.is_some() {
            self.line("");
        }
    }

    fn line(&self, text: &str) {
        // Whoever does not see it loses nothing.
        let _ = write!(io::stderr(), "\r\x1b[K{text}").and_then(|()| io::stderr().flush());
    }
}
