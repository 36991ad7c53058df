//! The daemon's loop.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use sd_notify::NotifyState;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout};

use crate::config::Config;
use crate::due::{self, Due, DueError, Slot};
use crate::model::{RunId, TaskName};
use crate::store::{RunStart, Store, StoreError, TaskRow, Trigger};
use crate::taskdir::{Change, Shelf, TaskFolder};

use super::agenda::{Agenda, Waiting};
use super::clock::{Clock, JumpWatch, SILENCE};
use super::control::{self, Replies, Reply, Request};
use super::keeper::Keeper;
use super::lock::{LockError, StateLock};
use super::runner::{End, Ended, Order, Runner};
use super::spawn::Spawner;
use super::{Event, watch as folder_watch};

/// Hints that come within this time lead to one rescan.
const DEBOUNCE: Duration = Duration::from_millis(200);
/// Without any hint tasks/ is looked through this often all the same.
const RESCAN_EVERY: Duration = Duration::from_secs(60);
/// Where tasks/ cannot be watched it is looked through this often.
const RESCAN_UNWATCHED: Duration = Duration::from_secs(2);
/// Events that may wait for the loop.
const INBOX: usize = 4_096;

#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{what}: {source}")]
    Io { what: String, source: io::Error },
    #[error("the clock could not be started: {0}")]
    Clock(#[from] tokio_cron_scheduler::JobSchedulerError),
}

/// Runs the service until it is told to stop. `program` is `pieme-daemon`, which is executed again for each run.
pub async fn run(config: Config, program: PathBuf) -> Result<(), DaemonError> {
    let io_error = |what: &str| {
        let what = what.to_owned();
        move |source| DaemonError::Io { what, source }
    };
    for folder in [&config.state, &config.tasks] {
        std::fs::create_dir_all(folder).map_err(io_error(&folder.display().to_string()))?;
    }
    let _lock = StateLock::take(&config.lock())?;
    let mut store = Store::open(&config.store)?;
    for (run, task) in store.interrupted(Utc::now())? {
        tracing::warn!(%run, %task, "a run was going when the daemon ended; recorded as crash");
    }
    let (events, inbox) = mpsc::channel(INBOX);
    control::listen(&config.control_socket(), events.clone()).map_err(io_error("control socket"))?;
    let config = Arc::new(config);
    let runner = Runner {
        config: Arc::clone(&config),
        keeper: Keeper::start(store).map_err(io_error("the store's thread"))?,
        spawner: Spawner::start(program).map_err(io_error("the spawner's thread"))?,
    };
    let watcher = folder_watch::watch(&config.tasks, events.clone());
    if let Err(error) = &watcher {
        tracing::warn!("{} cannot be watched ({error}); it is looked through every 2 s", config.tasks.display());
    }
    pass_on_signals(&events).map_err(io_error("signals"))?;
    let clock = Clock::start(events.clone()).await?;
    let mut service = Service::new(config, runner, events, watcher.is_ok());
    service.rescan().await?;
    tell_systemd(&[NotifyState::Ready]);
    service.live(inbox, clock).await;
    drop(watcher);
    Ok(())
}

struct Service {
    config: Arc<Config>,
    runner: Runner,
    events: mpsc::Sender<Event>,
    shelf: Shelf,
    agenda: Agenda,
    /// Who waits at the socket for which task's next end.
    listeners: HashMap<TaskName, Vec<Replies>>,
    /// Templates as this daemon has last seen or written them: only a person's change starts a run.
    templates: BTreeMap<TaskName, Option<String>>,
    watched: bool,
    rescan_at: Instant,
    jumps: JumpWatch,
    stopping: watch::Sender<bool>,
    /// Set by SIGTERM: when the children that still run are ended.
    stop_by: Option<Instant>,
}

impl Service {
    fn new(config: Arc<Config>, runner: Runner, events: mpsc::Sender<Event>, watched: bool) -> Service {
        Service {
            shelf: Shelf::new(config.tasks.clone()),
            config,
            runner,
            events,
            agenda: Agenda::default(),
            listeners: HashMap::new(),
            templates: BTreeMap::new(),
            watched,
            rescan_at: Instant::now(),
            jumps: JumpWatch::new(Utc::now(), Instant::now()),
            stopping: watch::Sender::new(false),
            stop_by: None,
        }
    }

    async fn live(&mut self, mut inbox: mpsc::Receiver<Event>, mut clock: Clock) {
        let mut last_tick = Instant::now();
        loop {
            let until_rescan = self.rescan_at.saturating_duration_since(Instant::now());
            let event = match timeout(SILENCE.min(until_rescan), inbox.recv()).await {
                Ok(Some(event)) => event,
                Ok(None) => return,
                Err(_) if Instant::now() >= self.rescan_at => Event::Reload,
                Err(_) => Event::Tick,
            };
            if last_tick.elapsed() >= SILENCE {
                tracing::warn!("the clock fell silent, it is wound up again");
                if let Err(error) = clock.restart().await {
                    tracing::error!("the clock could not be wound up: {error}");
                }
                last_tick = Instant::now();
            }
            if matches!(event, Event::Tick) {
                last_tick = Instant::now();
            }
            if let Err(error) = self.handle(event).await {
                tracing::error!("{error}");
            }
            if self.stop_by.is_some() && self.agenda.running() == 0 {
                return;
            }
        }
    }

    async fn handle(&mut self, event: Event) -> Result<(), StoreError> {
        match event {
            Event::Tick => self.tick().await?,
            Event::FolderHint => self.rescan_at = self.rescan_at.min(Instant::now() + DEBOUNCE),
            Event::Reload => self.rescan().await?,
            Event::Request(Request::Run { task }, replies) => {
                // Whoever asks has perhaps just saved a file: the run must be of what stands there now.
                self.rescan().await?;
                self.asked_to_run(task, replies);
            }
            Event::Ended(task, end) => self.ended(task, end).await?,
            Event::Stop => self.stop(),
        }
        self.start_waiting();
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
            tracing::warn!("the clock was set by {} s; all due times are computed again", jump.num_seconds());
            self.plan_all_anew(now).await?;
        }
        for (name, slot) in self.agenda.fallen_due(now) {
            self.fall_due(name, slot, now).await?;
        }
        self.feed_watchdog();
        Ok(())
    }

    /// Puts a due run in line and plans the next.
    async fn fall_due(&mut self, name: TaskName, slot: Slot, now: DateTime<Utc>) -> Result<(), StoreError> {
        let Some(folder) = self.folder(&name) else { return Ok(()) };
        let schedule = &folder.task.schedule;
        if !self.agenda.queue(name.clone(), slot, Trigger::Schedule, schedule.overlap) {
            tracing::warn!(task = %name, "skipped: the run before is still going");
        }
        let next = due::missed(schedule, slot, now, &name).map(|missed| missed.next);
        self.promise_planned(name, next).await
    }

    /// Keeps the next due time in the store, so that a restart knows what was promised.
    async fn promise_planned(&mut self, name: TaskName, planned: Result<Due, DueError>) -> Result<(), StoreError> {
        if let Err(error) = &planned {
            tracing::error!(task = %name, "no next run: {error}");
        }
        self.promise(name, planned.ok()).await
    }

    async fn promise(&mut self, name: TaskName, due: Option<Due>) -> Result<(), StoreError> {
        match due {
            Some(due) => self.agenda.plan(name.clone(), due),
            None => self.agenda.forget(&name),
        }
        let slot = due.map(|due| due.slot.0);
        self.runner.keeper.ask(move |store| store.set_next_due(&name, slot)).await
    }

    async fn plan_all_anew(&mut self, now: DateTime<Utc>) -> Result<(), StoreError> {
        let folders: Vec<Arc<TaskFolder>> = self.shelf.iter().filter_map(|(_, entry)| entry.good.clone()).collect();
        for folder in folders {
            if let Some(due) = self.agenda.planned(&folder.name) {
                self.resume(&folder, Some(due.slot.0), now).await?;
            }
        }
        Ok(())
    }

    fn folder(&self, name: &TaskName) -> Option<Arc<TaskFolder>> {
        self.shelf.get(name)?.good.clone()
    }

    async fn rescan(&mut self) -> Result<(), StoreError> {
        self.rescan_at = Instant::now() + if self.watched { RESCAN_EVERY } else { RESCAN_UNWATCHED };
        let changes = self.shelf.rescan();
        if changes.is_empty() {
            return Ok(());
        }
        let known = self.runner.keeper.ask(|store| store.tasks()).await?;
        let known: BTreeMap<TaskName, TaskRow> = known.into_iter().map(|row| (row.name.clone(), row)).collect();
        for change in changes {
            match change {
                Change::Added(name) | Change::Edited(name) => self.take_in(name.clone(), known.get(&name)).await?,
                Change::Broken(name) => self.note_problem(name).await?,
                Change::Removed(name) => {
                    tracing::info!(task = %name, "the folder is gone; its published rows stay");
                    self.agenda.forget(&name);
                    self.templates.remove(&name);
                    self.runner.keeper.ask(move |store| store.forget_task(&name, Utc::now())).await?;
                }
            }
        }
        Ok(())
    }

    /// A new or changed folder: remembered, planned, and run at once where that is what a person expects.
    async fn take_in(&mut self, name: TaskName, known: Option<&TaskRow>) -> Result<(), StoreError> {
        let Some(folder) = self.folder(&name) else { return Ok(()) };
        let now = Utc::now();
        let title = folder.task.title.clone();
        let task = name.clone();
        self.runner
            .keeper
            .ask(move |store| {
                store.remember_task(&task, title.as_deref(), now)?;
                store.set_problem(&task, None)
            })
            .await?;
        let before = self.templates.insert(name.clone(), folder.template.clone());
        if !folder.task.enabled || known.is_some_and(|row| row.paused) {
            return self.promise(name, None).await;
        }
        let relabelled = before.is_some_and(|before| before != folder.template && folder.template.is_some());
        let never_ran = known.is_none_or(|row| row.last_run.is_none());
        if relabelled || never_ran {
            tracing::info!(task = %name, "{}", if relabelled { "a new template" } else { "a new task" });
            let trigger = if relabelled { Trigger::Learned } else { Trigger::Schedule };
            self.agenda.now(name.clone(), trigger);
            let planned = due::next_due(&folder.task.schedule, now, &name);
            return self.promise_planned(name, planned).await;
        }
        self.resume(&folder, known.and_then(|row| row.next_due), now).await
    }

    /// Goes on where the schedule stood: what was missed is made up once, if it is not too old; what is promised is kept,
    /// unless the clock or the schedule was changed so that it lies too far ahead.
    async fn resume(
        &mut self,
        folder: &TaskFolder,
        promised: Option<DateTime<Utc>>,
        now: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        let (name, schedule) = (folder.name.clone(), &folder.task.schedule);
        match (promised, due::next_due(schedule, now, &name)) {
            (Some(slot), _) if slot <= now => self.make_up(folder, Slot(slot), now).await,
            (Some(slot), Ok(fresh)) if schedule.cron.is_none() && slot <= fresh.slot.0 => {
                let start_at = due::start_at(schedule, Slot(slot), &name);
                self.promise(name, Some(Due { slot: Slot(slot), start_at })).await
            }
            (_, planned) => self.promise_planned(name, planned).await,
        }
    }

    async fn make_up(&mut self, folder: &TaskFolder, slot: Slot, now: DateTime<Utc>) -> Result<(), StoreError> {
        let (name, schedule) = (folder.name.clone(), &folder.task.schedule);
        let missed = due::missed(schedule, slot, now, &name);
        let newest = missed.as_ref().ok().and_then(|it| it.make_up).unwrap_or(slot);
        if (now - newest.0).to_std().is_ok_and(|late| late <= schedule.catch_up.0) {
            tracing::info!(task = %name, "makes up the run of {}", newest.0);
            self.agenda.queue(name.clone(), newest, Trigger::CatchUp, schedule.overlap);
        } else {
            tracing::warn!(task = %name, "the run of {} was missed and is too old to be made up", newest.0);
        }
        self.promise_planned(name, missed.map(|it| it.next)).await
    }

    async fn note_problem(&mut self, name: TaskName) -> Result<(), StoreError> {
        let Some(entry) = self.shelf.get(&name) else { return Ok(()) };
        let Some(problem) = entry.problem.as_ref().map(ToString::to_string) else { return Ok(()) };
        tracing::warn!(task = %name, "{problem}");
        self.runner
            .keeper
            .ask(move |store| {
                store.remember_task(&name, None, Utc::now())?;
                store.set_problem(&name, Some(&problem))
            })
            .await
    }

    fn asked_to_run(&mut self, name: TaskName, replies: Replies) {
        let refuse = |sentence: String| drop(replies.send(Reply::Refused { sentence }));
        if self.stop_by.is_some() {
            return refuse("the daemon is stopping".to_owned());
        }
        let folder = match self.shelf.get(&name) {
            None => return refuse(format!("there is no task `{name}` in {}", self.config.tasks.display())),
            Some(entry) => match (&entry.good, &entry.problem) {
                (Some(folder), _) => Arc::clone(folder),
                (None, Some(problem)) => return refuse(problem.to_string()),
                (None, None) => return refuse(format!("`{name}` has not been read yet; try again")),
            },
        };
        if self.agenda.is_running(&name) {
            return refuse(format!("`{name}` is running already; `pieme log {name}` shows how far it is"));
        }
        let _ = replies.send(Reply::Queued);
        self.listeners.entry(folder.name.clone()).or_default().push(replies);
        self.agenda.now(folder.name.clone(), Trigger::Person);
    }

    fn start_waiting(&mut self) {
        while self.stop_by.is_none() {
            let Some(waiting) = self.agenda.start(self.config.max_running as usize) else { return };
            let Some(folder) = self.folder(&waiting.name) else {
                self.agenda.ended(&waiting.name);
                continue;
            };
            self.start(folder, waiting);
        }
    }

    fn start(&mut self, folder: Arc<TaskFolder>, waiting: Waiting) {
        let start = RunStart {
            run: RunId::new(),
            task: waiting.name.clone(),
            slot: waiting.slot.map(|slot| slot.0),
            trigger: waiting.trigger,
            started_at: Utc::now(),
            pid: None,
        };
        let listener = self.pass_on_trace(&waiting.name, start.run);
        let order = Order { folder, start, listener, stop: self.stopping.subscribe() };
        let (runner, events) = (self.runner.clone(), self.events.clone());
        tokio::spawn(async move {
            let end = match runner.run(order).await {
                Ok(Ended::Run(end)) => Some(end),
                Ok(Ended::SlotTaken) => None,
                Err(error) => {
                    tracing::error!(task = %waiting.name, "the run could not be recorded: {error}");
                    None
                }
            };
            // The loop is gone only when the daemon is.
            let _ = events.send(Event::Ended(waiting.name, end)).await;
        });
    }

    /// Trace lines go to whoever asked for this run over the socket.
    fn pass_on_trace(&self, name: &TaskName, run: RunId) -> Option<super::collect::Listener> {
        let replies = self.listeners.get(name)?.clone();
        for reply in &replies {
            let _ = reply.send(Reply::Started { run });
        }
        let (listener, mut lines) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Some(line) = lines.recv().await {
                for reply in &replies {
                    let _ = reply.send(Reply::Trace(Clone::clone(&line)));
                }
            }
        });
        Some(listener)
    }

    async fn ended(&mut self, name: TaskName, end: Option<End>) -> Result<(), StoreError> {
        self.agenda.ended(&name);
        for reply in self.listeners.remove(&name).unwrap_or_default() {
            let _ = reply.send(match &end {
                Some(end) => Reply::Ended(end.verdict.clone()),
                None => Reply::Refused { sentence: "the run could not be recorded; see the daemon's log".to_owned() },
            });
        }
        if let Some(End { learned: Some(template), .. }) = &end {
            // No person's change: it must not start another run.
            self.templates.insert(name.clone(), Some(template.clone()));
        }
        let verdict = end.map(|end| end.verdict);
        if self.stop_by.is_some() && verdict.is_some_and(|it| it.outcome.cause() == "crash") && *self.stopping.borrow()
        {
            // Cut short by the stop: still owed, and made up at the next start.
            let now = Utc::now();
            return self.runner.keeper.ask(move |store| store.set_next_due(&name, Some(now))).await;
        }
        Ok(())
    }

    fn stop(&mut self) {
        if self.stop_by.is_none() {
            tracing::info!("stopping; {} runs are given {} to finish", self.agenda.running(), self.config.stop_grace);
            tell_systemd(&[NotifyState::Stopping]);
            self.stop_by = Some(Instant::now() + self.config.stop_grace.0);
        }
    }

    /// The sign of life goes out once the store has answered: a loop that turns on a dead store is not alive.
    fn feed_watchdog(&self) {
        if sd_notify::watchdog_enabled().is_none() {
            return;
        }
        let (keeper, running) = (self.runner.keeper.clone(), self.agenda.running());
        tokio::spawn(async move {
            keeper.ask(|_| ()).await;
            tell_systemd(&[NotifyState::Watchdog, NotifyState::Status(&format!("{running} running"))]);
        });
    }
}

fn tell_systemd(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::debug!("systemd was not told: {error}");
    }
}

fn pass_on_signals(events: &mpsc::Sender<Event>) -> io::Result<()> {
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
