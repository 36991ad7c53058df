//! `pieme history`: lists the changes of a task or of one record, or the values of a column over time.

use chrono::{DateTime, Utc};
use serde_json::json;

use crate::config::Config;
use crate::model::{ChangeCounts, TaskName};
use crate::show::column_series::{self, SeriesPoint};
use crate::show::verdict::MAX_PAST_RUNS;
use crate::store::{ChangeKind, RecordHistory, RecordKey, Store};

use super::{CliError, VerbResult, exit, open_reader, output, records, task_name};

/// List the changes of a task, or of one record; --column shows a column over time
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pieme history hotels                                all changes, newest first, with counts
  pieme history hotels 'Lord Nelson'                  all changes of one record
  pieme history hotels 'Lord Nelson' --column price   the values of one column of the record
  pieme history hotels 'Lord Nelson' --column price --json | jq '.series[] | [.at, .value]'
  pieme history hotels --column price                 minimum, median and maximum of each run
  pieme history hotels --column price --json | jq -r '.series[] | [.at, .median] | @csv'

KEY is the text of the columns in `data.key`, in their order, or a part of it.")]
pub(super) struct Args {
    /// The name of the task
    task: String,
    /// Only the record with this key
    #[arg(value_name = "KEY")]
    key: Vec<String>,
    /// Values of this column over time; without KEY, statistics of all rows for each run
    #[arg(long, value_name = "NAME", conflicts_with = "before")]
    column: Option<String>,
    /// Largest number of changes or runs, newest first
    #[arg(long, default_value_t = 50, value_name = "N")]
    limit: u32,
    /// Only changes before the one with this number
    #[arg(long, value_name = "ID", conflicts_with = "key")]
    before: Option<i64>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Wider cells are cut on a terminal; `--json` has them whole.
const CELL_WIDTH: usize = 60;

/// Records that are listed where several match.
const CHOICES: u32 = 10;

pub(super) fn run(config: &Config, args: Args) -> VerbResult {
    let name = task_name(&args.task)?;
    let store = open_reader(config)?;
    if store.published(&name, 0, 0)?.is_none() {
        return Err(CliError::failed(records::none_published(&name)));
    }
    match &args.column {
        Some(column) if args.key.is_empty() => return statistics(&store, &name, column, &args),
        None if args.key.is_empty() => return list(&store, &name, &args),
        Some(_) | None => {}
    }
    let life = find_record(&store, &name, &args.key)?;
    match &args.column {
        Some(column) => series(&name, &life, column, args.json),
        None if args.json => output::answer(&json!({ "task": name, "record": life })),
        None => {
            print(&name, &life);
            Ok(exit::DONE)
        }
    }
}

fn list(store: &Store, name: &TaskName, args: &Args) -> VerbResult {
    let changes = store.changes(name, args.before, args.limit)?;
    if args.json {
        return output::answer(&json!({ "task": name, "changes": changes }));
    }
    if changes.is_empty() {
        output::say(format!("{name}: nothing has changed since its rows were first published"));
        return Ok(exit::DONE);
    }
    let rows = changes.iter().map(|change| {
        let count =
            |of: fn(ChangeCounts) -> u64| change.known_counts().map_or("–".to_owned(), |it| of(it).to_string());
        [
            change.id.to_string(),
            minute(change.at),
            count(|it| it.added),
            count(|it| it.changed),
            count(|it| it.removed),
            change.rows_after.to_string(),
            change.run.to_string(),
            change.unlisted.map_or("", |why| why.sentence()).to_owned(),
        ]
    });
    output::say(output::table(&["CHANGE", "WHEN", "ADDED", "CHANGED", "REMOVED", "ROWS", "RUN", "NOTE"], rows));
    Ok(exit::DONE)
}

fn minute(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%d %H:%M UTC").to_string()
}

/// The record with this key text or key digest.
fn find_record(store: &Store, name: &TaskName, words: &[String]) -> Result<RecordHistory, CliError> {
    let digits = words.first().filter(|word| words.len() == 1 && word.len() == 32);
    let by_digits = digits.and_then(|word| word.parse::<RecordKey>().ok());
    if let Some(life) = by_digits.map(|key| store.record_history(name, key)).transpose()?.flatten() {
        return Ok(life);
    }
    let found = store.records_named(name, words, CHOICES)?;
    let said = words.join(" ");
    match found.as_slice() {
        [] => Err(CliError::usage(format!(
            "`{name}` has no record `{said}`; `pieme records {name}` shows what is published"
        ))),
        [(key, _)] => store
            .record_history(name, *key)?
            .ok_or_else(|| CliError::temporary(format!("`{said}` has just been removed; try again"))),
        several => {
            let names: Vec<String> =
                several.iter().map(|(key, it)| format!("  {key}  {}", output::cell(it, 100))).collect();
            Err(CliError::usage(format!(
                "several records match `{said}`; give more of the text, or the record's id:\n{}",
                names.join("\n")
            )))
        }
    }
}

fn print(name: &TaskName, life: &RecordHistory) {
    output::say(format!("{} of {name}, record {}", output::cell(&life.name, 200), life.key));
    let first_seen = life.first_seen.map_or("?".to_owned(), minute);
    output::say(format!("{first_seen}  first seen"));
    for event in &life.events {
        let at = minute(event.at);
        match event.record.what {
            ChangeKind::Added => {
                output::say(format!("{at}  {}", if is_return(life, event.at) { "added again" } else { "added" }))
            }
            ChangeKind::Removed => output::say(format!("{at}  removed")),
            ChangeKind::Changed => {
                for cell in &event.record.cells {
                    let text = |text: &Option<String>| output::cell(text.as_deref().unwrap_or("(empty)"), CELL_WIDTH);
                    let (column, from, to) =
                        (output::cell(&cell.column, 40), text(&cell.from.text), text(&cell.to.text));
                    output::say(format!("{at}  {column}: {from} → {to}"));
                }
            }
        }
    }
    output::say(if life.now.is_some() { "It is published." } else { "It is no longer published." });
}

/// Whether a record that was added had been published before.
fn is_return(life: &RecordHistory, at: DateTime<Utc>) -> bool {
    let left_before = life.events.iter().any(|event| event.record.what == ChangeKind::Removed && event.at < at);
    left_before || life.events.first().is_some_and(|event| event.at != at)
}

fn series(name: &TaskName, life: &RecordHistory, column: &str, as_json: bool) -> VerbResult {
    let series = life.series(column);
    if series.is_empty() {
        let columns: Vec<&str> = life.now.iter().flatten().map(|(name, _)| name.as_str()).collect();
        return Err(CliError::usage(format!(
            "the history of `{name}` has no column `{column}`; it has {}",
            columns.join(", ")
        )));
    }
    if as_json {
        let (key, record) = (life.key, &life.name);
        return output::answer(
            &json!({ "task": name, "key": key, "record": record, "column": column, "series": series }),
        );
    }
    let rows = series.iter().map(|point| {
        let value = match &point.cell.value {
            serde_json::Value::Null => String::new(),
            serde_json::Value::String(text) => output::cell(text, CELL_WIDTH),
            other => other.to_string(),
        };
        [minute(point.at), value, output::cell(point.cell.text.as_deref().unwrap_or(""), CELL_WIDTH)]
    });
    output::say(output::table(&["FROM", "VALUE", "TEXT"], rows));
    Ok(exit::DONE)
}

/// Prints the statistics of a numeric column for each run.
fn statistics(store: &Store, name: &TaskName, column: &str, args: &Args) -> VerbResult {
    let runs = store.past_verdicts(name, MAX_PAST_RUNS)?;
    let mut series = column_series::series(&runs, column);
    if series.is_empty() {
        return Err(CliError::usage(column_series::other_columns(name, &runs, column)));
    }
    series.drain(..series.len().saturating_sub(args.limit as usize));
    if args.json {
        return output::answer(&column_series::document(name, column, column_series::columns(&runs), series));
    }
    let rows = series.iter().map(|SeriesPoint { at, figures, .. }| {
        let [least, lower, median, upper, most] =
            [figures.least, figures.lower, figures.median, figures.upper, figures.most].map(|it| it.to_string());
        let currency = output::cell(figures.currency.as_deref().unwrap_or(""), 10);
        [minute(*at), least, lower, median, upper, most, currency, figures.count.to_string()]
    });
    output::say(output::table(&["WHEN", "LEAST", "LOWER", "MEDIAN", "UPPER", "MOST", "", "VALUES"], rows));
    Ok(exit::DONE)
}
