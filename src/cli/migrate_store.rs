//! `pieme migrate-store`: copies everything into another database, SQLite or PostgreSQL.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, absolute};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::config::{Config, store};
use crate::daemon::fleet::folder_sync::FolderSync;
use crate::daemon::lock::StateLock;
use crate::model::{StoreAddress, counted};
use crate::store::{CopyCounts, Store, copy, refuse_if_daemons_active};

use super::{CliError, VerbResult, exit, output};

/// Copy everything into another database, SQLite or PostgreSQL
#[derive(clap::Args)]
#[command(
    long_about = "Copy everything into another database: from SQLite to PostgreSQL, back, or to another one of the \
                  same kind. Tasks, published, previous and quarantined rows, history, runs, traces, pages and alerts \
                  are copied; the daemon rebuilds the search index. The source is only read. The new database cannot \
                  be opened before it is complete: if the copy is interrupted, the same command starts it again.",
    after_help = "Examples:
  pieme migrate-store 'postgres://pieme:${secret:db}@db.example/rows'
  pieme migrate-store 'postgres://pieme@%2Frun%2Fpostgresql/rows?schema=fleet' --json
  pieme migrate-store state/pieme.db --from 'postgres://pieme:${secret:db}@db.example/rows'

Stop the daemon first (systemctl stop pieme-daemon), in a fleet all daemons. Afterwards write the
printed line into config.toml and start the daemon again."
)]
pub(super) struct Args {
    /// The new database: a file that does not exist yet, or postgres://user@host/database
    #[arg(value_name = "TO")]
    to: String,
    /// The database to copy; default: `store` of config.toml
    #[arg(long, value_name = "STORE")]
    from: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// How often the progress line is updated.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(200);

pub(super) fn run(config: &Config, args: Args) -> VerbResult {
    let from = args.from.as_deref().map_or(Ok(config.store.clone()), |text| parse_address(config, text))?;
    let to = parse_address(config, &args.to)?;
    if from == to {
        return Err(CliError::usage(format!("{from} is the database to copy; give another one to copy into")));
    }
    let taken = |error| CliError::temporary(format!("{error}: stop it first (systemctl stop pieme-daemon)"));
    let _lock = StateLock::take(&config.lock()).map_err(taken)?;
    // Opened for reading first: the source must not be created, and the reader's error says that there is none.
    drop(Store::open_reader(&from)?);
    let source = Store::open(&from)?;
    refuse_if_daemons_active(&source)?;
    if matches!((&from, &to), (StoreAddress::Postgres(_), StoreAddress::Sqlite(_))) {
        fetch_folders(config, &source)?;
    }
    let (is_terminal, mut shown_at) = (io::stderr().is_terminal(), None::<Instant>);
    let copied = copy(&source, &to, &mut |copied| {
        if is_terminal && shown_at.is_none_or(|at| at.elapsed() >= PROGRESS_INTERVAL) {
            shown_at = Some(Instant::now());
            show_progress(&in_words(copied));
        }
    });
    if shown_at.is_some() {
        show_progress("");
    }
    let copied = copied?;
    let line = store_line(&args.to, &to);
    if args.json {
        output::json(&json!({ "from": from.to_string(), "to": to.to_string(), "copied": copied, "store": line }));
    } else {
        output::say(format!("Copied {} from {from} to {to}.", in_words(&copied)));
        output::say(format!("Write this line into config.toml and start the daemon:\n  store = \"{line}\""));
        output::say(format!("{from} was not changed."));
    }
    Ok(exit::DONE)
}

/// Parses a database address as typed; a path is relative to the current folder.
fn parse_address(config: &Config, text: &str) -> Result<StoreAddress, CliError> {
    let here = absolute(Path::new(".")).unwrap_or_default();
    let read = store::read(text, &here, &config.secrets).map_err(|error| {
        let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
        CliError::usage(format!("`{}`: {error}{hint}", without_password(text)))
    })?;
    Ok(read.with_timeouts(config.postgres))
}

/// Keeps a password that was typed into the address out of messages.
fn without_password(text: &str) -> &str {
    if StoreAddress::is_postgres(text) { "postgres://…" } else { text }
}

/// The value for config.toml: an address as it was typed, with `${secret:NAME}`.
fn store_line(typed: &str, to: &StoreAddress) -> String {
    match to {
        StoreAddress::Postgres(_) => typed.to_owned(),
        StoreAddress::Sqlite(path) => path.display().to_string(),
    }
}

/// Fetches task folders that other daemons edited: an SQLite file does not share folders between daemons.
fn fetch_folders(config: &Config, source: &Store) -> Result<(), CliError> {
    let folders = FolderSync::open(&config.tasks, &config.state.join("folders.json"));
    let fetched = folders.fetch(source).map_err(CliError::failed)?;
    if fetched > 0 {
        output::note(format!("Updated {} from the database.", counted(fetched, "task folder")));
    }
    Ok(())
}

fn in_words(copied: &CopyCounts) -> String {
    let CopyCounts { tasks, runs, sets, rows, pages, changes } = copied;
    let (tasks, rows, sets) = (counted(*tasks, "task"), counted(*rows, "row"), counted(*sets, "generation"));
    let (runs, pages, changes) = (counted(*runs, "run"), counted(*pages, "page"), counted(*changes, "change"));
    format!("{tasks}, {rows} in {sets}, {runs}, {pages} and {changes}")
}

/// Shows progress on one line of the terminal.
fn show_progress(text: &str) {
    // Progress is only informative.
    let _ = write!(io::stderr(), "\r\x1b[K{text}").and_then(|()| io::stderr().flush());
}
