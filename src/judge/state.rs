//! Task state: computes the state, its severity and the command to type next.

use chrono::{DateTime, TimeDelta, Utc};

use crate::model::{Emptiness, Failure, Outcome, PastRun, Publication, Quarantine, State, TaskName};

/// What the state of a task is computed from.
#[derive(Clone, Debug, Default)]
pub struct TaskSnapshot {
    /// Why the folder cannot be read as a task.
    pub problem: Option<String>,
    pub paused: bool,
    pub last_run: Option<PastRun>,
    /// Rows were published before the last run.
    pub published_before: bool,
    pub running: bool,
    /// The latest time at which the current run must have ended, on whichever daemon it runs.
    pub must_end_by: Option<DateTime<Utc>>,
    pub next_due: Option<DateTime<Utc>>,
}

/// How late a start may be before the task counts as overdue rather than queued.
const OVERDUE_AFTER: TimeDelta = TimeDelta::minutes(5);

/// The task's state. A current run hides a good state, never a bad one.
pub fn state(standing: &TaskSnapshot, now: DateTime<Utc>) -> State {
    if standing.problem.is_some() {
        return State::Config;
    }
    if is_stuck(standing, now) {
        return State::Crash;
    }
    if standing.paused {
        return State::Paused;
    }
    let settled = match &standing.last_run {
        None => State::Never,
        Some(run) => state_after_run(run, standing.published_before),
    };
    if settled < State::Overdue {
        return settled;
    }
    if standing.running {
        return State::Running;
    }
    match standing.next_due {
        Some(due) if now - due > overdue_threshold(standing, due) => State::Overdue,
        Some(due) if due <= now && settled == State::Never => State::Queued,
        _ => settled,
    }
}

/// Is the current run older than any run can be?
fn is_stuck(standing: &TaskSnapshot, now: DateTime<Utc>) -> bool {
    standing.must_end_by.is_some_and(|by| now > by)
}

/// A sentence about a run that should have ended.
pub fn stuck_sentence(standing: &TaskSnapshot, now: DateTime<Utc>) -> Option<String> {
    let by = standing.must_end_by.filter(|_| is_stuck(standing, now))?;
    Some(format!(
        "the run exceeded limits.timeout and should have ended by {}: the daemon hangs or was killed; restart it with \
         `systemctl restart pieme-daemon`",
        by.format("%Y-%m-%d %H:%M:%S UTC")
    ))
}

/// At most the time between two runs: a task that misses two runs is never `ok` (docs/design/safety.md 2.21).
fn overdue_threshold(standing: &TaskSnapshot, due: DateTime<Utc>) -> TimeDelta {
    let between = standing.last_run.as_ref().map(|run| due - run.started_at);
    between.filter(|it| *it > TimeDelta::zero()).map_or(OVERDUE_AFTER, |it| it.min(OVERDUE_AFTER))
}

fn state_after_run(run: &PastRun, published_before: bool) -> State {
    match run.verdict.outcome {
        Outcome::Published(_) if run.verdict.provisional => State::NeedsLabel,
        Outcome::Published(Publication::Changed) if published_before => State::Changed,
        Outcome::Published(Publication::Changed | Publication::Unchanged) => State::Ok,
        Outcome::Quarantined(Quarantine::Provisional) => State::NeedsLabel,
        Outcome::Quarantined(Quarantine::Layout | Quarantine::Rows | Quarantine::Columns) => State::Quarantined,
        Outcome::Empty(_) => State::Empty,
        Outcome::Failed(cause) => match cause {
            Failure::Crash | Failure::Memory => State::Crash,
            Failure::Config => State::Config,
            Failure::Login => State::Login,
            Failure::Blocked => State::Blocked,
            Failure::Network
            | Failure::Tls
            | Failure::Http
            | Failure::Robot
            | Failure::RobotsTxt
            | Failure::Timeout
            | Failure::Limit
            | Failure::Internal => State::Failed,
        },
    }
}

/// How urgently a state needs a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    Fine,
    Warning,
    Critical,
}

/// A state is critical if the published rows become outdated until a person acts. `is_published`: the task has rows.
pub fn severity(state: State, last_run: Option<&PastRun>, is_published: bool) -> Severity {
    let outcome = last_run.map(|run| run.verdict.outcome);
    match state {
        State::Crash | State::Config | State::Login | State::Blocked | State::Quarantined | State::Failed => {
            Severity::Critical
        }
        // New, or published provisionally: it waits for confirmation, and no rows become outdated.
        State::NeedsLabel => match outcome.is_some_and(Outcome::is_published) || !is_published {
            true => Severity::Warning,
            false => Severity::Critical,
        },
        State::Overdue => Severity::Warning,
        // The page says that there are no results.
        State::Empty if outcome == Some(Outcome::Empty(Emptiness::NoResults)) => Severity::Fine,
        State::Empty => Severity::Warning,
        State::Changed | State::Ok | State::Running | State::Queued | State::Paused | State::Never => Severity::Fine,
    }
}

/// When the task entered its state, as far as the past runs show. `past` is newest first.
pub fn since(state: State, standing: &TaskSnapshot, past: &[PastRun]) -> Option<DateTime<Utc>> {
    match state {
        State::Overdue | State::Queued => standing.next_due,
        State::Config if standing.problem.is_some() => None,
        State::Running | State::Paused | State::Never => None,
        _ => {
            // `changed` describes one run; for the duration it counts as `ok`.
            let left = |run: &PastRun| match state_after_run(run, true) {
                State::Changed => State::Ok,
                state => state,
            };
            let now = left(past.first()?);
            past.iter().take_while(|run| left(run) == now).last().map(|run| run.ended_at)
        }
    }
}

/// The command to type next; empty if nothing is to be done.
pub fn advice(state: State, name: &TaskName, standing: &TaskSnapshot) -> String {
    let outcome = standing.last_run.as_ref().map(|run| run.verdict.outcome);
    let verb = match state {
        State::Config if standing.problem.is_some() || outcome.is_none() => "validate",
        // The folder is valid, but a secret or program that it names is missing. The log says which.
        State::Config => "log",
        // Few rows may be right: a person looks at them and types `pieme label --accept`.
        State::Quarantined if outcome == Some(Outcome::Quarantined(Quarantine::Rows)) => "log",
        State::NeedsLabel | State::Quarantined => "label",
        // The page says that there are no results.
        State::Empty if outcome == Some(Outcome::Empty(Emptiness::NoResults)) => return String::new(),
        State::Crash | State::Login | State::Blocked | State::Failed | State::Empty => "log",
        State::Overdue => "run",
        State::Changed | State::Ok | State::Running | State::Queued | State::Paused | State::Never => {
            return String::new();
        }
    };
    format!("pieme {verb} {name}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{RunId, Verdict};

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000 + seconds, 0).expect("a time of this century")
    }

    fn ended(outcome: Outcome, provisional: bool) -> Option<PastRun> {
        let verdict = Verdict { outcome, provisional, ..Verdict::failed(Failure::Internal, "") };
        Some(PastRun { run: RunId::new(), started_at: at(-60), ended_at: at(-50), verdict })
    }

    #[test]
    fn a_task_stands_as_its_last_run_left_it() {
        let changed = Outcome::Published(Publication::Changed);
        for (outcome, provisional, published_before, word) in [
            (changed, false, false, "ok"),
            (changed, false, true, "changed"),
            (Outcome::Published(Publication::Unchanged), false, true, "ok"),
            (changed, true, false, "needs-label"),
            (Outcome::Quarantined(Quarantine::Provisional), true, false, "needs-label"),
            (Outcome::Quarantined(Quarantine::Layout), false, true, "quarantined"),
            (Outcome::Empty(Emptiness::Unexpected), false, true, "empty"),
            (Outcome::Failed(Failure::Crash), false, true, "crash"),
            (Outcome::Failed(Failure::Memory), false, true, "crash"),
            (Outcome::Failed(Failure::Login), false, true, "login"),
            (Outcome::Failed(Failure::Timeout), false, true, "failed"),
        ] {
            let standing = TaskSnapshot {
                last_run: ended(outcome, provisional),
                published_before,
                next_due: Some(at(600)),
                ..TaskSnapshot::default()
            };
            assert_eq!(state(&standing, at(0)).word(), word, "{outcome:?}");
        }
    }

    #[test]
    fn a_run_under_way_hides_good_states_only() {
        let good = TaskSnapshot {
            last_run: ended(Outcome::Published(Publication::Unchanged), false),
            running: true,
            ..TaskSnapshot::default()
        };
        assert_eq!(state(&good, at(0)), State::Running);
        let bad = TaskSnapshot { last_run: ended(Outcome::Quarantined(Quarantine::Layout), false), ..good };
        assert_eq!(state(&bad, at(0)), State::Quarantined);
    }

    #[test]
    fn a_run_that_should_have_ended_is_never_ok() {
        let mut standing = TaskSnapshot {
            last_run: ended(Outcome::Published(Publication::Unchanged), false),
            running: true,
            must_end_by: Some(at(0)),
            next_due: Some(at(600)),
            ..TaskSnapshot::default()
        };
        assert_eq!((state(&standing, at(0)), stuck_sentence(&standing, at(0))), (State::Running, None));
        assert_eq!(state(&standing, at(1)), State::Crash);
        assert!(stuck_sentence(&standing, at(1)).is_some_and(|it| it.contains("limits.timeout")));
        standing.running = false;
        assert_eq!(state(&standing, at(1)), State::Crash, "its daemon is down");
        standing.paused = true;
        assert_eq!(state(&standing, at(1)), State::Crash, "a pause ends no run");
    }

    #[test]
    fn silence_is_visible() {
        let mut standing = TaskSnapshot { next_due: Some(at(0)), ..TaskSnapshot::default() };
        assert_eq!(state(&standing, at(-1)), State::Never);
        assert_eq!(state(&standing, at(1)), State::Queued);
        assert_eq!(state(&standing, at(301)), State::Overdue);
        standing.last_run = ended(Outcome::Published(Publication::Unchanged), false);
        assert_eq!(state(&standing, at(1)), State::Ok);
        assert_eq!(state(&standing, at(61)), State::Overdue, "it runs every minute");
        assert_eq!(state(&standing, at(301)), State::Overdue);
        standing.paused = true;
        assert_eq!(state(&standing, at(301)), State::Paused);
    }

    #[test]
    fn a_state_lasts_since_the_first_of_the_runs_that_left_it() {
        let run = |outcome, second| {
            let run = ended(outcome, false).expect("a run");
            PastRun { started_at: at(second), ended_at: at(second), ..run }
        };
        let (changed, same) = (Outcome::Published(Publication::Changed), Outcome::Published(Publication::Unchanged));
        let layout = Outcome::Quarantined(Quarantine::Layout);
        let past = [run(layout, -10), run(Outcome::Quarantined(Quarantine::Rows), -20), run(same, -30)];
        let standing = TaskSnapshot { next_due: Some(at(-400)), ..TaskSnapshot::default() };
        assert_eq!(since(State::Quarantined, &standing, &past), Some(at(-20)));
        assert_eq!(since(State::Overdue, &standing, &past), Some(at(-400)));
        assert_eq!(since(State::Paused, &standing, &past), None);
        let past = [run(changed, -10), run(same, -20), run(changed, -30), run(layout, -40)];
        assert_eq!(since(State::Changed, &standing, &past), Some(at(-30)));
    }

    #[test]
    fn what_makes_published_rows_grow_old_is_critical() {
        let of = |state, outcome, is_published| severity(state, ended(outcome, false).as_ref(), is_published);
        let provisional = Outcome::Quarantined(Quarantine::Provisional);
        let published = Outcome::Published(Publication::Changed);
        assert_eq!(of(State::NeedsLabel, provisional, false), Severity::Warning, "a new task");
        assert_eq!(of(State::NeedsLabel, published, true), Severity::Warning, "its rows are fresh");
        assert_eq!(of(State::NeedsLabel, provisional, true), Severity::Critical);
        assert_eq!(of(State::Empty, Outcome::Empty(Emptiness::NoResults), true), Severity::Fine);
        assert_eq!(of(State::Empty, Outcome::Empty(Emptiness::Unexpected), true), Severity::Warning);
        for &state in State::ALL {
            let is_fine = severity(state, None, true) == Severity::Fine;
            assert_eq!(is_fine, state >= State::Changed, "{state}");
        }
    }

    #[test]
    fn every_state_that_needs_a_person_says_what_to_type() {
        let name = TaskName::new("hotels").expect("a name");
        for &state in State::ALL {
            let words = advice(state, &name, &TaskSnapshot::default());
            assert_eq!(words.is_empty(), state >= State::Changed, "{state}: {words}");
        }
    }

    #[test]
    fn every_outcome_and_cause_has_the_command_that_helps() {
        let name = TaskName::new("hotels").expect("a name");
        let causes = Publication::ALL.iter().map(|&it| Outcome::Published(it));
        let causes = causes.chain(Quarantine::ALL.iter().map(|&it| Outcome::Quarantined(it)));
        let causes = causes.chain(Emptiness::ALL.iter().map(|&it| Outcome::Empty(it)));
        for outcome in causes.chain(Failure::ALL.iter().map(|&it| Outcome::Failed(it))) {
            let standing = TaskSnapshot { last_run: ended(outcome, false), ..TaskSnapshot::default() };
            let wanted = match outcome {
                Outcome::Published(_) | Outcome::Empty(Emptiness::NoResults) => "",
                Outcome::Quarantined(Quarantine::Layout | Quarantine::Columns | Quarantine::Provisional) => {
                    "pieme label hotels"
                }
                Outcome::Quarantined(Quarantine::Rows) | Outcome::Empty(_) | Outcome::Failed(_) => "pieme log hotels",
            };
            assert_eq!(advice(state(&standing, at(0)), &name, &standing), wanted, "{outcome:?}");
        }
        let broken = TaskSnapshot { problem: Some("task.toml:1:1".to_owned()), ..TaskSnapshot::default() };
        assert_eq!(advice(state(&broken, at(0)), &name, &broken), "pieme validate hotels");
        let provisional =
            TaskSnapshot { last_run: ended(Outcome::Published(Publication::Changed), true), ..TaskSnapshot::default() };
        assert_eq!(advice(state(&provisional, at(0)), &name, &provisional), "pieme label hotels");
    }
}
