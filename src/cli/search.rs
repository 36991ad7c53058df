//! `pieme search`: words in all published rows.

use clap::ColorChoice;

use crate::config::Config;
use crate::model::TaskName;
use crate::show::search_results;
use crate::store::{Hit, Query, SearchRequest, SearchResults, Snippet};

use super::{CliError, VerbResult, exit, open_reader, output, task_name};

/// Find words in all published rows
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  pieme search halifax hotel            both words, anywhere in a row\n  pieme search '\"grand hotel\"' bar*      a phrase, and a word that begins with bar\n  pieme search 'hotel -breakfast'        without that word\n  pieme search name:adler price:95       in these columns\n  pieme search adler --task hotels --json | jq '.hits[].record'\n\nAccents, case and punctuation do not count. What the shell would read goes between single quotes."
)]
pub struct Args {
    /// Words, \"phrases\", begin*, -not, column:word
    #[arg(required = true)]
    words: Vec<String>,
    /// Only in this task; may be said several times
    #[arg(long, value_name = "TASK")]
    task: Vec<String>,
    /// Only in the column of this name
    #[arg(long, value_name = "NAME")]
    column: Option<String>,
    /// At most so many rows
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: u64,
    /// Leave out so many of the best
    #[arg(long, value_name = "N", default_value_t = 0)]
    offset: u64,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Wider names of columns are cut.
const NAME_WIDTH: usize = 20;
const SNIPPET_WIDTH: usize = 200;

pub fn run(config: &Config, args: Args) -> VerbResult {
    let query = Query::parse(&args.words.join(" "), args.column.as_deref())
        .map_err(|error| CliError::new(exit::USAGE, error.to_string()))?;
    let tasks: Vec<TaskName> = args.task.iter().map(|task| task_name(task)).collect::<Result<_, _>>()?;
    let wanted = SearchRequest { query, tasks, limit: args.limit, offset: args.offset };
    let answer = open_reader(config)?.search(&wanted)?;
    if args.json {
        output::json(&search_results::document(&answer));
        return Ok(exit::DONE);
    }
    let is_styled = output::is_styled(ColorChoice::Auto);
    answer.hits.iter().for_each(|hit| show(hit, is_styled));
    output::note(summary(&answer, &wanted));
    Ok(exit::DONE)
}

/// The cells that matched, under a line that says what they are of.
fn show(hit: &Hit, is_styled: bool) {
    let snippets = hit.snippets();
    let first = hit.columns.iter().zip(&hit.row.cells).find_map(|(_, cell)| cell.as_deref()).unwrap_or_default();
    output::say(format!("{}  {}  since {}", hit.task, output::cell(first, 60), hit.first_seen.format("%Y-%m-%d")));
    let width = snippets.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).min(NAME_WIDTH);
    for (name, snippet) in snippets {
        output::say(format!("  {:width$}  {}", output::cell(name, NAME_WIDTH), highlighted(&snippet, is_styled)));
    }
}

/// What was found stands out: bold on a terminal, in brackets elsewhere.
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
        (0, 0) => "nothing found".to_owned(),
        (0, _) => format!("{total} found, none beyond --offset {}", wanted.offset),
        _ => {
            let more = if *is_more { "more than " } else { "" };
            format!("{} to {} of {more}{total}", wanted.offset + 1, wanted.offset + shown)
        }
    };
    if shown > 0 && (*is_more || wanted.offset + shown < *total) {
        sentence += &format!("; --offset {} for more", wanted.offset + shown);
    }
    if *behind > 0 {
        sentence += &format!("; {behind} rows of tasks published lately may not be in the index yet");
    }
    sentence
}
