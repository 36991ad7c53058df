//! `pieme search`: full-text search in all published rows.

use clap::ColorChoice;

use crate::config::Config;
use crate::model::{TaskName, counted};
use crate::show::search_results;
use crate::store::{Hit, Query, SearchRequest, SearchResults, Snippet};

use super::{CliError, VerbResult, exit, open_reader, output, task_name};

/// Search all published rows
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pieme search halifax hotel             both words, anywhere in a row
  pieme search '\"grand hotel\"' bar*      a phrase, and a word that starts with bar
  pieme search 'hotel -breakfast'        rows without the word breakfast
  pieme search name:adler price:95       in these columns
  pieme search adler --task hotels --json | jq '.hits[].record'

Accents, case and punctuation do not matter. Quote characters that the shell would interpret.")]
pub(super) struct Args {
    /// Words, "phrases", start*, -not, column:word
    #[arg(required = true)]
    words: Vec<String>,
    /// Search only this task; repeatable
    #[arg(long, value_name = "TASK")]
    task: Vec<String>,
    /// Search only this column
    #[arg(long, value_name = "NAME")]
    column: Option<String>,
    /// Largest number of rows
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: u64,
    /// Skip this many of the best rows
    #[arg(long, value_name = "N", default_value_t = 0)]
    offset: u64,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Longer column names are cut.
const NAME_WIDTH: usize = 20;
const SNIPPET_WIDTH: usize = 200;

pub(super) fn run(config: &Config, args: Args) -> VerbResult {
    let query = Query::parse(&args.words.join(" "), args.column.as_deref()).map_err(CliError::usage)?;
    let tasks: Vec<TaskName> = args.task.iter().map(|task| task_name(task)).collect::<Result<_, _>>()?;
    let wanted = SearchRequest { query, tasks, limit: args.limit, offset: args.offset };
    let answer = open_reader(config)?.search(&wanted)?;
    if args.json {
        return output::answer(&search_results::document(&answer));
    }
    let is_styled = output::is_styled(ColorChoice::Auto);
    answer.hits.iter().for_each(|hit| show(hit, is_styled));
    output::note(summary(&answer, &wanted));
    Ok(exit::DONE)
}

/// Prints a heading for the row, then the cells that matched.
fn show(hit: &Hit, is_styled: bool) {
    let snippets = hit.snippets();
    let first = hit.columns.iter().zip(&hit.row.cells).find_map(|(_, cell)| cell.as_deref()).unwrap_or_default();
    output::say(format!("{}  {}  since {}", hit.task, output::cell(first, 60), hit.first_seen.format("%Y-%m-%d")));
    let width = snippets.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).min(NAME_WIDTH);
    for (name, snippet) in snippets {
        output::say(format!("  {:width$}  {}", output::cell(name, NAME_WIDTH), highlighted(&snippet, is_styled)));
    }
}

/// Marks the matches: bold on a terminal, in brackets elsewhere.
fn highlighted(snippet: &Snippet, is_styled: bool) -> String {
    let (before, after) = if is_styled { ("\u{1b}[1m", "\u{1b}[0m") } else { ("[", "]") };
    let part = |from: usize, to: usize| {
        let part: String = snippet.text.chars().skip(from).take(to - from).collect();
        output::cell(&part, SNIPPET_WIDTH)
    };
    let (mut shown, mut at) = (String::new(), 0);
    for &(from, to) in &snippet.marks {
        shown.push_str(&format!("{}{before}{}{after}", part(at, from), part(from, to)));
        at = to;
    }
    shown + &part(at, snippet.text.chars().count())
}

fn summary(answer: &SearchResults, wanted: &SearchRequest) -> String {
    let SearchResults { hits, total, is_total_capped: is_more, unindexed_rows: behind } = answer;
    let shown = hits.len() as u64;
    let mut sentence = match (shown, total) {
        (0, 0) => "No rows found".to_owned(),
        (0, _) => format!("{} found, none beyond --offset {}", counted(*total, "row"), wanted.offset),
        _ => {
            let more = if *is_more { "more than " } else { "" };
            format!("Rows {} to {} of {more}{total}", wanted.offset + 1, wanted.offset + shown)
        }
    };
    if shown > 0 && (*is_more || wanted.offset + shown < *total) {
        sentence += &format!("; --offset {} for more", wanted.offset + shown);
    }
    if *behind > 0 {
        sentence += &format!("; {} published recently may not be in the index yet", counted(*behind, "row"));
    }
    sentence
}
