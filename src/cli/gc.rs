//! `pieme gc`: removes data past its retention; by the daemon if one runs, otherwise in this process.

use crate::config::Config;
use crate::daemon::child::scratch::ScratchFolder;
use crate::daemon::http::control::{self, ControlReply, ControlRequest};
use crate::daemon::lock::StateLock;
use crate::daemon::maintenance::gc;
use crate::daemon::store_handle::StoreHandle;
use crate::model::counted;
use crate::store::{GcCounts, Store};

use super::{CliError, VerbResult, exit, output};

/// Remove old runs, traces, pages and history
#[derive(clap::Args)]
#[command(
    long_about = "Remove old runs, traces, pages and quarantined rows, as set by [keep] and [pages] in config.toml, \
                  and changes older than `data.history` of their task. Published rows are never removed. The daemon \
                  does the same once a day.",
    after_help = "Examples:\n  pieme gc --dry-run\n  pieme gc --json | jq .page_bytes"
)]
pub(super) struct Args {
    /// Only print what would be removed
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn run(config: &Config, args: Args) -> VerbResult {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(CliError::runtime)?;
    let collected = runtime.block_on(async {
        match StateLock::is_taken(&config.lock()) {
            true => by_daemon(config, args.dry_run).await,
            false => from_here(config, args.dry_run).await,
        }
    })?;
    if args.json {
        output::json(&collected);
    } else {
        output::say(in_words(&collected, args.dry_run));
    }
    Ok(exit::DONE)
}

async fn by_daemon(config: &Config, dry_run: bool) -> Result<GcCounts, CliError> {
    let mut end = None;
    let request = ControlRequest::Collect { dry_run };
    let asked = control::call(&config.socket, &request, |reply| match reply {
        ControlReply::Collected(collected) => end = Some(Ok(collected)),
        reply => end = CliError::refusal(&reply).map(Err).or(end.take()),
    });
    asked.await.map_err(|error| CliError::unanswered(&config.socket, error))?;
    end.unwrap_or_else(|| Err(CliError::temporary("the daemon ended before it had finished; try again")))
}

async fn from_here(config: &Config, dry_run: bool) -> Result<GcCounts, CliError> {
    // Opened for reading first: gc must not create a database, and the reader's error says that there is none.
    drop(super::open_reader(config)?);
    let _lock = StateLock::take(&config.lock())?;
    let mut store = Store::open(&config.store)?;
    store.set_retention(gc::retention(config));
    if !dry_run {
        ScratchFolder::sweep(config);
    }
    let store_handle = StoreHandle::start(store).map_err(CliError::failed)?;
    Ok(gc::collect(&store_handle, dry_run).await?)
}

fn in_words(collected: &GcCounts, dry_run: bool) -> String {
    let GcCounts { runs, trace_lines, pages, page_bytes, generations, changes } = collected;
    let done = if dry_run { "would remove" } else { "removed" };
    let kilobytes = page_bytes.div_ceil(1_000);
    format!(
        "{done} {}, {}, {} ({kilobytes} kB), {}, {}",
        counted(*runs, "run"),
        counted(*trace_lines, "trace line"),
        counted(*pages, "page"),
        counted(*generations, "generation"),
        counted(*changes, "history record")
    )
}
