//! Pool of read-only store connections, so that pages do not wait for the store's single writer thread. It is bounded:
//! some queries run, some wait, and the rest is refused. A query whose client has left is stopped.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, oneshot};
use tokio::time::{sleep, timeout};

use crate::config::Config;
use crate::daemon::threads::blocking;
use crate::store::{Interrupter, Store, StoreError};

use super::error::WebError;

/// Connections are reopened after this time, so that a replaced database file is noticed.
const MAX_AGE: Duration = Duration::from_secs(300);
/// How long a query may wait for a connection.
const MAX_WAIT: Duration = Duration::from_secs(10);
/// Pause before a query that goes on is interrupted again, at first.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

#[derive(Clone)]
pub(super) struct ReadPool {
    pub config: Arc<Config>,
    limits: ReadLimits,
    idle: Arc<Mutex<Vec<(Store, Instant)>>>,
    readers: Arc<Semaphore>,
    queue: Arc<Semaphore>,
}

#[derive(Clone, Copy)]
pub(super) struct ReadLimits {
    /// Queries at the same time.
    pub readers: usize,
    /// Queries that wait.
    pub queue: usize,
    /// A longer query is stopped.
    pub longest: Duration,
}

impl ReadPool {
    pub fn new(config: Arc<Config>, limits: ReadLimits) -> ReadPool {
        let (readers, queue) = (Arc::new(Semaphore::new(limits.readers)), Arc::new(Semaphore::new(limits.queue)));
        ReadPool { config, limits, idle: Arc::default(), readers, queue }
    }

    pub async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, WebError> {
        self.work(move |store, _| work(store).map_err(WebError::from)).await
    }

    /// Like `read`, for work that also needs the configuration or has errors of its own.
    pub async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Store, &Config) -> Result<T, WebError> + Send + 'static,
    ) -> Result<T, WebError> {
        let waiting = self.queue.try_acquire().map_err(|_| WebError::Busy)?;
        let reader = timeout(MAX_WAIT, Arc::clone(&self.readers).acquire_owned()).await;
        let reader = reader.map_err(|_| WebError::Busy)?.map_err(|_| WebError::Internal)?;
        drop(waiting);
        let (running, started) = oneshot::channel();
        // Dropped when the query has ended, by itself or because it was stopped.
        let (end, ended) = oneshot::channel::<()>();
        let _stop = StopWhenDropped(Some((started, ended)));
        let pool = self.clone();
        let done = blocking(move || {
            let (_reader, _end) = (reader, end);
            let (store, since) = pool.acquire()?;
            // Nobody stops it if the client has left already.
            let _ = running.send(store.interrupter());
            let found = work(&store, &pool.config);
            if !matches!(found, Err(WebError::Store(_))) {
                pool.release(store, since);
            }
            found
        });
        timeout(self.limits.longest, done).await.map_err(|_| WebError::TooSlow)?.unwrap_or(Err(WebError::Internal))
    }

    fn acquire(&self) -> Result<(Store, Instant), StoreError> {
        let waiting = self.lock().pop().filter(|(_, since)| since.elapsed() < MAX_AGE);
        match waiting {
            Some(waiting) => Ok(waiting),
            None => Ok((Store::open_reader(&self.config.store)?, Instant::now())),
        }
    }

    fn release(&self, store: Store, since: Instant) {
        self.lock().push((store, since));
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(Store, Instant)>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Stops a query that still runs when nobody waits for it any more.
struct StopWhenDropped(Option<(oneshot::Receiver<Interrupter>, oneshot::Receiver<()>)>);

impl Drop for StopWhenDropped {
    fn drop(&mut self) {
        let Some((started, mut ended)) = self.0.take() else { return };
        if !matches!(ended.try_recv(), Err(oneshot::error::TryRecvError::Empty)) {
            return;
        }
        tokio::spawn(async move {
            let Ok(query) = started.await else { return };
            let mut pause = FIRST_PAUSE;
            // Work may consist of several queries, and an interruption between two of them has no effect.
            loop {
                query.interrupt();
                tokio::select! {
                    _ = &mut ended => return,
                    () = sleep(pause) => pause = (pause * 2).min(LONGEST_PAUSE),
                }
            }
        });
    }
}
