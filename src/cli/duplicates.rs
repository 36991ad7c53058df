//! `pieme duplicates`: finds records that differ only in spelling, within a task and across tasks. Nothing is merged.

use serde_json::json;

use crate::config::Config;
use crate::model::{TaskName, counted};
use crate::show::duplicates::{self, DuplicateGroup, DuplicateLimits, DuplicateRecord, DuplicateReport, MatchKind};
use crate::store::Store;

use super::{CliError, VerbResult, exit, open_reader, output, task_name};

/// Find records that differ only in spelling, within a task and across tasks
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pieme duplicates                         among all published rows
  pieme duplicates authors --by name       “Smith, John”, “John Smith” and “J. Smith”
  pieme duplicates berlin hamburg --by title --by city
  pieme duplicates --json | jq '.groups[] | select(length > 2)'

Without --by, the columns of `data.key` are compared, or else all text columns that are no links.
Case, accents, punctuation and the order of words do not matter; an initial matches a name.
Nothing is merged.")]
pub(super) struct Args {
    /// Only these tasks; default: all
    task: Vec<String>,
    /// Compare this column; repeatable, then all of them must match
    #[arg(long, value_name = "COLUMN")]
    by: Vec<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Wider cells are cut on a terminal; `--json` has them whole.
const CELL_WIDTH: usize = 80;

/// 80 MB of hashes. Nobody reads a list of more records than are kept.
const LIMITS: DuplicateLimits = DuplicateLimits { compared: 5_000_000, kept: 50_000 };

pub(super) fn run(config: &Config, args: Args) -> VerbResult {
    let store = open_reader(config)?;
    let tasks = match args.task.is_empty() {
        true => store.task_names()?,
        false => args.task.iter().map(|name| task_name(name)).collect::<Result<_, _>>()?,
    };
    let found = duplicates::find(config, &store, &tasks, &args.by, LIMITS)?;
    if found.compared == 0 {
        return Err(nothing_to_compare(&store, &tasks, &args.by)?);
    }
    if args.json {
        let groups: Vec<_> = found.groups.iter().map(as_json).collect();
        return output::answer(&json!({ "compared": found.compared, "complete": found.is_complete, "groups": groups }));
    }
    print(&found);
    Ok(exit::DONE)
}

fn nothing_to_compare(store: &Store, tasks: &[TaskName], by: &[String]) -> Result<CliError, CliError> {
    let mut columns = Vec::new();
    for task in tasks {
        columns.extend(store.published(task, 0, 0)?.map(|rows| rows.table.columns).unwrap_or_default());
    }
    columns.sort_unstable();
    columns.dedup();
    Ok(match columns.is_empty() {
        true => CliError::failed("no rows are published yet; see `pieme status`"),
        false => {
            let wanted = if by.is_empty() { String::new() } else { format!(" in {}", by.join(", ")) };
            let sentence = format!("no record has a text{wanted}; the columns are {}", columns.join(", "));
            CliError::usage(sentence)
        }
    })
}

fn as_json(group: &DuplicateGroup<DuplicateRecord>) -> serde_json::Value {
    let record = |entry: &(MatchKind, DuplicateRecord)| {
        let (how, record) = entry;
        json!({ "match": word(*how), "task": record.task, "record": record.cells })
    };
    group.records.iter().map(record).collect()
}

fn word(how: MatchKind) -> &'static str {
    match how {
        MatchKind::Exact => "same",
        MatchKind::Initials => "initials",
    }
}

fn print(found: &DuplicateReport) {
    let records = found.groups.iter().enumerate().flat_map(|(at, group)| group.records.iter().map(move |it| (at, it)));
    let rows = records.map(|(at, (how, record))| {
        let texts: Vec<&str> = record.cells.values().filter_map(|text| text.as_str()).collect();
        let (number, name) = ((at + 1).to_string(), record.task.to_string());
        [number, word(*how).to_owned(), name, output::cell(&texts.join(" | "), CELL_WIDTH)]
    });
    if !found.groups.is_empty() {
        output::say(output::table(&["GROUP", "MATCH", "TASK", "RECORD"], rows));
    }
    let (groups, records) = (counted(found.groups.len(), "group"), counted(found.compared, "record"));
    output::say(format!("{groups} among {records}"));
    if !found.is_complete {
        output::say("Not all are shown: name fewer tasks.");
    }
}
