//! Records what a publication has changed.
//!
//! The publishing transaction notes that there is a change. Small tables are compared in it as well; large ones
//! afterwards, in transactions of their own. An interruption in between leaves an open change: both tables stay until
//! they are compared, at the next start or before the task is published again.

use chrono::{DateTime, Utc};
use rusqlite::{Connection, OptionalExtension, Statement, TransactionBehavior, params};

use super::compare::{ComparisonBasis, Difference};
use super::fingerprints;
use super::generation;
use super::publish::MAX_INLINE_ROWS;
use super::reader::RecordReader;
use super::run_end::Generation;
use super::{Sqlite, StoreError, record_diff, timestamp};
use crate::model::{ChangeCounts, RunId, TaskName};
use crate::store::{ChangeKind, UnlistedReason};

/// Records per transaction, few enough that the log stays short and others do not wait.
const RECORDS_PER_TRANSACTION: usize = 2_000;

/// Notes, in the publishing transaction, that `after` rows have replaced these.
pub(super) fn record_change(
    transaction: &Connection,
    task: &TaskName,
    run: RunId,
    before: &Generation,
    after: i64,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    transaction
        .prepare_cached("INSERT INTO _change (task, run, at, rows_before, rows_after) VALUES (?1, ?2, ?3, ?4, ?5)")?
        .execute(params![task.as_str(), run.to_string(), timestamp::text(now), before.rows, after])?;
    if before.rows > MAX_INLINE_ROWS || after > MAX_INLINE_ROWS {
        return Ok(());
    }
    let change = transaction.last_insert_rowid();
    let compared = compare(transaction, task)?;
    let (counts, unlisted) = (compared.counts, compared.listed.as_ref().err().copied());
    if let (Some((before, after)), Ok(listed)) = (&compared.tables, &compared.listed) {
        let mut writer = ChangeWriter::new(transaction, change, before, after)?;
        listed.iter().try_for_each(|difference| writer.write(difference))?;
    }
    close_change(transaction, change, counts, unlisted)
}

impl Sqlite {
    /// Compares open changes, of one task or of all.
    pub(super) fn finish_open_changes(&mut self, task: Option<&TaskName>) -> Result<(), StoreError> {
        while let Some((change, task)) = open_change(&self.connection, task)? {
            self.finish_change(change, &task)?;
        }
        Ok(())
    }

    fn finish_change(&mut self, change: i64, task: &TaskName) -> Result<(), StoreError> {
        let compared = compare(&self.connection, task)?;
        // Left by an interrupted comparison.
        self.connection.execute("DELETE FROM _changed_record WHERE change = ?1", [change])?;
        if let (Some((before, after)), Ok(listed)) = (&compared.tables, &compared.listed) {
            for part in listed.chunks(RECORDS_PER_TRANSACTION) {
                let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
                let mut writer = ChangeWriter::new(&transaction, change, before, after)?;
                part.iter().try_for_each(|difference| writer.write(difference))?;
                drop(writer);
                transaction.commit()?;
            }
        }
        close_change(&self.connection, change, compared.counts, compared.listed.err())
    }
}

fn open_change(connection: &Connection, task: Option<&TaskName>) -> Result<Option<(i64, TaskName)>, StoreError> {
    let sql = "SELECT id, task FROM _change WHERE added IS NULL AND (?1 IS NULL OR task = ?1) LIMIT 1";
    let found: Option<(i64, String)> = connection
        .prepare_cached(sql)?
        .query_row([task.map(TaskName::as_str)], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let name = |text: &str| TaskName::new(text).map_err(|error| StoreError::InvalidValue(error.to_string()));
    found.map(|(change, task)| Ok((change, name(&task)?))).transpose()
}

struct Comparison {
    counts: ChangeCounts,
    listed: Result<Vec<Difference>, UnlistedReason>,
    /// The generations before and after.
    tables: Option<(Generation, Generation)>,
}

/// Compares the previous rows of a task with the published ones.
fn compare(connection: &Connection, task: &TaskName) -> Result<Comparison, StoreError> {
    let in_state =
        |state: &str| generation::find_with_key(connection, &format!("task = ?1 AND state = '{state}'"), task.as_str());
    let nothing = |why| Comparison { counts: ChangeCounts::default(), listed: Err(why), tables: None };
    let (Some(before), Some(after)) = (in_state("previous")?, in_state("published")?) else {
        return Ok(nothing(UnlistedReason::Lost));
    };
    let Some(measure) = ComparisonBasis::of(&before.shape(), &after.shape()) else {
        return Ok(nothing(UnlistedReason::Key));
    };
    let mut found = fingerprints::differences(connection, &before, &after, &measure)?;
    let listed = found.listed(before.rows.max(after.rows).unsigned_abs());
    Ok(Comparison { counts: found.counts, listed, tables: Some((before, after)) })
}

/// Closes a change: from here on readers see it.
fn close_change(
    connection: &Connection,
    change: i64,
    counts: ChangeCounts,
    unlisted: Option<UnlistedReason>,
) -> Result<(), StoreError> {
    let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    connection
        .prepare_cached("UPDATE _change SET added = ?2, changed = ?3, removed = ?4, unlisted = ?5 WHERE id = ?1")?
        .execute(params![
            change,
            number(counts.added),
            number(counts.changed),
            number(counts.removed),
            unlisted.map(UnlistedReason::word)
        ])?;
    Ok(())
}

/// Writes the records of one change.
struct ChangeWriter<'c> {
    change: i64,
    before: RecordReader<'c>,
    after: RecordReader<'c>,
    insert: Statement<'c>,
}

impl<'c> ChangeWriter<'c> {
    fn new(
        connection: &'c Connection,
        change: i64,
        before: &'c Generation,
        after: &'c Generation,
    ) -> Result<ChangeWriter<'c>, StoreError> {
        let sql =
            "INSERT INTO _changed_record (change, key, what, name, first_seen, cells) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let (before, after) = (RecordReader::new(connection, before)?, RecordReader::new(connection, after)?);
        Ok(ChangeWriter { change, before, after, insert: connection.prepare(sql)? })
    }

    fn write(&mut self, difference: &Difference) -> Result<(), StoreError> {
        let (old, new) = match difference.kind {
            ChangeKind::Added => (None, Some(self.after.read(difference.row)?)),
            ChangeKind::Changed => {
                (Some(self.before.read(difference.row_before)?), Some(self.after.read(difference.row)?))
            }
            ChangeKind::Removed => (Some(self.before.read(difference.row)?), None),
        };
        let cells = record_diff::differing_cells(old.as_ref().map(|it| &it.cells), new.as_ref().map(|it| &it.cells));
        let record = new.or(old).unwrap_or_default();
        self.insert.execute(params![
            self.change,
            difference.key.to_be_bytes(),
            difference.kind.word(),
            record.name,
            record.first_seen,
            cells
        ])?;
        Ok(())
    }
}
