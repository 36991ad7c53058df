//! What the robot asks of whoever sent it: its turn at a host, and what earlier runs have kept.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use url::Url;

use super::door::Door;
use crate::model::{Calendar, KeptPage, RobotsTxt, RunId};

pub type Answered<'h, T> = Pin<Box<dyn Future<Output = T> + 'h>>;

/// A run's parent, or [`Alone`].
pub trait Home {
    /// Comes back when this host is ours, with the time to wait until its moment. The host is to be left alone for `delay`
    /// after that.
    fn turn<'h>(&'h mut self, host: &'h str, delay: Duration) -> Answered<'h, Duration>;

    /// The request of the last turn is done, and the host wants to be left alone for so long.
    fn over(&mut self, pause: Duration);

    /// Who opens connections; none: the robot does so itself.
    fn door(&self) -> Option<Arc<dyn Door>> {
        None
    }

    /// No request will be made for a while.
    fn rest(&mut self) {}

    /// What is known of a page from an earlier run.
    fn kept(&self, _url: &Url) -> Option<&KeptPage> {
        None
    }

    /// The body of such a page; none when it is gone, or larger than `most`.
    fn body<'h>(&'h mut self, _url: &'h Url, _most: u64) -> Answered<'h, Option<Vec<u8>>> {
        Box::pin(std::future::ready(None))
    }

    /// A page for the next run.
    fn keep(&mut self, _page: KeptPage, _body: &[u8]) {}

    /// A kept page that is of no use: it is not to be offered again.
    fn forget(&mut self, _url: &Url) {}

    fn robots(&self, _origin: &str) -> Option<&RobotsTxt> {
        None
    }

    /// A robots.txt for the next run.
    fn keep_robots(&mut self, _robots: RobotsTxt) {}
}

/// Nobody else is there: one robot with a calendar of its own, and no memory.
pub struct Alone {
    calendar: Calendar,
    run: RunId,
}

impl Default for Alone {
    fn default() -> Alone {
        Alone { calendar: Calendar::new(1), run: RunId::new() }
    }
}

impl Home for Alone {
    fn turn<'h>(&'h mut self, host: &'h str, delay: Duration) -> Answered<'h, Duration> {
        let now = Instant::now();
        self.calendar.leave(self.run, now);
        let wait = self.calendar.ask(self.run, host, delay, now);
        Box::pin(std::future::ready(wait.expect("nobody else is in line")))
    }

    fn over(&mut self, pause: Duration) {
        self.calendar.over(self.run, pause, Instant::now());
    }
}
