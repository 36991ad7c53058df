use super::*;
use crate::model::task::AlertOn;
use crate::model::{Failure, Publication, RunStatistics, Verdict};

fn at(minutes: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000 + 60 * minutes, 0).expect("a time of this century")
}

const GOOD: Outcome = Outcome::Published(Publication::Unchanged);
const NEW_ROWS: Outcome = Outcome::Published(Publication::Changed);
const LAYOUT: Outcome = Outcome::Quarantined(Quarantine::Layout);
const FEW: Outcome = Outcome::Quarantined(Quarantine::Rows);

fn failed(cause: Failure) -> Outcome {
    Outcome::Failed(cause)
}

/// What happens to a task between two evaluations.
enum Then {
    Run(Outcome),
    /// Repaired after a redesign, and accepted without a person.
    Taken,
    /// The daemon was killed during a run.
    CutShort,
    Broken,
    Mended,
    /// A due run does not start.
    Late,
    Paused,
    /// The notified state is stored and read again.
    Restart,
}
use Then::{Broken, CutShort, Late, Mended, Paused, Restart, Run, Taken};

/// The notifications of a task to which all of this happens, one event every minute.
fn told(wanted: &Alert, story: &[Then]) -> Vec<String> {
    let mut said = NotifiedState::default();
    let mut past: Vec<PastRun> = Vec::new();
    let mut standing = TaskSnapshot { published_before: true, ..TaskSnapshot::default() };
    let mut heard = Vec::new();
    for (minute, then) in story.iter().enumerate() {
        let now = at(i64::try_from(minute).expect("a short story"));
        standing.paused = false;
        let mut run = |verdict: Verdict| {
            past.insert(0, PastRun { run: RunId::new(), started_at: now, ended_at: now, verdict });
            standing.last_run = past.first().cloned();
            standing.next_due = Some(now + chrono::TimeDelta::hours(1));
        };
        match then {
            Run(outcome) => run(Verdict { outcome: *outcome, ..Verdict::failed(Failure::Internal, "said so") }),
            Taken => run(Verdict {
                outcome: GOOD,
                statistics: RunStatistics { repaired: true, ..RunStatistics::default() },
                ..Verdict::failed(Failure::Internal, "")
            }),
            CutShort => run(Verdict::interrupted()),
            Broken => standing.problem = Some("task.toml:3:1: unknown key `shedule`\n  3 | shedule".to_owned()),
            Mended => standing.problem = None,
            Late => standing.next_due = Some(now - chrono::TimeDelta::minutes(6)),
            Paused => standing.paused = true,
            Restart => {
                let kept = serde_json::to_string(&said).expect("plain data");
                said = serde_json::from_str(&kept).expect("its own JSON");
            }
        }
        let (fails, failing_since) = consecutive_failures(&past);
        let look = TaskCondition {
            task: TaskName::new("hotels").expect("a name"),
            title: None,
            standing: standing.clone(),
            running: false,
            due: standing.next_due,
            fails,
            failing_since,
            rows: Some(48),
            changes: None,
            last_ok: Some(at(-60)),
        };
        let (notice, after) = decide(wanted, &look, &said, Uuid::nil(), now);
        said = after;
        heard.extend(notice.map(|it| format!("{minute} {} {}", it.kind.word(), it.state)));
    }
    heard
}

fn all_after(after: u32) -> Alert {
    let on = vec![AlertOn::Failed, AlertOn::NeedsLabel, AlertOn::Recovered, AlertOn::Overdue];
    Alert { urls: vec!["https://hook.test/".to_owned()], after, on }
}

fn check(after: u32, story: &[Then], expected: &[&str]) {
    assert_eq!(told(&all_after(after), story), expected);
}

#[test]
fn failures_in_a_row_are_told_once_and_so_is_their_end() {
    let network = || Run(failed(Failure::Network));
    check(
        2,
        &[Run(GOOD), network(), network(), network(), network(), Run(GOOD), Run(GOOD)],
        &["2 failed failed", "5 recovered ok"],
    );
    check(1, &[network(), network(), Run(GOOD)], &["0 failed failed", "2 recovered ok"]);
    check(0, &[network(), network()], &["0 failed failed"]);
}

#[test]
fn a_task_that_flaps_below_the_line_is_never_told_of() {
    let flap = || [Run(failed(Failure::Timeout)), Run(GOOD)];
    check(2, &[flap(), flap(), flap()].into_iter().flatten().collect::<Vec<_>>(), &[]);
}

#[test]
fn each_bad_state_is_told_once_until_it_is_well_again() {
    let (network, blocked) = (|| Run(failed(Failure::Network)), || Run(failed(Failure::Blocked)));
    check(
        2,
        &[network(), network(), blocked(), network(), blocked(), Run(GOOD), network(), network()],
        &["1 failed failed", "2 failed blocked", "5 recovered ok", "7 failed failed"],
    );
}

#[test]
fn what_only_a_person_can_mend_is_told_at_once() {
    check(9, &[Run(LAYOUT), Run(LAYOUT), Run(GOOD)], &["0 needs-label quarantined", "2 recovered ok"]);
    check(9, &[Run(Outcome::Quarantined(Quarantine::Provisional))], &["0 needs-label needs-label"]);
    check(9, &[Run(failed(Failure::Login))], &["0 failed login"]);
    check(9, &[Run(failed(Failure::Config))], &["0 failed config"]);
    check(2, &[Run(FEW), Run(Outcome::Empty(Emptiness::Unexpected))], &["1 failed empty"]);
}

#[test]
fn a_page_that_says_it_is_empty_is_well() {
    check(
        1,
        &[Run(failed(Failure::Http)), Run(Outcome::Empty(Emptiness::NoResults))],
        &["0 failed failed", "1 recovered empty"],
    );
}

#[test]
fn a_broken_folder_is_told_once_and_its_mending_too() {
    check(2, &[Run(GOOD), Broken, Broken, Restart, Broken, Mended], &["1 failed config", "5 recovered ok"]);
}

#[test]
fn a_task_that_is_overdue_is_told_once() {
    check(2, &[Run(GOOD), Late, Late, Restart, Late, Run(GOOD)], &["1 overdue overdue", "5 recovered ok"]);
}

#[test]
fn a_restart_neither_repeats_nor_forgets() {
    let network = || Run(failed(Failure::Network));
    check(
        2,
        &[network(), Restart, network(), Restart, network(), Restart, Run(GOOD), Restart, Run(GOOD)],
        &["2 failed failed", "6 recovered ok"],
    );
}

#[test]
fn a_run_that_ended_with_its_daemon_is_no_failure_of_the_task() {
    check(1, &[Run(GOOD), CutShort, Run(GOOD)], &[]);
    let network = || Run(failed(Failure::Network));
    check(2, &[network(), CutShort, Run(GOOD), network(), CutShort, network()], &["5 failed failed"]);
}

#[test]
fn a_paused_task_is_left_in_peace_and_nothing_is_over_by_pausing() {
    let network = || Run(failed(Failure::Network));
    check(1, &[network(), Paused, network(), Run(GOOD)], &["0 failed failed", "3 recovered ok"]);
}

#[test]
fn only_what_is_wanted_is_told_and_only_what_was_told_is_over() {
    let only = |on: AlertOn| Alert { on: vec![on], ..all_after(1) };
    let story = [Run(GOOD), Run(LAYOUT), Run(failed(Failure::Tls)), Run(NEW_ROWS), Run(NEW_ROWS), Run(GOOD)];
    assert_eq!(told(&only(AlertOn::Failed), &story), ["2 failed failed"]);
    assert_eq!(told(&only(AlertOn::Recovered), &story), Vec::<String>::new());
    assert_eq!(told(&only(AlertOn::Changed), &story), ["3 changed changed", "4 changed changed"]);
}

#[test]
fn rows_that_changed_before_anybody_asked_are_no_news() {
    let changed = Alert { on: vec![AlertOn::Changed], ..all_after(1) };
    assert_eq!(told(&changed, &[Run(NEW_ROWS), Restart, Run(GOOD)]), Vec::<String>::new());
}

#[test]
fn what_was_taken_without_a_person_is_told_once() {
    check(2, &[Run(GOOD), Taken, Restart, Paused, Run(GOOD), Taken], &["1 recovered ok", "5 recovered ok"]);
    check(2, &[Run(LAYOUT), Taken, Run(GOOD)], &["0 needs-label quarantined", "1 recovered ok"]);
    let without = Alert { on: vec![AlertOn::Failed], ..all_after(1) };
    assert_eq!(told(&without, &[Run(GOOD), Taken]), Vec::<String>::new());
}
