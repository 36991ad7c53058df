//! `pieme gc`: remove what is not kept any longer, by the daemon when there is one, otherwise from here.

use crate::config::Config;
use crate::daemon::control::{self, Reply, Request};
use crate::daemon::gc;
use crate::daemon::keeper::Keeper;
use crate::daemon::lock::StateLock;
use crate::daemon::scratch::Scratch;
use crate::store::{Collected, Store};

use super::{Complaint, Done, exit, out, refusal};

/// Remove what is not kept any longer
#[derive(clap::Args)]
#[command(
    long_about = "Remove what is not kept any longer: old runs, traces, pages, and rows that were kept aside, as [keep] and \
                  [pages] of config.toml say, and changes that are older than `data.history` of their task. Published rows always stay. The daemon does the same once a day.",
    after_help = "Examples:\n  pieme gc --dry-run\n  pieme gc --json | jq .page_bytes"
)]
pub struct Args {
    /// Only say what would be removed
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub fn run(config: &Config, args: Args) -> Done {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Complaint::new(exit::FAILED, format!("no runtime could be started: {error}")))?;
    let collected = runtime.block_on(async {
        match StateLock::is_taken(&config.lock()) {
            true => by_daemon(config, args.dry_run).await,
            false => from_here(config, args.dry_run).await,
        }
    })?;
    if args.json {
        out::json(&collected);
    } else {
        out::say(in_words(&collected, args.dry_run));
    }
    Ok(exit::DONE)
}

async fn by_daemon(config: &Config, dry_run: bool) -> Result<Collected, Complaint> {
    let mut end = None;
    let (socket, request) = (config.socket.clone(), Request::Collect { dry_run });
    let asked = control::ask(&socket, &request, |reply| match reply {
        Reply::Collected(collected) => end = Some(Ok(collected)),
        reply @ (Reply::Refused { .. } | Reply::Busy { .. }) => end = refusal(&reply).map(Err),
        Reply::Queued
        | Reply::Started { .. }
        | Reply::Trace(_)
        | Reply::Ended(_)
        | Reply::Done
        | Reply::Progress { .. }
        | Reply::Tasks { .. } => {}
    });
    asked.await.map_err(|error| {
        Complaint::new(exit::TEMPORARY, format!("the daemon does not answer at {}: {error}", socket.display()))
    })?;
    end.unwrap_or_else(|| Err(Complaint::new(exit::TEMPORARY, "the daemon ended before it was done")))
}

async fn from_here(config: &Config, dry_run: bool) -> Result<Collected, Complaint> {
    let failed = |error: &dyn std::fmt::Display| Complaint::new(exit::FAILED, error.to_string());
    // Nothing is made where nothing is: a reader's error says so.
    drop(super::reader(config)?);
    let _lock = StateLock::take(&config.lock())?;
    let mut store = Store::open(&config.store)?;
    store.set_keep(gc::keep(config));
    if !dry_run {
        Scratch::sweep(config);
    }
    let keeper = Keeper::start(store).map_err(|error| failed(&error))?;
    Ok(gc::collect(&keeper, dry_run).await?)
}

fn in_words(collected: &Collected, dry_run: bool) -> String {
    let Collected { runs, trace_lines, pages, page_bytes, generations, changes } = collected;
    let done = if dry_run { "would remove" } else { "removed" };
    let kilobytes = page_bytes.div_ceil(1_000);
    format!(
        "{done} {runs} runs, {trace_lines} trace lines, {pages} pages ({kilobytes} kB), {generations} sets of rows, \
         {changes} entries of history"
    )
}
