//! The trait by which a robot reaches its environment: the rate limiter of hosts, and the page cache of earlier runs.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use url::Url;

use super::connector::Connector;
use crate::model::{CachedPage, HostLimiter, RobotsTxt, RunId};

pub type HostFuture<'h, T> = Pin<Box<dyn Future<Output = T> + 'h>>;

/// A run's parent process, or [`StandaloneHost`].
pub trait RunHost {
    /// Waits for the rate limiter's turn at this host, and returns the time to wait until the turn begins. The next
    /// turn comes at least `delay` later.
    fn acquire_turn<'h>(&'h mut self, host: &'h str, delay: Duration) -> HostFuture<'h, Duration>;

    /// Ends the last turn; no request goes to its host for `pause`.
    fn finish_turn(&mut self, pause: Duration);

    /// Opens connections for the robot; `None`: the robot opens them itself.
    fn connector(&self) -> Option<Arc<dyn Connector>> {
        None
    }

    /// Gives the turn up early: the run makes no request for a while.
    fn release_turn(&mut self) {}

    /// The cache entry of a page from an earlier run.
    fn cached_page(&self, _url: &Url) -> Option<&CachedPage> {
        None
    }

    /// The body of a cached page; `None` when it is gone, or larger than `most`.
    fn cached_body<'h>(&'h mut self, _url: &'h Url, _most: u64) -> HostFuture<'h, Option<Vec<u8>>> {
        Box::pin(std::future::ready(None))
    }

    /// Caches a page for the next run.
    fn cache_page(&mut self, _page: CachedPage, _body: &[u8]) {}

    /// Removes a cached page that turned out to be useless.
    fn evict_page(&mut self, _url: &Url) {}

    fn cached_robots_txt(&self, _origin: &str) -> Option<&RobotsTxt> {
        None
    }

    /// Caches a robots.txt for the next run.
    fn cache_robots_txt(&mut self, _robots: RobotsTxt) {}
}

/// A host for one robot alone: its own rate limiter and no cache.
pub struct StandaloneHost {
    calendar: HostLimiter,
    run: RunId,
}

impl Default for StandaloneHost {
    fn default() -> StandaloneHost {
        StandaloneHost { calendar: HostLimiter::new(1), run: RunId::new() }
    }
}

impl RunHost for StandaloneHost {
    fn acquire_turn<'h>(&'h mut self, host: &'h str, delay: Duration) -> HostFuture<'h, Duration> {
        let now = Instant::now();
        self.calendar.remove_run(self.run, now);
        let wait = self.calendar.acquire(self.run, host, delay, now);
        Box::pin(std::future::ready(wait.expect("nobody else is in line")))
    }

    fn finish_turn(&mut self, pause: Duration) {
        self.calendar.release(self.run, pause, Instant::now());
    }
}
