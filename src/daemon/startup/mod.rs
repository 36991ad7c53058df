//! The daemon's start, in the order in which the parts need each other, and its end.

mod open_store;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use chrono::Utc;
use sd_notify::NotifyState;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use crate::config::Config;
use crate::store::{Store, StoreError};

use super::alerts::Alerts;
use super::child::host_limiter::SharedHostLimiter;
use super::child::scratch::ScratchFolder;
use super::child::spawn::Spawner;
use super::error::DaemonError;
use super::event_loop::EventLoop;
use super::fleet::member::FleetMember;
use super::http::handle::DaemonHandle;
use super::http::metrics::DaemonMetrics;
use super::http::{control, server};
use super::planner::Planner;
use super::runs::progress::ProgressBoard;
use super::runs::runner::Runner;
use super::schedule::clock::{self, SchedulerClock};
use super::store_handle::StoreHandle;
use super::tasks::watch;
use super::{Event, systemd};
use open_store::{StartupContext, StartupState};

/// Events that may wait for the loop.
const INBOX_SIZE: usize = 4_096;

/// Runs the service until it is told to stop. `program` is `pieme-daemon`, which is executed again for each run.
/// `front` gets the daemon's handle once the task folders are read.
pub async fn run(config: Config, program: PathBuf, front: impl FnOnce(DaemonHandle)) -> Result<(), DaemonError> {
    if nix::unistd::geteuid().is_root() {
        tracing::warn!("the daemon runs as root; give it a user of its own, as systemd/pieme-daemon.service does");
    }
    let (events, mut inbox) = mpsc::channel(INBOX_SIZE);
    forward_signals(&events).map_err(DaemonError::io("signals"))?;
    let (config, board, metrics) = (Arc::new(config), ProgressBoard::default(), Arc::new(DaemonMetrics::default()));
    let waiting = StartupContext { events: &events, board: &board, listeners: &metrics.listeners };
    let Some(opened) = open_store::open(&config, &mut inbox, waiting).await? else { return Ok(()) };
    let StartupState { mut lock, store, fleet, is_listening } = opened;
    ScratchFolder::sweep(&config);
    if !is_listening {
        let listening = metrics.listeners.register("control");
        control::listen(&config.socket, events.clone(), board.clone(), listening)
            .map_err(DaemonError::io("control socket"))?;
    }
    let runner = start_runner(Arc::clone(&config), program, board, store, fleet.as_ref())?;
    let watcher = watch::watch(&config.tasks, events.clone());
    if let Err(error) = &watcher {
        tracing::warn!("watching {} failed ({error}); it is scanned every 2 s instead", config.tasks.display());
    }
    let clock = SchedulerClock::start(events.clone(), watcher.is_ok()).await?;
    let (started_at, store) = (Utc::now(), runner.store.clone());
    if !clock::is_plausible(started_at) {
        tracing::warn!("the system clock says {started_at}, which is in the past: no task runs until the clock is set");
    }
    let (alerts, delivery) = Alerts::start(Arc::clone(&config), store.clone(), Arc::clone(&metrics), started_at);
    let mut planner = Planner::new(Arc::clone(&config), store.clone(), fleet.clone(), started_at);
    // If the store fails again now, the loop retries as at any other time.
    ignore_transient(planner.rescan().await)?;
    ignore_transient(planner.renew_first_lease().await)?;
    if let Some(fleet) = &fleet {
        fleet.keep_renewing(events.clone());
    }
    serve_metrics(&config, store, &metrics).await?;
    front(DaemonHandle::new(runner.clone(), events.clone(), metrics.listeners.clone()));
    tracing::info!("the daemon is ready; tasks: {}", planner.task_count());
    systemd::notify(&[NotifyState::Ready, NotifyState::Status("0 running")]);
    let mut event_loop = EventLoop::new(runner, events, planner, alerts, metrics);
    tokio::select! {
        () = event_loop.run(inbox, clock) => {}
        () = lock.lost() => return Err(DaemonError::StateMoved(config.state.clone())),
    }
    delivery.stop().await;
    if let Some(fleet) = fleet {
        fleet.leave().await;
    }
    drop(watcher);
    Ok(())
}

fn start_runner(
    config: Arc<Config>,
    program: PathBuf,
    board: ProgressBoard,
    store: Store,
    fleet: Option<&FleetMember>,
) -> Result<Runner, DaemonError> {
    Ok(Runner {
        store: StoreHandle::start(store).map_err(DaemonError::io("the store's thread"))?,
        spawner: Spawner::start(program).map_err(DaemonError::io("the spawner's thread"))?,
        host_limiter: SharedHostLimiter::new(config.per_host, fleet.map(|fleet| fleet.store.clone())),
        config,
        board,
    })
}

/// Serves `/metrics` and `/healthz`, if config.toml asks for them.
async fn serve_metrics(
    config: &Arc<Config>,
    store: StoreHandle,
    metrics: &Arc<DaemonMetrics>,
) -> Result<(), DaemonError> {
    let Some(address) = config.metrics else { return Ok(()) };
    metrics.record_iteration(0, 0);
    let served = server::listen(address, Arc::clone(config), store, Arc::clone(metrics)).await;
    let at = served.map_err(DaemonError::io(format!("metrics = \"{address}\"")))?;
    tracing::info!("metrics at http://{at}/metrics, health at http://{at}/healthz");
    Ok(())
}

fn ignore_transient(done: Result<(), StoreError>) -> Result<(), StoreError> {
    match done {
        Err(error) if error.is_awaited_at_start() => {
            tracing::warn!("reading the tasks at the start failed; retrying: {error}");
            Ok(())
        }
        done => done,
    }
}

fn forward_signals(events: &mpsc::Sender<Event>) -> io::Result<()> {
    for (kind, event) in [
        (SignalKind::terminate(), (|| Event::Stop) as fn() -> Event),
        (SignalKind::interrupt(), || Event::Stop),
        (SignalKind::hangup(), || Event::Reload),
    ] {
        let mut stream = signal(kind)?;
        let events = events.clone();
        tokio::spawn(async move {
            while stream.recv().await.is_some() {
                if events.send(event()).await.is_err() {
                    return;
                }
            }
        });
    }
    Ok(())
}
