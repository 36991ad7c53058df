//! The store's one thread. Everybody else hands it work and waits for the answer, so nothing blocks the loop.

use std::io;
use std::sync::mpsc;
use std::thread;

use tokio::sync::{oneshot, watch};

use crate::store::Store;

type Job = Box<dyn FnOnce(&mut Store) + Send>;

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

    pub async fn ask<T: Send + 'static>(&self, work: impl FnOnce(&mut Store) -> T + Send + 'static) -> T {
        let (answer, answered) = oneshot::channel();
        self.send(Box::new(move |store| drop(answer.send(work(store)))));
        answered.await.expect("the store's thread answers every job")
    }

    pub fn changes(&self) -> watch::Receiver<u64> {
        self.done.clone()
    }

    /// As [`Keeper::ask`], from a thread that may block.
    pub fn ask_blocking<T: Send + 'static>(&self, work: impl FnOnce(&mut Store) -> T + Send + 'static) -> T {
        let (answer, answered) = mpsc::channel();
        self.send(Box::new(move |store| drop(answer.send(work(store)))));
        answered.recv().expect("the store's thread answers every job")
    }

    /// Hands it work, and does not wait.
    pub fn tell(&self, work: impl FnOnce(&mut Store) + Send + 'static) {
        self.send(Box::new(work));
    }

    fn send(&self, job: Job) {
        self.jobs.send(job).expect("the store's thread lives as long as a handle does");
    }
}
