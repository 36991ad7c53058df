//! This daemon's membership in the fleet: its name and its lease. It uses two store connections of its own, so that
//! neither a long publication nor ten thousand folders delay the renewal of the lease.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::Utc;
use siphasher::sip::SipHasher13;
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};

use crate::config::Config;
use crate::model::{StoreAddress, TaskName};
use crate::store::{HeartbeatReport, Store, StoreError};

use super::folder_sync::{FolderSync, SyncError};
use crate::daemon::Event;
use crate::daemon::error::DaemonError;
use crate::daemon::store_handle::StoreHandle;

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
        let no_thread = || DaemonError::io("a thread for the fleet");
        let folders = FolderSync::open(&config.tasks, &config.state.join("folders.json"));
        Ok(Some(FleetMember {
            store: StoreHandle::start(own).map_err(no_thread())?,
            folder_store: StoreHandle::start(Store::open(&config.store)?).map_err(no_thread())?,
            folders: Arc::new(Mutex::new(folders)),
            renewal_interval: (config.fleet.lease.0 / RENEWALS_PER_LEASE).min(MAX_RENEWAL_INTERVAL),
        }))
    }

    pub async fn renew(&self, busy: Vec<TaskName>, stopping: bool) -> Result<Option<HeartbeatReport>, StoreError> {
        self.store.call(move |store| store.heartbeat(&busy, !stopping)).await
    }

    pub async fn claim(&self, task: TaskName) -> Result<bool, StoreError> {
        self.store.call(move |store| store.claim(&task)).await
    }

    pub async fn sync_folders(&self) -> Result<BTreeSet<TaskName>, SyncError> {
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
    /// silent for `MAX_TICK_GAP` (`schedule/clock.rs`), which is longer than the shortest lease. Its repeated jobs take
    /// whole seconds only, and stop for ever when they are late once. This timer is steady, and waits for room in the
    /// inbox, where a chore would be dropped.
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
