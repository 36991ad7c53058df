//! Membership in a fleet, the daemons that share one store: this daemon's name, its lease, the tasks assigned to it,
//! and the shared task folders. It uses two store connections of its own, so that neither a long publication nor ten
//! thousand folders delay the renewal of the lease.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::Utc;
use siphasher::sip::SipHasher13;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::config::Config;
use crate::model::{StoreAddress, TaskName};
use crate::store::{HeartbeatReport, Store, StoreError, TaskRow};

use super::Event;
use super::folder_sync::{FolderSync, SyncError};
use super::service::{DaemonError, Service};
use super::store_handle::StoreHandle;

/// Renewals in the time of one lease; three in a row may fail.
const RENEWALS_PER_LEASE: u32 = 5;
/// Edits made on another machine take effect about as soon as local ones.
const MAX_RENEWAL_INTERVAL: Duration = Duration::from_secs(2);
/// Leaving the fleet is given up after this long; the lease then expires by itself.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(5);

/// A handle on the fleet's shared state.
#[derive(Clone)]
pub struct FleetMember {
    /// Renews the lease and reserves turns at hosts.
    pub store: StoreHandle,
    folder_store: StoreHandle,
    folders: Arc<Mutex<FolderSync>>,
    renewal_interval: Duration,
}

impl FleetMember {
    /// Joins the fleet of the store, if daemons can share it. From then on `store` writes with this member's fencing
    /// token.
    pub fn join(config: &Config, store: &mut Store) -> Result<Option<FleetMember>, DaemonError> {
        if matches!(config.store, StoreAddress::Sqlite(_)) {
            return Ok(None);
        }
        let (name, home) = (member_name(config), instance_id(config));
        let mut own = Store::open(&config.store)?;
        let Some(member) = own.join(&name, &home, config.fleet.lease.0)? else { return Ok(None) };
        tracing::info!("joined the fleet as {name}, fencing token {}", member.fence);
        store.set_member(member);
        let io_error = |source| DaemonError::Io { what: "a thread for the fleet".to_owned(), source };
        let folders = FolderSync::open(&config.tasks, &config.state.join("folders.json"));
        Ok(Some(FleetMember {
            store: StoreHandle::start(own).map_err(io_error)?,
            folder_store: StoreHandle::start(Store::open(&config.store)?).map_err(io_error)?,
            folders: Arc::new(Mutex::new(folders)),
            renewal_interval: (config.fleet.lease.0 / RENEWALS_PER_LEASE).min(MAX_RENEWAL_INTERVAL),
        }))
    }

    async fn renew(&self, busy: Vec<TaskName>, stopping: bool) -> Result<Option<HeartbeatReport>, StoreError> {
        self.store.call(move |store| store.heartbeat(&busy, !stopping)).await
    }

    async fn sync_folders(&self) -> Result<BTreeSet<TaskName>, SyncError> {
        let folders = Arc::clone(&self.folders);
        let sync = move |store: &mut Store| {
            // A sync that panicked halfway is completed by the next one.
            folders.lock().unwrap_or_else(PoisonError::into_inner).sync(store, Utc::now())
        };
        self.folder_store.call(sync).await
    }

    /// Renews the lease at a fixed interval for as long as the loop lives.
    ///
    /// This is no job of the scheduler, which follows the wall clock. When the clock is set back the scheduler is
    /// silent for [`super::schedule::clock::MAX_TICK_GAP`], which is longer than the shortest lease. Its repeated jobs
    /// take whole seconds only, and stop for ever when they are late once (`schedule/clock.rs`). This timer is steady,
    /// and waits for room in the inbox, where a chore would be dropped.
    pub fn keep_renewing(&self, events: mpsc::Sender<Event>) {
        let mut rounds = interval(self.renewal_interval);
        rounds.set_missed_tick_behavior(MissedTickBehavior::Delay);
        tokio::spawn(async move {
            loop {
                rounds.tick().await;
                if events.send(Event::RenewLease).await.is_err() {
                    return;
                }
            }
        });
    }

    /// Leaves the fleet, so that the other daemons take over the tasks at once.
    pub async fn leave(&self) {
        let left = self.store.call(|store| store.leave());
        match tokio::time::timeout(LEAVE_TIMEOUT, left).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::warn!("leaving the fleet failed; other daemons take over when the lease expires: {error}")
            }
            Err(_) => tracing::warn!("leaving the fleet timed out; other daemons take over when the lease expires"),
        }
    }
}

/// `fleet.name` of config.toml, or the host name with a hash of the state folder's path.
fn member_name(config: &Config) -> String {
    if config.fleet.name != "auto" {
        return config.fleet.name.clone();
    }
    let folder = config.state.display().to_string();
    format!("{}-{:04x}", host_name(), SipHasher13::new().hash(folder.as_bytes()) & 0xffff)
}

/// Distinguishes a daemon that restarts from another one of the same name.
fn instance_id(config: &Config) -> String {
    format!("{}:{}", host_name(), config.state.display())
}

fn host_name() -> String {
    nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok()).unwrap_or_else(|| "pieme".to_owned())
}

/// The event loop's view of the fleet.
pub(super) struct FleetState {
    pub member: FleetMember,
    /// The tasks assigned to this daemon, and whether they are paused.
    own_tasks: BTreeMap<TaskName, bool>,
    /// Tasks whose folders were deleted, here or elsewhere.
    removed: BTreeSet<TaskName>,
    folders: (i64, i64),
    is_renewing: bool,
}

impl FleetState {
    pub fn new(fleet: FleetMember) -> FleetState {
        FleetState {
            member: fleet,
            own_tasks: BTreeMap::new(),
            removed: BTreeSet::new(),
            folders: (0, 0),
            is_renewing: false,
        }
    }
}

impl Service {
    /// Whether a task is for this daemon to run.
    pub(super) fn is_ours(&self, name: &TaskName) -> bool {
        self.fleet.as_ref().is_none_or(|share| share.own_tasks.contains_key(name))
    }

    /// Whether a missing folder was deleted. In a fleet it may just not have arrived yet.
    pub(super) fn is_gone(&self, row: &TaskRow) -> bool {
        let is_removed = self.fleet.as_ref().is_none_or(|share| share.removed.contains(&row.name));
        !row.removed && is_removed && self.registry.get(&row.name).is_none()
    }

    /// Renews the lease in the background; the result comes back as [`Event::LeaseRenewed`].
    pub(super) fn renew_lease(&mut self) {
        let stopping = self.stop_by.is_some();
        let busy = self.queue.active_tasks();
        let Some(share) = self.fleet.as_mut().filter(|share| !share.is_renewing) else { return };
        share.is_renewing = true;
        let (fleet, events) = (share.member.clone(), self.events.clone());
        tokio::spawn(async move {
            let look = fleet.renew(busy, stopping).await;
            // The loop is gone only when the daemon is.
            let _ = events.send(Event::LeaseRenewed(look)).await;
        });
    }

    /// The first renewal, before anything runs.
    pub(super) async fn renew_first_lease(&mut self) -> Result<(), StoreError> {
        let Some(share) = &self.fleet else { return Ok(()) };
        let look = share.member.renew(Vec::new(), false).await;
        self.lease_renewed(look).await
    }

    pub(super) async fn lease_renewed(
        &mut self,
        look: Result<Option<HeartbeatReport>, StoreError>,
    ) -> Result<(), StoreError> {
        let Some(share) = self.fleet.as_mut() else { return Ok(()) };
        share.is_renewing = false;
        let Some(look) = look? else { return Ok(()) };
        if let Some(member) = look.rejoined_as {
            tracing::warn!(
                "the lease had expired and the runs under way were recorded as crash; rejoined with fencing token {}",
                member.fence
            );
            share.own_tasks.clear();
            let act = move |store: &mut Store| {
                store.set_member(member);
                Ok::<_, StoreError>(())
            };
            self.runner.store.call(act).await?;
        }
        for (run, task) in look.crashed_runs {
            tracing::warn!(%run, %task, "{task}: its daemon is gone; run {run} is recorded as crash and is made up");
        }
        self.apply_task_assignment(look.own_tasks.into_iter().collect()).await?;
        if let Some(share) = self.fleet.as_mut()
            && share.folders != look.folders
        {
            share.folders = look.folders;
            self.rescan_at = Some(Instant::now());
        }
        Ok(())
    }

    /// Schedules the tasks newly assigned to this daemon, and forgets those assigned to another.
    async fn apply_task_assignment(&mut self, ours: BTreeMap<TaskName, bool>) -> Result<(), StoreError> {
        let Some(share) = self.fleet.as_mut() else { return Ok(()) };
        let before = std::mem::replace(&mut share.own_tasks, ours.clone());
        for name in before.keys().filter(|name| !ours.contains_key(*name)) {
            tracing::debug!(task = %name, "task assigned to another daemon");
            self.refuse_waiting_clients(name, "it was assigned to another daemon of the fleet");
            self.queue.forget(name);
            self.crash_backoff.remove(name);
        }
        let news: Vec<TaskName> = ours
            .iter()
            .filter(|(name, paused)| before.get(*name) != Some(*paused))
            .map(|(name, _)| name.clone())
            .collect();
        if news.is_empty() {
            return Ok(());
        }
        let known = self.runner.store.call(|store| store.tasks()).await?;
        let known: BTreeMap<TaskName, TaskRow> = known.into_iter().map(|row| (row.name.clone(), row)).collect();
        for name in news {
            self.queue.forget(&name);
            self.load_task(name.clone(), known.get(&name)).await?;
        }
        self.save_due_times().await
    }

    /// Synchronises tasks/ with the store. If that fails, the local folders are used as they are.
    pub(super) async fn sync_task_folders(&mut self) {
        let Some(share) = &self.fleet else { return };
        match share.member.clone().sync_folders().await {
            Ok(removed) => {
                if let Some(share) = self.fleet.as_mut() {
                    share.removed = removed;
                }
            }
            Err(error) => tracing::error!("synchronising the task folders failed: {error}"),
        }
    }

    /// Assigns a task to this daemon because a person asked, unless it is running on another. Returns whether it is
    /// ours.
    pub(super) async fn claim(&mut self, name: &TaskName) -> Result<bool, StoreError> {
        let Some(share) = &self.fleet else { return Ok(true) };
        if share.own_tasks.contains_key(name) {
            return Ok(true);
        }
        let task = name.clone();
        let is_ours = share.member.store.call(move |store| store.claim(&task)).await?;
        if is_ours {
            let mut ours = share.own_tasks.clone();
            ours.insert(name.clone(), false);
            self.apply_task_assignment(ours).await?;
        }
        Ok(is_ours)
    }
}
