//! The fleet, the daemons that share one store: this daemon's lease, the tasks assigned to it, and the shared task
//! folders. A daemon on a store that is not shared owns every task.

mod assignment;
pub mod folder_sync;
pub mod member;

use tokio::sync::mpsc;

use crate::model::TaskName;
use crate::store::{HeartbeatReport, Store, StoreError};

use super::Event;
use super::store_handle::StoreHandle;
pub use assignment::AssignmentChange;
use assignment::TaskAssignment;
use member::FleetMember;

/// What a renewal of the lease has shown.
pub struct LeaseRenewal {
    pub assignment: AssignmentChange,
    /// Whether a shared folder has changed.
    pub is_folder_changed: bool,
}

/// The event loop's view of the fleet.
pub struct FleetState {
    /// `None` with SQLite.
    member: Option<FleetMember>,
    assignment: TaskAssignment,
    is_renewing: bool,
}

impl FleetState {
    pub fn new(member: Option<FleetMember>) -> FleetState {
        FleetState { member, assignment: TaskAssignment::default(), is_renewing: false }
    }

    /// Whether a task is for this daemon to run.
    pub fn is_ours(&self, name: &TaskName) -> bool {
        self.member.is_none() || self.assignment.is_ours(name)
    }

    /// Whether a missing folder was deleted. In a fleet it may just not have arrived yet.
    pub fn is_removed(&self, name: &TaskName) -> bool {
        self.member.is_none() || self.assignment.is_removed(name)
    }

    /// Renews the lease in the background; the result comes back as [`Event::LeaseRenewed`].
    pub fn renew(&mut self, busy: Vec<TaskName>, is_stopping: bool, events: &mpsc::Sender<Event>) {
        let Some(member) = self.member.clone().filter(|_| !self.is_renewing) else { return };
        self.is_renewing = true;
        let events = events.clone();
        tokio::spawn(async move {
            let report = member.renew(busy, is_stopping).await;
            // The loop is gone only when the daemon is.
            let _ = events.send(Event::LeaseRenewed(report)).await;
        });
    }

    /// The first renewal, before anything runs.
    pub async fn renew_first(&self) -> Result<Option<HeartbeatReport>, StoreError> {
        match &self.member {
            Some(member) => member.renew(Vec::new(), false).await,
            None => Ok(None),
        }
    }

    /// Applies a renewal. A daemon that has joined again writes `store` with its new fencing token.
    pub async fn renewed(
        &mut self,
        report: Result<Option<HeartbeatReport>, StoreError>,
        store: &StoreHandle,
    ) -> Result<Option<LeaseRenewal>, StoreError> {
        self.is_renewing = false;
        let Some(report) = report? else { return Ok(None) };
        if let Some(member) = report.rejoined_as {
            tracing::warn!(
                "the lease had expired and the runs under way were recorded as crash; rejoined with fencing token {}",
                member.fence
            );
            self.assignment.expire();
            let act = move |store: &mut Store| {
                store.set_member(member);
                Ok::<_, StoreError>(())
            };
            store.call(act).await?;
        }
        for (run, task) in report.crashed_runs {
            tracing::warn!(%run, %task, "{task}: its daemon is gone; run {run} is recorded as crash and is made up");
        }
        Ok(Some(LeaseRenewal {
            assignment: self.assignment.assign(report.own_tasks.into_iter().collect()),
            is_folder_changed: self.assignment.note_folders(report.folders),
        }))
    }

    /// Assigns a task to this daemon because a person asked; `None` if it is running on another.
    pub async fn claim(&mut self, name: &TaskName) -> Result<Option<AssignmentChange>, StoreError> {
        let Some(member) = self.member.as_ref().filter(|_| !self.assignment.is_ours(name)) else {
            return Ok(Some(AssignmentChange::default()));
        };
        let is_ours = member.claim(name.clone()).await?;
        Ok(is_ours.then(|| self.assignment.claim(name.clone())))
    }

    /// Synchronises tasks/ with the store. If that fails, the local folders are used as they are.
    pub async fn sync_folders(&mut self) {
        let Some(member) = &self.member else { return };
        match member.sync_folders().await {
            Ok(removed) => self.assignment.set_removed(removed),
            Err(error) => tracing::error!("synchronising the task folders failed: {error}"),
        }
    }
}
