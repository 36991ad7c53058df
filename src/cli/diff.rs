//! `pieme diff`: shows the last change of the published rows, cell by cell.

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::json;

use crate::config::Config;
use crate::model::{TaskName, counted};
use crate::store::{CellChange, CellValue, ChangeKind, ChangeSet, RecordChange, Store};

use super::{CliError, VerbResult, exit, log, open_reader, output, records, since, task_name};

/// Show the last change: rows added, changed and removed, cell by cell
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pieme diff hotels
  pieme diff hotels --since 7d          every change of the last week, newest first
  pieme diff hotels --run 0198a…        the change of one run
  pieme diff hotels --json | jq '.changes[].records[] | select(.what == \"added\")'

Records are identified by `data.key` in task.toml; docs/history.md has the rules.")]
pub(super) struct Args {
    /// The name of the task
    task: String,
    /// The change of this run; ID is its id or the start of it
    #[arg(long, value_name = "ID", conflicts_with = "since")]
    run: Option<String>,
    /// All changes since then: 7d, 12h, 2026-11-01
    #[arg(long, value_name = "WHEN", value_parser = since::parse)]
    since: Option<DateTime<Utc>>,
    /// Largest number of records; default: 100, or all with --json
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Records that are shown without `--limit`.
const SHOWN: u32 = 100;

/// Changes that are read for `--since`: a week of a task that changes every ten minutes.
const MOST_CHANGES: u32 = 1_000;

/// Wider cells are cut on a terminal; `--json` has them whole.
const CELL_WIDTH: usize = 48;

#[derive(Serialize)]
struct ChangeReport {
    #[serde(flatten)]
    change: ChangeSet,
    records: Vec<RecordChange>,
}

pub(super) fn run(config: &Config, args: Args) -> VerbResult {
    let name = task_name(&args.task)?;
    let store = open_reader(config)?;
    let changes = selected_changes(&store, &name, &args)?;
    let mut left = args.limit.unwrap_or(if args.json { u32::MAX } else { SHOWN });
    let mut shown = Vec::new();
    for change in changes {
        let records = store.records_of(change.id, 0, left)?;
        left = left.saturating_sub(u32::try_from(records.len()).unwrap_or(u32::MAX));
        shown.push(ChangeReport { change, records });
    }
    if args.json {
        return output::answer(&json!({ "task": name, "changes": shown }));
    }
    if shown.is_empty() {
        output::say(why_nothing(&store, &name, &args)?);
    }
    shown.iter().for_each(|it| print(&name, it));
    Ok(exit::DONE)
}

fn selected_changes(store: &Store, name: &TaskName, args: &Args) -> Result<Vec<ChangeSet>, CliError> {
    if let Some(id) = &args.run {
        return Ok(store.change_of(log::find_run(store, name, id)?.run)?.into_iter().collect());
    }
    let Some(since) = args.since else { return Ok(store.changes(name, None, 1)?) };
    let changes = store.changes(name, None, MOST_CHANGES)?;
    Ok(changes.into_iter().take_while(|change| change.at >= since).collect())
}

/// Says why there are no changes to show.
fn why_nothing(store: &Store, name: &TaskName, args: &Args) -> Result<String, CliError> {
    if store.published(name, 0, 0)?.is_none() {
        return Err(CliError::failed(records::none_published(name)));
    }
    Ok(match (&args.run, args.since) {
        (Some(id), _) => format!("{name}: run {id} did not change the published rows"),
        (None, Some(_)) => format!("{name}: nothing has changed since then"),
        (None, None) => format!("{name}: nothing has changed since its rows were first published"),
    })
}

fn print(name: &TaskName, shown: &ChangeReport) {
    let ChangeReport { change, records } = shown;
    let counts = match (change.known_counts(), change.counts) {
        (Some(counts), _) => counts.to_string(),
        (None, Some(_)) => "not compared".to_owned(),
        (None, None) => "being compared".to_owned(),
    };
    let (at, run) = (change.at.format("%Y-%m-%d %H:%M UTC"), change.run);
    output::say(format!(
        "{name}: {counts} ({}, {} before), {at}, run {run}",
        counted(change.rows_after, "row"),
        change.rows_before
    ));
    if let Some(why) = change.unlisted {
        output::say(format!("  {}", why.sentence()));
    }
    if !records.is_empty() {
        let rows = records.iter().flat_map(rows);
        output::say(output::table(&["WHAT", "RECORD", "COLUMN", "BEFORE", "AFTER"], rows));
    }
    let all = change.counts.map_or(0, |counts| counts.total());
    let left = all.saturating_sub(records.len() as u64);
    if left > 0 && change.unlisted.is_none() {
        output::say(format!("… and {left} more: --limit N or --json shows them"));
    }
}

/// One line per changed cell; one line for an added or removed record.
fn rows(record: &RecordChange) -> Vec<[String; 5]> {
    let shown = |text: &str| output::cell(text, CELL_WIDTH);
    let row = |column: &str, from: &str, to: &str| {
        [record.what.word().to_owned(), shown(&record.name), shown(column), shown(from), shown(to)]
    };
    let text = |cell: &'_ CellValue| cell.text.clone().unwrap_or_default();
    match record.what {
        ChangeKind::Added => vec![row("", "", &record_text(&record.cells, |cell| &cell.to))],
        ChangeKind::Removed => vec![row("", &record_text(&record.cells, |cell| &cell.from), "")],
        ChangeKind::Changed => {
            record.cells.iter().map(|cell| row(&cell.column, &text(&cell.from), &text(&cell.to))).collect()
        }
    }
}

/// All texts of a record on one line.
fn record_text(cells: &[CellChange], side: impl Fn(&CellChange) -> &CellValue) -> String {
    cells.iter().filter_map(|cell| side(cell).text.as_deref()).collect::<Vec<_>>().join(" | ")
}
