//! The thread that owns the store. All others send it jobs and await the results, so that nothing blocks the event
//! loop. A job that panics fails alone: the thread lives as long as the daemon.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

use tokio::sync::{oneshot, watch};

use crate::store::{Store, StoreError};

use super::threads::catch_panic;

type StoreJob = Box<dyn FnOnce(&mut Store) + Send>;

/// A job's result type, which can carry the error that the store's thread is gone.
pub trait FromStoreError: Send + 'static {
    fn from_store_error(error: StoreError) -> Self;
}

impl<T: Send + 'static, E: From<StoreError> + Send + 'static> FromStoreError for Result<T, E> {
    fn from_store_error(error: StoreError) -> Result<T, E> {
        Err(error.into())
    }
}

/// A handle on the thread that owns the store. The thread ends when the last handle is gone.
#[derive(Clone)]
pub struct StoreHandle {
    jobs: mpsc::Sender<StoreJob>,
    /// The number of finished jobs; a change means that the store may have changed.
    done: watch::Receiver<u64>,
    has_pending_ends: Arc<AtomicBool>,
}

impl StoreHandle {
    pub fn start(mut store: Store) -> io::Result<StoreHandle> {
        let (jobs, inbox) = mpsc::channel::<StoreJob>();
        let (count, done) = watch::channel(0);
        let has_pending_ends = Arc::new(AtomicBool::new(store.has_pending_ends()));
        let is_pending = Arc::clone(&has_pending_ends);
        thread::Builder::new().name("store".to_owned()).spawn(move || {
            for job in inbox {
                job(&mut store);
                is_pending.store(store.has_pending_ends(), Ordering::Relaxed);
                count.send_modify(|done| *done += 1);
            }
        })?;
        Ok(StoreHandle { jobs, done, has_pending_ends })
    }

    pub async fn call<T: FromStoreError>(&self, work: impl FnOnce(&mut Store) -> T + Send + 'static) -> T {
        let (answer, answered) = oneshot::channel();
        self.send(Box::new(move |store| drop(answer.send(run_job(store, work)))));
        answered.await.unwrap_or_else(|_| T::from_store_error(thread_gone()))
    }

    pub fn changes(&self) -> watch::Receiver<u64> {
        self.done.clone()
    }

    /// Whether the store could not record the end of a run. Asks nobody: as of the last job.
    pub fn has_pending_ends(&self) -> bool {
        self.has_pending_ends.load(Ordering::Relaxed)
    }

    /// As [`StoreHandle::call`], from a thread that may block.
    pub fn call_blocking<T: FromStoreError>(&self, work: impl FnOnce(&mut Store) -> T + Send + 'static) -> T {
        let (answer, answered) = mpsc::channel();
        self.send(Box::new(move |store| drop(answer.send(run_job(store, work)))));
        answered.recv().unwrap_or_else(|_| T::from_store_error(thread_gone()))
    }

    /// Sends a job without waiting for it.
    pub fn post(&self, work: impl FnOnce(&mut Store) + Send + 'static) {
        let work = |store: &mut Store| {
            work(store);
            Ok::<_, StoreError>(())
        };
        // A panic is in the log.
        self.send(Box::new(move |store| drop(run_job(store, work))));
    }

    fn send(&self, job: StoreJob) {
        // If the thread has ended, the job is dropped and its caller gets an error.
        let _ = self.jobs.send(job);
    }
}

/// Runs a job. A panic becomes its result, and its transaction is rolled back.
fn run_job<T: FromStoreError>(store: &mut Store, work: impl FnOnce(&mut Store) -> T) -> T {
    catch_panic(|| work(store)).unwrap_or_else(|why| {
        tracing::error!("a database job panicked: {why}; its changes are rolled back. Please report this bug");
        store.recover();
        T::from_store_error(StoreError::Panicked(why))
    })
}

fn thread_gone() -> StoreError {
    StoreError::Panicked("the store's thread has ended; restart the daemon".to_owned())
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, Utc};

    use super::*;
    use crate::model::{RunId, TaskName, Verdict};

    #[tokio::test]
    async fn work_that_panics_costs_only_itself() {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let store = Store::open(&folder.path().join("pieme.db")).expect("a store");
        let store_handle = StoreHandle::start(store).expect("a thread");
        let name = TaskName::new("hotels").expect("a name");
        let broken: Result<(), StoreError> = store_handle.call(|_| panic!("on purpose")).await;
        assert!(broken.is_err_and(|error| error.to_string().contains("on purpose")));
        let broken: Result<(), StoreError> = store_handle.call_blocking(|_| panic!("on purpose"));
        assert!(broken.is_err());
        store_handle.post(|_| panic!("on purpose"));
        let task = name.clone();
        let now: DateTime<Utc> = DateTime::UNIX_EPOCH;
        store_handle.call(move |store| store.upsert_task(&task, None, now)).await.expect("it takes writes");
        let known = store_handle.call(|store| store.task_names()).await.expect("it can be read");
        assert_eq!(known, [name]);
    }

    #[tokio::test]
    async fn an_end_that_the_store_owes_is_known_until_it_is_written() {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let mut store = Store::open(&folder.path().join("pieme.db")).expect("a store");
        let owe = |store: &mut Store| {
            store.pending_ends().push(RunId::new(), &Verdict::interrupted(), DateTime::<Utc>::UNIX_EPOCH);
            Ok::<_, StoreError>(())
        };
        owe(&mut store).expect("an end");
        let store_handle = StoreHandle::start(store).expect("a thread");
        let mut jobs = store_handle.changes();
        assert!(store_handle.has_pending_ends(), "from before the start");
        for (count, is_owed) in [(1, false), (2, true), (3, false)] {
            let job = move |store: &mut Store| if is_owed { owe(store) } else { store.write_pending_ends() };
            store_handle.call(job).await.expect("it takes writes");
            jobs.wait_for(|done| *done == count).await.expect("the thread lives");
            assert_eq!(store_handle.has_pending_ends(), is_owed, "after job {count}");
        }
    }
}
