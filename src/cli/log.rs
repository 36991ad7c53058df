//! `pieme log`: shows the steps of a task's last runs, and the pages that were kept.

use std::path::PathBuf;

use serde::Serialize;
use serde_json::json;

use crate::config::Config;
use crate::model::{PageMeta, PastRun, RunId, TaskName, counted};
use crate::show::times::{self, TimedLine};
use crate::show::verdict::MAX_PAST_RUNS;
use crate::store::Store;

use super::{CliError, VerbResult, exit, nothing_yet, open_reader, output, task_name};

/// Show the steps of the last runs, newest last, and the pages that were kept
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pieme log hotels
  pieme log hotels --last 10 --json
  pieme log hotels --pages                 the kept pages of the newest run that has some
  pieme log hotels --page 1 -o page.html   writes the first of them, as it was received
  pieme log hotels --run 0198a… --pages    the kept pages of another run

Each line starts with the seconds since the start of the run.
Pages are kept of the last good run and of the last runs that were not published.")]
pub(super) struct Args {
    /// The name of the task
    task: String,
    /// Number of runs
    #[arg(long, default_value_t = 3, value_name = "N")]
    last: u32,
    /// Only this run; ID is its id or the start of it
    #[arg(long, value_name = "ID")]
    run: Option<String>,
    /// List the kept pages of the run
    #[arg(long)]
    pages: bool,
    /// Write kept page K, counted from 1
    #[arg(long, value_name = "K", conflicts_with = "pages")]
    page: Option<usize>,
    /// File for the page; default: stdout
    #[arg(short, long, value_name = "FILE", requires = "page")]
    output: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Protects against decompression bombs. Pages themselves are bounded by limits.max_page_bytes, 20 MB by default.
const MAX_UNPACKED: usize = 256 << 20;

#[derive(Serialize)]
struct LoggedRun {
    #[serde(flatten)]
    run: PastRun,
    trace: Vec<TimedLine>,
}

pub(super) fn run(config: &Config, args: Args) -> VerbResult {
    let name = task_name(&args.task)?;
    let store = open_reader(config)?;
    if args.pages || args.page.is_some() {
        let (run, pages) = kept_pages(&store, &name, args.run.as_deref())?;
        return match args.page {
            Some(number) => write_page(&pages, number, args.output.as_ref()),
            None => list(&name, run, &pages, args.json),
        };
    }
    let mut entries = Vec::new();
    let runs = match &args.run {
        Some(id) => vec![find_run(&store, &name, id)?],
        None => store.past_verdicts(&name, args.last)?,
    };
    for run in runs.into_iter().rev() {
        entries.push(LoggedRun { trace: times::timed(store.trace_lines(run.run)?, run.started_at), run });
    }
    if args.json {
        return output::answer(&json!({ "task": name, "runs": entries }));
    }
    if entries.is_empty() {
        return Err(nothing_yet(config, &name, not_run_yet(&name)));
    }
    for entry in &entries {
        let verdict = &entry.run.verdict;
        output::say(format!("{}  run {}", entry.run.started_at.format("%Y-%m-%d %H:%M:%S UTC"), entry.run.run));
        for TimedLine { line, .. } in &entry.trace {
            let since = times::since(entry.run.started_at, line.at);
            output::say(format!("  {since:>9} {:>2} {:<9} {}", line.step, line.verb, output::cell(&line.text, 2_000)));
        }
        let (outcome, cause) = (verdict.outcome.word(), verdict.outcome.cause());
        output::say(format!(
            "  => {outcome} ({cause}), {}: {}\n",
            counted(verdict.rows, "row"),
            output::sentence(&verdict.sentence)
        ));
    }
    Ok(exit::DONE)
}

pub(super) fn not_run_yet(name: &TaskName) -> String {
    format!("`{name}` has not run yet; type `pieme run {name}`")
}

/// The run whose id starts with `id`.
pub(super) fn find_run(store: &Store, name: &TaskName, id: &str) -> Result<PastRun, CliError> {
    let past = store.past_verdicts(name, MAX_PAST_RUNS)?;
    let mut found = past.into_iter().filter(|run| run.run.to_string().starts_with(id));
    let first = found.next().ok_or_else(|| {
        CliError::usage(format!("`{name}` has no run `{id}`; `pieme log {name} --last 20` lists them"))
    })?;
    match found.next() {
        None => Ok(first),
        Some(_) => Err(CliError::usage(format!("several runs start with `{id}`; give more of the id"))),
    }
}

type RunPages = Vec<(PageMeta, Vec<u8>)>;

/// The kept pages of the given run, or of the newest that has some.
fn kept_pages(store: &Store, name: &TaskName, id: Option<&str>) -> Result<(RunId, RunPages), CliError> {
    let runs = match id {
        Some(id) => vec![find_run(store, name, id)?],
        None => store.past_verdicts(name, MAX_PAST_RUNS)?,
    };
    for run in runs {
        let pages = store.pages(run.run)?;
        if !pages.is_empty() {
            return Ok((run.run, pages));
        }
    }
    Err(CliError::failed(format!(
        "no page of `{name}` was kept; pages are kept of the last good run and of the last runs that were not published"
    )))
}

fn list(name: &TaskName, run: RunId, pages: &[(PageMeta, Vec<u8>)], as_json: bool) -> VerbResult {
    if as_json {
        let all = pages.iter().enumerate().map(|(index, (meta, _))| json!({ "page": index + 1, "meta": meta }));
        return output::answer(&json!({ "task": name, "run": run, "pages": all.collect::<Vec<_>>() }));
    }
    output::say(format!("run {run}"));
    let rows = pages.iter().enumerate().map(|(index, (meta, _))| {
        [
            (index + 1).to_string(),
            meta.status.to_string(),
            meta.fetched_at.format("%Y-%m-%d %H:%M:%S").to_string(),
            meta.elapsed_ms.to_string(),
            output::cell(meta.url.as_str(), 120),
            output::cell(meta.saved_as.as_deref().unwrap_or_default(), 40),
        ]
    });
    output::say(output::table(&["PAGE", "STATUS", "FETCHED", "MS", "URL", "SAVED AS"], rows));
    Ok(exit::DONE)
}

fn write_page(pages: &[(PageMeta, Vec<u8>)], number: usize, file: Option<&PathBuf>) -> VerbResult {
    let page = number.checked_sub(1).and_then(|index| pages.get(index));
    let (_, packed) = page.ok_or_else(|| {
        CliError::usage(format!("there is no page {number}; {} kept, counted from 1", counted(pages.len(), "page")))
    })?;
    let body = zstd::bulk::decompress(packed, MAX_UNPACKED)
        .map_err(|error| CliError::failed(format!("cannot decompress the kept page: {error}")))?;
    match file {
        Some(file) => {
            std::fs::write(file, &body).map_err(CliError::unwritable(file))?;
            output::note(format!("Wrote {} to {}", counted(body.len(), "byte"), file.display()));
        }
        None => output::bytes(&body).map_err(|error| CliError::failed(format!("cannot write the page: {error}")))?,
    }
    Ok(exit::DONE)
}
