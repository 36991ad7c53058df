//! Rate limit for wrong passwords, per client: five are free, then each further one doubles the wait.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::daemon::http::peer::Peer;

/// Wrong passwords without a wait.
const FREE_TRIES: u32 = 5;
const FIRST_WAIT: Duration = Duration::from_secs(2);
const LONGEST_WAIT: Duration = Duration::from_secs(300);
/// Wrong passwords are forgotten after this time.
const FORGET_AFTER: Duration = Duration::from_secs(3_600);
/// Clients that are counted separately; all others count as one.
const MAX_PEERS: usize = 1_000;

#[derive(Default)]
pub(super) struct LoginThrottle(Mutex<HashMap<Peer, FailedLogins>>);

#[derive(Clone, Copy)]
struct FailedLogins {
    wrong: u32,
    last: Instant,
}

impl LoginThrottle {
    /// Admits an attempt, or returns how long to wait. Attempts are counted before the password is checked, so that
    /// parallel attempts do not get around the limit.
    pub fn admit(&self, peer: &Peer, now: Instant) -> Result<(), Duration> {
        let mut all = self.lock();
        all.retain(|_, tries| now.duration_since(tries.last) < FORGET_AFTER);
        let peer = if all.len() < MAX_PEERS || all.contains_key(peer) { peer.clone() } else { Peer::Other };
        let tries = all.entry(peer).or_insert(FailedLogins { wrong: 0, last: now });
        let wait = wait(tries.wrong).saturating_sub(now.duration_since(tries.last));
        if !wait.is_zero() {
            return Err(wait);
        }
        *tries = FailedLogins { wrong: tries.wrong.saturating_add(1), last: now };
        Ok(())
    }

    /// Resets the client after a right password.
    pub fn forget(&self, peer: &Peer) {
        self.lock().remove(peer);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Peer, FailedLogins>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn wait(wrong: u32) -> Duration {
    match wrong.checked_sub(FREE_TRIES) {
        None => Duration::ZERO,
        Some(more) => FIRST_WAIT.saturating_mul(1 << more.min(16)).min(LONGEST_WAIT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_five_wrong_passwords_each_costs_twice_the_wait() {
        let (throttle, peer, start) = (LoginThrottle::default(), Peer::Other, Instant::now());
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        for _ in 0..FREE_TRIES {
            assert_eq!(throttle.admit(&peer, at(0)), Ok(()));
        }
        assert_eq!(throttle.admit(&peer, at(0)), Err(Duration::from_secs(2)));
        assert_eq!(throttle.admit(&peer, at(2)), Ok(()));
        assert_eq!(throttle.admit(&peer, at(4)), Err(Duration::from_secs(2)));
        assert_eq!(throttle.admit(&peer, at(6)), Ok(()));
        assert_eq!(throttle.admit(&Peer::Socket, at(6)), Ok(()), "another may try meanwhile");
        throttle.forget(&peer);
        assert_eq!(throttle.admit(&peer, at(6)), Ok(()));
        for _ in 0..20 {
            let _ = throttle.admit(&peer, at(6));
        }
        assert_eq!(throttle.admit(&peer, at(6 + 3_600)), Ok(()), "an hour later it is forgotten");
    }
}
