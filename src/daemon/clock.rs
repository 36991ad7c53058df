//! The clock that ticks: one job of tokio-cron-scheduler, every second.
//!
//! It only ticks. What is due when is computed and kept by us: the scheduler itself is an hour off after a change to
//! daylight saving, and falls silent when the clock is set back (safety.md findings 1 and 2), so the loop winds it up again
//! when it hears no tick for [`SILENCE`].

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_cron_scheduler::{Job, JobScheduler, JobSchedulerError};

use super::Event;

const EVERY_SECOND: &str = "* * * * * *";
/// The default of 200 loses fires (crates.md).
const CHANNEL_SIZE: usize = 32_768;
/// Without a tick for this long the clock is wound up again.
pub const SILENCE: Duration = Duration::from_secs(3);
/// Wall clock and monotonic clock may drift apart by this much between two ticks before it counts as a jump.
const JUMP: TimeDelta = TimeDelta::seconds(2);

/// 1 January 2025, in seconds of the epoch: the program is younger. A machine without a battery starts in 1970.
const EARLIEST: i64 = 1_735_689_600;

/// A clock that is behind the program itself was not set yet.
pub fn is_plausible(now: DateTime<Utc>) -> bool {
    now.timestamp() >= EARLIEST
}

pub struct Clock {
    scheduler: JobScheduler,
    events: mpsc::Sender<Event>,
}

impl Clock {
    pub async fn start(events: mpsc::Sender<Event>) -> Result<Clock, JobSchedulerError> {
        let scheduler = wind_up(events.clone()).await?;
        Ok(Clock { scheduler, events })
    }

    pub async fn restart(&mut self) -> Result<(), JobSchedulerError> {
        // An old scheduler that cannot even be stopped is left behind; its ticks would do no harm.
        let _ = self.scheduler.shutdown().await;
        self.scheduler = wind_up(self.events.clone()).await?;
        Ok(())
    }
}

async fn wind_up(events: mpsc::Sender<Event>) -> Result<JobScheduler, JobSchedulerError> {
    let scheduler = JobScheduler::new_with_channel_size(CHANNEL_SIZE).await?;
    let tick = Job::new_async(EVERY_SECOND, move |_, _| {
        let events = events.clone();
        Box::pin(async move {
            // A full inbox means that the loop is behind: one tick more would not help.
            let _ = events.try_send(Event::Tick);
        })
    })?;
    scheduler.add(tick).await?;
    scheduler.start().await?;
    Ok(scheduler)
}

/// Notices that the wall clock was set: it and the monotonic clock disagree about how much time has passed.
pub struct JumpWatch {
    wall: DateTime<Utc>,
    steady: Instant,
}

impl JumpWatch {
    pub fn new(wall: DateTime<Utc>, steady: Instant) -> JumpWatch {
        JumpWatch { wall, steady }
    }

    /// How far the wall clock has jumped since the last call, if it has.
    pub fn jump(&mut self, wall: DateTime<Utc>, steady: Instant) -> Option<TimeDelta> {
        let passed = TimeDelta::from_std(steady - self.steady).unwrap_or(TimeDelta::MAX);
        let off = (wall - self.wall) - passed;
        (self.wall, self.steady) = (wall, steady);
        (off.abs() > JUMP).then_some(off)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_is_noticed_and_a_slow_tick_is_not() {
        let start = Instant::now();
        let noon = DateTime::from_timestamp(1_800_000_000, 0).expect("a time of this century");
        let mut watch = JumpWatch::new(noon, start);
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        assert_eq!(watch.jump(noon + TimeDelta::seconds(1), at(1)), None);
        assert_eq!(watch.jump(noon + TimeDelta::seconds(31), at(31)), None, "the loop was busy for half a minute");
        let back = watch.jump(noon + TimeDelta::seconds(32 - 3600), at(32));
        assert_eq!(back, Some(TimeDelta::hours(-1)));
        assert_eq!(watch.jump(noon + TimeDelta::seconds(33 - 3600), at(33)), None, "once is enough");
    }
}
