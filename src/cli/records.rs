//! `pieme records`: prints the published or quarantined rows of a task.

use crate::config::Config;
use crate::model::TaskName;
use crate::show::values;

use super::{VerbResult, exit, nothing_yet, open_reader, output, task_name};

/// Print the published rows of a task
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pieme records hotels
  pieme records hotels --quarantined      the quarantined rows of the last run
  pieme records hotels --values           typed values: 95.00 EUR for “ab 95,00 €”
  pieme records hotels --json | jq '.values[].price'

With --values, `?` marks a text without a value of its column's type; the reasons are listed below.")]
pub(super) struct Args {
    /// The name of the task
    task: String,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// Print the quarantined rows of the last run instead
    #[arg(long)]
    quarantined: bool,
    /// Largest number of rows
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// Print typed values instead of texts, where a column has a type
    #[arg(long, conflicts_with = "json")]
    values: bool,
}

/// Wider cells are cut on a terminal; `--json` has them whole.
const CELL_WIDTH: usize = 48;
const LINE_WIDTH: usize = 160;

pub(super) fn run(config: &Config, args: Args) -> VerbResult {
    let name = task_name(&args.task)?;
    let store = open_reader(config)?;
    let limit = args.limit.unwrap_or(u64::MAX);
    let (rows, sentence) = if args.quarantined {
        let run = store.quarantined_run(&name)?;
        let rows = run.map(|run| store.quarantined_rows(run, limit, 0)).transpose()?.flatten();
        (rows, format!("`{name}` has no quarantined rows"))
    } else {
        (store.published(&name, limit, 0)?, none_published(&name))
    };
    let Some(published) = rows else {
        return Err(nothing_yet(config, &name, sentence));
    };
    if args.json {
        return output::answer(&values::document(&name, &published));
    }
    let header: Vec<&str> = published.table.columns.iter().map(String::as_str).collect();
    let rows = published.table.rows.iter().enumerate().map(|(at, row)| {
        let texts = row.cells.iter().map(|cell| cell.clone().unwrap_or_default());
        let texts: Vec<String> = if args.values { values::display_cells(&published, at) } else { texts.collect() };
        texts.into_iter().map(|text| output::cell(&text, CELL_WIDTH))
    });
    output::say(output::table(&header, rows));
    for reason in values::reasons(&published).iter().filter(|_| args.values) {
        output::say(format!("? {}", output::cell(&reason.line(), LINE_WIDTH)));
    }
    Ok(exit::DONE)
}

pub(super) fn none_published(task: &TaskName) -> String {
    format!("`{task}` has no published rows yet; see `pieme status {task}`")
}
