//! Reading the store beside the loop, by connections of our own: nobody waits for the store's one thread.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::config::Config;
use crate::daemon::threads::blocking;
use crate::store::{Store, StoreError};

use super::trouble::Trouble;

/// Connections that wait for the next page. To open one means to read the names of all tasks' views.
const MOST_IDLE: usize = 4;
/// A file that was replaced under us is noticed after that.
const OLDEST: Duration = Duration::from_secs(300);

#[derive(Clone)]
pub struct Reader {
    pub config: Arc<Config>,
    idle: Arc<Mutex<Vec<(Store, Instant)>>>,
}

impl Reader {
    pub fn new(config: Arc<Config>) -> Reader {
        Reader { config, idle: Arc::default() }
    }

    pub async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Trouble> {
        self.work(move |store, _| work(store).map_err(Trouble::from)).await
    }

    /// The same for work that needs more than the store, and may go wrong in other ways.
    pub async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Store, &Config) -> Result<T, Trouble> + Send + 'static,
    ) -> Result<T, Trouble> {
        let reader = self.clone();
        let done = blocking(move || {
            let (store, since) = reader.take()?;
            let found = work(&store, &reader.config);
            if !matches!(found, Err(Trouble::Store(_))) {
                reader.put(store, since);
            }
            found
        });
        done.await.unwrap_or(Err(Trouble::Internal))
    }

    fn take(&self) -> Result<(Store, Instant), StoreError> {
        let waiting = self.lock().pop().filter(|(_, since)| since.elapsed() < OLDEST);
        match waiting {
            Some(waiting) => Ok(waiting),
            None => Ok((Store::open_reader(&self.config.store)?, Instant::now())),
        }
    }

    fn put(&self, store: Store, since: Instant) {
        let mut idle = self.lock();
        if idle.len() < MOST_IDLE {
            idle.push((store, since));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(Store, Instant)>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
