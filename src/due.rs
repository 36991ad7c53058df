//! PURE: computes when a schedule is next due. Nothing here reads the clock.
//!
//! A **slot** is the instant that the schedule names. The run starts later by a jitter that depends only on task and
//! slot, so that a restart computes the same start again and `UNIQUE(task, slot)` refuses a second run.
//!
//! Daylight saving, which croner alone gets wrong (daily 01:30 in New York came a second time at 03:00 on the spring
//! day): the pattern is evaluated in local time, and each local time is converted to an instant here. A skipped time
//! runs at the end of the gap, a repeated one only the first time. A spec that names every hour has no such times and
//! uses instants.

use chrono::{DateTime, DurationRound, NaiveDateTime, TimeDelta, TimeZone, Utc};
use chrono_tz::Tz;
use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use siphasher::sip::SipHasher13;

use crate::model::task::Schedule;
use crate::model::{TaskName, TimeSpan};

/// The default if neither `cron` nor `every` is given.
pub const DEFAULT_EVERY: TimeSpan = TimeSpan::seconds(6 * 3600);

/// A shorter period would be a busy loop against somebody's server.
pub const MIN_EVERY: TimeSpan = TimeSpan::seconds(10);

/// A longer period is a mistake, and sums of instants could overflow.
pub const MAX_EVERY: TimeSpan = TimeSpan::seconds(366 * 86_400);

/// The longest gap that a time zone ever had: Samoa left out 30 December 2011.
const LONGEST_GAP_MINUTES: i64 = 24 * 60;

/// The instant a schedule names, without jitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScheduleSlot(pub DateTime<Utc>);

/// One due run: the slot it is for, and when to start it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    pub slot: ScheduleSlot,
    pub start_at: DateTime<Utc>,
}

/// What to run after a time without a daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissedRuns {
    /// The newest missed slot, if it is recent enough to be made up; at most one run, however many were missed.
    pub catch_up: Option<ScheduleSlot>,
    /// The first slot still to come.
    pub next: Due,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DueError {
    #[error("`cron` and `every` are both given")]
    Both,
    #[error("`{text}` is not a cron expression: {why}")]
    Cron { text: String, why: String },
    #[error("`{0}` is never due")]
    Never(String),
    #[error("`{0}` is due more often than once a minute")]
    TooOften(String),
    #[error("every = \"{0}\" is too short")]
    TooShort(TimeSpan),
    #[error("every = \"{0}\" is too long")]
    TooLong(TimeSpan),
    #[error("jitter = \"{jitter}\" is longer than the time between two runs, {between}")]
    Jitter { jitter: TimeSpan, between: TimeSpan },
    #[error("there is no slot after {0}")]
    EndOfTime(DateTime<Utc>),
}

impl DueError {
    /// What to write instead.
    pub fn hint(&self) -> String {
        match self {
            DueError::Both => "keep one of the two".to_owned(),
            DueError::Cron { .. } => {
                "five fields are minute, hour, day, month, weekday: \"0 */6 * * *\" is every six hours".to_owned()
            }
            DueError::Never(_) => "the calendar has no such day; check the day and month fields".to_owned(),
            DueError::TooOften(_) => {
                format!("set one second, as in \"0 * * * * *\", or write every = \"30s\" (at least {MIN_EVERY})")
            }
            DueError::TooShort(_) => format!("write at least every = \"{MIN_EVERY}\""),
            DueError::TooLong(_) => format!("write at most every = \"{MAX_EVERY}\""),
            DueError::Jitter { between, .. } => format!("write at most jitter = \"{between}\""),
            DueError::EndOfTime(_) => "check the system clock".to_owned(),
        }
    }

    /// Which key of `[schedule]` to point at.
    pub fn key(&self) -> &'static str {
        match self {
            DueError::Both | DueError::TooShort(_) | DueError::TooLong(_) | DueError::EndOfTime(_) => "every",
            DueError::Cron { .. } | DueError::Never(_) | DueError::TooOften(_) => "cron",
            DueError::Jitter { .. } => "jitter",
        }
    }
}

/// The first slot after `after`, and when to start it. For `every`, `after` is the previous slot: the length of a run
/// does not move the next one.
pub fn next_due(schedule: &Schedule, after: DateTime<Utc>, task: &TaskName) -> Result<Due, DueError> {
    let slot = ParsedSchedule::of(schedule)?.next(after)?;
    Ok(Due { slot, start_at: start_at(schedule, slot, task) })
}

/// The time between the two slots after `after`.
pub fn period(schedule: &Schedule, after: DateTime<Utc>) -> Option<TimeDelta> {
    let plan = ParsedSchedule::of(schedule).ok()?;
    let first = plan.next(after).ok()?;
    Some(plan.next(first.0).ok()?.0 - first.0)
}

/// When to start the run of a slot: between the slot and `jitter` later.
pub fn start_at(schedule: &Schedule, slot: ScheduleSlot, task: &TaskName) -> DateTime<Utc> {
    let jitter_ms = u64::try_from(to_time_delta(schedule.jitter).num_milliseconds()).unwrap_or(0);
    if jitter_ms == 0 {
        return slot.0;
    }
    // A hash with fixed keys: the standard library's may change with the compiler.
    let seed = format!("{task}\n{}", slot.0.timestamp_millis());
    let late_ms = SipHasher13::new().hash(seed.as_bytes()) % jitter_ms;
    slot.0 + TimeDelta::milliseconds(i64::try_from(late_ms).unwrap_or(0))
}

/// Finds the slots missed between the last slot that ran and `now`, and the next one.
pub fn missed(
    schedule: &Schedule,
    last_slot: ScheduleSlot,
    now: DateTime<Utc>,
    task: &TaskName,
) -> Result<MissedRuns, DueError> {
    let plan = ParsedSchedule::of(schedule)?;
    let oldest = now.checked_sub_signed(to_time_delta(schedule.catch_up)).unwrap_or(DateTime::<Utc>::MIN_UTC);
    let make_up = plan.newest_slot(last_slot.0, now)?.filter(|slot| slot.0 >= oldest);
    // If the clock was ahead when the last slot ran, the task must not wait until that time is reached again.
    let slot = plan.next_on_grid(last_slot.0, now)?;
    Ok(MissedRuns { catch_up: make_up, next: Due { slot, start_at: start_at(schedule, slot, task) } })
}

/// Validates a schedule when the task folder is read.
pub fn check(schedule: &Schedule) -> Result<(), DueError> {
    // Any fixed instant works; this one gives the same answer on every machine.
    let start = DateTime::<Utc>::UNIX_EPOCH + TimeDelta::days(20_454);
    let plan = ParsedSchedule::of(schedule)?;
    let first = plan.next(start)?;
    let second = plan.next(first.0)?;
    let between = TimeSpan((second.0 - first.0).to_std().unwrap_or_default());
    if schedule.jitter > between {
        return Err(DueError::Jitter { jitter: schedule.jitter, between });
    }
    Ok(())
}

/// A parsed schedule.
enum ParsedSchedule<'a> {
    Every(TimeDelta),
    Cron { text: &'a str, cron: Box<Cron>, zone: Tz, kind: CronKind },
}

/// How a cron spec behaves on the two days a year when the clock changes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CronKind {
    /// Fixed times of day: each runs once a day, whatever the clock does.
    TimesOfDay,
    /// Every hour: plain instants, none skipped and none repeated.
    EveryHour,
    /// `*/10 1-5 * * *`: continues through a repeated hour; a window that is skipped completely still runs once.
    Window,
}

impl<'a> ParsedSchedule<'a> {
    fn of(schedule: &'a Schedule) -> Result<ParsedSchedule<'a>, DueError> {
        match (&schedule.cron, schedule.every) {
            (Some(_), Some(_)) => Err(DueError::Both),
            (Some(text), None) => ParsedSchedule::of_cron(text, schedule.timezone),
            (None, Some(every)) if every < MIN_EVERY => Err(DueError::TooShort(every)),
            (None, Some(every)) if every > MAX_EVERY => Err(DueError::TooLong(every)),
            (None, every) => Ok(ParsedSchedule::Every(to_time_delta(every.unwrap_or(DEFAULT_EVERY)))),
        }
    }

    fn of_cron(text: &'a str, zone: Tz) -> Result<ParsedSchedule<'a>, DueError> {
        let parser = CronParser::builder().seconds(Seconds::Optional).year(Year::Disallowed).build();
        let cron =
            parser.parse(text).map_err(|error| DueError::Cron { text: text.to_owned(), why: error.to_string() })?;
        if cron.pattern.seconds.values().len() > 1 {
            return Err(DueError::TooOften(text.to_owned()));
        }
        let fields: Vec<&str> = text.split_whitespace().collect();
        let star_minute = fields.len().checked_sub(5).is_some_and(|minute| fields[minute].contains('*'));
        let kind = match (cron.pattern.hours.values().len(), star_minute) {
            (24, _) => CronKind::EveryHour,
            (_, true) => CronKind::Window,
            (_, false) => CronKind::TimesOfDay,
        };
        Ok(ParsedSchedule::Cron { text, cron: Box::new(cron), zone, kind })
    }

    fn next(&self, after: DateTime<Utc>) -> Result<ScheduleSlot, DueError> {
        match self {
            ParsedSchedule::Every(every) => {
                after.checked_add_signed(*every).map(ScheduleSlot).ok_or(DueError::EndOfTime(after))
            }
            ParsedSchedule::Cron { text, cron, zone, kind } => {
                let never = |_| DueError::Never((*text).to_owned());
                let by_instant = || cron.find_next_occurrence(&after.with_timezone(zone), false).map_err(never);
                let by_wall_clock = || next_on_wall_clock(cron, *zone, after).map_err(never);
                let at = match kind {
                    CronKind::EveryHour => by_instant()?.to_utc(),
                    CronKind::TimesOfDay => by_wall_clock()?,
                    CronKind::Window => by_instant()?.to_utc().min(by_wall_clock()?),
                };
                Ok(ScheduleSlot(at))
            }
        }
    }

    /// The first slot after `now` on the grid through `anchor`.
    fn next_on_grid(&self, anchor: DateTime<Utc>, now: DateTime<Utc>) -> Result<ScheduleSlot, DueError> {
        match self {
            ParsedSchedule::Every(every) => self.next(last_on_grid(anchor, *every, now)),
            ParsedSchedule::Cron { .. } => self.next(now),
        }
    }

    /// The newest slot after `anchor` and not after `now`.
    fn newest_slot(&self, anchor: DateTime<Utc>, now: DateTime<Utc>) -> Result<Option<ScheduleSlot>, DueError> {
        if let ParsedSchedule::Every(every) = self {
            let last = last_on_grid(anchor, *every, now);
            return Ok((last > anchor).then_some(ScheduleSlot(last)));
        }
        // Searches back over ever longer intervals, so that a minutely task after a year off needs a few steps, not
        // 500,000.
        let mut back = TimeDelta::minutes(2);
        loop {
            let from = now.checked_sub_signed(back).unwrap_or(DateTime::<Utc>::MIN_UTC).max(anchor);
            let mut newest = None;
            let mut at = from;
            while let Ok(slot) = self.next(at)
                && slot.0 <= now
            {
                newest = Some(slot);
                at = slot.0;
            }
            if newest.is_some() || from <= anchor {
                return Ok(newest);
            }
            back = back * 2;
        }
    }
}

/// The last instant not after `now` that is a whole number of steps from `anchor`.
fn last_on_grid(anchor: DateTime<Utc>, step: TimeDelta, now: DateTime<Utc>) -> DateTime<Utc> {
    // Exact to the nanosecond: a rounding error here would shift every later slot.
    let past_ns = nanoseconds(now - anchor).rem_euclid(nanoseconds(step).max(1));
    let past = TimeDelta::nanoseconds(i64::try_from(past_ns).unwrap_or(0));
    now.checked_sub_signed(past).unwrap_or(now)
}

/// Chrono's own count overflows after 292 years.
fn nanoseconds(time: TimeDelta) -> i128 {
    i128::from(time.num_seconds()) * 1_000_000_000 + i128::from(time.subsec_nanos())
}

fn next_on_wall_clock(cron: &Cron, zone: Tz, after: DateTime<Utc>) -> Result<DateTime<Utc>, croner::errors::CronError> {
    // UTC has no clock changes, so croner can compute with local times in it.
    let mut wall = after.with_timezone(&zone).naive_local().and_utc();
    loop {
        wall = cron.find_next_occurrence(&wall, false)?;
        // During the second pass of a repeated hour, the next local times are already in the past.
        if let Some(at) = resolve_local_time(zone, wall.naive_utc()).filter(|at| *at > after) {
            return Ok(at);
        }
    }
}

/// The instant of a local time: the first of two, or the end of the gap that skipped it.
fn resolve_local_time(zone: Tz, wall: NaiveDateTime) -> Option<DateTime<Utc>> {
    if let Some(at) = zone.from_local_datetime(&wall).earliest() {
        return Some(at.to_utc());
    }
    // Gaps end on whole minutes.
    let minute = wall.duration_trunc(TimeDelta::minutes(1)).ok()?;
    (1..=LONGEST_GAP_MINUTES)
        .find_map(|later| zone.from_local_datetime(&(minute + TimeDelta::minutes(later))).earliest())
        .map(|at| at.to_utc())
}

/// Converts a span to chrono's type, limited to a century so that no sum overflows.
fn to_time_delta(span: TimeSpan) -> TimeDelta {
    const CENTURY: TimeDelta = TimeDelta::days(36_525);
    TimeDelta::from_std(span.0).unwrap_or(CENTURY).min(CENTURY)
}

#[cfg(test)]
mod tests;
