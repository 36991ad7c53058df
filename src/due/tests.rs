use super::*;

fn schedule(toml: &str) -> Schedule {
    toml::from_str(toml).expect("a schedule of the table")
}

fn at(text: &str) -> DateTime<Utc> {
    DateTime::parse_from_rfc3339(text).expect("an instant of the table").to_utc()
}

fn task() -> TaskName {
    TaskName::new("halifax-hotels").expect("a good name")
}

/// The slots after an instant, as local times with their offsets.
fn slots(cron: &str, zone: Tz, after: DateTime<Utc>, n: usize) -> Vec<String> {
    let schedule = Schedule { cron: Some(cron.to_owned()), timezone: zone, ..Schedule::default() };
    let mut at = after;
    (0..n)
        .map(|_| {
            at = next_due(&schedule, at, &task()).expect("a slot").slot.0;
            at.with_timezone(&zone).format("%d %H:%M %:z").to_string()
        })
        .collect()
}

mod daylight_saving;

#[test]
fn every_counts_from_the_previous_slot() {
    let schedule = schedule("every = \"90m\"");
    let due = next_due(&schedule, at("2026-05-01T10:00:00Z"), &task()).expect("a slot");
    assert_eq!(due, Due { slot: ScheduleSlot(at("2026-05-01T11:30:00Z")), start_at: at("2026-05-01T11:30:00Z") });
}

#[test]
fn a_schedule_that_says_nothing_is_every_six_hours() {
    let due = next_due(&Schedule::default(), at("2026-05-01T10:00:00Z"), &task()).expect("a slot");
    assert_eq!(due.slot.0, at("2026-05-01T16:00:00Z"));
}

#[test]
fn jitter_is_the_same_for_the_same_slot_and_spreads_over_tasks() {
    let schedule = schedule("cron = \"0 6 * * *\"\njitter = \"5m\"");
    let after = at("2026-05-01T10:00:00Z");
    let mut starts = std::collections::BTreeSet::new();
    for n in 0..100 {
        let task = TaskName::new(&format!("t{n}")).expect("a good name");
        let due = next_due(&schedule, after, &task).expect("a slot");
        assert_eq!(due, next_due(&schedule, after, &task).expect("a slot"));
        assert_eq!(due.slot.0, at("2026-05-02T06:00:00Z"));
        let late = due.start_at - due.slot.0;
        assert!(late >= TimeDelta::zero() && late < TimeDelta::minutes(5), "{late}");
        starts.insert(due.start_at);
    }
    assert!(starts.len() > 90, "{}", starts.len());
}

#[test]
fn after_downtime_one_run_is_made_up_if_it_is_young_enough() {
    for (toml, last, now, make_up, next) in [
        (
            "cron = \"0 * * * *\"",
            "2026-05-01T10:00:00Z",
            "2026-05-08T10:30:00Z",
            Some("2026-05-08T10:00:00Z"),
            "2026-05-08T11:00:00Z",
        ),
        ("cron = \"0 3 * * *\"", "2026-05-01T03:00:00Z", "2026-05-08T10:30:00Z", None, "2026-05-09T03:00:00Z"),
        (
            "cron = \"0 3 * * *\"\ncatch_up = \"8h\"",
            "2026-05-01T03:00:00Z",
            "2026-05-08T10:30:00Z",
            Some("2026-05-08T03:00:00Z"),
            "2026-05-09T03:00:00Z",
        ),
        ("cron = \"0 3 * * *\"", "2026-05-08T03:00:00Z", "2026-05-08T03:20:00Z", None, "2026-05-09T03:00:00Z"),
        (
            "every = \"2h\"",
            "2026-05-01T00:10:00Z",
            "2026-05-08T09:30:00Z",
            Some("2026-05-08T08:10:00Z"),
            "2026-05-08T10:10:00Z",
        ),
        ("every = \"2h\"", "2026-05-08T08:10:00Z", "2026-05-08T09:30:00Z", None, "2026-05-08T10:10:00Z"),
        (
            "every = \"2d\"\ncatch_up = \"1h\"",
            "2026-05-01T00:00:00Z",
            "2026-05-08T00:00:00Z",
            None,
            "2026-05-09T00:00:00Z",
        ),
        // The clock was a day ahead when the last slot ran: no silence until it gets there again.
        ("every = \"2h\"", "2026-05-02T10:00:00Z", "2026-05-01T09:00:00Z", None, "2026-05-01T10:00:00Z"),
        ("cron = \"0 * * * *\"", "2026-05-02T10:00:00Z", "2026-05-01T09:30:00Z", None, "2026-05-01T10:00:00Z"),
        (
            "cron = \"* * * * *\"\ncatch_up = \"900d\"",
            "2024-05-01T10:00:00Z",
            "2026-05-01T09:30:30Z",
            Some("2026-05-01T09:30:00Z"),
            "2026-05-01T09:31:00Z",
        ),
    ] {
        let found = missed(&schedule(toml), ScheduleSlot(at(last)), at(now), &task()).expect("an answer");
        assert_eq!(
            (found.catch_up, found.next.slot),
            (make_up.map(|slot| ScheduleSlot(at(slot))), ScheduleSlot(at(next))),
            "{toml} {now}"
        );
    }
}

#[test]
fn a_schedule_that_cannot_work_is_refused_with_a_sentence() {
    for (toml, message) in [
        ("cron = \"0 6 * * *\"\nevery = \"6h\"", "`cron` and `every` are both given"),
        ("cron = \"0 0 30 2 *\"", "`0 0 30 2 *` is never due"),
        ("cron = \"* * * * * *\"", "`* * * * * *` is due more often than once a minute"),
        ("cron = \"*/30 * * * * *\"", "`*/30 * * * * *` is due more often than once a minute"),
        ("every = \"9s\"", "every = \"9s\" is too short"),
        ("every = \"0s\"", "every = \"0s\" is too short"),
        ("every = \"1000d\"", "every = \"1000d\" is too long"),
        ("every = \"1h\"\njitter = \"2h\"", "jitter = \"2h\" is longer than the time between two runs, 1h"),
    ] {
        let error = check(&schedule(toml)).expect_err(toml);
        assert_eq!(error.to_string(), message, "{toml}");
        assert!(!error.hint().is_empty());
    }
    for cron in
        ["", "often", "0 6 * *", "0 6 * * * * 2500", "*/0 * * * *", "61 * * * *", "0 25 * * *", "@never", "\u{0}"]
    {
        let error = check(&Schedule { cron: Some(cron.to_owned()), ..Schedule::default() });
        assert!(matches!(error, Err(DueError::Cron { .. })), "{cron:?}: {error:?}");
    }
    for toml in [
        "every = \"10s\"",
        "cron = \"30 * * * * *\"",
        "cron = \"0 0 29 2 *\"",
        "cron = \"@daily\"",
        "cron = \"0 6 * * MON-FRI\"",
    ] {
        assert_eq!(check(&schedule(toml)), Ok(()), "{toml}");
    }
}

proptest::proptest! {
    #[test]
    fn no_text_and_no_instant_make_it_panic_and_slots_only_go_forward(
        cron in "[0-9*/,LW# -]{0,20}", days in 0i64..40_000, zone in 0usize..600
    ) {
        let zone = chrono_tz::TZ_VARIANTS[zone % chrono_tz::TZ_VARIANTS.len()];
        let after = DateTime::<Utc>::UNIX_EPOCH + TimeDelta::days(days);
        for cron in [cron.as_str(), "30 1,2 * * *", "*/20 * * * *", "15 */2 * * *"] {
            let schedule = Schedule { cron: Some(cron.to_owned()), timezone: zone, ..Schedule::default() };
            if let Ok(due) = next_due(&schedule, after, &task()) {
                proptest::prop_assert!(due.slot.0 > after, "{} {} {:?}", cron, zone, due);
            }
        }
    }
}

#[test]
fn the_grid_does_not_creep() {
    let schedule = Schedule { every: Some(TimeSpan::seconds(10)), ..Schedule::default() };
    let task = TaskName::new("hotels").expect("a name");
    let first = DateTime::from_timestamp(1_800_000_000, 0).expect("a time of this century");
    let mut slot = ScheduleSlot(first);
    for _ in 0..1_000 {
        // The loop looks a little late, by parts of a millisecond too.
        let now = slot.0 + TimeDelta::nanoseconds(3_700_123);
        slot = missed(&schedule, slot, now, &task).expect("a next slot").next.slot;
    }
    assert_eq!(slot.0, first + TimeDelta::seconds(10_000));
}
