//! `pieme migrate-store`: copy everything that is kept into another store.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, absolute};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::config::{Config, store};
use crate::daemon::folder_sync::FolderSync;
use crate::daemon::lock::StateLock;
use crate::model::StoreAddress;
use crate::store::{CopyCounts, Store, copy, refuse_if_daemons_active};

use super::{CliError, VerbResult, exit, output};

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
const PROGRESS_INTERVAL: Duration = Duration::from_millis(200);

pub fn run(config: &Config, args: Args) -> VerbResult {
    let from = args.from.as_deref().map_or(Ok(config.store.clone()), |text| parse_address(config, text))?;
    let to = parse_address(config, &args.to)?;
    if from == to {
        return Err(CliError::new(
            exit::USAGE,
            format!("{from} is the store to copy; name another one to copy it into"),
        ));
    }
    let taken = |error| CliError::new(exit::TEMPORARY, format!("{error}: stop it first (systemctl stop pieme-daemon)"));
    let _lock = StateLock::take(&config.lock()).map_err(taken)?;
    // Nothing is made where nothing is: a reader's error says so.
    drop(Store::open_reader(&from)?);
    let source = Store::open(&from)?;
    refuse_if_daemons_active(&source)?;
    if matches!((&from, &to), (StoreAddress::Postgres(_), StoreAddress::Sqlite(_))) {
        fetch_folders(config, &source)?;
    }
    let mut news = ProgressLine::new();
    let copied = copy(&source, &to, &mut |copied| news.tell(copied));
    news.end();
    let copied = copied?;
    let line = store_line(&args.to, &to);
    if args.json {
        output::json(&json!({ "from": from.to_string(), "to": to.to_string(), "copied": copied, "store": line }));
    } else {
        output::say(format!("copied {} from {from} into {to}", in_words(&copied)));
        output::say(format!("Now put this line into config.toml, and start the daemon:\n  store = \"{line}\""));
        output::say(format!("What stands in {from} is as it was."));
    }
    Ok(exit::DONE)
}

/// A store as it is typed: a path is one of the folder where we are.
fn parse_address(config: &Config, text: &str) -> Result<StoreAddress, CliError> {
    let here = absolute(Path::new(".")).unwrap_or_default();
    let read = store::read(text, &here, &config.secrets).map_err(|error| {
        let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
        CliError::new(exit::USAGE, format!("`{}`: {error}{hint}", without_password(text)))
    })?;
    Ok(read.with_timeouts(config.postgres))
}

/// A password that somebody typed all the same is not said again.
fn without_password(text: &str) -> &str {
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
fn fetch_folders(config: &Config, source: &Store) -> Result<(), CliError> {
    let folders = FolderSync::open(&config.tasks, &config.state.join("folders.json"));
    let fetched = folders.fetch(source).map_err(|error| CliError::new(exit::FAILED, error.to_string()))?;
    if fetched > 0 {
        output::note(format!("{fetched} task folders were brought up to date from the store"));
    }
    Ok(())
}

fn in_words(copied: &CopyCounts) -> String {
    let CopyCounts { tasks, runs, sets, rows, pages, changes } = copied;
    format!("{tasks} tasks, {rows} rows in {sets} sets, {runs} runs, {pages} pages and {changes} changes")
}

/// How far it is, on one line of a terminal.
struct ProgressLine {
    is_terminal: bool,
    shown_at: Option<Instant>,
}

impl ProgressLine {
    fn new() -> ProgressLine {
        ProgressLine { is_terminal: io::stderr().is_terminal(), shown_at: None }
    }

    fn tell(&mut self, copied: &CopyCounts) {
        if !self.is_terminal || self.shown_at.is_some_and(|at| at.elapsed() < PROGRESS_INTERVAL) {
            return;
        }
        self.shown_at = Some(Instant::now());
        self.line(&in_words(copied));
    }

    fn end(&self) {
        if self.shown_at.is_some() {
            self.line("");
        }
    }

    fn line(&self, text: &str) {
        // Whoever does not see it loses nothing.
        let _ = write!(io::stderr(), "\r\x1b[K{text}").and_then(|()| io::stderr().flush());
    }
}
