//! Which tasks this daemon runs, and when: puts the task folders, the fleet's assignment and the schedule together, and
//! stores what they decide. What concerns others comes out as [`PlanEffect`]s, which the event loop performs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::config::Config;
use crate::model::{TaskName, TimeSpan};
use crate::store::{AlertTaskFilter, FolderState, HeartbeatReport, StoreError, TaskRow};
use crate::tasks::{FolderChange, TaskFolder};

use super::alerts::evaluate;
use super::fleet::member::FleetMember;
use super::fleet::{AssignmentChange, FleetState};
use super::http::control::ControlReply;
use super::runs::runner::RunEnd;
use super::runs::start::NextRun;
use super::schedule::plan::Scheduler;
use super::schedule::queue::RunQueue;
use super::schedule::{clock, crash_backoff, login_hold};
use super::store_handle::StoreHandle;
use super::tasks::{TaskFolders, adopt};
use super::{Event, threads};

pub struct Planner {
    config: Arc<Config>,
    store: StoreHandle,
    started_at: DateTime<Utc>,
    tasks: TaskFolders,
    schedule: Scheduler,
    fleet: FleetState,
    effects: Vec<PlanEffect>,
}

/// What others have to do after a change of the plan.
pub enum PlanEffect {
    /// The queued run of this task will not start, and why.
    RefuseRun(TaskName, &'static str),
    EvaluateAlerts(AlertTaskFilter),
}

impl Planner {
    pub fn new(
        config: Arc<Config>,
        store: StoreHandle,
        member: Option<FleetMember>,
        started_at: DateTime<Utc>,
    ) -> Planner {
        Planner {
            tasks: TaskFolders::new(Arc::clone(&config)),
            config,
            store,
            started_at,
            schedule: Scheduler::new(Utc::now(), Instant::now()),
            fleet: FleetState::new(member),
            effects: Vec::new(),
        }
    }

    pub fn take_effects(&mut self) -> Vec<PlanEffect> {
        std::mem::take(&mut self.effects)
    }

    pub fn task_count(&self) -> usize {
        self.tasks.count()
    }

    pub fn queue(&self) -> &RunQueue {
        self.schedule.queue()
    }

    /// The key columns of a task.
    pub fn key_of(&self, name: &TaskName) -> Vec<String> {
        self.tasks.folder(name).map(|folder| folder.task.data.key.clone()).unwrap_or_default()
    }

    pub fn is_rescan_due(&self) -> bool {
        self.tasks.until_rescan(Instant::now()) == Some(Duration::ZERO)
    }

    /// How long until a rescan or a planned run is due.
    pub fn until_next(&self) -> Option<Duration> {
        let until_run = self.queue().next_start().map(|at| (at - Utc::now()).to_std().unwrap_or_default());
        self.tasks.until_rescan(Instant::now()).into_iter().chain(until_run).min()
    }

    /// Something may have changed in tasks/.
    pub fn hint_folders_changed(&mut self) {
        self.tasks.rescans().hint(Instant::now());
    }

    /// Scans tasks/ and applies what has changed. If the store fails midway, every folder counts as new at the next
    /// scan, so that no change is lost: applying a known folder again is idempotent.
    pub async fn rescan(&mut self) -> Result<(), StoreError> {
        self.tasks.rescans().start();
        self.fleet.sync_folders().await;
        // Without this a folder that makes the scan panic would end the daemon at every start.
        let applied = threads::catch_panic_of(self.apply_folder_changes()).await.unwrap_or_else(|why| {
            tracing::error!(
                "scanning the tasks folder panicked: {why}; the tasks stay as they were. Please report this bug"
            );
            Ok(())
        });
        self.tasks.end_scan(applied.is_ok(), Instant::now());
        applied
    }

    async fn apply_folder_changes(&mut self) -> Result<(), StoreError> {
        let mut changes = self.tasks.scan();
        if changes.is_empty() {
            return Ok(());
        }
        let known = self.known_tasks().await?;
        // Folders that were removed while no daemon ran.
        let gone = known.values().filter(|row| self.is_gone(row)).map(|row| FolderChange::Removed(row.name.clone()));
        let gone: Vec<FolderChange> = gone.filter(|_| self.tasks.is_listed()).collect();
        changes.retain(|change| !gone.contains(change));
        changes.extend(gone);
        self.store_folder_changes(&changes).await?;
        self.effects.extend(evaluate::filters_after(&changes).into_iter().map(PlanEffect::EvaluateAlerts));
        for change in changes {
            match change {
                FolderChange::Added(name) | FolderChange::Edited(name) => {
                    self.load_task(&name, known.get(&name)).await?
                }
                FolderChange::Broken(_) => {}
                FolderChange::Removed(name) => self.drop_task(&name),
            }
        }
        self.save_due_times().await
    }

    async fn known_tasks(&self) -> Result<BTreeMap<TaskName, TaskRow>, StoreError> {
        let known = self.store.call(|store| store.tasks()).await?;
        Ok(known.into_iter().map(|row| (row.name.clone(), row)).collect())
    }

    fn is_gone(&self, row: &TaskRow) -> bool {
        !row.removed && self.fleet.is_removed(&row.name) && self.tasks.entry(&row.name).is_none()
    }

    /// Stores the state of changed folders, and their settings for history and alerts. A broken folder keeps its
    /// previous settings.
    async fn store_folder_changes(&self, changes: &[FolderChange]) -> Result<(), StoreError> {
        let states: Vec<FolderState> = changes.iter().filter_map(|change| self.tasks.store_update(change)).collect();
        let kept = changes.iter().filter_map(|change| self.tasks.folder(change.name()));
        let kept: Vec<(TaskName, TimeSpan)> = kept.map(|it| (it.name.clone(), it.task.data.history)).collect();
        let alerts = evaluate::settings_after(changes, |name| self.tasks.folder(name));
        let stored = self.store.call(move |store| {
            store.record_folder_states(&states, Utc::now())?;
            store.keep_history(&kept)?;
            store.set_alert_configs(&alerts)
        });
        stored.await
    }

    fn drop_task(&mut self, name: &TaskName) {
        tracing::info!(task = %name, "{name}: task removed with its folder; its published rows stay");
        self.refuse_run(name, "its folder was removed before the run started");
        self.schedule.forget(name);
        self.tasks.forget(name);
    }

    fn refuse_run(&mut self, name: &TaskName, why: &'static str) {
        self.effects.push(PlanEffect::RefuseRun(name.clone(), why));
    }

    /// Plans a new or changed folder. A new task and one with a new template run at once.
    async fn load_task(&mut self, name: &TaskName, known: Option<&TaskRow>) -> Result<(), StoreError> {
        let Some(folder) = self.tasks.folder(name) else { return Ok(()) };
        adopt::request_adoption(&folder.dir);
        self.schedule.note_server(&folder);
        let now = Utc::now();
        self.schedule.note_last_slot(known.and_then(|row| row.last_slot), now);
        let backoff = crash_backoff::load(&self.store, &folder, known).await?;
        self.schedule.set_backoff(name, backoff);
        let is_running = self.schedule.queue().is_running(name);
        let is_relabelled = self.tasks.is_relabelled(&folder, known, is_running);
        if !self.fleet.is_ours(name) {
            return Ok(());
        }
        let never_ran = known.is_none_or(|row| row.last_run.is_none());
        if !folder.task.enabled || known.is_some_and(|row| row.paused) {
            self.schedule.suspend(name.clone());
        } else if is_relabelled {
            self.schedule.queue_relabelled_run(&folder, now);
        } else if never_ran && !self.tasks.is_template_unresolved(name) {
            self.schedule.queue_first_run(&folder, now);
        } else {
            self.resume_schedule(&folder, known.and_then(|row| row.next_due), now).await?;
        }
        Ok(())
    }

    async fn resume_schedule(
        &mut self,
        folder: &TaskFolder,
        promised: Option<DateTime<Utc>>,
        now: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        let is_login_held = Scheduler::is_missed(promised, now) && self.is_login_held(folder).await?;
        self.schedule.resume(folder, promised, is_login_held, now);
        Ok(())
    }

    async fn is_login_held(&self, folder: &TaskFolder) -> Result<bool, StoreError> {
        login_hold::is_held(&self.store, &self.config, folder, self.started_at).await
    }

    /// Stores the due times that were planned since the last call, in one transaction.
    async fn save_due_times(&mut self) -> Result<(), StoreError> {
        let unsaved = self.schedule.take_unsaved_due_times();
        if unsaved.is_empty() {
            return Ok(());
        }
        self.store.call(move |store| store.set_all_next_due(&unsaved)).await
    }

    /// Queues the runs that are due.
    pub async fn tick(&mut self) -> Result<(), StoreError> {
        let now = Utc::now();
        if self.schedule.notice_jump(now, Instant::now()) {
            self.replan_all(now).await?;
            self.save_due_times().await?;
        }
        for (name, slot) in self.schedule.take_due(now) {
            let Some(folder) = self.tasks.folder(&name) else { continue };
            // If the store cannot be read, this run is skipped, but not the next.
            let is_login_held = self.is_login_held(&folder).await.unwrap_or(true);
            self.schedule.queue_due_run(&folder, slot, is_login_held, now);
        }
        self.save_due_times().await
    }

    async fn replan_all(&mut self, now: DateTime<Utc>) -> Result<(), StoreError> {
        let folders: Vec<Arc<TaskFolder>> = self.tasks.folders().collect();
        for folder in folders {
            if let Some(due) = self.schedule.queue().planned(&folder.name) {
                self.resume_schedule(&folder, Some(due.slot.0), now).await?;
            }
        }
        Ok(())
    }

    /// The next run to start. None starts while the system clock has not been set.
    pub fn start_next(&mut self) -> Option<NextRun> {
        while clock::is_plausible(Utc::now()) {
            let queued = self.schedule.start_next(self.config.max_running as usize, self.config.per_host as usize)?;
            let Some(folder) = self.tasks.folder(&queued.name) else {
                self.schedule.finish(&queued.name);
                continue;
            };
            let next_due = self.schedule.queue().planned(&queued.name).map(|due| due.slot.0);
            return Some(NextRun::new(folder, queued, next_due, Utc::now()));
        }
        None
    }

    /// `None`: the run was not recorded.
    pub async fn run_ended(
        &mut self,
        name: TaskName,
        end: Option<&RunEnd>,
        is_stopping: bool,
    ) -> Result<(), StoreError> {
        self.schedule.finish(&name);
        let learned = end.and_then(|end| end.learned.as_deref());
        if self.tasks.is_relabelled_during_run(&name, learned) && self.fleet.is_ours(&name) {
            self.schedule.queue_relabelled(name.clone());
        }
        let Some(end) = end else { return Ok(()) };
        if is_stopping && end.verdict.is_interrupted() {
            // Interrupted by the stop: still due, and made up at the next start.
            let now = Utc::now();
            return self.store.call(move |store| store.set_next_due(&name, Some(now))).await;
        }
        match self.tasks.folder(&name) {
            Some(folder) => self.schedule.postpone_after_run(&folder, end.backoff_until, Utc::now()),
            None => self.schedule.set_backoff(&name, end.backoff_until),
        }
        self.save_due_times().await
    }

    /// Queues a run that a person asked for, or says why not.
    pub async fn request_run(&mut self, name: &TaskName) -> Result<ControlReply, StoreError> {
        // The person may just have saved a file: the run must use what the folder has now.
        self.rescan().await?;
        let refused = |sentence: String| Ok(ControlReply::Refused { sentence });
        let busy = |sentence: String| Ok(ControlReply::Busy { sentence });
        match self.tasks.entry(name).map(|entry| (&entry.good, &entry.problem)) {
            None => return refused(self.no_such_task(name)),
            Some((Some(_), _)) => {}
            Some((None, Some(problem))) => return refused(problem.to_string()),
            Some((None, None)) => return busy(format!("the folder of `{name}` has not been read yet; try again")),
        }
        if self.schedule.queue().refuses_request(name) {
            return busy(format!("`{name}` is running already; `pieme log {name}` shows its progress"));
        }
        if let Some(elsewhere) = self.claim(name).await? {
            return Ok(elsewhere);
        }
        self.schedule.queue_requested(name.clone());
        Ok(ControlReply::Queued)
    }

    fn no_such_task(&self, name: &TaskName) -> String {
        format!("there is no task `{name}` in {}", self.config.tasks.display())
    }

    /// Pauses or resumes a task. A paused task is not scheduled until a person resumes it; restarts and edits change
    /// nothing. A run under way finishes; a queued one does not start.
    pub async fn set_paused(&mut self, name: &TaskName, paused: bool) -> Result<ControlReply, StoreError> {
        self.rescan().await?;
        if self.tasks.entry(name).is_none() {
            return Ok(ControlReply::Refused { sentence: self.no_such_task(name) });
        }
        tracing::info!(task = %name, "{name}: {}", if paused { "paused" } else { "resumed" });
        let task = name.clone();
        self.store.call(move |store| store.set_paused(&task, paused)).await?;
        if paused {
            self.refuse_run(name, "the task was paused before the run started");
            self.schedule.suspend(name.clone());
        } else {
            let known = self.known_tasks().await?;
            self.load_task(name, known.get(name)).await?;
        }
        self.save_due_times().await?;
        Ok(ControlReply::Done)
    }

    /// Renews the fleet's lease in the background.
    pub fn renew_lease(&mut self, is_stopping: bool, events: &mpsc::Sender<Event>) {
        self.fleet.renew(self.schedule.queue().active_tasks(), is_stopping, events);
    }

    /// The first renewal, before anything runs.
    pub async fn renew_first_lease(&mut self) -> Result<(), StoreError> {
        let report = self.fleet.renew_first().await;
        self.lease_renewed(report).await
    }

    pub async fn lease_renewed(
        &mut self,
        report: Result<Option<HeartbeatReport>, StoreError>,
    ) -> Result<(), StoreError> {
        let Some(renewal) = self.fleet.renewed(report, &self.store).await? else { return Ok(()) };
        if renewal.is_folder_changed {
            self.tasks.rescans().request(Instant::now());
        }
        self.apply_assignment(renewal.assignment).await
    }

    /// Schedules the tasks newly assigned to this daemon, and forgets those assigned to another.
    async fn apply_assignment(&mut self, change: AssignmentChange) -> Result<(), StoreError> {
        for name in &change.lost {
            tracing::debug!(task = %name, "task assigned to another daemon");
            self.refuse_run(name, "it was assigned to another daemon of the fleet");
            self.schedule.forget(name);
        }
        if change.gained.is_empty() {
            return Ok(());
        }
        let known = self.known_tasks().await?;
        for name in &change.gained {
            self.schedule.forget_plan(name);
            self.load_task(name, known.get(name)).await?;
        }
        self.save_due_times().await
    }

    /// Assigns a task to this daemon because a person asked. If it is running on another, that is the reply.
    pub async fn claim(&mut self, name: &TaskName) -> Result<Option<ControlReply>, StoreError> {
        let Some(change) = self.fleet.claim(name).await? else {
            let sentence = format!("`{name}` is running on another daemon of the fleet; try again when it is done");
            return Ok(Some(ControlReply::Busy { sentence }));
        };
        self.apply_assignment(change).await?;
        Ok(None)
    }
}
