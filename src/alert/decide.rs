//! Which alert, if any. Pure: how a task stands and what was told already → what to tell now.
//!
//! Nothing is told twice between two good runs, whatever happens in between; what was never told is not said to be over.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::notice::{Kind, Notice};
use crate::judge::{self, Standing};
use crate::model::task::Alert;
use crate::model::{Counts, Emptiness, Outcome, PastRun, Quarantine, RunId, State, TaskName};

/// Of what strangers' pages and files say, this much goes into an alert.
const MOST_CHARS: usize = 1_000;

/// How a task stands, as far as alerts care.
#[derive(Clone, Debug)]
pub struct Look {
    pub task: TaskName,
    pub title: Option<String>,
    /// Without the run under way, which would hide how the last one ended.
    pub standing: Standing,
    pub running: bool,
    /// When its next run was promised; the standing has a later time where nobody was there to start it.
    pub due: Option<DateTime<Utc>>,
    /// Failures in a row.
    pub fails: u32,
    pub failing_since: Option<DateTime<Utc>>,
    pub rows: Option<u64>,
    /// What the last run has changed in them, where it was compared.
    pub changes: Option<Counts>,
    pub last_ok: Option<DateTime<Utc>>,
}

/// What a task's people were told since it was last well. Kept as JSON; what is missing is as by default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Said {
    pub troubles: Vec<Trouble>,
    /// When the first of them began.
    pub since: Option<DateTime<Utc>>,
    /// The last run whose changed rows are no news any more.
    pub changed: Option<RunId>,
    /// Somebody has looked before; what lies further back is no news.
    pub looked: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trouble {
    kind: Kind,
    state: State,
}

enum News {
    /// Running, paused, never run: neither good nor bad.
    None,
    Well,
    Trouble(Kind),
}

/// What to tell now under this id, and what was told after that.
pub fn decide(wanted: &Alert, look: &Look, said: &Said, id: Uuid, now: DateTime<Utc>) -> (Option<Notice>, Said) {
    let state = judge::state(&look.standing, now);
    let last_run = look.standing.last_run.as_ref();
    let mut after = Said { looked: true, ..said.clone() };
    if !said.looked {
        after.changed = last_run.map(|run| run.run);
    }
    let told = match news(look, state) {
        News::None => None,
        News::Trouble(kind) => {
            let trouble = Trouble { kind, state };
            let is_new = !said.troubles.contains(&trouble);
            if is_new && kind.is_wanted(&wanted.on) && is_time(wanted, trouble, look.fails) {
                after.troubles.push(trouble);
                let since = began(look, trouble, now);
                after.since = after.since.or(Some(since));
                Some((kind, Some(since)))
            } else {
                None
            }
        }
        News::Well => {
            let was_told = !said.troubles.is_empty();
            let since = after.since.take();
            after.troubles.clear();
            // Nobody was asked after a redesign: then somebody is told at least.
            let is_mended = last_run.is_some_and(|run| run.verdict.figures.mended && Some(run.run) != after.changed);
            let has_changed = state == State::Changed && last_run.map(|run| run.run) != after.changed;
            after.changed = last_run.map(|run| run.run);
            if (was_told || is_mended) && Kind::Recovered.is_wanted(&wanted.on) {
                Some((Kind::Recovered, since))
            } else {
                (has_changed && Kind::Changed.is_wanted(&wanted.on)).then_some((Kind::Changed, None))
            }
        }
    };
    (told.map(|(kind, since)| notice(look, kind, state, since, id, now)), after)
}

fn news(look: &Look, state: State) -> News {
    let last_run = look.standing.last_run.as_ref();
    let outcome = last_run.map(|run| run.verdict.outcome);
    match state {
        // Nothing that the task did; its next run tells.
        State::Crash if last_run.is_some_and(|run| run.verdict.is_cut_short()) => News::None,
        State::Crash | State::Config | State::Login | State::Blocked | State::Failed => News::Trouble(Kind::Failed),
        State::Quarantined if outcome != Some(Outcome::Quarantined(Quarantine::Layout)) => News::Trouble(Kind::Failed),
        State::NeedsLabel | State::Quarantined => News::Trouble(Kind::NeedsLabel),
        State::Empty if outcome == Some(Outcome::Empty(Emptiness::NoResults)) => News::Well,
        State::Empty => News::Trouble(Kind::Failed),
        State::Overdue if look.running => News::None,
        State::Overdue => News::Trouble(Kind::Overdue),
        State::Changed | State::Ok => News::Well,
        State::Running | State::Queued | State::Paused | State::Never => News::None,
    }
}

/// A failure may pass by itself, so some in a row are waited for. What only a person can mend is told at once; so is a
/// refused log-in, which the schedule does not try again: a second failure would never come.
fn is_time(wanted: &Alert, trouble: Trouble, fails: u32) -> bool {
    let may_pass = trouble.kind == Kind::Failed && !matches!(trouble.state, State::Config | State::Login);
    !may_pass || fails >= wanted.after
}

fn began(look: &Look, trouble: Trouble, now: DateTime<Utc>) -> DateTime<Utc> {
    let began = match (trouble.kind, &look.standing.problem) {
        (_, Some(_)) => None,
        (Kind::Overdue, None) => look.due,
        (_, None) => look.failing_since.or(look.standing.last_run.as_ref().map(|run| run.ended_at)),
    };
    began.unwrap_or(now)
}

/// How many of the last runs, newest first, failed one after the other, and when the first of them did. A run that ended
/// with its daemon counts neither way.
pub fn in_a_row(past: &[PastRun]) -> (u32, Option<DateTime<Utc>>) {
    let own = past.iter().filter(|run| !run.verdict.is_cut_short());
    let bad = own
        .take_while(|run| !matches!(run.verdict.outcome, Outcome::Published(_) | Outcome::Empty(Emptiness::NoResults)));
    let counted = bad.filter(|run| run.verdict.outcome != Outcome::Quarantined(Quarantine::Provisional));
    counted.fold((0, None), |(count, _), run| (count + 1, Some(run.ended_at)))
}

fn notice(look: &Look, kind: Kind, state: State, since: Option<DateTime<Utc>>, id: Uuid, now: DateTime<Utc>) -> Notice {
    let last_run = look.standing.last_run.as_ref();
    let (sentence, detail) = sentence(look, state, kind);
    // A folder that cannot be read says nothing about the run before.
    let verdict = last_run.map(|run| &run.verdict).filter(|_| look.standing.problem.is_none());
    Notice {
        id,
        kind,
        task: look.task.clone(),
        title: look.title.as_deref().map(|title| clean(title, 200)),
        state,
        outcome: verdict.map(|it| it.outcome.word().to_owned()),
        cause: verdict.map_or(Some("config"), |it| Some(it.outcome.cause())).map(str::to_owned),
        sentence,
        detail,
        at: now,
        since,
        fails: look.fails,
        rows: look.rows,
        changes: look.changes.filter(|_| kind == Kind::Changed),
        similarity: verdict.and_then(|it| it.similarity),
        last_ok: look.last_ok,
        run: last_run.map(|run| run.run),
        advice: match kind {
            Kind::Changed => format!("pieme diff {}", look.task),
            _ => judge::advice(state, &look.task, &look.standing),
        },
        link: None,
    }
}

fn sentence(look: &Look, state: State, kind: Kind) -> (String, Option<String>) {
    if let Some(problem) = &look.standing.problem {
        let first = problem.lines().next().unwrap_or_default();
        return (clean(first, MOST_CHARS), Some(problem.chars().take(MOST_CHARS).collect()));
    }
    if kind == Kind::Overdue {
        let due = look.due.map(|at| format!(" at {}", at.format("%Y-%m-%d %H:%M UTC")));
        let due = due.unwrap_or_default();
        return (format!("its run was due{due} and has not started"), None);
    }
    let said = look.standing.last_run.as_ref().map(|run| clean(&run.verdict.sentence, MOST_CHARS));
    (said.unwrap_or_else(|| state.word().to_owned()), None)
}

/// Text of strangers on one line.
fn clean(text: &str, most: usize) -> String {
    text.chars().take(most).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests;
