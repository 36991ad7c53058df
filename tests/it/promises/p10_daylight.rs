//! Daylight saving: eight zones, both changes of a year and five schedules, compared with a scan of every minute.

use chrono::{DateTime, NaiveTime, Offset, TimeDelta, TimeZone, Timelike, Utc};
use chrono_tz::Tz;
use croner::Cron;
use pieme::due::next_due;
use pieme::model::TaskName;
use pieme::model::task::Schedule;

use super::{report, times};

const ZONES: [&str; 8] = [
    "America/New_York",
    "Europe/Berlin",
    "Europe/London",
    "Australia/Lord_Howe",
    "Pacific/Auckland",
    "America/Santiago",
    "Africa/Cairo",
    "Asia/Beirut",
];

/// A schedule, and its times of day; none means every half hour.
const SPECS: [(&str, &[(u32, u32)]); 5] = [
    ("30 1 * * *", &[(1, 30)]),
    ("30 2 * * *", &[(2, 30)]),
    ("0 0 * * *", &[(0, 0)]),
    ("0 */6 * * *", &[(0, 0), (6, 0), (12, 0), (18, 0)]),
    ("*/30 * * * *", &[]),
];

#[test]
fn promise_10_slots_are_right_on_the_days_when_the_clock_changes() {
    let (mut compared, mut violations, mut control) = (0, 0, 0);
    for year in 2026..2026 + i32::try_from(times(1, 10)).expect("a few") {
        for zone in ZONES.map(|zone| zone.parse::<Tz>().expect("a zone")) {
            for change in changes(zone, year) {
                let (from, to) = (change - TimeDelta::hours(30), change + TimeDelta::hours(54));
                for (spec, of_day) in SPECS {
                    let expected = by_the_minute(zone, of_day, from, to);
                    compared += expected.len();
                    violations += differing(&expected, &ours(spec, zone, from, to));
                    control += differing(&expected, &croner_alone(spec, zone, from, to));
                }
            }
        }
    }
    let counted =
        format!("{compared} slots of 8 zones x 2 changes x 5 specs against a scan of every minute: differing");
    report(10, &counted, violations, control);
}

/// The instants of a year at which the zone's offset changes.
fn changes(zone: Tz, year: i32) -> Vec<DateTime<Utc>> {
    let start = Utc.with_ymd_and_hms(year, 1, 1, 0, 0, 0).single().expect("a new year");
    let offset = |at: DateTime<Utc>| at.with_timezone(&zone).offset().fix();
    (0..365 * 48)
        .map(|half_hours| start + TimeDelta::minutes(30 * half_hours))
        .filter(|at| offset(*at) != offset(*at - TimeDelta::minutes(30)))
        .collect()
}

/// A time of day is the first minute of its date at which the local clock shows it or a later time; half hours are
/// whatever the local clock shows.
fn by_the_minute(zone: Tz, of_day: &[(u32, u32)], from: DateTime<Utc>, to: DateTime<Utc>) -> Vec<DateTime<Utc>> {
    let wall = |at: DateTime<Utc>| at.with_timezone(&zone).naive_local();
    let minutes = (1..).map(|minute| from + TimeDelta::minutes(minute)).take_while(|at| *at <= to);
    if of_day.is_empty() {
        return minutes.filter(|at| wall(*at).minute() % 30 == 0).collect();
    }
    // A day earlier, so that times reached before `from` are known.
    let earlier = (-1_440..=0).map(|minute| from + TimeDelta::minutes(minute));
    let mut reached: Vec<chrono::NaiveDateTime> = Vec::new();
    let mut slots = Vec::new();
    for at in earlier.chain(minutes) {
        for &(hour, minute) in of_day {
            let named = wall(at).date().and_time(NaiveTime::from_hms_opt(hour, minute, 0).expect("a time of day"));
            if wall(at) >= named && !reached.contains(&named) {
                reached.push(named);
                slots.push(at);
            }
        }
    }
    slots.retain(|at| *at > from);
    slots
}

fn ours(spec: &str, zone: Tz, from: DateTime<Utc>, to: DateTime<Utc>) -> Vec<DateTime<Utc>> {
    let schedule = Schedule { cron: Some(spec.to_owned()), timezone: zone, ..Schedule::default() };
    let task = TaskName::new("daily").expect("a name");
    chain(from, to, |at| next_due(&schedule, at, &task).expect("a slot").slot.0)
}

/// The control: the cron library alone, in the zone's local time.
fn croner_alone(spec: &str, zone: Tz, from: DateTime<Utc>, to: DateTime<Utc>) -> Vec<DateTime<Utc>> {
    let cron: Cron = spec.parse().expect("a spec");
    chain(from, to, |at| cron.find_next_occurrence(&at.with_timezone(&zone), false).expect("a slot").to_utc())
}

fn chain(from: DateTime<Utc>, to: DateTime<Utc>, next: impl Fn(DateTime<Utc>) -> DateTime<Utc>) -> Vec<DateTime<Utc>> {
    std::iter::successors(Some(next(from)), |at| Some(next(*at))).take_while(|at| *at <= to).collect()
}

/// Slots that only one of the two has.
fn differing(a: &[DateTime<Utc>], b: &[DateTime<Utc>]) -> usize {
    let only = |a: &[DateTime<Utc>], b: &[DateTime<Utc>]| a.iter().filter(|at| !b.contains(at)).count();
    only(a, b) + only(b, a)
}
