//! The store's one thread. Everybody else hands it work and waits for the answer, so nothing blocks the loop. Work that panics costs
//! only itself: the thread lives as long as the daemon.

use std::io;
use std::sync::mpsc;
use std::thread;

use tokio::sync::{oneshot, watch};

use crate::store::{Store, StoreError};

use super::threads::caught;

type Job = Box<dyn FnOnce(&mut Store) + Send>;

/// What the store's thread can be asked for: something that says when there is none.
pub trait Answer: Send + 'static {
    fn broken(error: StoreError) -> Self;
}

impl<T: Send + 'static, E: From<StoreError> + Send + 'static> Answer for Result<T, E> {
    fn broken(error: StoreError) -> Result<T, E> {
        Err(error.into())
    }
}

/// A handle on the thread that owns the store. The thread ends when the last handle is gone.
#[derive(Clone)]
pub struct Keeper {
    jobs: mpsc::Sender<Job>,
    /// How many jobs were done: who shows something of the store looks again when it moves.
    done: watch::Receiver<u64>,
}

impl Keeper {
    pub fn start(mut store: Store) -> io::Result<Keeper> {
        let (jobs, inbox) = mpsc::channel::<Job>();
        let (count, done) = watch::channel(0);
        thread::Builder::new().name("store".to_owned()).spawn(move || {
            for job in inbox {
                job(&mut store);
                count.send_modify(|done| *done += 1);
            }
        })?;
        Ok(Keeper { jobs, done })
    }

    pub async fn ask<T: Answer>(&self, work: impl FnOnce(&mut Store) -> T + Send + 'static) -> T {
        let (answer, answered) = oneshot::channel();
        self.send(Box::new(move |store| drop(answer.send(answer_of(store, work)))));
        answered.await.unwrap_or_else(|_| T::broken(gone()))
    }

    pub fn changes(&self) -> watch::Receiver<u64> {
        self.done.clone()
    }

    /// As [`Keeper::ask`], from a thread that may block.
    pub fn ask_blocking<T: Answer>(&self, work: impl FnOnce(&mut Store) -> T + Send + 'static) -> T {
        let (answer, answered) = mpsc::channel();
        self.send(Box::new(move |store| drop(answer.send(answer_of(store, work)))));
        answered.recv().unwrap_or_else(|_| T::broken(gone()))
    }

    /// Hands it work, and does not wait.
    pub fn tell(&self, work: impl FnOnce(&mut Store) + Send + 'static) {
        let work = |store: &mut Store| {
            work(store);
            Ok::<_, StoreError>(())
        };
        // What went wrong is in the log.
        self.send(Box::new(move |store| drop(answer_of(store, work))));
    }

    fn send(&self, job: Job) {
        // A thread that is gone drops the job, and whoever waits for it is told.
        let _ = self.jobs.send(job);
    }
}

/// Does the work; a panic in it is its answer, and leaves no transaction open.
fn answer_of<T: Answer>(store: &mut Store, work: impl FnOnce(&mut Store) -> T) -> T {
    caught(|| work(store)).unwrap_or_else(|why| {
        tracing::error!("the store's thread panicked and goes on: {why}");
        store.recover();
        T::broken(StoreError::Panicked(why))
    })
}

fn gone() -> StoreError {
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
        let keeper = Keeper::start(store).expect("a thread");
        let name = TaskName::new("hotels").expect("a name");
        let broken: Result<(), StoreError> = keeper.ask(|_| panic!("on purpose")).await;
        assert!(broken.is_err_and(|error| error.to_string().contains("on purpose")));
        let broken: Result<(), StoreError> = keeper.ask_blocking(|_| panic!("on purpose"));
        assert!(broken.is_err());
        keeper.tell(|_| panic!("on purpose"));
        let task = name.clone();
        let now: DateTime<Utc> = DateTime::UNIX_EPOCH;
        keeper.ask(move |store| store.remember_task(&task, None, now)).await.expect("it takes writes");
        let known = keeper.ask(|store| store.task_names()).await.expect("it can be read");
        assert_eq!(known, [name]);
    }
}
