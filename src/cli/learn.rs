//! `pieme learn`: the lists of a page, best first.

use std::path::PathBuf;

use clap::ValueEnum;
use comfy_table::presets::UTF8_FULL_CONDENSED;
use serde_json::{Value, json};

use super::candidates::side_by_side;
use super::said::HelpArgs;
use super::{Complaint, Done, exit, out, read_page, settle};
use crate::extract::visible;
use crate::induce::{self, Candidate, LearnOptions};
use crate::model::Table;

/// Find the lists of a page, best first
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pieme learn hotels.html                           show the five likeliest lists
  pieme learn hotels.html --pick 1 -o template.json take the first one
  pieme learn page1.html page2.html --json          further pages of the same kind make it surer
  pieme learn hotels.html --method cycles --rows 12 ask one teacher, for twelve rows
  pieme learn hotels.html --record 'Hotel Adler' --record 'Pension Ida'    two records of yours
  pieme learn hotels.html --label name='Hotel Adler' --label price=95      values of one record, named
  pieme learn hotels.html --enclose 'Hotel Adler'   the block around it, and all that are like it
  pieme learn hotels.html --pick 2 --widen -o t.json                       candidate 2, each row one element wider
  pieme learn hotels.html --row-css li.hotel --column name=h3 --column link=a@href")]
pub struct Args {
    /// The page, and further pages of the same kind
    #[arg(required = true, value_name = "PAGE")]
    pages: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// How many candidates to show
    #[arg(long, default_value_t = 5, value_name = "N")]
    top: usize,
    /// Who may propose rows
    #[arg(long, value_enum, default_value_t = Method::Auto)]
    method: Method,
    /// How many records the list has, if you know
    #[arg(long, value_name = "N")]
    rows: Option<usize>,
    /// Where the page came from
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Take this candidate, counted from 1
    #[arg(long, value_name = "K", requires = "output")]
    pick: Option<usize>,
    /// Where to write the picked template
    #[arg(short, long, value_name = "FILE", requires = "pick")]
    output: Option<PathBuf>,
    #[command(flatten)]
    help: HelpArgs,
}

#[derive(Clone, Copy, ValueEnum)]
enum Method {
    /// Every teacher that reads the page's tree; the others where it shows no list
    Auto,
    /// One element a record, side by side
    Siblings,
    /// Token sequences that come back N times, for the five likeliest N (Shi et al.)
    Cycles,
    /// Tag patterns that come back at even distances (IEPAD)
    Repeats,
}

pub fn run(args: Args) -> u8 {
    settle(learn(&args))
}

fn learn(args: &Args) -> Done {
    let pages = args.pages.iter().map(|path| read_page(path)).collect::<Result<Vec<_>, _>>()?;
    let method = match args.method {
        Method::Auto => induce::Method::Auto,
        Method::Siblings => induce::Method::Siblings,
        Method::Cycles => induce::Method::Cycles,
        Method::Repeats => induce::Method::Repeats,
    };
    let top = args.top.max(args.pick.unwrap_or(0));
    let options = LearnOptions { top, method, rows: args.rows };
    let candidates = induce::learn_with(&pages, &options, &args.help.said(args.pick))
        .map_err(|error| Complaint::new(exit::USAGE, error.to_string()))?;
    if let (Some(pick), Some(output)) = (args.pick, &args.output) {
        let picked = pick.checked_sub(1).and_then(|place| candidates.get(place)).ok_or_else(|| {
            Complaint::new(exit::USAGE, format!("there is no candidate {pick}: the page has {}", candidates.len()))
        })?;
        std::fs::write(output, picked.template.to_json())
            .map_err(|error| Complaint::new(exit::USAGE, format!("cannot write {}: {error}", output.display())))?;
    }
    if args.json {
        out::json(&as_json(&candidates));
    } else if args.pick.is_none() {
        show(&candidates);
    }
    Ok(exit::DONE)
}

fn as_json(candidates: &[Candidate]) -> Value {
    let list: Vec<Value> = candidates
        .iter()
        .enumerate()
        .map(|(i, it)| {
            json!({
                "rank": i + 1,
                "method": it.method,
                "rows": it.table.rows.len(),
                "score": it.score,
                "template": it.template.to_string(),
                "columns": it.table.columns,
                "records": it.table.records(),
            })
        })
        .collect();
    json!({ "candidates": list })
}

/// Rows of a candidate that a person sees, and columns.
const SHOWN_ROWS: usize = 4;
const SHOWN_COLUMNS: usize = 6;
const CELL_WIDTH: usize = 40;

fn show(candidates: &[Candidate]) {
    if candidates.is_empty() {
        out::say("No list on this page: nothing comes back at least twice with text in it.");
    }
    if let Some(width) = out::terminal_width() {
        out::say(side_by_side(candidates, width));
        return;
    }
    for (i, it) in candidates.iter().enumerate() {
        out::say(format!("{}. {} rows ({}, score {:.2})", i + 1, it.table.rows.len(), it.method, it.score));
        out::say(preview(&visible(&it.table, &it.template)));
    }
}

pub(super) fn preview(table: &Table) -> String {
    let mut drawn = comfy_table::Table::new();
    drawn.load_style(UTF8_FULL_CONDENSED);
    drawn.set_content_arrangement(comfy_table::ContentArrangement::Dynamic);
    drawn.set_header(table.columns.iter().take(SHOWN_COLUMNS).map(|name| out::cell(name, CELL_WIDTH)));
    for row in table.rows.iter().take(SHOWN_ROWS) {
        let cells = row.cells.iter().take(SHOWN_COLUMNS);
        drawn.add_row(cells.map(|cell| out::cell(cell.as_deref().unwrap_or(""), CELL_WIDTH)));
    }
    let rest = table.columns.len().saturating_sub(SHOWN_COLUMNS);
    let more = if rest > 0 { format!("\n   and {rest} more columns") } else { String::new() };
    format!("{drawn}{more}")
}
