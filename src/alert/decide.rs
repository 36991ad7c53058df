//! Decides which notification is due, if any. Pure: task condition and notified state in, notification and new state
//! out.
//!
//! No incident is notified twice between two good runs, and no recovery is notified for an incident that was not.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::notification::{Notification, NotificationKind};
use crate::judge::{self, TaskSnapshot};
use crate::model::task::Alert;
use crate::model::{ChangeCounts, Emptiness, Outcome, PastRun, Quarantine, RunId, State, TaskName};

/// Limit for texts that come from web pages and files.
const MAX_CHARS: usize = 1_000;

/// The state of a task, as far as alerts need it.
#[derive(Clone, Debug)]
pub struct TaskCondition {
    pub task: TaskName,
    pub title: Option<String>,
    /// Without the run under way, which would hide how the last run ended.
    pub standing: TaskSnapshot,
    pub running: bool,
    /// The next due time as stored; `standing` has a later one if the daemon was down at that time.
    pub due: Option<DateTime<Utc>>,
    /// Consecutive failures.
    pub fails: u32,
    pub failing_since: Option<DateTime<Utc>>,
    pub rows: Option<u64>,
    /// What the last run changed in the published rows, if it was compared.
    pub changes: Option<ChangeCounts>,
    pub last_ok: Option<DateTime<Utc>>,
}

/// What was notified since the task was last good. Stored as JSON; missing keys have their defaults.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NotifiedState {
    pub troubles: Vec<Incident>,
    /// When the first incident began.
    pub since: Option<DateTime<Utc>>,
    /// The last run whose changes were evaluated.
    pub changed: Option<RunId>,
    /// Whether the task was evaluated before; changes before the first evaluation are not notified.
    pub looked: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Incident {
    kind: NotificationKind,
    state: State,
}

enum ConditionChange {
    /// Neither good nor bad: running, paused, never run.
    None,
    Well,
    Trouble(NotificationKind),
}

/// The notification to send under this id, and the new notified state.
pub fn decide(
    wanted: &Alert,
    look: &TaskCondition,
    said: &NotifiedState,
    id: Uuid,
    now: DateTime<Utc>,
) -> (Option<Notification>, NotifiedState) {
    let state = judge::state(&look.standing, now);
    let last_run = look.standing.last_run.as_ref();
    let mut after = NotifiedState { looked: true, ..said.clone() };
    if !said.looked {
        after.changed = last_run.map(|run| run.run);
    }
    let told = match assess(look, state) {
        ConditionChange::None => None,
        ConditionChange::Trouble(kind) => {
            let trouble = Incident { kind, state };
            let is_new = !said.troubles.contains(&trouble);
            if is_new && kind.is_enabled(&wanted.on) && is_due(wanted, trouble, look.fails) {
                after.troubles.push(trouble);
                let since = began_at(look, trouble, now);
                after.since = after.since.or(Some(since));
                Some((kind, Some(since)))
            } else {
                None
            }
        }
        ConditionChange::Well => {
            let was_told = !said.troubles.is_empty();
            let since = after.since.take();
            after.troubles.clear();
            // A repair was accepted without a person, so a person is at least notified.
            let is_mended =
                last_run.is_some_and(|run| run.verdict.statistics.repaired && Some(run.run) != after.changed);
            let has_changed = state == State::Changed && last_run.map(|run| run.run) != after.changed;
            after.changed = last_run.map(|run| run.run);
            if (was_told || is_mended) && NotificationKind::Recovered.is_enabled(&wanted.on) {
                Some((NotificationKind::Recovered, since))
            } else {
                (has_changed && NotificationKind::Changed.is_enabled(&wanted.on))
                    .then_some((NotificationKind::Changed, None))
            }
        }
    };
    (told.map(|(kind, since)| build_notification(look, kind, state, since, id, now)), after)
}

fn assess(look: &TaskCondition, state: State) -> ConditionChange {
    let last_run = look.standing.last_run.as_ref();
    let outcome = last_run.map(|run| run.verdict.outcome);
    match state {
        // The task did not fail; the daemon ended. The next run decides.
        State::Crash if last_run.is_some_and(|run| run.verdict.is_interrupted()) => ConditionChange::None,
        State::Crash | State::Config | State::Login | State::Blocked | State::Failed => {
            ConditionChange::Trouble(NotificationKind::Failed)
        }
        State::Quarantined if outcome != Some(Outcome::Quarantined(Quarantine::Layout)) => {
            ConditionChange::Trouble(NotificationKind::Failed)
        }
        State::NeedsLabel | State::Quarantined => ConditionChange::Trouble(NotificationKind::NeedsLabel),
        State::Empty if outcome == Some(Outcome::Empty(Emptiness::NoResults)) => ConditionChange::Well,
        State::Empty => ConditionChange::Trouble(NotificationKind::Failed),
        State::Overdue if look.running => ConditionChange::None,
        State::Overdue => ConditionChange::Trouble(NotificationKind::Overdue),
        State::Changed | State::Ok => ConditionChange::Well,
        State::Running | State::Queued | State::Paused | State::Never => ConditionChange::None,
    }
}

/// A failure may be temporary, so `alert.after` of them in a row are needed. What only a person can repair is notified
/// at once, and so is a refused login: the schedule does not try it again, so there would be no second failure.
fn is_due(wanted: &Alert, trouble: Incident, fails: u32) -> bool {
    let may_pass = trouble.kind == NotificationKind::Failed && !matches!(trouble.state, State::Config | State::Login);
    !may_pass || fails >= wanted.after
}

fn began_at(look: &TaskCondition, trouble: Incident, now: DateTime<Utc>) -> DateTime<Utc> {
    let began = match (trouble.kind, &look.standing.problem) {
        (_, Some(_)) => None,
        (NotificationKind::Overdue, None) => look.due,
        (_, None) => look.failing_since.or(look.standing.last_run.as_ref().map(|run| run.ended_at)),
    };
    began.unwrap_or(now)
}

/// The number of consecutive failures among these runs, newest first, and when the first of them ended. A run that was
/// interrupted with its daemon does not count.
pub fn consecutive_failures(past: &[PastRun]) -> (u32, Option<DateTime<Utc>>) {
    let own = past.iter().filter(|run| !run.verdict.is_interrupted());
    let bad = own
        .take_while(|run| !matches!(run.verdict.outcome, Outcome::Published(_) | Outcome::Empty(Emptiness::NoResults)));
    let counted = bad.filter(|run| run.verdict.outcome != Outcome::Quarantined(Quarantine::Provisional));
    counted.fold((0, None), |(count, _), run| (count + 1, Some(run.ended_at)))
}

fn build_notification(
    look: &TaskCondition,
    kind: NotificationKind,
    state: State,
    since: Option<DateTime<Utc>>,
    id: Uuid,
    now: DateTime<Utc>,
) -> Notification {
    let last_run = look.standing.last_run.as_ref();
    let (sentence, detail) = sentence(look, state, kind);
    // With a broken folder the verdict of the last run is left out.
    let verdict = last_run.map(|run| &run.verdict).filter(|_| look.standing.problem.is_none());
    Notification {
        id,
        kind,
        task: look.task.clone(),
        title: look.title.as_deref().map(|title| single_line(title, 200)),
        state,
        outcome: verdict.map(|it| it.outcome.word().to_owned()),
        cause: verdict.map_or(Some("config"), |it| Some(it.outcome.cause())).map(str::to_owned),
        sentence,
        detail,
        at: now,
        since,
        fails: look.fails,
        rows: look.rows,
        changes: look.changes.filter(|_| kind == NotificationKind::Changed),
        similarity: verdict.and_then(|it| it.similarity),
        last_ok: look.last_ok,
        run: last_run.map(|run| run.run),
        advice: match kind {
            NotificationKind::Changed => format!("pieme diff {}", look.task),
            _ => judge::advice(state, &look.task, &look.standing),
        },
        link: None,
    }
}

fn sentence(look: &TaskCondition, state: State, kind: NotificationKind) -> (String, Option<String>) {
    if let Some(problem) = &look.standing.problem {
        let first = problem.lines().next().unwrap_or_default();
        return (single_line(first, MAX_CHARS), Some(problem.chars().take(MAX_CHARS).collect()));
    }
    if kind == NotificationKind::Overdue {
        let due = look.due.map(|at| format!(" at {}", at.format("%Y-%m-%d %H:%M UTC")));
        let due = due.unwrap_or_default();
        return (format!("the run was due{due} and has not started"), None);
    }
    let said = look.standing.last_run.as_ref().map(|run| single_line(&run.verdict.sentence, MAX_CHARS));
    (said.unwrap_or_else(|| state.word().to_owned()), None)
}

/// Untrusted text on one line, without control characters.
fn single_line(text: &str, most: usize) -> String {
    text.chars().take(most).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests;
