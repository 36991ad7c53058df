//! Opens the store at the start. Transient errors (the server is away, the disk is full) are retried with backoff, and
//! the daemon says what it waits for. Any other error ends it.

use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use chrono::Utc;
use sd_notify::NotifyState;
use tokio::sync::mpsc;
use tokio::time::{Instant, interval, sleep};

use crate::config::Config;
use crate::model::TimeSpan;
use crate::store::Store;

use crate::daemon::Event;
use crate::daemon::error::DaemonError;
use crate::daemon::fleet::member::FleetMember;
use crate::daemon::http::connections::Listeners;
use crate::daemon::http::control::{self, ControlReply};
use crate::daemon::lock::{LockError, StateLock};
use crate::daemon::maintenance::gc;
use crate::daemon::runs::progress::ProgressBoard;
use crate::daemon::{systemd, threads};

/// Pause after the first attempt; doubled after each.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// A store that is back is found within this time.
const MAX_PAUSE: Duration = Duration::from_secs(10);

/// What the daemon needs before anything can run.
pub(super) struct StartupState {
    pub lock: StateLock,
    pub store: Store,
    pub fleet: Option<FleetMember>,
    /// Whether the control socket is open already.
    pub is_listening: bool,
}

/// What answers commands while the daemon waits for the store.
pub(super) struct StartupContext<'a> {
    pub events: &'a mpsc::Sender<Event>,
    pub board: &'a ProgressBoard,
    pub listeners: &'a Listeners,
}

/// Opens the store, however long that takes. `None` when the daemon was told to stop meanwhile.
pub(super) async fn open(
    config: &Arc<Config>,
    inbox: &mut mpsc::Receiver<Event>,
    waiting: StartupContext<'_>,
) -> Result<Option<StartupState>, DaemonError> {
    let mut wait = StoreWait {
        context: waiting,
        pause: FIRST_PAUSE,
        since: Instant::now(),
        reported_reason: None,
        is_listening: false,
    };
    let mut lock = None;
    loop {
        let Some(tried) = wait.answer_commands_during(try_once(Arc::clone(config), lock.take()), inbox).await else {
            return Ok(None);
        };
        let (held, opened) = tried?;
        match (held, opened) {
            (Some(lock), Ok((store, fleet))) => {
                wait.finish();
                return Ok(Some(StartupState { lock, store, fleet, is_listening: wait.is_listening }));
            }
            (held, Err(error)) if is_transient(&error) => {
                lock = held;
                wait.report(&error);
                wait.listen(config, lock.is_some());
            }
            (_, Err(error)) => return Err(error),
            (None, Ok(_)) => return Err(LockError::Taken(config.lock()).into()),
        }
        if wait.answer_commands_during(sleep(wait.pause), inbox).await.is_none() {
            return Ok(None);
        }
        wait.pause = (wait.pause * 2).min(MAX_PAUSE);
    }
}

type OpenAttempt = (Option<StateLock>, Result<(Store, Option<FleetMember>), DaemonError>);

/// One attempt, on a thread of its own that is abandoned when the daemon is told to stop.
async fn try_once(config: Arc<Config>, held: Option<StateLock>) -> Result<OpenAttempt, DaemonError> {
    let no_thread = || DaemonError::io("a thread to open the store");
    let open = move || {
        let mut lock = held;
        let opened = open_all(&config, &mut lock);
        (lock, opened)
    };
    let opening = threads::start("opening", open).map_err(no_thread())?;
    opening.await.ok_or_else(|| no_thread()(io::Error::other("it panicked")))
}

fn open_all(config: &Config, lock: &mut Option<StateLock>) -> Result<(Store, Option<FleetMember>), DaemonError> {
    std::fs::create_dir_all(&config.tasks).map_err(DaemonError::io(config.tasks.display().to_string()))?;
    config.prepare_state_folder().map_err(DaemonError::io(config.state.display().to_string()))?;
    if lock.is_none() {
        *lock = Some(StateLock::take(&config.lock())?);
    }
    let mut store = Store::open(&config.store)?;
    store.set_retention(gc::retention(config));
    let fleet = FleetMember::join(config, &mut store)?;
    for (run, task) in store.end_interrupted_runs(Utc::now())? {
        tracing::warn!(%run, %task, "{task}: run {run} was interrupted when the daemon ended; recorded as crash");
    }
    Ok((store, fleet))
}

/// Whether the error may go away without a change to this installation.
pub(super) fn is_transient(error: &DaemonError) -> bool {
    match error {
        DaemonError::Store(error) => error.is_awaited_at_start(),
        DaemonError::Io { source, .. } | DaemonError::Lock(LockError::Io { source, .. }) => {
            matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
        }
        DaemonError::Lock(LockError::Taken(_)) | DaemonError::Clock(_) | DaemonError::StateMoved(_) => false,
    }
}

/// The wait for a store that cannot be opened yet.
struct StoreWait<'a> {
    context: StartupContext<'a>,
    pause: Duration,
    since: Instant,
    /// The reason that was last reported.
    reported_reason: Option<String>,
    is_listening: bool,
}

impl StoreWait<'_> {
    /// Reports the reason, once for each. systemd hears READY as well: a boot or an installation must not block on a
    /// database of another machine, and `TimeoutStartSec` must not end the wait.
    fn report(&mut self, error: &DaemonError) {
        let reason = error.to_string().replace('\n', " ");
        tracing::debug!("opening the database failed: {reason}");
        if self.reported_reason.as_ref() == Some(&reason) {
            return;
        }
        tracing::warn!("waiting for the database; no task runs until it opens: {reason}");
        systemd::notify(&[NotifyState::Ready, NotifyState::Status(&format!("waiting for the database: {reason}"))]);
        self.context.board.set_waiting_for(Some(reason.clone()));
        self.reported_reason = Some(reason);
    }

    /// Opens the control socket, so that commands are answered with the reason why nothing runs.
    fn listen(&mut self, config: &Config, is_locked: bool) {
        if self.is_listening || !is_locked {
            return;
        }
        let StartupContext { events, board, listeners } = &self.context;
        let listening = listeners.register("control");
        match control::listen(&config.socket, (*events).clone(), (*board).clone(), listening) {
            Ok(()) => self.is_listening = true,
            Err(error) => tracing::debug!("opening the control socket failed: {error}"),
        }
    }

    fn finish(&self) {
        if self.reported_reason.is_some() {
            tracing::info!("database opened after {}", TimeSpan(Duration::from_secs(self.since.elapsed().as_secs())));
            self.context.board.set_waiting_for(None);
        }
    }

    /// Awaits `work` and answers requests meanwhile. `None` when the daemon is told to stop.
    async fn answer_commands_during<T>(
        &self,
        work: impl Future<Output = T>,
        inbox: &mut mpsc::Receiver<Event>,
    ) -> Option<T> {
        let mut work = pin!(work);
        let every = systemd::watchdog_interval().unwrap_or(MAX_PAUSE);
        let mut feed = interval(every.max(Duration::from_millis(1)));
        loop {
            tokio::select! {
                done = &mut work => return Some(done),
                event = inbox.recv() => match event {
                    Some(Event::Stop) | None => {
                        systemd::notify(&[NotifyState::Stopping]);
                        return None;
                    }
                    Some(Event::Request(_, replies)) => {
                        let _ = replies.send(ControlReply::Busy { sentence: self.sentence() });
                    }
                    // All folders are scanned once the store is open.
                    Some(_) => {}
                },
                _ = feed.tick(), if self.reported_reason.is_some() => systemd::notify(&[NotifyState::Watchdog]),
            }
        }
    }

    fn sentence(&self) -> String {
        let reason = self.reported_reason.as_deref().unwrap_or("it is being opened");
        format!("the daemon waits for the database and runs nothing until then: {reason}")
    }
}
