//! `pieme run`: runs a task now; by the daemon if one runs, otherwise in this process.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use chrono::Utc;
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, watch};

use crate::config::Config;
use crate::daemon::child::host_limiter::SharedHostLimiter;
use crate::daemon::child::scratch::ScratchFolder;
use crate::daemon::child::spawn::{Spawner, THIS_PROGRAM};
use crate::daemon::http::control::{self, ControlReply, ControlRequest};
use crate::daemon::lock::StateLock;
use crate::daemon::maintenance::gc;
use crate::daemon::maintenance::indexer;
use crate::daemon::runs::progress::ProgressBoard;
use crate::daemon::runs::runner::{RunOrder, RunResult, Runner};
use crate::daemon::store_handle::StoreHandle;
use crate::model::{RunId, TaskName, TraceLine, Verdict, counted};
use crate::store::{RunStart, Store, Trigger};
use crate::tasks::TaskFolder;

use super::resort::note_unindexed;
use super::{CliError, VerbResult, exit, output, task_folder, task_name};

/// How long storing the result of a run may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Run a task now and wait for the outcome
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  pieme run hotels\n  pieme run hotels --json && echo published")]
pub(super) struct Args {
    /// The name of the task
    task: String,
    /// Print the outcome as one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn run(config: &Config, args: Args) -> VerbResult {
    let name = task_name(&args.task)?;
    let verdict = run_now(config, &name)?;
    if args.json {
        output::json(&verdict);
    } else {
        output::say(in_words(&name, &verdict));
    }
    Ok(exit::code_of(&verdict))
}

pub(super) fn in_words(name: &TaskName, verdict: &Verdict) -> String {
    let similarity = verdict.similarity.map(|it| format!(", similarity {it:.2}")).unwrap_or_default();
    let (outcome, cause) = (verdict.outcome.word(), verdict.outcome.cause());
    format!(
        "{name}: {outcome} ({cause}), {}{similarity}: {}",
        counted(verdict.rows, "row"),
        output::sentence(&verdict.sentence)
    )
}

/// Runs the task and prints its trace on stderr meanwhile. Mistakes in its folder are an error even with a daemon,
/// which would run the last good version.
pub(super) fn run_now(config: &Config, name: &TaskName) -> Result<Verdict, CliError> {
    let folder = task_folder(config, name)?;
    if StateLock::is_taken(&config.lock()) {
        runtime()?.block_on(by_daemon(config, name))
    } else {
        run_here(config, folder)
    }
}

/// Runs this task folder in this process.
pub(super) fn run_here(config: &Config, folder: TaskFolder) -> Result<Verdict, CliError> {
    runtime()?.block_on(from_here(config, folder))
}

fn runtime() -> Result<Runtime, CliError> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().map_err(CliError::runtime)
}

async fn by_daemon(config: &Config, name: &TaskName) -> Result<Verdict, CliError> {
    let mut end = None;
    let request = ControlRequest::Run { task: name.clone() };
    let asked = control::call(&config.socket, &request, |reply| match reply {
        ControlReply::Trace(line) => show(&line),
        ControlReply::Ended(verdict) => end = Some(Ok(*verdict)),
        reply => end = CliError::refusal(&reply).map(Err).or(end.take()),
    });
    asked.await.map_err(|error| CliError::unanswered(&config.socket, error))?;
    end.unwrap_or_else(|| Err(CliError::temporary("the daemon ended before the run; try again")))
}

async fn from_here(config: &Config, folder: TaskFolder) -> Result<Verdict, CliError> {
    let name = &folder.name.clone();
    config.prepare_state_folder().map_err(CliError::failed)?;
    let _lock = StateLock::take(&config.lock())?;
    let mut store = Store::open(&config.store)?;
    store.set_retention(gc::retention(config));
    store.end_interrupted_runs(Utc::now())?;
    ScratchFolder::sweep(config);
    store.upsert_task(name, folder.task.title.as_deref(), Utc::now())?;
    store.keep_history(&[(name.clone(), folder.task.data.history)])?;
    join_fleet(&mut store, &folder)?;
    let store_handle = StoreHandle::start(store).map_err(CliError::failed)?;
    let runner = Runner {
        config: Arc::new(config.clone()),
        store: store_handle.clone(),
        spawner: Spawner::start(PathBuf::from(THIS_PROGRAM)).map_err(CliError::failed)?,
        host_limiter: SharedHostLimiter::new(config.per_host, None),
        board: ProgressBoard::default(),
    };
    let (listener, mut lines) = mpsc::unbounded_channel();
    let showing = tokio::spawn(async move {
        while let Some(line) = lines.recv().await {
            show(&line);
        }
    });
    let start = RunStart {
        run: RunId::new(),
        task: name.clone(),
        slot: None,
        trigger: Trigger::Person,
        started_at: Utc::now(),
        pid: None,
    };
    let (stop_on_interrupt, stop) = watch::channel(false);
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            stop_on_interrupt.send_replace(true);
        }
    });
    let ended = runner
        .run(RunOrder { folder: Arc::new(folder), start, next_due: None, listener: Some(listener), stop })
        .await?;
    indexer::index_all(&runner.store).await.unwrap_or_else(|error| note_unindexed(&error));
    // Only lines for the terminal could be lost.
    let _ = showing.await;
    store_handle.call(|store| store.leave()).await?;
    match ended {
        RunResult::Run(end) => Ok(end.verdict),
        RunResult::SlotTaken => Err(CliError::failed("internal error: a manual run was refused as a scheduled one")),
        RunResult::NotOurs => {
            Err(CliError::temporary("another daemon of the fleet has just started this task; try again later"))
        }
    }
}

/// In a fleet this process joins as one more daemon, with a lease as long as the run may take.
fn join_fleet(store: &mut Store, folder: &TaskFolder) -> Result<(), CliError> {
    let (name, lease) = (&folder.name, folder.task.limits.timeout.0 + PATIENCE);
    let alone = store.join(&format!("pieme-run-{}", uuid::Uuid::now_v7()), "a person's terminal", lease)?.is_none();
    if !alone && !store.claim(name)? {
        store.leave()?;
        return Err(CliError::temporary(format!(
            "`{name}` is running on another daemon of the fleet; try again later"
        )));
    }
    Ok(())
}

fn show(line: &TraceLine) {
    output::note(format!("  {:>2} {:<9} {}", line.step, line.verb, output::cell(&line.text, 300)));
}
