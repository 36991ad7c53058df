//! What the robot asks of whoever sent it: its turn at a host, and what earlier runs have kept.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use url::Url;

use super::connector::Connector;
use crate::model::{CachedPage, HostLimiter, RobotsTxt, RunId};

pub type HostFuture<'h, T> = Pin<Box<dyn Future<Output = T> + 'h>>;

/// A run's parent, or [`Alone`].
pub trait RunHost {
    /// Comes back when this host is ours, with the time to wait until its moment. The host is to be left alone for `delay`
    /// after that.
    fn acquire_turn<'h>(&'h mut self, host: &'h str, delay: Duration) -> HostFuture<'h, Duration>;

    /// The request of the last turn is done, and the host wants to be left alone for so long.
    fn finish_turn(&mut self, pause: Duration);

    /// Who opens connections; none: the robot does so itself.
    fn connector(&self) -> Option<Arc<dyn Connector>> {
        None
    }

    /// No request will be made for a while.
    fn release_turn(&mut self) {}

    /// What is known of a page from an earlier run.
    fn cached_page(&self, _url: &Url) -> Option<&CachedPage> {
        None
    }

    /// The body of such a page; none when it is gone, or larger than `most`.
    fn cached_body<'h>(&'h mut self, _url: &'h Url, _most: u64) -> HostFuture<'h, Option<Vec<u8>>> {
        Box::pin(std::future::ready(None))
    }

    /// A page for the next run.
    fn cache_page(&mut self, _page: CachedPage, _body: &[u8]) {}

    /// A kept page that is of no use: it is not to be offered again.
    fn evict_page(&mut self, _url: &Url) {}

    fn cached_robots_txt(&self, _origin: &str) -> Option<&RobotsTxt> {
        None
    }

    /// A robots.txt for the next run.
    fn cache_robots_txt(&mut self, _robots: RobotsTxt) {}
}

/// Nobody else is there: one robot with a calendar of its own, and no memory.
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
