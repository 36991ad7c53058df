//! Blocking work of the request handlers.

use crate::daemon::threads;

use super::error::WebError;

/// Runs short work on the shared pool of threads.
pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, WebError> {
    threads::blocking(work).await.map_err(|_| WebError::Internal)
}
