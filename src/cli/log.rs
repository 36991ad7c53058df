//! `pieme log`: what a task's runs did, step by step.

use serde::Serialize;

use crate::config::Config;
use crate::model::{PastRun, TraceLine};

use super::{Complaint, Done, exit, out, reader, task_name};

/// What a task's latest runs did, step by step, newest last
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  pieme log hotels\n  pieme log hotels --last 10 --json")]
pub struct Args {
    task: String,
    /// How many runs
    #[arg(long, default_value_t = 3, value_name = "N")]
    last: u32,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Entry {
    #[serde(flatten)]
    run: PastRun,
    trace: Vec<TraceLine>,
}

pub fn run(config: &Config, args: Args) -> Done {
    let name = task_name(&args.task)?;
    let store = reader(config)?;
    let mut entries = Vec::new();
    for run in store.past(&name, args.last)?.into_iter().rev() {
        entries.push(Entry { trace: store.traces(run.run)?, run });
    }
    if args.json {
        out::json(&serde_json::json!({ "task": name, "runs": entries }));
        return Ok(exit::DONE);
    }
    if entries.is_empty() {
        return Err(Complaint::new(exit::FAILED, format!("`{name}` has not run yet; `pieme run {name}` runs it")));
    }
    for entry in &entries {
        let verdict = &entry.run.verdict;
        out::say(format!("{}  run {}", entry.run.started_at.format("%Y-%m-%d %H:%M:%S UTC"), entry.run.run));
        for line in &entry.trace {
            out::say(format!("  {:>2} {:<9} {}", line.step, line.verb, out::cell(&line.text, 2_000)));
        }
        let (outcome, cause) = (verdict.outcome.word(), verdict.outcome.cause());
        out::say(format!("  => {outcome} ({cause}), {} rows: {}\n", verdict.rows, out::cell(&verdict.sentence, 2_000)));
    }
    Ok(exit::DONE)
}
