//! `pieme replay`: judges saved pages in order, as if each were the next run.

use std::path::{Path, PathBuf};

use chrono::Utc;
use serde_json::json;

use super::extract::read_template;
use super::{CliError, PageSandbox, VerbResult, exit, output, read_bytes, truncation_note};
use crate::judge::{self, RunObservation, Tally, TemplateOrigin};
use crate::learn;
use crate::learn::apply;
use crate::learn::template::Template;
use crate::model::task::Expect;
use crate::model::{Failure, PastRun, RunId, RunStatistics, Verdict, counted};
use crate::page::signs;

/// Judge saved pages in order, as if each were the next run
///
/// The first page is the one that the template was learned from. Exits with 1 if a page would not be published.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pieme replay --template template.json monday.html tuesday.html wednesday.html
  pieme replay --template template.json --json *.html | jq 'select(.outcome != \"published\")'")]
pub(super) struct Args {
    /// Template written by `pieme learn --pick K -o FILE`
    #[arg(long, value_name = "FILE")]
    template: PathBuf,
    /// The saved pages, oldest first
    #[arg(required = true, value_name = "PAGE")]
    pages: Vec<PathBuf>,
    /// Print one JSON line per page
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> VerbResult {
    let readable: Vec<PathBuf> = args.pages.iter().chain([&args.template]).cloned().collect();
    let sandbox = PageSandbox::enter(&readable)?;
    let template = read_template(&args.template)?;
    let mut past: Vec<PastRun> = Vec::new();
    let mut all_good = true;
    for path in &args.pages {
        let verdict = match judge_input(&sandbox, &template, path, &past)? {
            Ok(seen) => judge::verdict(&Expect::default(), &[], &seen, &past),
            Err(limit) => Verdict::failed(Failure::Limit, limit),
        };
        show(path, &verdict, args.json);
        all_good &= verdict.outcome.is_published();
        let now = Utc::now();
        past.insert(0, PastRun { run: RunId::new(), started_at: now, ended_at: now, verdict });
    }
    Ok(if all_good { exit::DONE } else { exit::FAILED })
}

/// The input of the judge for a run that fetched only this page, or the limit at which the run would fail.
fn judge_input(
    sandbox: &PageSandbox,
    template: &Template,
    path: &Path,
    past: &[PastRun],
) -> Result<Result<RunObservation, String>, CliError> {
    let body = read_bytes(path)?;
    let tree = sandbox.parse(&body, None);
    let extraction = apply::records(template, &tree);
    let limit = extraction.limit.map(|limit| format!("{}: {limit}", path.display()));
    if let Some(sentence) = truncation_note(path, &tree).or(limit) {
        return Ok(Err(sentence));
    }
    let mut tally = Tally::comparing(judge::known_records(&[], past));
    tally.set_columns(extraction.table.columns.iter().cloned().zip(apply::visible_text_columns(template)));
    let rows: Vec<_> = extraction.table.rows.iter().filter(|row| row.cells.iter().any(Option::is_some)).collect();
    rows.iter().for_each(|row| tally.add(&row.cells));
    if tally.misses_records(extraction.similarity) {
        apply::page_values(&tree).for_each(|value| tally.see_value(&value));
    }
    let likeness = Some(extraction.likeness);
    Ok(Ok(RunObservation {
        pages: 1,
        rows: rows.len() as u64,
        similarity: Some(extraction.similarity),
        has_any_list: !rows.is_empty() || learn::has_list(&tree),
        statistics: RunStatistics {
            similarity_parts: likeness,
            columns: tally.statistics(),
            records: tally.records(),
            table: extraction.moved_columns.unwrap_or_default(),
            cells: tally.cells(),
            known: tally.known(),
            signs: signs::detect(&tree, &body),
            ..RunStatistics::default()
        },
        missing_rows: None,
        template_origin: TemplateOrigin::Confirmed,
    }))
}

fn show(path: &Path, verdict: &Verdict, as_json: bool) {
    let (page, outcome, cause) = (path.display().to_string(), verdict.outcome.word(), verdict.outcome.cause());
    if as_json {
        output::json(&json!({
            "page": page, "outcome": outcome, "cause": cause, "similarity": verdict.similarity, "rows": verdict.rows,
            "sentence": verdict.sentence,
        }));
    } else {
        let similarity = verdict.similarity.unwrap_or(0.0);
        let rows = counted(verdict.rows, "row");
        output::say(format!("{page}: {outcome} ({cause}), {rows}, similarity {similarity:.2}\n  {}", verdict.sentence));
    }
}
