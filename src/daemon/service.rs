//! The daemon's loop.

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
use crate::store::{RunStart, Store, StoreError, Trigger, Which};
use crate::taskdir::{Shelf, TaskFolder, TemplateText};

use super::agenda::{Agenda, Waiting};
use super::chores::{Chore, ChoreGuard};
use super::clock::{self, Clock, JumpWatch, SILENCE};
use super::control::{self, Replies, Reply, Request};
use super::courier::Courier;
use super::door::Door;
use super::figures::Figures;
use super::fleet::Share;
use super::indexer::Indexer;
use super::keeper::Keeper;
use super::lock::LockError;
use super::opening::{self, Opened};
use super::progress::Board;
use super::runner::{End, Ended, Order, Runner, store_trouble};
use super::scratch::Scratch;
use super::spawn::Spawner;
use super::turns::Turns;
use super::{Event, gc, http, watch as folder_watch};

/// Hints that come within this time lead to one rescan.
const DEBOUNCE: Duration = Duration::from_millis(200);
/// The watchdog is fed so often at the least: each time is a write to the disk.
const FEED_EVERY: Duration = Duration::from_secs(10);
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
    #[error(
        "{} was moved or replaced while the daemon ran: it ends, so that no second one runs beside it. Start it again",
        .0.display()
    )]
    Moved(PathBuf),
}

/// Runs the service until it is told to stop. `program` is `pieme-daemon`, which is executed again for each run; `front` is
/// given the door once the task folders are read.
pub async fn run(config: Config, program: PathBuf, front: impl FnOnce(Door)) -> Result<(), DaemonError> {
    let io_error = |what: &str| {
        let what = what.to_owned();
        move |source| DaemonError::Io { what, source }
    };
    let (events, mut inbox) = mpsc::channel(INBOX);
    pass_on_signals(&events).map_err(io_error("signals"))?;
    let (config, board, figures) = (Arc::new(config), Board::default(), Arc::new(Figures::default()));
    let waiting = opening::Waiting { events: &events, board: &board, listeners: &figures.listeners };
    let Some(opened) = opening::open(&config, &mut inbox, waiting).await? else { return Ok(()) };
    let Opened { mut lock, store, fleet, listens } = opened;
    Scratch::sweep(&config);
    if !listens {
        let listening = figures.listeners.enter("control");
        control::listen(&config.socket, events.clone(), board.clone(), listening)
            .map_err(io_error("control socket"))?;
    }
    let runner = Runner {
        config: Arc::clone(&config),
        keeper: Keeper::start(store).map_err(io_error("the store's thread"))?,
        spawner: Spawner::start(program).map_err(io_error("the spawner's thread"))?,
        turns: Turns::new(config.per_host, fleet.as_ref().map(|fleet| fleet.keeper.clone())),
        board,
    };
    let watcher = folder_watch::watch(&config.tasks, events.clone());
    if let Err(error) = &watcher {
        tracing::warn!("{} cannot be watched ({error}); it is looked through every 2 s", config.tasks.display());
    }
    let clock = Clock::start(events.clone(), watcher.is_ok()).await?;
    let (courier, rounds) = Courier::start(Arc::clone(&config), runner.keeper.clone(), Arc::clone(&figures));
    let mut service = Service::new(config, runner, events, (courier, Arc::clone(&figures)));
    if !clock::is_plausible(Utc::now()) {
        tracing::warn!("the clock says {}, which is long past: nothing runs until it is set", Utc::now());
    }
    service.share = fleet.clone().map(Share::new);
    // A store that goes away again now is met by the loop, as at any other time.
    go_on_if_it_passes(service.rescan().await)?;
    go_on_if_it_passes(service.first_look_round().await)?;
    if let Some(fleet) = &fleet {
        fleet.keep_renewing(service.events.clone());
    }
    if let Some(address) = service.config.metrics {
        figures.turned(0, 0);
        let (config, keeper) = (Arc::clone(&service.config), service.runner.keeper.clone());
        let served = http::listen(address, config, keeper, Arc::clone(&figures)).await;
        let at = served.map_err(io_error(&format!("metrics = \"{address}\"")))?;
        tracing::info!("figures at http://{at}/metrics, health at http://{at}/healthz");
    }
    front(Door::new(service.runner.clone(), service.events.clone(), figures.listeners.clone()));
    tracing::info!("the daemon is ready: {} tasks", service.shelf.iter().count());
    tell_systemd(&[NotifyState::Ready, NotifyState::Status("0 running")]);
    tokio::select! {
        () = service.live(inbox, clock) => {}
        () = lock.lost() => return Err(DaemonError::Moved(service.config.state.clone())),
    }
    rounds.end().await;
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
    pub(super) courier: Courier,
    indexer: Indexer,
    figures: Arc<Figures>,
    pub(super) shelf: Shelf,
    pub(super) agenda: Agenda,
    /// What there is to share with other daemons; none where the store is this one's alone.
    pub(super) share: Option<Share>,
    /// Who waits at the socket for which task's next run.
    pub(super) listeners: HashMap<TaskName, Vec<Replies>>,
    /// Who hears which task's run under way.
    pub(super) hearing: HashMap<TaskName, Vec<Replies>>,
    /// Templates as this daemon has last seen or written them: only a person's change starts a run.
    pub(super) templates: BTreeMap<TaskName, Option<TemplateText>>,
    /// Templates that came to folders while a run was going which may have learned them.
    pub(super) unexplained: BTreeMap<TaskName, Option<TemplateText>>,
    /// Tasks that crash again and again, and until when the clock leaves them alone. Follows from the store.
    pub(super) left_alone: BTreeMap<TaskName, DateTime<Utc>>,
    /// Next due times that are not in the store yet.
    pub(super) promised: Vec<(TaskName, Option<DateTime<Utc>>)>,
    pub(super) started_at: DateTime<Utc>,
    /// When the folders are looked through besides the chore: after a hint, and after a look that failed.
    pub(super) rescan_at: Option<Instant>,
    pub(super) jumps: JumpWatch,
    /// When systemd was last told that we are alive.
    fed_at: Instant,
    /// The clock was set back: slots up to here had their runs when it said so for the first time.
    pub(super) repeated_until: Option<DateTime<Utc>>,
    pub(super) stopping: watch::Sender<bool>,
    /// Set by SIGTERM: when the children that still run are ended.
    pub(super) stop_by: Option<Instant>,
}

impl Service {
    fn new(
        config: Arc<Config>,
        runner: Runner,
        events: mpsc::Sender<Event>,
        (courier, figures): (Courier, Arc<Figures>),
    ) -> Service {
        Service {
            shelf: Shelf::new(config.tasks.clone()).with_channels(config.channels()),
            config,
            indexer: Indexer::start(runner.keeper.clone()),
            runner,
            events,
            courier,
            figures,
            agenda: Agenda::default(),
            share: None,
            listeners: HashMap::new(),
            hearing: HashMap::new(),
            templates: BTreeMap::new(),
            unexplained: BTreeMap::new(),
            left_alone: BTreeMap::new(),
            promised: Vec::new(),
            started_at: Utc::now(),
            rescan_at: None,
            jumps: JumpWatch::new(Utc::now(), Instant::now()),
            fed_at: Instant::now(),
            repeated_until: None,
            stopping: watch::Sender::new(false),
            stop_by: None,
        }
    }

    async fn live(&mut self, mut inbox: mpsc::Receiver<Event>, mut clock: Clock) {
        loop {
            let event = match timeout(self.until_own_tick(), inbox.recv()).await {
                Ok(Some(event)) => event,
                Ok(None) => return,
                // A tick of our own: the loop turns even while the clock is silent.
                Err(_) => Event::OwnTick,
            };
            if clock.silent_for() >= SILENCE {
                tracing::warn!("no clock tick for {} s; restarting the scheduler", SILENCE.as_secs());
                if let Err(error) = clock.restart().await {
                    tracing::error!("the scheduler could not be restarted: {error}");
                }
            }
            if let Err(error) = self.handle(event).await {
                tracing::error!("{error}");
            }
            // Here and not as an event: hints that never stop must not put it off for ever.
            if self.rescan_at.is_some_and(|at| Instant::now() >= at) && self.stop_by.is_none() {
                if let Err(error) = self.rescan().await {
                    tracing::error!("{error}");
                }
                self.start_waiting();
            }
            self.figures.turned(self.agenda.waiting(), self.agenda.running());
            if self.stop_by.is_some() && self.agenda.running() == 0 {
                return;
            }
        }
    }

    /// The loop wakes for the next due run by itself: the clock's ticks alone would make each up to a second late.
    fn until_own_tick(&self) -> Duration {
        let until_rescan = self.rescan_at.map_or(SILENCE, |at| at.saturating_duration_since(Instant::now()));
        let first = self.agenda.first_start().filter(|_| self.stop_by.is_none());
        let until_due = first.map_or(SILENCE, |at| (at - Utc::now()).to_std().unwrap_or_default());
        SILENCE.min(until_rescan).min(until_due)
    }

    async fn handle(&mut self, event: Event) -> Result<(), StoreError> {
        match event {
            Event::Tick | Event::OwnTick => self.tick().await?,
            Event::Chore(chore, guard) => self.perform(chore, guard).await?,
            Event::FleetRound => self.look_round(),
            Event::FolderHint => {
                let soon = Instant::now() + DEBOUNCE;
                self.rescan_at = Some(self.rescan_at.map_or(soon, |at| at.min(soon)));
            }
            Event::Reload => self.rescan().await?,
            Event::Request(Request::Run { task }, replies) => {
                // Whoever asks has perhaps just saved a file: the run must be of what stands there now.
                self.rescan().await?;
                self.asked_to_run(task, replies).await?;
            }
            Event::Request(Request::Collect { dry_run }, replies) => self.collect(dry_run, Some(replies), None),
            Event::Request(Request::Pause { task }, replies) => {
                self.rescan().await?;
                self.asked_to_pause(task, true, replies).await?;
            }
            Event::Request(Request::Resume { task }, replies) => {
                self.rescan().await?;
                self.asked_to_pause(task, false, replies).await?;
            }
            Event::Request(Request::Resort { task, what }, replies) => {
                if self.claim(&task).await? {
                    self.asked_to_resort(task, what, replies);
                } else {
                    drop(replies.send(Reply::Busy { sentence: runs_elsewhere(&task) }));
                }
            }
            Event::Request(Request::Tasks { undelivered_since }, replies) => {
                self.tell_tasks(undelivered_since, replies)
            }
            // Answered where it was asked.
            Event::Request(Request::Progress, _) => {}
            Event::Ended(task, end) => self.ended(task, end).await?,
            Event::Resorted(task) => {
                self.indexer.published(task.clone());
                self.look_for_news(Which::One(task));
            }
            Event::Fleet(look) => self.looked_round(look).await?,
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
            if jump < TimeDelta::zero() {
                self.repeated_until = self.repeated_until.max(Some(now - jump));
            }
            self.plan_all_anew(now).await?;
            self.keep_promises().await?;
        }
        // A store that cannot write costs each due task this run, and none of them the next.
        let mut fallen = Ok(());
        for (name, slot) in self.agenda.fallen_due(now) {
            fallen = fallen.and(self.fall_due(name, slot, now).await);
        }
        fallen = fallen.and(self.keep_promises().await);
        self.end_owed();
        self.feed_watchdog();
        fallen
    }

    /// Performs a fixed chore; what takes long happens in the background, with the guard in its hands. A daemon that stops
    /// takes no new work.
    async fn perform(&mut self, chore: Chore, guard: ChoreGuard) -> Result<(), StoreError> {
        if self.stop_by.is_some() {
            return Ok(());
        }
        match chore {
            Chore::Collect => self.collect(false, None, Some(guard)),
            Chore::Rescan => {
                let _until_done = guard;
                self.rescan().await?;
            }
            Chore::Index => self.indexer.catch_up(guard),
            Chore::Overdue => self.look_for_overdue(guard),
        }
        Ok(())
    }

    pub(super) fn folder(&self, name: &TaskName) -> Option<Arc<TaskFolder>> {
        self.shelf.get(name)?.good.clone()
    }

    async fn asked_to_run(&mut self, name: TaskName, replies: Replies) -> Result<(), StoreError> {
        let refuse = |sentence: String| {
            drop(replies.send(Reply::Refused { sentence }));
            Ok(())
        };
        let put_off = |sentence: String| {
            drop(replies.send(Reply::Busy { sentence }));
            Ok(())
        };
        if self.stop_by.is_some() {
            return put_off("the daemon is stopping".to_owned());
        }
        let folder = match self.shelf.get(&name) {
            None => return refuse(format!("there is no task `{name}` in {}", self.config.tasks.display())),
            Some(entry) => match (&entry.good, &entry.problem) {
                (Some(folder), _) => Arc::clone(folder),
                (None, Some(problem)) => return refuse(problem.to_string()),
                (None, None) => return put_off(format!("`{name}` has not been read yet; try again")),
            },
        };
        // What a person has just taught may have been noticed halfway: whoever asks now gets a run of all of it.
        if self.agenda.running_for(&name).is_some_and(|trigger| trigger != Trigger::Learned) {
            return put_off(format!("`{name}` is running already; `pieme log {name}` shows how far it is"));
        }
        if !self.claim(&name).await? {
            return put_off(runs_elsewhere(&name));
        }
        let _ = replies.send(Reply::Queued);
        self.listeners.entry(folder.name.clone()).or_default().push(replies);
        self.agenda.now(folder.name.clone(), Trigger::Person);
        Ok(())
    }

    /// Whoever waits at the socket for a run that will not start now is told so.
    pub(super) fn turn_away(&mut self, name: &TaskName, why: &str) {
        for reply in self.listeners.remove(name).unwrap_or_default() {
            let _ = reply.send(Reply::Busy { sentence: format!("`{name}` was not run: {why}") });
        }
    }

    fn start_waiting(&mut self) {
        while self.stop_by.is_none() && clock::is_plausible(Utc::now()) {
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
            // A time that comes a second time is no reason to be silent.
            slot: waiting.slot.map(|slot| slot.0).filter(|slot| Some(*slot) > self.repeated_until),
            trigger: waiting.trigger,
            started_at: Utc::now(),
            pid: None,
        };
        let listener = self.pass_on_trace(&waiting.name, start.run);
        let next_due = self.agenda.planned(&waiting.name).map(|due| due.slot.0);
        let order = Order { folder, start, next_due, listener, stop: self.stopping.subscribe() };
        let (runner, events, figures) = (self.runner.clone(), self.events.clone(), Arc::clone(&self.figures));
        tokio::spawn(async move {
            let began = Instant::now();
            let end = match runner.run_to_its_end(order).await {
                Ok(Ended::Run(end)) => Some(*end),
                Ok(Ended::SlotTaken | Ended::NotOurs) => None,
                Err(error) => {
                    tracing::error!(task = %waiting.name, "the run could not be begun: {error}");
                    Some(End::failed(store_trouble(error)))
                }
            };
            if let Some(end) = &end {
                figures.run(end.verdict.outcome, began.elapsed());
            }
            // The loop is gone only when the daemon is.
            let _ = events.send(Event::Ended(waiting.name, end)).await;
        });
    }

    /// Trace lines go to whoever asked for this run over the socket.
    fn pass_on_trace(&mut self, name: &TaskName, run: RunId) -> Option<super::collect::Listener> {
        let replies = self.listeners.remove(name)?;
        self.hearing.insert(name.clone(), replies.clone());
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
        self.indexer.published(name.clone());
        self.look_for_news(Which::One(name.clone()));
        for reply in self.hearing.remove(&name).unwrap_or_default() {
            let _ = reply.send(match &end {
                Some(end) => Reply::Ended(end.verdict.clone()),
                None => Reply::Refused { sentence: "the run could not be recorded; see the daemon's log".to_owned() },
            });
        }
        if let Some(End { learned: Some(template), .. }) = &end {
            // No person's change: it must not start another run.
            self.templates.insert(name.clone(), Some(TemplateText::new(template)));
        }
        self.explain_template(&name);
        let Some(End { verdict, left_alone_until, .. }) = end else { return Ok(()) };
        if self.stop_by.is_some() && verdict.is_cut_short() {
            // Cut short by the stop: still owed, and made up at the next start.
            let now = Utc::now();
            return self.runner.keeper.ask(move |store| store.set_next_due(&name, Some(now))).await;
        }
        self.heed_crashes(name, left_alone_until).await
    }

    fn stop(&mut self) {
        if self.stop_by.is_none() {
            tracing::info!("stopping; {} runs are given {} to finish", self.agenda.running(), self.config.stop_grace);
            tell_systemd(&[NotifyState::Stopping]);
            self.stop_by = Some(Instant::now() + self.config.stop_grace.0);
        }
    }

    /// Sends the rows of the status table, beside everything else.
    fn tell_tasks(&self, undelivered_since: DateTime<Utc>, replies: Replies) {
        let keeper = self.runner.keeper.clone();
        tokio::spawn(async move {
            let read = move |store: &mut Store| {
                Ok::<_, StoreError>((store.tasks()?, store.letters_in_trouble(undelivered_since)?))
            };
            // Who asked may have left.
            let _ = replies.send(match keeper.ask(read).await {
                Ok((rows, undelivered)) => Reply::Tasks { rows, undelivered },
                Err(error) => Reply::failed(&error),
            });
        });
    }

    /// Removes what is not kept any longer, beside everything else.
    fn collect(&self, dry_run: bool, replies: Option<Replies>, chore: Option<ChoreGuard>) {
        let keeper = self.runner.keeper.clone();
        tokio::spawn(async move {
            let _until_done = chore;
            let reply = match gc::collect(&keeper, dry_run).await {
                Ok(collected) => {
                    tracing::info!(dry_run, ?collected, "looked for what is not kept any longer");
                    Reply::Collected(collected)
                }
                Err(error) => {
                    tracing::error!("what is not kept any longer could not be removed: {error}");
                    Reply::failed(&error)
                }
            };
            // Who asked may have left.
            if let Some(replies) = replies {
                let _ = replies.send(reply);
            }
        });
    }

    /// Runs whose end the store had no room for; the loop does not wait for it.
    fn end_owed(&self) {
        let keeper = self.runner.keeper.clone();
        tokio::spawn(async move { keeper.ask(|store| store.end_owed()).await });
    }

    /// The sign of life goes out once the store has taken a write: a loop that turns on a dead store is not alive. One that
    /// refuses it, since the disk is full, is: a new start would help nobody.
    fn feed_watchdog(&mut self) {
        let Some(patience) = sd_notify::watchdog_enabled() else { return };
        if self.fed_at.elapsed() < (patience / 3).min(FEED_EVERY) {
            return;
        }
        self.fed_at = Instant::now();
        let (keeper, running) = (self.runner.keeper.clone(), self.agenda.running());
        tokio::spawn(async move {
            if let Err(error) = keeper.ask(|store| store.alive(Utc::now())).await {
                tracing::warn!("the store takes no writes: {error}");
            }
            tell_systemd(&[NotifyState::Watchdog, NotifyState::Status(&format!("{running} running"))]);
        });
    }
}

fn runs_elsewhere(task: &TaskName) -> String {
    format!("`{task}` is running on another daemon of the fleet; try again when it is done")
}

fn go_on_if_it_passes(done: Result<(), StoreError>) -> Result<(), StoreError> {
    match done {
        Err(error) if error.is_waited_for() => {
            tracing::warn!("the tasks are not all known yet: {error}");
            Ok(())
        }
        done => done,
    }
}

pub(super) fn tell_systemd(states: &[NotifyState<'_>]) {
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
