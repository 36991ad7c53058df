//! The store's one thread. Everybody else hands it work and waits for the answer, so nothing blocks the loop. Work that panics costs
//! only itself: the thread lives as long as the daemon.

use std::io;
use std::sync::mpsc;
use std::thread;

use tokio::sync::{oneshot, watch};

use crate::store::{Store, StoreError};

use super::threads::catch_panic;

type StoreJob = Box<dyn FnOnce(&mut Store) + Send>;

/// What the store's thread can be asked for: something that says when there is none.
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
    /// How many jobs were done: who shows something of the store looks again when it moves.
    done: watch::Receiver<u64>,
}

impl StoreHandle {
    pub fn start(mut store: Store) -> io::Result<StoreHandle> {
        let (jobs, inbox) = mpsc::channel::<StoreJob>();
        let (count, done) = watch::channel(0);
        thread::Builder::new().name("store".to_owned()).spawn(move || {
            for job in inbox {
                job(&mut store);
                count.send_modify(|done| *done += 1);
            }
        })?;
        Ok(StoreHandle { jobs, done })
    }

    pub async fn call<T: FromStoreError>(&self, work: impl FnOnce(&mut Store) -> T + Send + 'static) -> T {
        let (answer, answered) = oneshot::channel();
        self.send(Box::new(move |store| drop(answer.send(run_job(store, work)))));
        answered.await.unwrap_or_else(|_| T::from_store_error(thread_gone()))
    }

    pub fn changes(&self) -> watch::Receiver<u64> {
        self.done.clone()
    }

    /// As [`Keeper::ask`], from a thread that may block.
    pub fn call_blocking<T: FromStoreError>(&self, work: impl FnOnce(&mut Store) -> T + Send + 'static) -> T {
        let (answer, answered) = mpsc::channel();
        self.send(Box::new(move |store| drop(answer.send(run_job(store, work)))));
        answered.recv().unwrap_or_else(|_| T::from_store_error(thread_gone()))
    }

    /// Hands it work, and does not wait.
    pub fn post(&self, work: impl FnOnce(&mut Store) + Send + 'static) {
        let work = |store: &mut Store| {
            work(store);
            Ok::<_, StoreError>(())
        };
        // What went wrong is in the log.
        self.send(Box::new(move |store| drop(run_job(store, work))));
    }

    fn send(&self, job: StoreJob) {
        // A thread that is gone drops the job, and whoever waits for it is told.
        let _ = self.jobs.send(job);
    }
}

/// Does the work; a panic in it is its answer, and leaves no transaction open.
fn run_job<T: FromStoreError>(store: &mut Store, work: impl FnOnce(&mut Store) -> T) -> T {
    catch_panic(|| work(store)).unwrap_or_else(|why| {
        tracing::error!("the store's thread panicked and goes on: {why}");
        store.recover();
        T::from_store_error(StoreError::Panicked(why))
    })
}

fn thread_gone() -> StoreError {
    StoreError::Panicked("its thread has ended; restart the daemon".to_owned())
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, Utc};

    use super::*;
    use crate::model::TaskName;

    #[tokio::test]
    async fn work_that_panics_costs_only_itself() {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let store = Store::open(&folder.path().join("pieme.db")).expect("a store");
        let keeper = StoreHandle::start(store).expect("a thread");
        let name = TaskName::new("hotels").expect("a name");
        let broken: Result<(), StoreError> = keeper.call(|_| panic!("on purpose")).await;
        assert!(broken.is_err_and(|error| error.to_string().contains("on purpose")));
        let broken: Result<(), StoreError> = keeper.call_blocking(|_| panic!("on purpose"));
        assert!(broken.is_err());
        keeper.post(|_| panic!("on purpose"));
        let task = name.clone();
        let now: DateTime<Utc> = DateTime::UNIX_EPOCH;
        keeper.call(move |store| store.upsert_task(&task, None, now)).await.expect("it takes writes");
        let known = keeper.call(|store| store.task_names()).await.expect("it can be read");
        assert_eq!(known, [name]);
    }
}
