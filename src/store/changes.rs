//! Records what a publication has changed.
//!
//! The publishing transaction notes that there is a change. Small generations are compared in it as well; large ones
//! afterwards, in transactions of their own. An interruption in between leaves an open change: the rows of both
//! generations stay until they are compared, at the next start or before the task is published again.

use chrono::{DateTime, Utc};

use super::StoreError;
use super::change_set::UnlistedReason;
use super::compare::{ComparisonBasis, Difference, Differences};
use super::generation::{self, Generation};
use super::sql::{SqlSession, SqlStore};
use crate::model::{ChangeCounts, RunId, TaskName};

/// Larger generations are compared after the publishing transaction, which stays short.
pub(super) const MAX_INLINE_ROWS: i64 = 5_000;

/// Records per transaction, few enough that SQLite's log stays short and others do not wait.
const RECORDS_PER_TRANSACTION: usize = 2_000;

/// Inserts a record of a change.
pub(super) const INSERT_RECORD: &str =
    "INSERT INTO _changed_record (change, key, what, name, first_seen, cells) VALUES ($1, $2, $3, $4, $5, $6)";

/// Comparison of generations, whose rows the databases store differently.
pub(super) trait ComparableGenerations: SqlSession {
    fn differences(
        &self,
        before: &Generation,
        after: &Generation,
        basis: &ComparisonBasis,
    ) -> Result<Differences, StoreError>;

    /// Writes records of one change.
    fn write_records(
        &self,
        change: i64,
        before: &Generation,
        after: &Generation,
        listed: &[Difference],
    ) -> Result<(), StoreError>;
}

/// Notes, in the publishing transaction, that `after` rows have replaced these.
pub(super) fn record_change(
    session: &impl ComparableGenerations,
    task: &TaskName,
    run: RunId,
    before: &Generation,
    after: i64,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    let change = session.query_number(
        "INSERT INTO _change (task, run, at, rows_before, rows_after) VALUES ($1, $2, $3, $4, $5) RETURNING id",
        &[task, &run, &now, &before.rows, &after],
    )?;
    if before.rows > MAX_INLINE_ROWS || after > MAX_INLINE_ROWS {
        return Ok(());
    }
    let compared = compare(session, task)?;
    if let (Some((before, after)), Ok(listed)) = (&compared.tables, &compared.listed) {
        session.write_records(change, before, after, listed)?;
    }
    close_change(session, change, compared.counts, compared.listed.err())
}

/// Compares open changes, of one task or of all that this daemon owns.
pub(super) fn finish_open_changes<S>(store: &S, task: Option<&TaskName>) -> Result<(), StoreError>
where
    S: SqlStore<Session: ComparableGenerations>,
{
    // In the order of the index on open changes: in that of the ids SQLite would read all changes.
    let sql = format!(
        "SELECT id, task FROM _change WHERE added IS NULL AND (CAST($1 AS text) IS NULL OR task = $1) AND {}
         ORDER BY task, id LIMIT 1",
        store.owned_condition("task")
    );
    let session = store.session();
    while let Some((change, task)) = session.query_first(&sql, &[&task], |row| Ok((row.get(0)?, row.get(1)?)))? {
        finish_change(session, change, &task)?;
    }
    Ok(())
}

fn finish_change(session: &impl ComparableGenerations, change: i64, task: &TaskName) -> Result<(), StoreError> {
    let compared = session.in_snapshot(|| compare(session, task))?;
    // Left by an interrupted comparison.
    session.modify("DELETE FROM _changed_record WHERE change = $1", &[&change])?;
    if let (Some((before, after)), Ok(listed)) = (&compared.tables, &compared.listed) {
        for part in listed.chunks(RECORDS_PER_TRANSACTION) {
            session.in_transaction(|| session.write_records(change, before, after, part))?;
        }
    }
    close_change(session, change, compared.counts, compared.listed.err())
}

struct Comparison {
    counts: ChangeCounts,
    listed: Result<Vec<Difference>, UnlistedReason>,
    /// The generations before and after.
    tables: Option<(Generation, Generation)>,
}

/// Compares the previous rows of a task with the published ones.
fn compare(session: &impl ComparableGenerations, task: &TaskName) -> Result<Comparison, StoreError> {
    let previous = generation::find_with_key(session, "task = $1 AND state = 'previous'", task)?;
    let nothing = |why| Comparison { counts: ChangeCounts::default(), listed: Err(why), tables: None };
    let (Some(before), Some(after)) = (previous, generation::published_with_key(session, task)?) else {
        return Ok(nothing(UnlistedReason::Lost));
    };
    let Some(basis) = ComparisonBasis::of(&before.shape(), &after.shape()) else {
        return Ok(nothing(UnlistedReason::Key));
    };
    let mut found = session.differences(&before, &after, &basis)?;
    let listed = found.listed(before.rows.max(after.rows).unsigned_abs());
    Ok(Comparison { counts: found.counts, listed, tables: Some((before, after)) })
}

/// Closes a change: from here on readers see it.
fn close_change(
    session: &impl SqlSession,
    change: i64,
    counts: ChangeCounts,
    unlisted: Option<UnlistedReason>,
) -> Result<(), StoreError> {
    let sql = "UPDATE _change SET added = $2, changed = $3, removed = $4, unlisted = $5 WHERE id = $1";
    let ChangeCounts { added, changed, removed } = counts;
    session.modify(sql, &[&change, &added, &changed, &removed, &unlisted.map(UnlistedReason::word)])?;
    Ok(())
}
