//! The daemon's event loop: start-up, one `match` over [`Event`], and shutdown.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use sd_notify::NotifyState;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout};

use crate::config::Config;
use crate::model::{RunId, TaskName};
use crate::store::{AlertTaskFilter, RunStart, Store, StoreError, Trigger};
use crate::tasks::{TaskFolder, TaskRegistry, TemplateText};

use super::alerts::notifier::Notifier;
use super::chores::{Chore, ChoreGuard};
use super::control::{self, ControlReply, ControlRequest, ReplySender};
use super::fleet::FleetState;
use super::handle::DaemonHandle;
use super::host_limiter::SharedHostLimiter;
use super::indexer::Indexer;
use super::lock::LockError;
use super::metrics::DaemonMetrics;
use super::open_store;
use super::open_store::StartupState;
use super::progress::ProgressBoard;
use super::runner::{RunEnd, RunOrder, RunResult, Runner, store_failure};
use super::schedule::clock;
use super::schedule::clock::{JumpWatch, MAX_TICK_GAP, SchedulerClock};
use super::schedule::queue::{QueuedRun, RunQueue};
use super::scratch::ScratchFolder;
use super::spawn::Spawner;
use super::store_handle::StoreHandle;
use super::{Event, gc, http, watch as folder_watch};

/// Folder hints within this time lead to one rescan.
const DEBOUNCE: Duration = Duration::from_millis(200);
/// The watchdog is fed at least this often. Not more often than needed: each time is a write to the disk.
const WATCHDOG_INTERVAL: Duration = Duration::from_secs(10);
/// Events that may wait for the loop.
const INBOX_SIZE: usize = 4_096;

#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{what}: {source}")]
    Io { what: String, source: io::Error },
    #[error("starting the scheduler failed: {0}")]
    Clock(#[from] tokio_cron_scheduler::JobSchedulerError),
    #[error(
        "the state folder {} was moved or replaced while the daemon ran, so the daemon stops: a second one could \
         use it now. Start it again",
        .0.display()
    )]
    StateMoved(PathBuf),
}

/// Runs the service until it is told to stop. `program` is `pieme-daemon`, which is executed again for each run.
/// `front` gets the daemon's handle once the task folders are read.
pub async fn run(config: Config, program: PathBuf, front: impl FnOnce(DaemonHandle)) -> Result<(), DaemonError> {
    let io_error = |what: &str| {
        let what = what.to_owned();
        move |source| DaemonError::Io { what, source }
    };
    let (events, mut inbox) = mpsc::channel(INBOX_SIZE);
    forward_signals(&events).map_err(io_error("signals"))?;
    let (config, board, figures) = (Arc::new(config), ProgressBoard::default(), Arc::new(DaemonMetrics::default()));
    let waiting = open_store::StartupContext { events: &events, board: &board, listeners: &figures.listeners };
    let Some(opened) = open_store::open(&config, &mut inbox, waiting).await? else { return Ok(()) };
    let StartupState { mut lock, store, fleet, is_listening: listens } = opened;
    ScratchFolder::sweep(&config);
    if !listens {
        let listening = figures.listeners.register("control");
        control::listen(&config.socket, events.clone(), board.clone(), listening)
            .map_err(io_error("control socket"))?;
    }
    let runner = Runner {
        config: Arc::clone(&config),
        store: StoreHandle::start(store).map_err(io_error("the store's thread"))?,
        spawner: Spawner::start(program).map_err(io_error("the spawner's thread"))?,
        host_limiter: SharedHostLimiter::new(config.per_host, fleet.as_ref().map(|fleet| fleet.store.clone())),
        board,
    };
    let watcher = folder_watch::watch(&config.tasks, events.clone());
    if let Err(error) = &watcher {
        tracing::warn!("watching {} failed ({error}); it is scanned every 2 s instead", config.tasks.display());
    }
    let clock = SchedulerClock::start(events.clone(), watcher.is_ok()).await?;
    let (notifier, rounds) = Notifier::start(Arc::clone(&config), runner.store.clone(), Arc::clone(&figures));
    let mut service = Service::new(config, runner, events, (notifier, Arc::clone(&figures)));
    if !clock::is_plausible(Utc::now()) {
        tracing::warn!(
            "the system clock says {}, which is in the past: no task runs until the clock is set",
            Utc::now()
        );
    }
    service.fleet = fleet.clone().map(FleetState::new);
    // If the store fails again now, the loop retries as at any other time.
    ignore_transient(service.rescan().await)?;
    ignore_transient(service.renew_first_lease().await)?;
    if let Some(fleet) = &fleet {
        fleet.keep_renewing(service.events.clone());
    }
    if let Some(address) = service.config.metrics {
        figures.record_iteration(0, 0);
        let (config, store_handle) = (Arc::clone(&service.config), service.runner.store.clone());
        let served = http::listen(address, config, store_handle, Arc::clone(&figures)).await;
        let at = served.map_err(io_error(&format!("metrics = \"{address}\"")))?;
        tracing::info!("metrics at http://{at}/metrics, health at http://{at}/healthz");
    }
    front(DaemonHandle::new(service.runner.clone(), service.events.clone(), figures.listeners.clone()));
    tracing::info!("the daemon is ready; tasks: {}", service.registry.iter().count());
    notify_systemd(&[NotifyState::Ready, NotifyState::Status("0 running")]);
    tokio::select! {
        () = service.run_loop(inbox, clock) => {}
        () = lock.lost() => return Err(DaemonError::StateMoved(service.config.state.clone())),
    }
    rounds.stop().await;
    if let Some(fleet) = fleet {
        fleet.leave().await;
    }
    drop(watcher);
    Ok(())
}

/// The daemon's whole state. Only its loop touches it.
pub(super) struct Service {
    pub(super) config: Arc<Config>,
    pub(super) runner: Runner,
    pub(super) events: mpsc::Sender<Event>,
    pub(super) notifier: Notifier,
    indexer: Indexer,
    metrics: Arc<DaemonMetrics>,
    pub(super) registry: TaskRegistry,
    pub(super) queue: RunQueue,
    /// Membership in a fleet; `None` with SQLite.
    pub(super) fleet: Option<FleetState>,
    /// Clients that wait for a task's next run.
    pub(super) waiting_clients: HashMap<TaskName, Vec<ReplySender>>,
    /// Clients that get the trace of a task's run under way.
    pub(super) tracing_clients: HashMap<TaskName, Vec<ReplySender>>,
    /// Templates as this daemon last read or wrote them, to detect a person's change, which starts a run.
    pub(super) templates: BTreeMap<TaskName, Option<TemplateText>>,
    /// Templates that changed during a run, which may have learned them.
    pub(super) unresolved_templates: BTreeMap<TaskName, Option<TemplateText>>,
    /// Tasks in crash backoff, and until when the schedule skips them. Derived from the store.
    pub(super) crash_backoff: BTreeMap<TaskName, DateTime<Utc>>,
    /// Next due times that are not in the store yet.
    pub(super) unsaved_due_times: Vec<(TaskName, Option<DateTime<Utc>>)>,
    pub(super) started_at: DateTime<Utc>,
    /// When the folders are scanned next, besides the chore: after a hint, and after a failed scan.
    pub(super) rescan_at: Option<Instant>,
    pub(super) jumps: JumpWatch,
    /// When the systemd watchdog was last fed.
    watchdog_fed_at: Instant,
    /// Set when the clock was set back: slots up to this time have had their runs already.
    pub(super) repeated_until: Option<DateTime<Utc>>,
    pub(super) stopping: watch::Sender<bool>,
    /// Set by SIGTERM: when the children that still run are killed.
    pub(super) stop_by: Option<Instant>,
}

impl Service {
    fn new(
        config: Arc<Config>,
        runner: Runner,
        events: mpsc::Sender<Event>,
        (notifier, figures): (Notifier, Arc<DaemonMetrics>),
    ) -> Service {
        Service {
            registry: TaskRegistry::new(config.tasks.clone()).with_channels(config.channels()),
            config,
            indexer: Indexer::start(runner.store.clone()),
            runner,
            events,
            notifier,
            metrics: figures,
            queue: RunQueue::default(),
            fleet: None,
            waiting_clients: HashMap::new(),
            tracing_clients: HashMap::new(),
            templates: BTreeMap::new(),
            unresolved_templates: BTreeMap::new(),
            crash_backoff: BTreeMap::new(),
            unsaved_due_times: Vec::new(),
            started_at: Utc::now(),
            rescan_at: None,
            jumps: JumpWatch::new(Utc::now(), Instant::now()),
            watchdog_fed_at: Instant::now(),
            repeated_until: None,
            stopping: watch::Sender::new(false),
            stop_by: None,
        }
    }

    async fn run_loop(&mut self, mut inbox: mpsc::Receiver<Event>, mut clock: SchedulerClock) {
        loop {
            let event = match timeout(self.until_next_wakeup(), inbox.recv()).await {
                Ok(Some(event)) => event,
                Ok(None) => return,
                // The loop iterates even without clock ticks.
                Err(_) => Event::Wakeup,
            };
            if clock.since_last_tick() >= MAX_TICK_GAP {
                tracing::warn!("no clock tick for {} s; restarting the scheduler", MAX_TICK_GAP.as_secs());
                if let Err(error) = clock.restart().await {
                    tracing::error!("restarting the scheduler failed: {error}");
                }
            }
            if let Err(error) = self.handle(event).await {
                tracing::error!("handling an event failed: {error}");
            }
            // Here and not as an event: a stream of hints must not postpone the scan for ever.
            if self.rescan_at.is_some_and(|at| Instant::now() >= at) && self.stop_by.is_none() {
                if let Err(error) = self.rescan().await {
                    tracing::error!("scanning the tasks folder failed: {error}");
                }
                self.start_queued_runs();
            }
            self.metrics.record_iteration(self.queue.queued_count(), self.queue.running_count());
            if self.stop_by.is_some() && self.queue.running_count() == 0 {
                return;
            }
        }
    }

    /// The loop wakes up for the next due run: with the clock's ticks alone each run would start up to a second late.
    fn until_next_wakeup(&self) -> Duration {
        let until_rescan = self.rescan_at.map_or(MAX_TICK_GAP, |at| at.saturating_duration_since(Instant::now()));
        let first = self.queue.next_start().filter(|_| self.stop_by.is_none());
        let until_due = first.map_or(MAX_TICK_GAP, |at| (at - Utc::now()).to_std().unwrap_or_default());
        MAX_TICK_GAP.min(until_rescan).min(until_due)
    }

    async fn handle(&mut self, event: Event) -> Result<(), StoreError> {
        match event {
            Event::Tick | Event::Wakeup => self.tick().await?,
            Event::Chore(chore, guard) => self.perform_chore(chore, guard).await?,
            Event::RenewLease => self.renew_lease(),
            Event::FolderHint => {
                let soon = Instant::now() + DEBOUNCE;
                self.rescan_at = Some(self.rescan_at.map_or(soon, |at| at.min(soon)));
            }
            Event::Reload => self.rescan().await?,
            Event::Request(ControlRequest::Run { task }, replies) => {
                // The person may just have saved a file: the run must use what the folder has now.
                self.rescan().await?;
                self.handle_run_request(task, replies).await?;
            }
            Event::Request(ControlRequest::Collect { dry_run }, replies) => {
                self.collect_garbage(dry_run, Some(replies), None)
            }
            Event::Request(ControlRequest::Pause { task }, replies) => {
                self.rescan().await?;
                self.handle_pause_request(task, true, replies).await?;
            }
            Event::Request(ControlRequest::Resume { task }, replies) => {
                self.rescan().await?;
                self.handle_pause_request(task, false, replies).await?;
            }
            Event::Request(ControlRequest::Resort { task, what }, replies) => {
                if self.claim(&task).await? {
                    self.handle_resort_request(task, what, replies);
                } else {
                    drop(replies.send(ControlReply::Busy { sentence: runs_elsewhere(&task) }));
                }
            }
            Event::Request(ControlRequest::Tasks { undelivered_since }, replies) => {
                self.send_task_rows(undelivered_since, replies)
            }
            // Answered in control.rs.
            Event::Request(ControlRequest::Progress, _) => {}
            Event::RunEnded(task, end) => self.run_ended(task, end).await?,
            Event::Resorted(task) => {
                self.indexer.published(task.clone());
                self.evaluate_alerts(AlertTaskFilter::One(task));
            }
            Event::LeaseRenewed(look) => self.lease_renewed(look).await?,
            Event::Stop => self.stop(),
        }
        self.start_queued_runs();
        Ok(())
    }

    async fn tick(&mut self) -> Result<(), StoreError> {
        let now = Utc::now();
        if let Some(by) = self.stop_by {
            if Instant::now() >= by {
                self.stopping.send_replace(true);
            }
            return Ok(());
        }
        if let Some(jump) = self.jumps.jump(now, Instant::now()) {
            tracing::warn!("the system clock jumped by {} s; recomputing all due times", jump.num_seconds());
            if jump < TimeDelta::zero() {
                self.repeated_until = self.repeated_until.max(Some(now - jump));
            }
            self.replan_all(now).await?;
            self.save_due_times().await?;
        }
        // If the store cannot be written, each due task loses this run, but not the next.
        let mut fallen = Ok(());
        for (name, slot) in self.queue.take_due(now) {
            fallen = fallen.and(self.queue_due_run(name, slot, now).await);
        }
        fallen = fallen.and(self.save_due_times().await);
        self.write_pending_ends();
        self.feed_watchdog();
        fallen
    }

    /// Performs a fixed chore. Long ones run in the background and hold the guard. A daemon that stops starts no new
    /// work.
    async fn perform_chore(&mut self, chore: Chore, guard: ChoreGuard) -> Result<(), StoreError> {
        if self.stop_by.is_some() {
            return Ok(());
        }
        match chore {
            Chore::Collect => self.collect_garbage(false, None, Some(guard)),
            Chore::Rescan => {
                let _until_done = guard;
                self.rescan().await?;
            }
            Chore::Index => self.indexer.catch_up(guard),
            Chore::Overdue => self.evaluate_overdue(guard),
        }
        Ok(())
    }

    pub(super) fn folder(&self, name: &TaskName) -> Option<Arc<TaskFolder>> {
        self.registry.get(name)?.good.clone()
    }

    async fn handle_run_request(&mut self, name: TaskName, replies: ReplySender) -> Result<(), StoreError> {
        let refuse = |sentence: String| {
            drop(replies.send(ControlReply::Refused { sentence }));
            Ok(())
        };
        let put_off = |sentence: String| {
            drop(replies.send(ControlReply::Busy { sentence }));
            Ok(())
        };
        if self.stop_by.is_some() {
            return put_off("the daemon is stopping".to_owned());
        }
        let folder = match self.registry.get(&name) {
            None => return refuse(format!("there is no task `{name}` in {}", self.config.tasks.display())),
            Some(entry) => match (&entry.good, &entry.problem) {
                (Some(folder), _) => Arc::clone(folder),
                (None, Some(problem)) => return refuse(problem.to_string()),
                (None, None) => return put_off(format!("the folder of `{name}` has not been read yet; try again")),
            },
        };
        if self.queue.refuses_request(&name) {
            return put_off(format!("`{name}` is running already; `pieme log {name}` shows its progress"));
        }
        if !self.claim(&name).await? {
            return put_off(runs_elsewhere(&name));
        }
        let _ = replies.send(ControlReply::Queued);
        self.waiting_clients.entry(folder.name.clone()).or_default().push(replies);
        self.queue.queue_first(folder.name.clone(), Trigger::Person);
        Ok(())
    }

    /// Replies to the clients that wait for a run which will not start.
    pub(super) fn refuse_waiting_clients(&mut self, name: &TaskName, why: &str) {
        for reply in self.waiting_clients.remove(name).unwrap_or_default() {
            let _ = reply.send(ControlReply::Busy { sentence: format!("`{name}` was not run: {why}") });
        }
    }

    fn start_queued_runs(&mut self) {
        while self.stop_by.is_none() && clock::is_plausible(Utc::now()) {
            let Some(waiting) = self.queue.start_next(self.config.max_running as usize) else { return };
            let Some(folder) = self.folder(&waiting.name) else {
                self.queue.finish(&waiting.name);
                continue;
            };
            self.start_run(folder, waiting);
        }
    }

    fn start_run(&mut self, folder: Arc<TaskFolder>, waiting: QueuedRun) {
        let start = RunStart {
            run: RunId::new(),
            task: waiting.name.clone(),
            // After the clock was set back the same slot comes again; the run must not be rejected as a duplicate.
            slot: waiting.slot.map(|slot| slot.0).filter(|slot| Some(*slot) > self.repeated_until),
            trigger: waiting.trigger,
            started_at: Utc::now(),
            pid: None,
        };
        let listener = self.forward_trace(&waiting.name, start.run);
        let next_due = self.queue.planned(&waiting.name).map(|due| due.slot.0);
        let order = RunOrder { folder, start, next_due, listener, stop: self.stopping.subscribe() };
        let (runner, events, figures) = (self.runner.clone(), self.events.clone(), Arc::clone(&self.metrics));
        tokio::spawn(async move {
            let began = Instant::now();
            let end = match runner.run_catching_panics(order).await {
                Ok(RunResult::Run(end)) => Some(*end),
                Ok(RunResult::SlotTaken | RunResult::NotOurs) => None,
                Err(error) => {
                    tracing::error!(task = %waiting.name, "{}: starting the run failed: {error}", waiting.name);
                    Some(RunEnd::failed(store_failure(error)))
                }
            };
            if let Some(end) = &end {
                figures.count_run(end.verdict.outcome, began.elapsed());
            }
            // The loop is gone only when the daemon is.
            let _ = events.send(Event::RunEnded(waiting.name, end)).await;
        });
    }

    /// Forwards trace lines to the clients that asked for this run.
    fn forward_trace(&mut self, name: &TaskName, run: RunId) -> Option<super::collect::TraceListener> {
        let replies = self.waiting_clients.remove(name)?;
        self.tracing_clients.insert(name.clone(), replies.clone());
        for reply in &replies {
            let _ = reply.send(ControlReply::Started { run });
        }
        let (listener, mut lines) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Some(line) = lines.recv().await {
                for reply in &replies {
                    let _ = reply.send(ControlReply::Trace(Clone::clone(&line)));
                }
            }
        });
        Some(listener)
    }

    async fn run_ended(&mut self, name: TaskName, end: Option<RunEnd>) -> Result<(), StoreError> {
        self.queue.finish(&name);
        self.indexer.published(name.clone());
        self.evaluate_alerts(AlertTaskFilter::One(name.clone()));
        for reply in self.tracing_clients.remove(&name).unwrap_or_default() {
            let _ = reply.send(match &end {
                Some(end) => ControlReply::Ended(end.verdict.clone()),
                None => ControlReply::Refused {
                    sentence: "the run could not be recorded; the daemon's log says why: journalctl -u pieme-daemon"
                        .to_owned(),
                },
            });
        }
        if let Some(RunEnd { learned: Some(template), .. }) = &end {
            // Learned by the run, so it must not start another one.
            self.templates.insert(name.clone(), Some(TemplateText::new(template)));
        }
        self.resolve_template_origin(&name);
        let Some(RunEnd { verdict, backoff_until: left_alone_until, .. }) = end else { return Ok(()) };
        if self.stop_by.is_some() && verdict.is_interrupted() {
            // Interrupted by the stop: still due, and made up at the next start.
            let now = Utc::now();
            return self.runner.store.call(move |store| store.set_next_due(&name, Some(now))).await;
        }
        self.set_crash_backoff(name, left_alone_until).await
    }

    fn stop(&mut self) {
        if self.stop_by.is_none() {
            tracing::info!(
                "stopping; runs under way: {}, time to finish: {}",
                self.queue.running_count(),
                self.config.stop_grace
            );
            notify_systemd(&[NotifyState::Stopping]);
            self.stop_by = Some(Instant::now() + self.config.stop_grace.0);
        }
    }

    /// Sends the rows of the status table, in the background.
    fn send_task_rows(&self, undelivered_since: DateTime<Utc>, replies: ReplySender) {
        let store_handle = self.runner.store.clone();
        tokio::spawn(async move {
            let read = move |store: &mut Store| {
                Ok::<_, StoreError>((store.tasks()?, store.failing_deliveries(undelivered_since)?))
            };
            // The client may have left.
            let _ = replies.send(match store_handle.call(read).await {
                Ok((rows, undelivered)) => ControlReply::Tasks { rows, undelivered },
                Err(error) => ControlReply::failed(&error),
            });
        });
    }

    /// Collects garbage in the background.
    fn collect_garbage(&self, dry_run: bool, replies: Option<ReplySender>, chore: Option<ChoreGuard>) {
        let store_handle = self.runner.store.clone();
        tokio::spawn(async move {
            let _until_done = chore;
            let reply = match gc::collect(&store_handle, dry_run).await {
                Ok(collected) => {
                    tracing::info!(dry_run, ?collected, "garbage collection finished");
                    ControlReply::Collected(collected)
                }
                Err(error) => {
                    tracing::error!("garbage collection failed: {error}");
                    ControlReply::failed(&error)
                }
            };
            // The client may have left.
            if let Some(replies) = replies {
                let _ = replies.send(reply);
            }
        });
    }

    /// Stores the ends of runs that the store had no space for, in the background.
    fn write_pending_ends(&self) {
        let store_handle = self.runner.store.clone();
        tokio::spawn(async move { store_handle.call(|store| store.write_pending_ends()).await });
    }

    /// Feeds the systemd watchdog once the store has answered a write: a loop on a store that hangs is not alive. A
    /// store that refuses the write, because the disk is full, counts as alive: a restart would not help.
    fn feed_watchdog(&mut self) {
        let Some(patience) = sd_notify::watchdog_enabled() else { return };
        if self.watchdog_fed_at.elapsed() < (patience / 3).min(WATCHDOG_INTERVAL) {
            return;
        }
        self.watchdog_fed_at = Instant::now();
        let (store_handle, running) = (self.runner.store.clone(), self.queue.running_count());
        tokio::spawn(async move {
            if let Err(error) = store_handle.call(|store| store.record_alive(Utc::now())).await {
                tracing::warn!("the database accepts no writes: {error}");
            }
            notify_systemd(&[NotifyState::Watchdog, NotifyState::Status(&format!("{running} running"))]);
        });
    }
}

fn runs_elsewhere(task: &TaskName) -> String {
    format!("`{task}` is running on another daemon of the fleet; try again when it is done")
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

pub(super) fn notify_systemd(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::debug!("notifying systemd failed: {error}");
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
