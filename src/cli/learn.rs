//! `pieme learn`: finds the lists of a saved page, best first, and writes a template.

mod details;

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use comfy_table::presets::UTF8_FULL_CONDENSED;
use serde_json::{Value, json};

use super::candidates::side_by_side;
use super::file_writer::WriteTarget;
use super::help_args::HelpArgs;
use super::{CliError, PageSandbox, VerbResult, add_limit, exit, output, truncation_note};
use crate::learn;
use crate::learn::apply::visible;
use crate::learn::template::Template;
use crate::learn::{Candidate, LearnOptions};
use crate::model::{Table, counted};

/// Find the lists of a saved page, best first
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pieme learn hotels.html                              # the five best candidates
  pieme learn hotels.html --pick 1 -o template.json    # write the template of the first one
  pieme learn page1.html page2.html --json             # with a further page of the same kind
  pieme learn hotels.html --method cycles --rows 12    # one method, for twelve rows
  pieme learn hotels.html --record 'Hotel Adler' --record 'Pension Ida'  # the list with both
  pieme learn hotels.html --label name='Hotel Adler' --label price=95    # values of one record
  pieme learn hotels.html --enclose 'Hotel Adler'      # all blocks like the one around this text
  pieme learn hotels.html --pick 3 --widen -o t.json   # each row one element wider
  pieme learn hotels.html --row-css li.hotel --column name=h3 --column link=a@href
  pieme learn hotels.html --detail adler.html ida.html --json  # with detail pages of two records
  pieme learn hotels.html --pick 1 -o list.json --detail adler.html --detail-out detail.json")]
pub(super) struct Args {
    /// The saved page, and further pages of the same kind
    #[arg(required = true, value_name = "PAGE")]
    pages: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Largest number of candidates
    #[arg(long, default_value_t = 5, value_name = "N")]
    top: usize,
    /// Method that finds the rows
    #[arg(long, value_enum, default_value_t = MethodArg::Auto)]
    method: MethodArg,
    /// Number of records of the list, if you know it
    #[arg(long, value_name = "N")]
    rows: Option<usize>,
    /// Address of the page
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Use candidate K, counted from 1
    #[arg(long, value_name = "K", requires = "output")]
    pick: Option<usize>,
    /// File for the template of the picked candidate
    #[arg(short, long, value_name = "FILE", requires = "pick")]
    output: Option<PathBuf>,
    /// Detail pages of records, in any order; they identify the list, and their columns are added
    #[arg(long, value_name = "FILE", num_args = 1..)]
    detail: Vec<PathBuf>,
    /// File for the template of the detail pages, for `pieme extract`
    #[arg(long, value_name = "FILE", requires = "detail")]
    detail_out: Option<PathBuf>,
    #[command(flatten)]
    help: HelpArgs,
}

#[derive(Clone, Copy, ValueEnum)]
enum MethodArg {
    /// All methods on the page's tree; the token methods where they find no list
    Auto,
    /// Sibling elements, one per record
    Siblings,
    /// Token sequences that occur N times, for the five likeliest N (Shi et al.)
    Cycles,
    /// Tag patterns that repeat at regular distances (IEPAD)
    Repeats,
}

pub(super) fn run(args: &Args) -> VerbResult {
    let readable: Vec<PathBuf> = args.pages.iter().chain(&args.detail).cloned().collect();
    let outputs = [&args.output, &args.detail_out];
    let targets: Vec<WriteTarget> = outputs.into_iter().flatten().cloned().map(WriteTarget::File).collect();
    let mut sandbox = PageSandbox::enter_with_targets(&readable, &targets)?;
    let pages = args.pages.iter().map(|path| sandbox.read_page(path)).collect::<Result<Vec<_>, _>>()?;
    let method = match args.method {
        MethodArg::Auto => learn::Method::Auto,
        MethodArg::Siblings => learn::Method::Siblings,
        MethodArg::Cycles => learn::Method::Cycles,
        MethodArg::Repeats => learn::Method::Repeats,
    };
    let top = args.top.max(args.pick.unwrap_or(0));
    let options = LearnOptions { top, method, rows: args.rows };
    let said = args.help.to_help(args.pick);
    let picked = args.pick.zip(args.output.as_deref());
    let misfit = CliError::usage;
    if args.detail.is_empty() {
        let candidates = learn::learn_with(&pages, &options, &said).map_err(misfit)?;
        let read_back = |it: Candidate| pages.first().map_or(it.clone(), |page| it.read_back(page));
        let candidates: Vec<Candidate> = candidates.into_iter().map(read_back).collect();
        write_picked(picked, &candidates.iter().collect::<Vec<_>>(), &mut sandbox)?;
        if args.json {
            let mut answer = as_json(&candidates);
            add_limit(
                &mut answer,
                args.pages.first().zip(pages.first()).and_then(|(path, tree)| truncation_note(path, tree)),
            );
            output::json(&answer);
        } else if args.pick.is_none() {
            show(&candidates);
        }
        return Ok(exit::DONE);
    }
    let given = args.detail.iter().map(|path| details::read(path, &sandbox)).collect::<Result<Vec<_>, _>>()?;
    let found = learn::learn_with_details(&pages, &given, &options, &said).map_err(misfit)?;
    write_picked(picked, &found.candidates.iter().map(|it| &it.candidate).collect::<Vec<_>>(), &mut sandbox)?;
    if let Some(output) = &args.detail_out {
        let pages = found.pages.as_ref().ok_or_else(|| {
            CliError::usage("the detail pages have no text of their own, so there is no template to write")
        })?;
        // The last target: -o comes before it.
        write(output, &pages.template, targets.len() - 1, &mut sandbox)?;
    }
    if args.json {
        output::json(&details::as_json(&found, &given));
    } else if args.pick.is_none() {
        details::show_all(&found);
    }
    Ok(exit::DONE)
}

/// Writes the template of the picked candidate, counted from 1, to the first target.
pub(super) fn write_picked(
    picked: Option<(usize, &Path)>,
    candidates: &[&Candidate],
    sandbox: &mut PageSandbox,
) -> Result<(), CliError> {
    let Some((pick, output)) = picked else { return Ok(()) };
    let picked = pick.checked_sub(1).and_then(|place| candidates.get(place)).ok_or_else(|| {
        CliError::usage(format!(
            "there is no candidate {pick}: the page has {}",
            counted(candidates.len(), "candidate")
        ))
    })?;
    write(output, &picked.template, 0, sandbox)
}

/// Writes a template to the target of this index.
fn write(output: &Path, template: &Template, target: usize, sandbox: &mut PageSandbox) -> Result<(), CliError> {
    sandbox
        .write(target, template.to_json().as_bytes())
        .map_err(|error| CliError::usage(format!("cannot write {}: {error}", output.display())))
}

pub(super) fn as_json(candidates: &[Candidate]) -> Value {
    let list: Vec<Value> = candidates
        .iter()
        .enumerate()
        .map(|(i, it)| {
            let mut one = json!({
                "rank": i + 1,
                "method": it.method,
                "rows": it.table.rows.len(),
                "score": it.score,
                "template": it.template.to_string(),
                "columns": it.table.columns,
                "shown": shown(it),
                "records": it.table.records(),
            });
            add_limit(&mut one, it.limit.map(|limit| limit.to_string()));
            one
        })
        .collect();
    json!({ "candidates": list })
}

/// Names of the visible columns, in order.
pub(super) fn shown(candidate: &Candidate) -> Vec<&str> {
    let columns = candidate.template.columns().iter();
    columns.filter(|column| !column.hidden).map(|column| column.name.as_str()).collect()
}

/// Rows and columns of a candidate that are shown.
const SHOWN_ROWS: usize = 4;
const SHOWN_COLUMNS: usize = 6;
const CELL_WIDTH: usize = 40;

pub(super) fn show(candidates: &[Candidate]) {
    if candidates.is_empty() {
        output::say("No list was found on this page: nothing with text repeats.");
    }
    for (i, limit) in candidates.iter().enumerate().filter_map(|(i, it)| Some((i + 1, it.limit?))) {
        output::say(format!("Candidate {i} is incomplete: {limit}."));
    }
    if let Some(width) = output::terminal_width() {
        output::say(side_by_side(candidates, width));
        return;
    }
    for (i, it) in candidates.iter().enumerate() {
        let rows = counted(it.table.rows.len(), "row");
        output::say(format!("{}. {rows} ({}, score {:.2})", i + 1, it.method, it.score));
        output::say(preview(&visible(&it.table, &it.template)));
    }
}

pub(super) fn preview(table: &Table) -> String {
    let mut drawn = comfy_table::Table::new();
    drawn.load_style(UTF8_FULL_CONDENSED);
    drawn.set_content_arrangement(comfy_table::ContentArrangement::Dynamic);
    drawn.set_header(table.columns.iter().take(SHOWN_COLUMNS).map(|name| output::cell(name, CELL_WIDTH)));
    for row in table.rows.iter().take(SHOWN_ROWS) {
        let cells = row.cells.iter().take(SHOWN_COLUMNS);
        drawn.add_row(cells.map(|cell| output::cell(cell.as_deref().unwrap_or(""), CELL_WIDTH)));
    }
    let rest = table.columns.len().saturating_sub(SHOWN_COLUMNS);
    let more = if rest > 0 { format!("\n   and {}", counted(rest, "more column")) } else { String::new() };
    format!("{drawn}{more}")
}
