//! Evaluates the alert rules and queues notifications in the outbox. Nothing is decided when a run ends: the result
//! depends only on the stored task state and on what was notified before, so a `kill -9` neither loses nor repeats an
//! alert.

use std::path::Path;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::alert::{self, Notification, NotifiedState, Settings, TaskCondition};
use crate::judge::TaskSnapshot;
use crate::model::task::Alert;
use crate::model::{PastRun, Task, TaskName};
use crate::store::{AlertStateUpdate, AlertTask, AlertTaskFilter, OutgoingAlert, Store, StoreError, TaskRow};
use crate::tasks::{FolderChange, TaskFolder};

use crate::daemon::runs::overtime::must_end_by;

/// Past runs that are read to count consecutive failures.
const MAX_PAST_RUNS: u32 = 50;

/// Up to this many changed tasks are evaluated one by one; for more, all tasks are.
const MAX_SINGLE_EVALUATIONS: usize = 20;

/// The alert settings of changed folders, for the store. A broken folder keeps its previous settings.
pub fn settings_after(
    changes: &[FolderChange],
    folder: impl Fn(&TaskName) -> Option<Arc<TaskFolder>>,
) -> Vec<(TaskName, Option<Alert>)> {
    let settings = |change: &FolderChange| match change {
        FolderChange::Added(name) | FolderChange::Edited(name) => {
            Some((name.clone(), alert_settings(&folder(name)?.task)?))
        }
        FolderChange::Broken(_) | FolderChange::Removed(_) => None,
    };
    changes.iter().filter_map(settings).collect()
}

fn alert_settings(task: &Task) -> Option<Option<Alert>> {
    let speaks = !task.alert.urls.is_empty() && !task.alert.on.is_empty();
    // A disabled task keeps its alert state for when it is enabled again.
    match (speaks, task.enabled) {
        (true, false) => None,
        (true, true) => Some(Some(task.alert.clone())),
        (false, _) => Some(None),
    }
}

/// The tasks to evaluate after a change of their folders.
pub fn filters_after(changes: &[FolderChange]) -> Vec<AlertTaskFilter> {
    match changes {
        few if few.len() <= MAX_SINGLE_EVALUATIONS => {
            few.iter().map(|it| AlertTaskFilter::One(it.name().clone())).collect()
        }
        _ => vec![AlertTaskFilter::All],
    }
}

/// Decides for each of these tasks and queues notifications. Returns how many. A run that was due before `started_at`
/// is overdue only when the daemon has had time for it since.
pub fn evaluate_tasks(
    store: &mut Store,
    (settings, tasks): (&Settings, &Path),
    which: &AlertTaskFilter,
    started_at: DateTime<Utc>,
    now: DateTime<Utc>,
) -> Result<usize, StoreError> {
    let mut told = Vec::new();
    for AlertTask { row, alert: wanted, state_json: said } in store.tasks_with_alerts(which)? {
        // State that cannot be parsed was written by a later version: better to repeat an alert than to lose one.
        let before: NotifiedState = serde_json::from_str(&said).unwrap_or_default();
        let (notice, after) = decide_for_task(store, &wanted, task_condition(tasks, &row, started_at), &before, now)?;
        if notice.is_none() && after == before {
            continue;
        }
        let outgoing = notice.map(|notice| queued_notification(settings, &wanted, notice));
        let said = serde_json::to_string(&after).map_err(|error| StoreError::InvalidValue(error.to_string()))?;
        told.push(AlertStateUpdate { task: row.name, state_json: said, outgoing });
    }
    if !told.is_empty() {
        store.enqueue_alerts(&told, now)?;
    }
    Ok(told.iter().filter(|it| it.outgoing.is_some()).count())
}

fn decide_for_task(
    store: &Store,
    wanted: &Alert,
    mut look: TaskCondition,
    said: &NotifiedState,
    now: DateTime<Utc>,
) -> Result<(Option<Notification>, NotifiedState), StoreError> {
    load_statistics(store, &mut look, said)?;
    let id = Uuid::now_v7();
    let first = alert::decide(wanted, &look, said, id, now);
    if first.0.is_none() || look.fails == 0 {
        return Ok(first);
    }
    // The store's count includes runs that ended with their daemon, so it is checked before an alert is sent.
    let past = store.past_verdicts(&look.task, MAX_PAST_RUNS)?;
    (look.fails, look.failing_since) = alert::consecutive_failures(&past);
    Ok(alert::decide(wanted, &look, said, id, now))
}

/// Loads the statistics and changes of the last run, which the list of all tasks leaves out, if that run was published
/// and has not been evaluated yet.
fn load_statistics(store: &Store, look: &mut TaskCondition, said: &NotifiedState) -> Result<(), StoreError> {
    let is_new = |run: &&mut PastRun| run.verdict.outcome.is_published() && Some(run.run) != said.changed;
    if let Some(last) = look.standing.last_run.as_mut().filter(is_new)
        && let Some((_, verdict)) = store.run(last.run)?.and_then(|run| run.end)
    {
        last.verdict.statistics = verdict.statistics;
        look.changes = store.change_of(last.run)?.and_then(|change| change.known_counts());
    }
    Ok(())
}

fn task_condition(tasks: &Path, row: &TaskRow, started_at: DateTime<Utc>) -> TaskCondition {
    TaskCondition {
        task: row.name.clone(),
        title: row.title.clone(),
        standing: TaskSnapshot {
            problem: row.problem.clone(),
            paused: row.paused,
            last_run: row.last_run.clone(),
            published_before: row.previous_rows.is_some(),
            running: false,
            must_end_by: must_end_by(tasks, row),
            next_due: row.next_due.map(|due| due.max(started_at)),
        },
        due: row.next_due,
        running: row.running_since.is_some(),
        fails: row.fails_in_a_row,
        failing_since: None,
        rows: row.published_rows,
        changes: None,
        last_ok: row.last_ok,
    }
}

fn queued_notification(settings: &Settings, wanted: &Alert, mut notice: Notification) -> OutgoingAlert {
    notice.link = settings.link_for(&notice);
    let (task, kind, id, subject) = (&notice.task, notice.kind.word(), notice.id, alert::subject(&notice));
    tracing::warn!(%task, kind, %id, "alert queued: {subject}");
    let json = serde_json::to_string(&notice).unwrap_or_default();
    OutgoingAlert { id: notice.id.to_string(), json, targets: wanted.urls.clone() }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;
    use crate::model::{Failure, RunId, Verdict};
    use crate::store::{RunStart, Trigger};

    fn store() -> (tempfile::TempDir, Store, TaskName) {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let mut store = Store::open(&folder.path().join("pieme.db")).expect("a database");
        let task = TaskName::new("hotels").expect("a name");
        store.upsert_task(&task, None, Utc::now()).expect("a task");
        let wanted = Alert { urls: ["exec:a", "exec:b", "exec:a"].map(str::to_owned).to_vec(), ..Alert::default() };
        store.set_alert_configs(&[(task.clone(), Some(wanted))]).expect("its alerts");
        (folder, store, task)
    }

    fn told(store: &mut Store, which: AlertTaskFilter, started_at: DateTime<Utc>, now: DateTime<Utc>) -> usize {
        evaluate_tasks(store, (&Settings::default(), Path::new("tasks")), &which, started_at, now).expect("a look")
    }

    fn run(store: &mut Store, task: &TaskName, verdict: &Verdict, now: DateTime<Utc>) {
        let run = RunId::new();
        let start =
            RunStart { run, task: task.clone(), slot: None, trigger: Trigger::Person, started_at: now, pid: None };
        store.begin_run(&start).expect("a run");
        store.end_run(run, verdict, now).expect("its end");
    }

    #[test]
    fn silence_is_told_once_and_not_for_the_time_that_nobody_was_there() {
        let (_folder, mut store, task) = store();
        let now = Utc::now();
        store.set_next_due(&task, Some(now - TimeDelta::hours(9))).expect("a promise");
        let long_ago = now - TimeDelta::days(1);
        assert_eq!(told(&mut store, AlertTaskFilter::DueBefore(now), now, now), 0, "the daemon has just started");
        assert_eq!(told(&mut store, AlertTaskFilter::DueBefore(now), long_ago, now), 1);
        assert_eq!(told(&mut store, AlertTaskFilter::DueBefore(now), long_ago, now), 0, "once");
        let letters = store.due_deliveries(now, 9).expect("letters");
        let targets: Vec<&str> = letters.iter().map(|letter| letter.target.as_str()).collect();
        assert_eq!(targets, ["exec:a", "exec:b"], "each target once");
    }

    #[test]
    fn what_is_to_be_delivered_keeps_its_order_and_outlives_the_one_who_decided() {
        let (folder, mut store, task) = store();
        let now = Utc::now();
        for _ in 0..2 {
            run(&mut store, &task, &Verdict::failed(Failure::Network, "no route"), now);
        }
        // Nobody has looked yet when the daemon is killed.
        drop(store);
        let mut store = Store::open(&folder.path().join("pieme.db")).expect("the same database");
        assert_eq!(told(&mut store, AlertTaskFilter::All, now, now), 1);
        run(&mut store, &task, &Verdict::failed(Failure::Login, "wrong password"), now);
        assert_eq!(told(&mut store, AlertTaskFilter::One(task), now, now), 1);
        let first = store.due_deliveries(now, 9).expect("letters");
        assert_eq!(first.len(), 2, "the second alert waits behind the first: {first:?}");
        store.mark_delivered(&first[0], now).expect("a mark");
        store.mark_undelivered(&first[1], "away", Some(now + TimeDelta::hours(1))).expect("a mark");
        let second = store.due_deliveries(now, 9).expect("letters");
        assert_eq!((second.len(), second[0].target.as_str()), (1, "exec:a"), "{second:?}");
        store.mark_delivered(&second[0], now).expect("a mark");
        assert_eq!(store.due_deliveries(now, 9).expect("letters"), []);
        let deliveries = store.deliveries(None, 9).expect("deliveries");
        assert_eq!(deliveries.iter().filter(|it| it.last_error.as_deref() == Some("away")).count(), 1);
    }
}
