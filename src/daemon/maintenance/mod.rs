//! What the daemon does besides runs: garbage collection, the search index, the ends of runs that the store could not
//! record, and the systemd watchdog.

pub mod chores;
pub mod gc;
pub mod indexer;

use chrono::Utc;
use sd_notify::NotifyState;
use tokio::time::Instant;

use crate::store::{GcCounts, StoreError};

use super::store_handle::StoreHandle;
use super::systemd::{self, Watchdog};
use indexer::Indexer;

pub struct MaintenanceJobs {
    store: StoreHandle,
    pub indexer: Indexer,
    watchdog: Watchdog,
}

impl MaintenanceJobs {
    pub fn start(store: StoreHandle) -> MaintenanceJobs {
        let watchdog = Watchdog::new(systemd::watchdog_interval(), Instant::now());
        MaintenanceJobs { indexer: Indexer::start(store.clone()), store, watchdog }
    }

    /// Called every second.
    pub fn tick(&mut self, running: usize) {
        if self.store.has_pending_ends() {
            let store = self.store.clone();
            // An end that cannot be written now stays pending.
            tokio::spawn(async move { store.call(|store| store.write_pending_ends()).await });
        }
        if self.watchdog.is_due(Instant::now()) {
            self.feed_watchdog(running);
        }
    }

    /// Collects garbage in the background, or only counts it.
    pub fn collect_garbage(&self, dry_run: bool, done: impl FnOnce(Result<GcCounts, StoreError>) + Send + 'static) {
        let store = self.store.clone();
        tokio::spawn(async move {
            let collected = gc::collect(&store, dry_run).await;
            match &collected {
                Ok(collected) => tracing::info!(dry_run, ?collected, "garbage collection finished"),
                Err(error) => tracing::error!("garbage collection failed: {error}"),
            }
            done(collected);
        });
    }

    /// Feeds the systemd watchdog once the store has answered a write: a loop on a store that hangs is not alive. A
    /// store that refuses the write, because the disk is full, counts as alive: a restart would not help.
    fn feed_watchdog(&self, running: usize) {
        let store = self.store.clone();
        tokio::spawn(async move {
            if let Err(error) = store.call(|store| store.record_alive(Utc::now())).await {
                tracing::warn!("the database accepts no writes: {error}");
            }
            systemd::notify(&[NotifyState::Watchdog, NotifyState::Status(&format!("{running} running"))]);
        });
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;
    use crate::model::{RunId, Verdict};
    use crate::store::Store;

    /// How many jobs the store has done after a few seconds, with one of ours.
    async fn jobs_after_ticks(maintenance: &mut MaintenanceJobs, store: &StoreHandle) -> u64 {
        for _ in 0..3 {
            maintenance.tick(0);
            // Gives what was spawned its turn.
            tokio::task::yield_now().await;
        }
        let mut jobs = store.changes();
        let before = *jobs.borrow();
        store.call(|_| Ok::<_, StoreError>(())).await.expect("a job");
        let done = jobs.wait_for(|done| *done > before).await.expect("the store's thread lives");
        *done
    }

    #[tokio::test]
    async fn a_second_costs_the_store_nothing_unless_it_owes_the_end_of_a_run() {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let store = Store::open(&folder.path().join("pieme.db")).expect("a store");
        let store = StoreHandle::start(store).expect("a thread");
        let mut jobs = store.changes();
        let mut maintenance = MaintenanceJobs::start(store.clone());
        jobs.wait_for(|done| *done == 1).await.expect("the indexer's first look");
        assert_eq!(jobs_after_ticks(&mut maintenance, &store).await, 2);
        let owe = |store: &mut Store| {
            store.pending_ends().push(RunId::new(), &Verdict::interrupted(), DateTime::<Utc>::UNIX_EPOCH);
            Ok::<_, StoreError>(())
        };
        store.call(owe).await.expect("an end");
        jobs.wait_for(|done| *done == 3).await.expect("the store's thread lives");
        assert!(store.has_pending_ends());
        assert!(jobs_after_ticks(&mut maintenance, &store).await >= 4);
        jobs.wait_for(|_| !store.has_pending_ends()).await.expect("it was written");
    }
}
