//! This daemon among those that share its store: who it is, which tasks are its own, and what the others do. It has two connections
//! of its own, so that neither a long publication nor ten thousand folders keep its lease from being renewed.

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

/// The lease is renewed so often while it runs; three may be lost.
const RENEWALS_PER_LEASE: u32 = 5;
/// Edits made elsewhere are to be seen about as soon as those made here.
const MAX_RENEWAL_INTERVAL: Duration = Duration::from_secs(2);
/// An end that is waited for no longer: the lease runs out by itself.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(5);

/// A handle on what is shared.
#[derive(Clone)]
pub struct FleetMember {
    /// Renews the lease and books turns at hosts.
    pub store: StoreHandle,
    folder_store: StoreHandle,
    folders: Arc<Mutex<FolderSync>>,
    renewal_interval: Duration,
}

impl FleetMember {
    /// Joins with a store that several daemons may share; `store` acts for this one from then on.
    pub fn join(config: &Config, store: &mut Store) -> Result<Option<FleetMember>, DaemonError> {
        if matches!(config.store, StoreAddress::Sqlite(_)) {
            return Ok(None);
        }
        let (name, home) = (member_name(config), instance_id(config));
        let mut own = Store::open(&config.store)?;
        let Some(member) = own.join(&name, &home, config.fleet.lease.0)? else { return Ok(None) };
        tracing::info!("in the fleet as {name}, number {}", member.fence);
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
            // Nothing is left half done that the next look does not find.
            folders.lock().unwrap_or_else(PoisonError::into_inner).sync(store, Utc::now())
        };
        self.folder_store.call(sync).await
    }

    /// Has the lease renewed for as long as the loop lives.
    ///
    /// This is no job of the scheduler, which goes by the wall clock. When the clock is set back the scheduler is silent for
    /// [`super::schedule::clock::SILENCE`], which is longer than the shortest lease. Its repeated jobs take whole seconds only, and stop
    /// for ever when they are late once (`clock.rs`). This timer is steady, and waits for room in the inbox, where a chore
    /// would be dropped.
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

    /// Goes, and leaves the tasks to the others.
    pub async fn leave(&self) {
        let left = self.store.call(|store| store.leave());
        match tokio::time::timeout(LEAVE_TIMEOUT, left).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!("the others notice our end when the lease runs out: {error}"),
            Err(_) => tracing::warn!("the others notice our end when the lease runs out"),
        }
    }
}

/// As config.toml says, or the machine's name with a number for the state folder.
fn member_name(config: &Config) -> String {
    if config.fleet.name != "auto" {
        return config.fleet.name.clone();
    }
    let folder = config.state.display().to_string();
    format!("{}-{:04x}", host_name(), SipHasher13::new().hash(folder.as_bytes()) & 0xffff)
}

/// Tells a daemon that starts again from another one of the same name.
fn instance_id(config: &Config) -> String {
    format!("{}:{}", host_name(), config.state.display())
}

fn host_name() -> String {
    nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok()).unwrap_or_else(|| "pieme".to_owned())
}

/// What the loop keeps of the fleet.
pub(super) struct FleetState {
    pub member: FleetMember,
    /// Our tasks, and whether they are paused.
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

    /// Whether a folder that is not here is gone for good. In a fleet it may only not have come yet.
    pub(super) fn is_gone(&self, row: &TaskRow) -> bool {
        let is_removed = self.fleet.as_ref().is_none_or(|share| share.removed.contains(&row.name));
        !row.removed && is_removed && self.registry.get(&row.name).is_none()
    }

    /// Has the fleet looked at, beside everything else.
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

    /// The first look, before anything runs.
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
                "the lease had run out and our runs were recorded as crash; we are number {} now",
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
            tracing::warn!(%run, %task, "its daemon is gone; the run is recorded as crash, and is made up");
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

    /// Takes in the tasks that have become ours, and lets go of those that are no longer.
    async fn apply_task_assignment(&mut self, ours: BTreeMap<TaskName, bool>) -> Result<(), StoreError> {
        let Some(share) = self.fleet.as_mut() else { return Ok(()) };
        let before = std::mem::replace(&mut share.own_tasks, ours.clone());
        for name in before.keys().filter(|name| !ours.contains_key(*name)) {
            tracing::debug!(task = %name, "another daemon runs it from now on");
            self.refuse_waiting_clients(name, "another daemon of the fleet runs it now");
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

    /// Makes tasks/ the same as the store's. Without it the folders that are here go on as they are.
    pub(super) async fn sync_task_folders(&mut self) {
        let Some(share) = &self.fleet else { return };
        match share.member.clone().sync_folders().await {
            Ok(removed) => {
                if let Some(share) = self.fleet.as_mut() {
                    share.removed = removed;
                }
            }
            Err(error) => tracing::error!("task folders are not shared: {error}"),
        }
    }

    /// At a person's word: makes a task ours, unless it is running elsewhere. Says whether it is.
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
