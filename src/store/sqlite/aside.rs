//! Rows that are not published: a person accepts them, drops them, or goes back to those before.
//!
//! Both are runs of their own, begun and ended in one go: what is published is always some run's, and every guard of a
//! publication holds for them too.

use chrono::{DateTime, Utc};
use rusqlite::OptionalExtension;
use serde_json::Value as Json;

use super::generation;
use super::runs::run_id;
use super::{Sqlite, StoreError, gc};
use crate::model::{Figures, Outcome, Publication, Row, RunId, TaskName, Verdict};
use crate::store::{Aside, Browse, Ending, Resort, Rows, RunStart, Runs, Staging, Trigger};

/// Rows that are copied at a time.
const CHUNK: u64 = 5_000;

impl Aside for Sqlite {
    fn resort(
        &mut self,
        task: &TaskName,
        what: Resort,
        key: &[String],
        now: DateTime<Utc>,
    ) -> Result<Option<Verdict>, StoreError> {
        match what {
            Resort::Accept => self.publish_again(task, "quarantined", "kept aside, accepted by a person", key, now),
            Resort::RollBack => self.publish_again(task, "previous", "of before, brought back by a person", key, now),
            Resort::Drop => self.drop_aside(task).map(|()| None),
        }
    }

    fn aside(&self, task: &TaskName) -> Result<Option<RunId>, StoreError> {
        self.newest_in(task, "quarantined")
    }
}

impl Sqlite {
    fn newest_in(&self, task: &TaskName, state: &str) -> Result<Option<RunId>, StoreError> {
        let found: Option<String> = self
            .connection
            .prepare_cached("SELECT run FROM _generation WHERE task = ?1 AND state = ?2 ORDER BY id DESC LIMIT 1")?
            .query_row([task.as_str(), state], |row| row.get(0))
            .optional()?;
        found.map(|run| run_id(&run)).transpose()
    }

    fn publish_again(
        &mut self,
        task: &TaskName,
        state: &'static str,
        words: &str,
        key: &[String],
        now: DateTime<Utc>,
    ) -> Result<Option<Verdict>, StoreError> {
        let Some(from) = self.newest_in(task, state)? else { return Ok(None) };
        let run = RunId::new();
        let trigger = Trigger::Person;
        self.begin_run(&RunStart { run, task: task.clone(), slot: None, trigger, started_at: now, pid: None })?;
        let mut copied = 0;
        loop {
            let rows = self.rows(
                &format!("run = ?1 AND state = '{state}'"),
                &from.to_string(),
                &Browse { limit: CHUNK, offset: copied, ..Browse::default() },
            )?;
            let Some(rows) = rows.filter(|rows| !rows.table.rows.is_empty()) else { break };
            copied += rows.table.rows.len() as u64;
            let columns = (&rows.table.columns[..], &rows.values[..]);
            self.stage_values(run, task, columns, key, &with_values(&rows), now)?;
        }
        let before = self.run(from)?.and_then(|run| run.end).map(|(_, verdict)| verdict);
        let figures = before.as_ref().map(|it| it.figures.clone()).unwrap_or_default();
        let verdict = Verdict {
            outcome: Outcome::Published(Publication::Changed),
            sentence: format!("{copied} rows {words}"),
            similarity: before.as_ref().and_then(|it| it.similarity),
            rows: copied,
            pages: before.map_or(0, |it| it.pages),
            provisional: false,
            figures: Figures { accepted: true, mended: false, ..figures },
        };
        self.end_run(run, &verdict, now).map(Some)
    }

    fn drop_aside(&mut self, task: &TaskName) -> Result<(), StoreError> {
        let transaction = self.connection.transaction()?;
        while let Some(found) = generation::find(&transaction, "task = ?1 AND state = 'quarantined'", task.as_str())? {
            gc::drop_rows(&transaction, found.id)?;
        }
        Ok(transaction.commit()?)
    }
}

/// The rows as they are staged: what the texts mean stands behind them.
fn with_values(rows: &Rows) -> Vec<Row> {
    let text = |cell: &Json| match cell {
        Json::Null => None,
        Json::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    };
    let cells = rows.cells.iter().map(|cells| cells.iter().map(text).collect::<Vec<_>>());
    let values = cells.chain(std::iter::repeat_with(Vec::new));
    let row = |(row, values): (&Row, Vec<_>)| Row {
        cells: row.cells.iter().cloned().chain(values).collect(),
        page: row.page,
    };
    rows.table.rows.iter().zip(values).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Failure, Quarantine, Row};
    use crate::store::Shown;

    fn store() -> (tempfile::TempDir, Sqlite, TaskName) {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let store = Sqlite::open(&folder.path().join("pieme.db")).expect("a database");
        (folder, store, TaskName::new("hotels").expect("a name"))
    }

    fn run(store: &mut Sqlite, task: &TaskName, outcome: Outcome, rows: u64) -> RunId {
        let (run, now) = (RunId::new(), Utc::now());
        let trigger = Trigger::Person;
        let start = RunStart { run, task: task.clone(), slot: None, trigger, started_at: now, pid: None };
        store.begin_run(&start).expect("a run");
        let cells = |n: u64| Row { cells: vec![Some(format!("{n} of {rows}"))], page: 0 };
        let staged: Vec<Row> = (0..rows).map(cells).collect();
        store.stage_rows(run, task, &["name".to_owned()], &[], &staged, now).expect("rows");
        let figures = Figures { mended: true, ..Figures::default() };
        let verdict =
            Verdict { outcome, rows, similarity: Some(0.9), figures, ..Verdict::failed(Failure::Internal, "") };
        store.end_run(run, &verdict, now).expect("an end");
        run
    }

    fn published(store: &Sqlite, task: &TaskName) -> u64 {
        store.published(task, 0, 0).expect("a store").map_or(0, |rows| rows.total)
    }

    const GOOD: Outcome = Outcome::Published(Publication::Changed);
    const ASIDE: Outcome = Outcome::Quarantined(Quarantine::Rows);

    #[test]
    fn the_newest_rows_that_were_kept_aside_are_accepted() {
        let (_folder, mut store, task) = store();
        run(&mut store, &task, GOOD, 9);
        run(&mut store, &task, ASIDE, 4);
        let newest = run(&mut store, &task, ASIDE, CHUNK + 3);
        assert_eq!(store.aside(&task).expect("a store"), Some(newest));
        let verdict = store.resort(&task, Resort::Accept, &[], Utc::now()).expect("a store").expect("a run");
        assert_eq!((verdict.outcome, verdict.rows, published(&store, &task)), (GOOD, CHUNK + 3, CHUNK + 3));
        assert!(verdict.figures.accepted && !verdict.figures.mended, "a person has said so now");
        assert_eq!(verdict.similarity, Some(0.9), "as they were measured");
    }

    #[test]
    fn what_is_dropped_is_gone_and_nothing_else() {
        let (_folder, mut store, task) = store();
        run(&mut store, &task, GOOD, 9);
        run(&mut store, &task, ASIDE, 4);
        assert_eq!(store.resort(&task, Resort::Drop, &[], Utc::now()).expect("a store"), None);
        assert_eq!(store.aside(&task).expect("a store"), None);
        assert_eq!(published(&store, &task), 9);
        assert_eq!(store.resort(&task, Resort::Accept, &[], Utc::now()).expect("a store"), None, "nothing is left");
    }

    #[test]
    fn rows_of_before_come_back_and_go_again() {
        let (_folder, mut store, task) = store();
        assert_eq!(store.resort(&task, Resort::RollBack, &[], Utc::now()).expect("a store"), None);
        run(&mut store, &task, GOOD, 9);
        run(&mut store, &task, GOOD, 5);
        for wanted in [9, 5] {
            store.resort(&task, Resort::RollBack, &[], Utc::now()).expect("a store").expect("a run");
            assert_eq!(published(&store, &task), wanted);
        }
    }
}
