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
use crate::store::{Look, Store, StoreError, TaskRow};

use super::Event;
use super::folders::{Folders, SyncError};
use super::keeper::Keeper;
use super::service::{DaemonError, Service};

/// The lease is renewed so often while it runs; three may be lost.
const LOOKS_A_LEASE: u32 = 5;
/// Edits made elsewhere are to be seen about as soon as those made here.
const LONGEST_BETWEEN_LOOKS: Duration = Duration::from_secs(2);
/// An end that is waited for no longer: the lease runs out by itself.
const LEAVE_PATIENCE: Duration = Duration::from_secs(5);

/// A handle on what is shared.
#[derive(Clone)]
pub struct Fleet {
    /// Renews the lease and books turns at hosts.
    pub keeper: Keeper,
    sharer: Keeper,
    folders: Arc<Mutex<Folders>>,
    every: Duration,
}

impl Fleet {
    /// Joins with a store that several daemons may share; `store` acts for this one from then on.
    pub fn join(config: &Config, store: &mut Store) -> Result<Option<Fleet>, DaemonError> {
        if matches!(config.store, StoreAddress::Sqlite(_)) {
            return Ok(None);
        }
        let (name, home) = (name(config), home(config));
        let mut own = Store::open(&config.store)?;
        let Some(member) = own.join(&name, &home, config.fleet.lease.0)? else { return Ok(None) };
        tracing::info!("in the fleet as {name}, number {}", member.fence);
        store.act_for(member);
        let io_error = |source| DaemonError::Io { what: "a thread for the fleet".to_owned(), source };
        let folders = Folders::open(&config.tasks, &config.state.join("folders.json"));
        Ok(Some(Fleet {
            keeper: Keeper::start(own).map_err(io_error)?,
            sharer: Keeper::start(Store::open(&config.store)?).map_err(io_error)?,
            folders: Arc::new(Mutex::new(folders)),
            every: (config.fleet.lease.0 / LOOKS_A_LEASE).min(LONGEST_BETWEEN_LOOKS),
        }))
    }

    async fn look(&self, busy: Vec<TaskName>, stopping: bool) -> Result<Option<Look>, StoreError> {
        self.keeper.ask(move |store| store.look_round(&busy, !stopping)).await
    }

    async fn sync(&self) -> Result<BTreeSet<TaskName>, SyncError> {
        let folders = Arc::clone(&self.folders);
        let sync = move |store: &mut Store| {
            // Nothing is left half done that the next look does not find.
            folders.lock().unwrap_or_else(PoisonError::into_inner).sync(store, Utc::now())
        };
        self.sharer.ask(sync).await
    }

    /// Has the lease renewed for as long as the loop lives.
    ///
    /// This is no job of the scheduler, which goes by the wall clock. When the clock is set back the scheduler is silent for
    /// [`super::clock::SILENCE`], which is longer than the shortest lease. Its repeated jobs take whole seconds only, and stop
    /// for ever when they are late once (`clock.rs`). This timer is steady, and waits for room in the inbox, where a chore
    /// would be dropped.
    pub fn keep_renewing(&self, events: mpsc::Sender<Event>) {
        let mut rounds = interval(self.every);
        rounds.set_missed_tick_behavior(MissedTickBehavior::Delay);
        tokio::spawn(async move {
            loop {
                rounds.tick().await;
                if events.send(Event::FleetRound).await.is_err() {
                    return;
                }
            }
        });
    }

    /// Goes, and leaves the tasks to the others.
    pub async fn leave(&self) {
        let left = self.keeper.ask(|store| store.leave());
        match tokio::time::timeout(LEAVE_PATIENCE, left).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!("the others notice our end when the lease runs out: {error}"),
            Err(_) => tracing::warn!("the others notice our end when the lease runs out"),
        }
    }
}

/// As config.toml says, or the machine's name with a number for the state folder.
fn name(config: &Config) -> String {
    if config.fleet.name != "auto" {
        return config.fleet.name.clone();
    }
    let folder = config.state.display().to_string();
    format!("{}-{:04x}", host(), SipHasher13::new().hash(folder.as_bytes()) & 0xffff)
}

/// Tells a daemon that starts again from another one of the same name.
fn home(config: &Config) -> String {
    format!("{}:{}", host(), config.state.display())
}

fn host() -> String {
    nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok()).unwrap_or_else(|| "pieme".to_owned())
}

/// What the loop keeps of the fleet.
pub(super) struct Share {
    pub fleet: Fleet,
    /// Our tasks, and whether they are paused.
    ours: BTreeMap<TaskName, bool>,
    /// Tasks whose folders were deleted, here or elsewhere.
    removed: BTreeSet<TaskName>,
    folders: (i64, i64),
    looking: bool,
}

impl Share {
    pub fn new(fleet: Fleet) -> Share {
        Share { fleet, ours: BTreeMap::new(), removed: BTreeSet::new(), folders: (0, 0), looking: false }
    }
}

impl Service {
    /// Whether a task is for this daemon to run.
    pub(super) fn is_ours(&self, name: &TaskName) -> bool {
        self.share.as_ref().is_none_or(|share| share.ours.contains_key(name))
    }

    /// Whether a folder that is not here is gone for good. In a fleet it may only not have come yet.
    pub(super) fn is_gone(&self, row: &TaskRow) -> bool {
        let is_removed = self.share.as_ref().is_none_or(|share| share.removed.contains(&row.name));
        !row.removed && is_removed && self.shelf.get(&row.name).is_none()
    }

    /// Has the fleet looked at, beside everything else.
    pub(super) fn look_round(&mut self) {
        let stopping = self.stop_by.is_some();
        let busy = self.agenda.busy();
        let Some(share) = self.share.as_mut().filter(|share| !share.looking) else { return };
        share.looking = true;
        let (fleet, events) = (share.fleet.clone(), self.events.clone());
        tokio::spawn(async move {
            let look = fleet.look(busy, stopping).await;
            // The loop is gone only when the daemon is.
            let _ = events.send(Event::Fleet(look)).await;
        });
    }

    /// The first look, before anything runs.
    pub(super) async fn first_look_round(&mut self) -> Result<(), StoreError> {
        let Some(share) = &self.share else { return Ok(()) };
        let look = share.fleet.look(Vec::new(), false).await;
        self.looked_round(look).await
    }

    pub(super) async fn looked_round(&mut self, look: Result<Option<Look>, StoreError>) -> Result<(), StoreError> {
        let Some(share) = self.share.as_mut() else { return Ok(()) };
        share.looking = false;
        let Some(look) = look? else { return Ok(()) };
        if let Some(member) = look.reborn {
            tracing::warn!(
                "the lease had run out and our runs were recorded as crash; we are number {} now",
                member.fence
            );
            share.ours.clear();
            let act = move |store: &mut Store| {
                store.act_for(member);
                Ok::<_, StoreError>(())
            };
            self.runner.keeper.ask(act).await?;
        }
        for (run, task) in look.buried {
            tracing::warn!(%run, %task, "its daemon is gone; the run is recorded as crash, and is made up");
        }
        self.share_out(look.ours.into_iter().collect()).await?;
        if let Some(share) = self.share.as_mut()
            && share.folders != look.folders
        {
            share.folders = look.folders;
            self.rescan_at = Some(Instant::now());
        }
        Ok(())
    }

    /// Takes in the tasks that have become ours, and lets go of those that are no longer.
    async fn share_out(&mut self, ours: BTreeMap<TaskName, bool>) -> Result<(), StoreError> {
        let Some(share) = self.share.as_mut() else { return Ok(()) };
        let before = std::mem::replace(&mut share.ours, ours.clone());
        for name in before.keys().filter(|name| !ours.contains_key(*name)) {
            tracing::debug!(task = %name, "another daemon runs it from now on");
            self.turn_away(name, "another daemon of the fleet runs it now");
            self.agenda.forget(name);
            self.left_alone.remove(name);
        }
        let news: Vec<TaskName> = ours
            .iter()
            .filter(|(name, paused)| before.get(*name) != Some(*paused))
            .map(|(name, _)| name.clone())
            .collect();
        if news.is_empty() {
            return Ok(());
        }
        let known = self.runner.keeper.ask(|store| store.tasks()).await?;
        let known: BTreeMap<TaskName, TaskRow> = known.into_iter().map(|row| (row.name.clone(), row)).collect();
        for name in news {
            self.agenda.forget(&name);
            self.take_in(name.clone(), known.get(&name)).await?;
        }
        self.keep_promises().await
    }

    /// Makes tasks/ the same as the store's. Without it the folders that are here go on as they are.
    pub(super) async fn share_folders(&mut self) {
        let Some(share) = &self.share else { return };
        match share.fleet.clone().sync().await {
            Ok(removed) => {
                if let Some(share) = self.share.as_mut() {
                    share.removed = removed;
                }
            }
            Err(error) => tracing::error!("task folders are not shared: {error}"),
        }
    }

    /// At a person's word: makes a task ours, unless it is running elsewhere. Says whether it is.
    pub(super) async fn claim(&mut self, name: &TaskName) -> Result<bool, StoreError> {
        let Some(share) = &self.share else { return Ok(true) };
        if share.ours.contains_key(name) {
            return Ok(true);
        }
        let task = name.clone();
        let is_ours = share.fleet.keeper.ask(move |store| store.claim(&task)).await?;
        if is_ours {
            let mut ours = share.ours.clone();
            ours.insert(name.clone(), false);
            self.share_out(ours).await?;
        }
        Ok(is_ours)
    }
}
