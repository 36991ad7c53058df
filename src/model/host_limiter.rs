//! Per-host rate limiter over all runs. PURE: the current time is an argument.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use super::run::RunId;

/// Maximum number of hosts in memory. An unused host that may be requested at once is evicted first.
const MAX_HOSTS: usize = 4_096;

/// Keeps requests to one host at least a delay apart, and at most `per_host` runs active on it. A run has at most one
/// grant or one place in a queue.
#[derive(Debug)]
pub struct HostLimiter {
    per_host: usize,
    hosts: HashMap<String, HostQueue>,
}

/// A run that may send its request, after waiting this long.
pub type HostGrant = (RunId, Duration);

#[derive(Debug)]
struct HostQueue {
    /// Earliest time of the next request.
    free_at: Instant,
    active: Vec<RunId>,
    queue: VecDeque<(RunId, Duration)>,
}

impl HostLimiter {
    pub fn new(per_host: usize) -> HostLimiter {
        HostLimiter { per_host: per_host.max(1), hosts: HashMap::new() }
    }

    /// Asks for a request to `host`, with a pause of `delay` after it. `None` means that the run is queued; it is
    /// granted its request when another run is done.
    pub fn acquire(&mut self, run: RunId, host: &str, delay: Duration, now: Instant) -> Option<Duration> {
        self.evict_idle_hosts(now);
        let per_host = self.per_host;
        let host = self.hosts.entry(host.to_owned()).or_insert_with(|| HostQueue {
            free_at: now,
            active: Vec::new(),
            queue: VecDeque::new(),
        });
        if host.active.len() >= per_host {
            host.queue.push_back((run, delay));
            return None;
        }
        Some(host.grant(run, delay, now))
    }

    /// Ends a run's request; the host gets a pause of `pause` from now on. Returns the runs that may continue.
    pub fn release(&mut self, run: RunId, pause: Duration, now: Instant) -> Vec<HostGrant> {
        let per_host = self.per_host;
        let mut granted = Vec::new();
        for host in self.hosts.values_mut() {
            let before = host.active.len();
            host.active.retain(|it| *it != run);
            if host.active.len() == before {
                continue;
            }
            host.free_at = host.free_at.max(now + pause);
            granted.extend(host.next(per_host, now));
        }
        granted
    }

    /// Removes a run that has ended, active or queued.
    pub fn remove_run(&mut self, run: RunId, now: Instant) -> Vec<HostGrant> {
        for host in self.hosts.values_mut() {
            host.queue.retain(|(it, _)| *it != run);
        }
        self.release(run, Duration::ZERO, now)
    }

    fn evict_idle_hosts(&mut self, now: Instant) {
        if self.hosts.len() < MAX_HOSTS {
            return;
        }
        self.hosts.retain(|_, host| host.is_in_use() || host.free_at > now);
        let idle = self.hosts.iter().filter(|(_, host)| !host.is_in_use());
        if self.hosts.len() >= MAX_HOSTS
            && let Some(soonest) = idle.min_by_key(|(_, host)| host.free_at).map(|(name, _)| name.clone())
        {
            self.hosts.remove(&soonest);
        }
    }
}

impl HostQueue {
    fn is_in_use(&self) -> bool {
        !self.active.is_empty() || !self.queue.is_empty()
    }

    fn grant(&mut self, run: RunId, delay: Duration, now: Instant) -> Duration {
        let start = self.free_at.max(now);
        self.free_at = start + delay;
        self.active.push(run);
        start - now
    }

    fn next(&mut self, per_host: usize, now: Instant) -> Option<HostGrant> {
        if self.active.len() >= per_host {
            return None;
        }
        let (run, delay) = self.queue.pop_front()?;
        Some((run, self.grant(run, delay, now)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn requests_to_one_host_are_a_delay_apart_whoever_makes_them() {
        let (mut calendar, now) = (HostLimiter::new(2), Instant::now());
        let (a, b) = (RunId::new(), RunId::new());
        assert_eq!(calendar.acquire(a, "shop.test", SECOND, now), Some(Duration::ZERO));
        assert_eq!(calendar.acquire(b, "shop.test", SECOND, now), Some(SECOND));
        assert!(calendar.release(a, Duration::ZERO, now).is_empty());
        assert_eq!(calendar.acquire(a, "shop.test", SECOND, now), Some(2 * SECOND));
        assert_eq!(calendar.acquire(RunId::new(), "other.test", SECOND, now), Some(Duration::ZERO));
    }

    #[test]
    fn who_finds_a_host_busy_comes_up_in_order() {
        let (mut calendar, now) = (HostLimiter::new(1), Instant::now());
        let [a, b, c] = [RunId::new(), RunId::new(), RunId::new()];
        assert_eq!(calendar.acquire(a, "shop.test", SECOND, now), Some(Duration::ZERO));
        assert_eq!(calendar.acquire(b, "shop.test", SECOND, now), None);
        assert_eq!(calendar.acquire(c, "shop.test", SECOND, now), None);
        let later = now + 5 * SECOND;
        assert_eq!(calendar.release(a, Duration::ZERO, later), [(b, Duration::ZERO)]);
        assert_eq!(calendar.remove_run(b, later), [(c, SECOND)], "a run that ends makes room for the next");
        assert!(calendar.remove_run(c, later).is_empty());
    }

    #[test]
    fn a_host_that_asks_for_peace_gets_it_from_everybody() {
        let (mut calendar, now) = (HostLimiter::new(1), Instant::now());
        let (a, b) = (RunId::new(), RunId::new());
        calendar.acquire(a, "shop.test", SECOND, now);
        calendar.release(a, 60 * SECOND, now);
        assert_eq!(calendar.acquire(b, "shop.test", SECOND, now), Some(60 * SECOND));
    }

    #[test]
    fn a_run_that_leaves_the_line_is_never_called() {
        let (mut calendar, now) = (HostLimiter::new(1), Instant::now());
        let (a, b) = (RunId::new(), RunId::new());
        calendar.acquire(a, "shop.test", SECOND, now);
        calendar.acquire(b, "shop.test", SECOND, now);
        assert!(calendar.remove_run(b, now).is_empty());
        assert!(calendar.release(a, Duration::ZERO, now).is_empty());
    }

    #[test]
    fn a_million_hosts_are_not_all_remembered() {
        let (mut calendar, now) = (HostLimiter::new(1), Instant::now());
        let busy = RunId::new();
        calendar.acquire(busy, "busy.test", SECOND, now);
        for n in 0..3 * MAX_HOSTS {
            let run = RunId::new();
            calendar.acquire(run, &format!("{n}.test"), 60 * SECOND, now);
            calendar.release(run, Duration::ZERO, now);
        }
        assert!(calendar.hosts.len() <= MAX_HOSTS);
        assert_eq!(
            calendar.acquire(RunId::new(), "busy.test", SECOND, now),
            None,
            "one that is in use is not forgotten"
        );
    }
}
