//! One run from the parent's side: order, child, report, end. Used by the daemon and by `pieme run` without one.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::sync::watch;
use tokio::task::spawn_blocking;

use crate::config::{Config, secrets};
use crate::model::task::{Alert, Engine};
use crate::model::{Failure, Outcome, RunId, Task, Verdict};
use crate::store::{Begun, RunStart, Store, StoreError};
use crate::taskdir::{self, TaskFolder, TemplateText};
use crate::wire::{self, Assignment, Secrets};

use super::collect::{Collector, Listener, Report, last_words};
use super::crashes;
use super::desk::Desk;
use super::keeper::Keeper;
use super::progress::Board;
use super::refused::WAITS;
use super::scratch::Scratch;
use super::spawn::Spawner;
use super::turns::{Given, Turns};

/// The child reports its own time-out; this much later it is killed.
const KILL_GRACE: Duration = Duration::from_secs(3);
/// Good runs that the child is told about.
const PAST_RUNS: u32 = 8;

/// Everything that running a task needs.
#[derive(Clone)]
pub struct Runner {
    pub config: Arc<Config>,
    pub keeper: Keeper,
    pub spawner: Spawner,
    /// One calendar of hosts for all runs.
    pub turns: Turns,
    /// How far they all are.
    pub board: Board,
}

/// One run to be made.
pub struct Order {
    pub folder: Arc<TaskFolder>,
    pub start: RunStart,
    /// What is due after this run: kept in the store as soon as it has begun.
    pub next_due: Option<DateTime<Utc>>,
    pub listener: Option<Listener>,
    /// Turns true when the run must end now.
    pub stop: watch::Receiver<bool>,
}

/// How an order ended.
#[derive(Debug)]
pub enum Ended {
    Run(Box<End>),
    /// Somebody has run this slot already.
    SlotTaken,
    /// The task has become another daemon's.
    NotOurs,
}

/// A run's end as the daemon needs to know it.
#[derive(Debug)]
pub struct End {
    pub verdict: Verdict,
    /// The template that the run has learned and that now stands in the folder.
    pub learned: Option<String>,
    /// It crashes again and again: until when the clock leaves it alone.
    pub left_alone_until: Option<DateTime<Utc>>,
}

impl End {
    pub(super) fn failed(verdict: Verdict) -> End {
        End { verdict, learned: None, left_alone_until: None }
    }
}

/// What made the parent end a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Killed {
    No,
    TimeLimit,
    Stop,
}

impl Runner {
    pub async fn run(&self, order: Order) -> Result<Ended, StoreError> {
        let Order { folder, start, next_due, listener, stop } = order;
        let run = start.run;
        let name = folder.name.clone();
        let begin = move |store: &mut Store| {
            let begun = store.begin_run(&start)?;
            // Not before: until it has begun, its own slot is what is owed.
            if next_due.is_some() && begun != Begun::NotOurs {
                store.set_next_due(&start.task, next_due)?;
            }
            Ok::<_, StoreError>(begun)
        };
        let begun = self.keeper.ask(begin).await?;
        match begun {
            Begun::SlotTaken => return Ok(Ended::SlotTaken),
            Begun::NotOurs => return Ok(Ended::NotOurs),
            Begun::Started => {}
        }
        tracing::info!(%run, task = %name, "run starts");
        let mut end = self.one(&folder, run, listener.clone(), stop.clone()).await;
        let found = self.mend(&folder, run, &mut end.verdict, stop.clone()).await;
        let end = self.ended(&folder, run, end).await;
        match found.filter(|found| found.is_taken(&folder, &end.verdict)) {
            Some(found) => Ok(Ended::Run(Box::new(self.run_mended(&folder, found, end, listener, stop).await?))),
            None => Ok(Ended::Run(Box::new(end))),
        }
    }

    /// From the order to the verdict, which nobody has written down yet.
    pub(super) async fn one(
        &self,
        folder: &TaskFolder,
        run: RunId,
        listener: Option<Listener>,
        stop: watch::Receiver<bool>,
    ) -> End {
        match self.assignment(folder, run).await {
            Ok((assignment, _scratch)) => self.child(folder, assignment, listener, stop).await,
            Err(verdict) => End::failed(verdict),
        }
    }

    /// Writes the end down and says it.
    pub(super) async fn ended(&self, folder: &Arc<TaskFolder>, run: RunId, end: End) -> End {
        let (verdict, left_alone_until) = self.end(folder, run, end.verdict).await;
        tracing::info!(%run, task = %folder.name, outcome = verdict.outcome.word(), cause = verdict.outcome.cause(), rows = verdict.rows, "{}", verdict.sentence);
        End { verdict, left_alone_until, ..end }
    }

    /// The order for the child, and a folder that is there for as long as it runs.
    pub(super) async fn assignment(
        &self,
        folder: &TaskFolder,
        run: RunId,
    ) -> Result<(Assignment, Option<Scratch>), Verdict> {
        let name = folder.name.clone();
        let config_trouble = |sentence: String| Verdict::failed(Failure::Config, sentence);
        let labels = taskdir::read_labels(&folder.dir).map_err(|it| config_trouble(it.to_string()))?;
        let mut past = self.keeper.ask(move |store| store.good(&name, PAST_RUNS)).await.map_err(store_trouble)?;
        past.retain(|run| labels.last().is_none_or(|said| run.started_at >= said));
        let scratch = match folder.task.fetch.engine {
            Engine::Http => None,
            Engine::Browser => Some(Scratch::new(&self.config, run).map_err(|error| {
                Verdict::failed(Failure::Internal, format!("no folder could be made for the browser: {error}"))
            })?),
        };
        let assignment = Assignment {
            run,
            name: folder.name.clone(),
            // Where alerts go is none of a run's business.
            task: Task { alert: Alert::default(), ..folder.task.clone() },
            script: folder.script.clone(),
            template: folder.template.as_ref().map(TemplateText::text),
            details: taskdir::read_details(&folder.dir).map_err(|it| config_trouble(it.to_string()))?,
            files: taskdir::read_items(&folder.dir, &folder.script).map_err(|it| config_trouble(it.to_string()))?,
            confirmed: labels.is_confirmed(),
            secrets: self.secrets(folder).map_err(config_trouble)?,
            cookies: taskdir::read_cookies(&folder.dir).map_err(|it| config_trouble(it.to_string()))?,
            kept: Vec::new(),
            robots: taskdir::read_robots(&folder.dir),
            browser: self.config.browser.clone(),
            scratch: scratch.as_ref().map(|scratch| scratch.path().to_owned()),
            past,
            parent_pid: std::process::id(),
            stepwise: false,
            still: None,
        };
        Ok((assignment, scratch))
    }

    fn secrets(&self, folder: &TaskFolder) -> Result<Secrets, String> {
        let names = secrets::names(&folder.task, &folder.script);
        secrets::gather(&self.config, &names).map(Secrets).map_err(|error| error.to_string())
    }

    async fn child(
        &self,
        folder: &TaskFolder,
        mut assignment: Assignment,
        listener: Option<Listener>,
        mut stop: watch::Receiver<bool>,
    ) -> End {
        let run = assignment.run;
        let time_limit = assignment.task.limits.timeout.0 + KILL_GRACE;
        let (mut child, mut outlet) = match self.spawner.spawn().await {
            Ok(started) => started,
            Err(error) => {
                let verdict = Verdict::failed(Failure::Internal, format!("no process could be started: {error}"));
                return End::failed(verdict);
            }
        };
        let group = Group::of(&child);
        let pid = child.id();
        let named = self.keeper.ask(move |store| store.set_pid(run, pid)).await;
        if let Err(error) = named {
            tracing::warn!(%run, "{error}");
        }
        let (answers, answered) = std::sync::mpsc::channel();
        let desk = Desk::open(run, folder, self.turns.clone(), answers);
        assignment.kept = desk.kept.pages();
        let collector = Collector {
            keeper: self.keeper.clone(),
            run,
            task: folder.name.clone(),
            key: folder.task.data.key.clone(),
            listener,
            desk,
            progress: self.board.enter(run, folder.name.clone(), Utc::now()),
        };
        let stdout = child.stdout.take().expect("stdout is piped");
        let stderr = child.stderr.take().expect("stderr is piped");
        // Held open until the desk is closed, and to the end: the child ends itself when it sees its stdin close.
        let giving = spawn_blocking(move || {
            outlet.write(&assignment, &[])?;
            answered.into_iter().try_for_each(|given| match given {
                Given::Said(answer, raw) => outlet.write(&answer, &raw),
                Given::Connection(answer, connection) => outlet.give(&answer, connection),
            })?;
            Ok::<_, wire::WireError>(outlet)
        });
        let words = spawn_blocking(move || last_words(stderr));
        let mut collecting = spawn_blocking(move || collector.collect(stdout));

        let mut killed = Killed::No;
        let report = tokio::select! {
            report = &mut collecting => report,
            () = tokio::time::sleep(time_limit) => { killed = Killed::TimeLimit; group.kill(); collecting.await }
            () = stopped(&mut stop) => { killed = Killed::Stop; group.kill(); collecting.await }
        };
        let report = report.unwrap_or_default();
        // Whatever it still does, it has said what it had to say: nothing of its group stays behind.
        group.kill();
        let status = spawn_blocking(move || reap(&mut child)).await.unwrap_or(None);
        drop(giving.await);
        let words = words.await.unwrap_or_default();
        self.keep(folder, &report);
        let learned = report.template.clone();
        End { learned, ..End::failed(conclude(folder, report, killed, status, &words)) }
    }

    /// Writes what the child wants kept in the task's folder; a child cannot write there itself.
    fn keep(&self, folder: &TaskFolder, report: &Report) {
        if let Some(json) = &report.cookies
            && let Err(error) = taskdir::write_cookies(&folder.dir, json)
        {
            tracing::warn!(task = %folder.name, "the session could not be kept: {error}");
        }
        if let Some(template) = &report.template
            && let Err(error) = taskdir::write_template(&folder.dir, template)
        {
            tracing::warn!(task = %folder.name, "the template could not be kept: {error}");
        }
        if let Some(template) = &report.details
            && let Err(error) = taskdir::write_details(&folder.dir, template)
        {
            tracing::warn!(task = %folder.name, "the template of the detail pages could not be kept: {error}");
        }
    }

    /// Ends the run in the store. When that fails, it has failed: that needs far less room, and is written down as soon as
    /// there is any.
    async fn end(
        &self,
        folder: &Arc<TaskFolder>,
        run: RunId,
        mut verdict: Verdict,
    ) -> (Verdict, Option<DateTime<Utc>>) {
        let folder = Arc::clone(folder);
        let work = move |store: &mut Store| {
            let now = Utc::now();
            // A store that cannot be read says so when the run is ended.
            let until = crashes::heed(store, &folder, run, &mut verdict, now).unwrap_or(None);
            let verdict = store.end_run(run, &verdict, now).unwrap_or_else(|error| {
                let failed = store_trouble(error);
                store.end_failed(run, &failed, now);
                failed
            });
            (verdict, until)
        };
        self.keeper.ask(work).await
    }
}

/// What the store refuses costs the run, and only the run.
pub(super) fn store_trouble(error: StoreError) -> Verdict {
    Verdict::failed(Failure::Internal, format!("the store could not take it: {error}"))
}

/// A run's process group. Killing it is always safe: it is gone, or it is ours.
pub(super) struct Group(u32);

impl Group {
    pub(super) fn of(child: &Child) -> Group {
        Group(child.id())
    }

    pub(super) fn kill(&self) {
        if let Ok(pid) = i32::try_from(self.0) {
            // Gone already is what we want.
            let _ = killpg(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }
}

pub(super) fn reap(child: &mut Child) -> Option<ExitStatus> {
    child.wait().ok()
}

pub(super) async fn stopped(stop: &mut watch::Receiver<bool>) {
    if stop.wait_for(|&now| now).await.is_err() {
        // Nobody is left who could say stop.
        std::future::pending::<()>().await;
    }
}

/// The verdict over a child: its own, or the one that its end speaks.
fn conclude(folder: &TaskFolder, report: Report, killed: Killed, status: Option<ExitStatus>, words: &str) -> Verdict {
    if let Some(error) = report.trouble {
        return Verdict::failed(error.cause(), error.to_string());
    }
    if let Some(mut verdict) = report.verdict {
        if verdict.outcome == Outcome::Failed(Failure::Login)
            && !secrets::names(&folder.task, &folder.script).is_empty()
        {
            verdict.sentence = format!("{}; {WAITS}", verdict.sentence);
        }
        return verdict;
    }
    match killed {
        Killed::TimeLimit => {
            let limit = folder.task.limits.timeout;
            return Verdict::failed(Failure::Timeout, format!("not done after {limit} (limits.timeout)"));
        }
        Killed::Stop => {
            let mut verdict = Verdict::cut_short();
            verdict.sentence.push_str("; it is made up at the next start");
            return verdict;
        }
        Killed::No => {}
    }
    if words.contains("memory allocation of") {
        let limit = folder.task.limits.memory;
        return Verdict::failed(Failure::Memory, format!("it needed more than {limit} of memory (limits.memory)"));
    }
    let signal = status.and_then(|it| it.signal());
    if signal == Some(Signal::SIGXCPU as i32) {
        return Verdict::failed(Failure::Timeout, "it used up its processor time (limits.timeout)");
    }
    let how = match (signal, status.and_then(|it| it.code())) {
        (Some(signal), _) => format!("was killed by signal {signal}"),
        (None, Some(code)) => format!("ended with code {code} and no report"),
        (None, None) => "vanished".to_owned(),
    };
    let panic = words.lines().find(|line| !line.trim().is_empty()).map(|line| format!(": {line}")).unwrap_or_default();
    Verdict::failed(Failure::Crash, format!("the run's process {how}{panic}"))
}
