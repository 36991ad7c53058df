//! Records what a publication has changed.
//!
//! The publishing transaction notes that there is a change. Small generations are compared in it as well; large ones
//! afterwards, in transactions of their own. An interruption in between leaves an open change: the rows of both
//! generations stay until they are compared, at the next start or before the task is published again.

use chrono::{DateTime, Utc};

use super::compare::{ComparisonBasis, Difference, Differences, RowFingerprint};
use super::names::{quoted, rows_table};
use super::run_end::Generation;
use super::session::get;
use super::view::column_name;
use super::{PgSession, Postgres, StoreError, decode, generation, reader, record_diff, timestamp};
use crate::model::{ChangeCounts, RunId, TaskName};
use crate::store::{ChangeKind, UnlistedReason};

/// Larger generations are compared after the publishing transaction, which stays short.
const MAX_INLINE_ROWS: i64 = 5_000;

/// Records per transaction, few enough that others do not wait.
const RECORDS_PER_TRANSACTION: usize = 2_000;

/// Records in memory at a time (16 MB); larger generations are compared in several passes, each over a share of the
/// keys.
const RECORDS_PER_PASS: i64 = 500_000;

/// Notes, in the publishing transaction, that `after` rows have replaced these.
pub(super) fn record_change(
    session: &PgSession,
    task: &TaskName,
    run: RunId,
    before: &Generation,
    after: i64,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    let change = session.number(
        "INSERT INTO _change (task, run, at, rows_before, rows_after) VALUES ($1, $2, $3, $4, $5) RETURNING id",
        &[&task.as_str(), &run.to_string(), &timestamp::to_millis(now), &before.rows, &after],
    )?;
    if before.rows > MAX_INLINE_ROWS || after > MAX_INLINE_ROWS {
        return Ok(());
    }
    let compared = compare(session, task)?;
    if let (Some((before, after)), Ok(listed)) = (&compared.tables, &compared.listed) {
        write_records(session, change, before, after, listed)?;
    }
    close_change(session, change, compared.counts, compared.listed.err())
}

impl Postgres {
    /// Compares open changes, of one task or of all that this daemon owns.
    pub(super) fn finish_open_changes(&self, task: Option<&TaskName>) -> Result<(), StoreError> {
        let sql = format!(
            "SELECT id, task FROM _change WHERE added IS NULL AND ($1::text IS NULL OR task = $1) AND {}
             ORDER BY id LIMIT 1",
            self.owned_condition("task")
        );
        while let Some(row) = self.session.row(&sql, &[&task.map(TaskName::as_str)])? {
            self.finish_change(get(&row, 0)?, &decode::task_name(get(&row, 1)?)?)?;
        }
        Ok(())
    }

    fn finish_change(&self, change: i64, task: &TaskName) -> Result<(), StoreError> {
        let session = &self.session;
        let compared = session.in_snapshot(|| compare(session, task))?;
        // Left by an interrupted comparison.
        session.execute("DELETE FROM _changed_record WHERE change = $1", &[&change])?;
        if let (Some((before, after)), Ok(listed)) = (&compared.tables, &compared.listed) {
            for part in listed.chunks(RECORDS_PER_TRANSACTION) {
                session.in_transaction(|| write_records(session, change, before, after, part))?;
            }
        }
        close_change(session, change, compared.counts, compared.listed.err())
    }
}

struct Comparison {
    counts: ChangeCounts,
    listed: Result<Vec<Difference>, UnlistedReason>,
    /// The generations before and after.
    tables: Option<(Generation, Generation)>,
}

/// Compares the previous rows of a task with the published ones.
fn compare(session: &PgSession, task: &TaskName) -> Result<Comparison, StoreError> {
    let in_state = |state: &str| generation::find(session, &format!("task = $1 AND state = '{state}'"), &task.as_str());
    let nothing = |why| Comparison { counts: ChangeCounts::default(), listed: Err(why), tables: None };
    let (Some(before), Some(after)) = (in_state("previous")?, in_state("published")?) else {
        return Ok(nothing(UnlistedReason::Lost));
    };
    let Some(measure) = ComparisonBasis::of(&before.shape(), &after.shape()) else {
        return Ok(nothing(UnlistedReason::Key));
    };
    let mut found = Differences::default();
    let passes = u128::from((before.rows.max(after.rows) / RECORDS_PER_PASS).unsigned_abs() + 1);
    for pass in 0..passes {
        let part = |it| fingerprints(session, it, &measure, |key| key % passes == pass);
        found.merge_join(part(&before)?.into_iter().map(Ok), part(&after)?.into_iter().map(Ok))?;
    }
    let listed = found.listed(before.rows.max(after.rows).unsigned_abs());
    Ok(Comparison { counts: found.counts, listed, tables: Some((before, after)) })
}

/// The records of a share of the keys, sorted by key and row.
fn fingerprints(
    session: &PgSession,
    generation: &Generation,
    measure: &ComparisonBasis,
    is_wanted: impl Fn(u128) -> bool,
) -> Result<Vec<RowFingerprint>, StoreError> {
    let texts =
        generation.columns.iter().enumerate().filter(|(_, it)| it.is_text() && measure.includes_column(&it.stored));
    let texts: Vec<(usize, &str)> = texts.map(|(at, it)| (at, it.stored.as_str())).collect();
    let names: String = texts.iter().map(|(at, _)| format!(", {}", column_name(*at))).collect();
    let table = quoted(&rows_table(generation.table));
    let sql = format!("SELECT _n, _key{names} FROM {table} WHERE _generation = $1");
    let mut marks = Vec::new();
    session.each(&sql, &[&generation.id], |row| {
        let mut cells: Vec<(&str, &str)> = Vec::with_capacity(texts.len());
        for (index, (_, name)) in texts.iter().enumerate() {
            cells.extend(get::<Option<&str>>(row, index + 2)?.map(|text| (*name, text)));
        }
        let key = <[u8; 16]>::try_from(get::<&[u8]>(row, 1)?).map_err(StoreError::invalid_value)?;
        let mark = measure.fingerprint(get(row, 0)?, u128::from_be_bytes(key), &cells);
        if is_wanted(mark.key) {
            marks.push(mark);
        }
        Ok(())
    })?;
    marks.sort_unstable();
    Ok(marks)
}

/// Closes a change: from here on readers see it.
fn close_change(
    session: &PgSession,
    change: i64,
    counts: ChangeCounts,
    unlisted: Option<UnlistedReason>,
) -> Result<(), StoreError> {
    let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    session.execute(
        "UPDATE _change SET added = $2, changed = $3, removed = $4, unlisted = $5 WHERE id = $1",
        &[
            &change,
            &number(counts.added),
            &number(counts.changed),
            &number(counts.removed),
            &unlisted.map(UnlistedReason::word),
        ],
    )?;
    Ok(())
}

/// Writes records of one change.
fn write_records(
    session: &PgSession,
    change: i64,
    before: &Generation,
    after: &Generation,
    listed: &[Difference],
) -> Result<(), StoreError> {
    let places = |wanted: fn(&Difference) -> Option<i64>| listed.iter().filter_map(wanted).collect::<Vec<i64>>();
    let old = places(|it| match it.kind {
        ChangeKind::Added => None,
        ChangeKind::Changed => Some(it.row_before),
        ChangeKind::Removed => Some(it.row),
    });
    let new = places(|it| (it.kind != ChangeKind::Removed).then_some(it.row));
    let (old, new) = (reader::read(session, before, &old)?, reader::read(session, after, &new)?);
    for it in listed {
        let (from, to) = match it.kind {
            ChangeKind::Added => (None, new.get(&it.row)),
            ChangeKind::Changed => (old.get(&it.row_before), new.get(&it.row)),
            ChangeKind::Removed => (old.get(&it.row), None),
        };
        let cells = record_diff::differing_cells(from.map(|it| &it.cells), to.map(|it| &it.cells));
        let Some(record) = to.or(from) else { continue };
        session.execute(
            "INSERT INTO _changed_record (change, key, what, name, first_seen, cells) VALUES ($1, $2, $3, $4, $5, $6)",
            &[&change, &it.key.to_be_bytes().as_slice(), &it.kind.word(), &record.name, &record.first_seen, &cells],
        )?;
    }
    Ok(())
}
