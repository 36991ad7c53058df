//! Runs blocking work on threads. A shortage of threads is an error here; tokio's `spawn_blocking` panics instead, or
//! queues the work behind work that waits for it.

use std::any::Any;
use std::future::Future;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::thread;

use futures_util::FutureExt;
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;

/// The result of a thread; `None` when it has panicked.
pub struct ThreadResult<T>(oneshot::Receiver<T>);

impl<T> Future for ThreadResult<T> {
    type Output = Option<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        Pin::new(&mut self.0).poll(context).map(Result::ok)
    }
}

/// Starts a dedicated thread, for work of any duration.
pub fn start<T: Send + 'static>(name: &str, work: impl FnOnce() -> T + Send + 'static) -> io::Result<ThreadResult<T>> {
    let (done, working) = oneshot::channel();
    // The receiver may have gone.
    thread::Builder::new().name(name.to_owned()).spawn(move || drop(done.send(work())))?;
    Ok(ThreadResult(working))
}

/// Runs short work on the shared pool. Fails when it panics, and when no thread can be started.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
    let begun = catch_panic(|| spawn_blocking(work)).map_err(io::Error::other)?;
    begun.await.map_err(io::Error::other)
}

/// Runs `work`, or returns the message of its panic.
pub fn catch_panic<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(panic_message)
}

/// As [`catch_panic`], for a future.
pub async fn catch_panic_of<T>(work: impl Future<Output = T>) -> Result<T, String> {
    AssertUnwindSafe(work).catch_unwind().await.map_err(panic_message)
}

/// The message of a panic.
fn panic_message(panic: Box<dyn Any + Send>) -> String {
    let said = panic.downcast_ref::<&str>().map(|it| (*it).to_owned());
    said.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic without a message".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_a_result_and_not_the_end_of_whoever_waits() {
        let broken = start("test", || panic!("on purpose")).expect("a thread");
        assert_eq!(broken.await, None::<()>);
        assert_eq!(start("test", || 7).expect("a thread").await, Some(7));
        assert!(blocking(|| panic!("on purpose")).await.map(|(): ()| ()).is_err());
        assert_eq!(catch_panic(|| panic!("number {}", 7)), Err::<(), _>("number 7".to_owned()));
    }
}
