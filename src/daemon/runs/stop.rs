//! The stop of the daemon: no run starts any more, and those under way have some time to finish.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

#[derive(Default)]
pub struct StopState {
    /// When the children that still run are killed.
    kill_at: Option<Instant>,
    kill: watch::Sender<bool>,
}

impl StopState {
    /// False if the daemon is stopping already.
    pub fn begin(&mut self, grace: Duration, now: Instant) -> bool {
        let is_first = self.kill_at.is_none();
        if is_first {
            self.kill_at = Some(now + grace);
        }
        is_first
    }

    pub fn is_stopping(&self) -> bool {
        self.kill_at.is_some()
    }

    /// Ends the runs whose time is up.
    pub fn tick(&self, now: Instant) {
        if self.kill_at.is_some_and(|at| now >= at) {
            self.kill.send_replace(true);
        }
    }

    /// Becomes true when a run must end now.
    pub fn subscribe(&self) -> watch::Receiver<bool> {
        self.kill.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_ended_after_the_grace_of_the_first_stop() {
        let (mut stop, start, grace) = (StopState::default(), Instant::now(), Duration::from_secs(10));
        let run = stop.subscribe();
        stop.tick(start + grace * 9);
        assert!(!stop.is_stopping() && !*run.borrow(), "nobody has asked for a stop");
        assert!(stop.begin(grace, start));
        assert!(!stop.begin(grace, start + grace / 2), "a second stop changes nothing");
        stop.tick(start + grace / 2);
        assert!(stop.is_stopping() && !*run.borrow());
        stop.tick(start + grace);
        assert!(*run.borrow());
        assert!(*stop.subscribe().borrow(), "a run that started just before is ended too");
    }
}
