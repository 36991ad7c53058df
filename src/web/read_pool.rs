//! Pool of read-only store connections, so that pages do not wait for the store's single writer thread.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::config::Config;
use crate::daemon::threads::blocking;
use crate::store::{Store, StoreError};

use super::error::WebError;

/// Idle connections kept for the next page. Opening one reads the names of all tasks' views.
const MAX_IDLE: usize = 4;
/// Connections are reopened after this time, so that a replaced database file is noticed.
const MAX_AGE: Duration = Duration::from_secs(300);

#[derive(Clone)]
pub(super) struct ReadPool {
    pub config: Arc<Config>,
    idle: Arc<Mutex<Vec<(Store, Instant)>>>,
}

impl ReadPool {
    pub fn new(config: Arc<Config>) -> ReadPool {
        ReadPool { config, idle: Arc::default() }
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
        let reader = self.clone();
        let done = blocking(move || {
            let (store, since) = reader.acquire()?;
            let found = work(&store, &reader.config);
            if !matches!(found, Err(WebError::Store(_))) {
                reader.release(store, since);
            }
            found
        });
        done.await.unwrap_or(Err(WebError::Internal))
    }

    fn acquire(&self) -> Result<(Store, Instant), StoreError> {
        let waiting = self.lock().pop().filter(|(_, since)| since.elapsed() < MAX_AGE);
        match waiting {
            Some(waiting) => Ok(waiting),
            None => Ok((Store::open_reader(&self.config.store)?, Instant::now())),
        }
    }

    fn release(&self, store: Store, since: Instant) {
        let mut idle = self.lock();
        if idle.len() < MAX_IDLE {
            idle.push((store, since));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(Store, Instant)>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
