//! The clock: tokio-cron-scheduler with one job that ticks every second, and one for each fixed chore, all in UTC.
//!
//! Due times of tasks are computed and stored by pieme: the scheduler is an hour off after a change to daylight saving,
//! and falls silent when the clock is set back (docs/design/safety.md 1.1 and 1.2). The event loop replaces it when no
//! tick has come for [`MAX_TICK_GAP`].
//!
//! All jobs are cron jobs. A repeated job of this crate stops for ever once it is late by more than its period (its
//! issue 113: after the runtime had stood still for 6 s a job of 2 s ran once more and never again), and takes whole
//! seconds only.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_cron_scheduler::{Job, JobScheduler, JobSchedulerError};

use crate::daemon::Event;
use crate::daemon::maintenance::chores::{COLLECT_FIRST, Chore, ChoreSender};

const EVERY_SECOND: &str = "* * * * * *";
/// Each job that is due in the same half second takes a place; the default of 200 lost fires with 10,000 jobs. Six jobs
/// fill 1,024 places in more than a minute. 32,768 took 24 MB, which a scheduler does not give back when it is shut
/// down.
const CHANNEL_SIZE: usize = 1_024;
/// Without a tick for this long the scheduler is replaced.
pub const MAX_TICK_GAP: Duration = Duration::from_secs(3);
/// Wall clock and monotonic clock may drift apart by this much between two ticks before it counts as a jump.
const MIN_JUMP: TimeDelta = TimeDelta::seconds(2);

/// 1 January 2025, before this program existed. A machine without a clock battery starts in 1970.
const EARLIEST_PLAUSIBLE: i64 = 1_735_689_600;

/// False while the system clock has not been set.
pub fn is_plausible(now: DateTime<Utc>) -> bool {
    now.timestamp() >= EARLIEST_PLAUSIBLE
}

pub struct SchedulerClock {
    scheduler: JobScheduler,
    jobs: SchedulerJobs,
}

impl SchedulerClock {
    /// `is_watched`: the watcher sends folder hints, so the folders are not scanned every other second.
    pub async fn start(events: mpsc::Sender<Event>, is_watched: bool) -> Result<SchedulerClock, JobSchedulerError> {
        let chores = ChoreSender::new(events.clone());
        let jobs = SchedulerJobs { events, chores, is_watched, last_tick: watch::Sender::new(Instant::now()) };
        Ok(SchedulerClock { scheduler: jobs.start().await?, jobs })
    }

    /// Replaces the scheduler if it has fallen silent.
    pub async fn ensure_ticking(&mut self) {
        if self.since_last_tick() < MAX_TICK_GAP {
            return;
        }
        tracing::warn!("no clock tick for {} s; restarting the scheduler", MAX_TICK_GAP.as_secs());
        if let Err(error) = self.restart().await {
            tracing::error!("restarting the scheduler failed: {error}");
        }
    }

    /// How long ago the last tick was sent, even if the loop was too busy to handle it.
    fn since_last_tick(&self) -> Duration {
        self.jobs.last_tick.borrow().elapsed()
    }

    /// Replaces the scheduler. Its first garbage collection makes up for one that the old scheduler may have dropped.
    async fn restart(&mut self) -> Result<(), JobSchedulerError> {
        // If this fails, the next attempt comes after another gap, not with every event.
        self.jobs.last_tick.send_replace(Instant::now());
        // An old scheduler that cannot be stopped is abandoned; its ticks would do no harm.
        let _ = self.scheduler.shutdown().await;
        self.scheduler = self.jobs.start().await?;
        Ok(())
    }
}

/// The state that the jobs share; outlives a scheduler.
struct SchedulerJobs {
    events: mpsc::Sender<Event>,
    chores: ChoreSender,
    is_watched: bool,
    last_tick: watch::Sender<Instant>,
}

impl SchedulerJobs {
    async fn start(&self) -> Result<JobScheduler, JobSchedulerError> {
        let scheduler = JobScheduler::new_with_channel_size(CHANNEL_SIZE).await?;
        let (events, last_tick) = (self.events.clone(), self.last_tick.clone());
        let tick = move || {
            last_tick.send_replace(Instant::now());
            // A full inbox means that the loop is behind; one more tick would not help.
            let _ = events.try_send(Event::Tick);
        };
        // One after the other: jobs added concurrently were lost.
        scheduler.add(Job::new_tz(EVERY_SECOND, Utc, move |_, _| tick())?).await?;
        for chore in Chore::ALL {
            let chores = self.chores.clone();
            let job = Job::new_tz(chore.cron(self.is_watched), Utc, move |_, _| chores.fire(chore))?;
            scheduler.add(job).await?;
        }
        let chores = self.chores.clone();
        scheduler.add(Job::new_one_shot(COLLECT_FIRST, move |_, _| chores.fire(Chore::Collect))?).await?;
        scheduler.start().await?;
        Ok(scheduler)
    }
}

/// Detects that the wall clock was set, by comparison with the monotonic clock.
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
        (off.abs() > MIN_JUMP).then_some(off)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The next rescan, with how many ticks came before it.
    async fn next_rescan(inbox: &mut mpsc::Receiver<Event>) -> usize {
        let mut ticks = 0;
        for _ in 0..100 {
            match tokio::time::timeout(Duration::from_secs(30), inbox.recv()).await.expect("the clock ticks") {
                Some(Event::Tick) => ticks += 1,
                Some(Event::Chore(Chore::Rescan, _)) => return ticks,
                Some(_) => {}
                None => panic!("the clock has hung up"),
            }
        }
        panic!("{ticks} ticks and no rescan");
    }

    #[tokio::test]
    async fn a_scheduler_that_is_replaced_brings_its_ticks_and_its_chores_back() {
        let (events, mut inbox) = mpsc::channel(64);
        let mut clock = SchedulerClock::start(events, false).await.expect("a scheduler");
        next_rescan(&mut inbox).await;
        clock.restart().await.expect("another scheduler");
        let ticks = next_rescan(&mut inbox).await + next_rescan(&mut inbox).await;
        assert!(ticks > 0, "two seconds between two rescans of a folder that is not watched, and no tick");
        assert!(clock.since_last_tick() < MAX_TICK_GAP, "{:?}", clock.since_last_tick());
    }

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
