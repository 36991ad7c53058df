//! The daemon's event loop: one `match` over [`Event`], which passes each to the components and performs their effects.

use std::sync::Arc;
use std::time::Duration;

use sd_notify::NotifyState;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

use crate::model::TaskName;
use crate::store::{AlertTaskFilter, RunStart, StoreError};

use super::alerts::Alerts;
use super::http::control::{ControlReply, ControlRequest, ReplySender};
use super::http::metrics::DaemonMetrics;
use super::http::replies;
use super::maintenance::MaintenanceJobs;
use super::maintenance::chores::{Chore, ChoreGuard};
use super::planner::{PlanEffect, Planner};
use super::runs::clients::RunClients;
use super::runs::runner::{RunEnd, Runner};
use super::runs::stop::StopState;
use super::schedule::clock::{MAX_TICK_GAP, SchedulerClock};
use super::{Event, systemd};

pub struct EventLoop {
    runner: Runner,
    events: mpsc::Sender<Event>,
    planner: Planner,
    clients: RunClients<ReplySender>,
    alerts: Alerts,
    maintenance: MaintenanceJobs,
    metrics: Arc<DaemonMetrics>,
    stop: StopState,
}

impl EventLoop {
    pub fn new(
        runner: Runner,
        events: mpsc::Sender<Event>,
        planner: Planner,
        alerts: Alerts,
        metrics: Arc<DaemonMetrics>,
    ) -> EventLoop {
        let maintenance = MaintenanceJobs::start(runner.store.clone());
        let (clients, stop) = (RunClients::default(), StopState::default());
        EventLoop { runner, events, planner, clients, alerts, maintenance, metrics, stop }
    }

    /// Runs until the daemon has stopped.
    pub async fn run(&mut self, mut inbox: mpsc::Receiver<Event>, mut clock: SchedulerClock) {
        self.perform_effects();
        loop {
            let event = match timeout(self.until_next_wakeup(), inbox.recv()).await {
                Ok(Some(event)) => event,
                Ok(None) => return,
                // The loop iterates even without clock ticks.
                Err(_) => Event::Wakeup,
            };
            clock.ensure_ticking().await;
            if let Err(error) = self.handle(event).await {
                tracing::error!("handling an event failed: {error}");
            }
            self.perform_effects();
            // Here and not as an event: a stream of hints must not postpone the scan for ever.
            if self.planner.is_rescan_due() && !self.stop.is_stopping() {
                if let Err(error) = self.planner.rescan().await {
                    tracing::error!("scanning the tasks folder failed: {error}");
                }
                self.perform_effects();
            }
            let running = self.planner.queue().running_count();
            self.metrics.record_iteration(self.planner.queue().queued_count(), running);
            if self.stop.is_stopping() && running == 0 {
                return;
            }
        }
    }

    /// The loop wakes up for the next due run: with the clock's ticks alone each run would start up to a second late.
    fn until_next_wakeup(&self) -> Duration {
        let until_next = self.planner.until_next().filter(|_| !self.stop.is_stopping());
        until_next.map_or(MAX_TICK_GAP, |until_next| until_next.min(MAX_TICK_GAP))
    }

    async fn handle(&mut self, event: Event) -> Result<(), StoreError> {
        match event {
            Event::Tick | Event::Wakeup if self.stop.is_stopping() => self.stop.tick(Instant::now()),
            Event::Tick | Event::Wakeup => self.tick().await?,
            // A daemon that stops starts no new work.
            Event::Chore(..) if self.stop.is_stopping() => {}
            Event::Chore(chore, guard) => self.perform_chore(chore, guard).await?,
            Event::RenewLease => self.planner.renew_lease(self.stop.is_stopping(), &self.events),
            Event::FolderHint => self.planner.hint_folders_changed(),
            Event::Reload => self.planner.rescan().await?,
            Event::Request(request, client) => self.handle_request(request, client).await?,
            Event::RunEnded { task, end, took } => self.run_ended(task, end, took).await?,
            Event::Resorted(task) => self.republished(task),
            Event::LeaseRenewed(report) => self.planner.lease_renewed(report).await?,
            Event::Stop => self.begin_stop(),
        }
        Ok(())
    }

    async fn handle_request(&mut self, request: ControlRequest, client: ReplySender) -> Result<(), StoreError> {
        let (store, events) = (self.runner.store.clone(), self.events.clone());
        match request {
            ControlRequest::Run { task } => self.handle_run_request(task, client).await?,
            ControlRequest::Pause { task } => replies::send(&client, self.planner.set_paused(&task, true).await)?,
            ControlRequest::Resume { task } => replies::send(&client, self.planner.set_paused(&task, false).await)?,
            ControlRequest::Resort { task, what } => match self.planner.claim(&task).await? {
                Some(elsewhere) => drop(client.send(elsewhere)),
                None => replies::apply_review(store, events, (self.planner.key_of(&task), task), what, client),
            },
            ControlRequest::Collect { dry_run } => {
                self.maintenance.collect_garbage(dry_run, move |done| replies::send_collected(&client, done))
            }
            ControlRequest::Tasks { undelivered_since } => replies::send_task_rows(store, undelivered_since, client),
            // Answered in http/control.rs.
            ControlRequest::Progress => {}
        }
        Ok(())
    }

    async fn handle_run_request(&mut self, task: TaskName, client: ReplySender) -> Result<(), StoreError> {
        let reply = match self.stop.is_stopping() {
            true => ControlReply::Busy { sentence: "the daemon is stopping".to_owned() },
            false => self.planner.request_run(&task).await?,
        };
        let is_queued = matches!(reply, ControlReply::Queued);
        // The client may have left; here and below.
        let _ = client.send(reply);
        if is_queued {
            self.clients.add(task, client);
        }
        Ok(())
    }

    async fn tick(&mut self) -> Result<(), StoreError> {
        // If the store cannot be written, each due task loses this run, but not the next.
        let planned = self.planner.tick().await;
        self.maintenance.tick(self.planner.queue().running_count());
        planned
    }

    /// Performs a fixed chore. Long ones run in the background and hold the guard.
    async fn perform_chore(&mut self, chore: Chore, guard: ChoreGuard) -> Result<(), StoreError> {
        match chore {
            Chore::Collect => self.maintenance.collect_garbage(false, move |_| drop(guard)),
            Chore::Rescan => self.planner.rescan().await?,
            Chore::Index => self.maintenance.indexer.catch_up(guard),
            Chore::Overdue => self.alerts.evaluate_overdue(guard),
        }
        Ok(())
    }

    /// Performs what the planner has decided, and starts the runs that it has queued.
    fn perform_effects(&mut self) {
        for effect in self.planner.take_effects() {
            match effect {
                PlanEffect::RefuseRun(task, why) => replies::send_refusal(self.clients.refuse(&task), &task, why),
                PlanEffect::EvaluateAlerts(which) => self.alerts.evaluate(which),
            }
        }
        while !self.stop.is_stopping()
            && let Some(next) = self.planner.start_next()
        {
            let RunStart { task, run, .. } = next.record();
            let listener = replies::forward_trace(self.clients.start(task), *run);
            next.start(self.runner.clone(), listener, self.stop.subscribe(), self.events.clone());
        }
    }

    async fn run_ended(&mut self, task: TaskName, end: Option<Box<RunEnd>>, took: Duration) -> Result<(), StoreError> {
        let verdict = end.as_ref().map(|end| &end.verdict);
        if let Some(verdict) = verdict {
            self.metrics.count_run(verdict.outcome, took);
        }
        replies::send_end(self.clients.end(&task), verdict);
        self.republished(task.clone());
        self.planner.run_ended(task, end.as_deref(), self.stop.is_stopping()).await
    }

    /// Something may have been published.
    fn republished(&self, task: TaskName) {
        self.maintenance.indexer.published(task.clone());
        self.alerts.evaluate(AlertTaskFilter::One(task));
    }

    fn begin_stop(&mut self) {
        let grace = self.runner.config.stop_grace;
        if self.stop.begin(grace.0, Instant::now()) {
            let running = self.planner.queue().running_count();
            tracing::info!("stopping; runs under way: {running}, time to finish: {grace}");
            systemd::notify(&[NotifyState::Stopping]);
        }
    }
}
