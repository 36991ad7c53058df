//! Records what a publication has changed.
//!
//! The publishing transaction notes that there is a change. Small generations are compared in it as well; large ones
//! afterwards, in transactions of their own. An interruption in between leaves an open change: the rows of both
//! generations stay until they are compared, at the next start or before the task is published again.

use std::collections::HashMap;

use chrono::{DateTime, Utc};

use super::StoreResult;
use super::change_set::{ChangeKind, UnlistedReason};
use super::compare::{ComparisonBasis, Difference, Differences, RowFingerprint};
use super::generation::{self, Generation, RowTables};
use super::record_diff::{self, StoredRecord};
use super::sql::{SqlParams, SqlSession, SqlStore};
use crate::model::{ChangeCounts, RunId, TaskName};

/// Larger generations are compared after the publishing transaction, which stays short.
pub(super) const MAX_INLINE_ROWS: i64 = 5_000;

/// Records per transaction, few enough that SQLite's log stays short and others do not wait.
const RECORDS_PER_TRANSACTION: usize = 2_000;

/// Fingerprints in memory at a time (16 MB); larger generations are compared in several passes, each over a share of
/// the keys.
const RECORDS_PER_PASS: i64 = 500_000;

/// Comparison of generations, whose rows the databases store differently.
pub(super) trait ComparableGenerations: RowTables {
    /// Records whose cells are in memory at a time.
    const RECORDS_PER_READ: usize;

    /// The differences by digests that are stored beside the rows, where both generations have them.
    fn differences_by_digests(&self, _: &Generation, _: &Generation) -> StoreResult<Option<Differences>> {
        Ok(None)
    }

    /// Records by row number.
    fn records_at(&self, generation: &Generation, rows: &[i64]) -> StoreResult<HashMap<i64, StoredRecord>>;
}

/// Notes, in the publishing transaction, that `after` rows have replaced these.
pub(super) fn record_change(
    session: &impl ComparableGenerations,
    task: &TaskName,
    run: RunId,
    before: &Generation,
    after: i64,
    now: DateTime<Utc>,
) -> StoreResult<()> {
    let change = session.query_number(
        "INSERT INTO _change (task, run, at, rows_before, rows_after) VALUES ($1, $2, $3, $4, $5) RETURNING id",
        &[task, &run, &now, &before.rows, &after],
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

/// Compares open changes, of one task or of all that this daemon owns.
pub(super) fn finish_open_changes<S>(store: &S, task: Option<&TaskName>) -> StoreResult<()>
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

fn finish_change(session: &impl ComparableGenerations, change: i64, task: &TaskName) -> StoreResult<()> {
    let compared = session.in_snapshot(|| compare(session, task))?;
    // Left by an interrupted comparison.
    session.modify("DELETE FROM _changed_record WHERE change = $1", &[&change])?;
    if let (Some((before, after)), Ok(listed)) = (&compared.tables, &compared.listed) {
        for part in listed.chunks(RECORDS_PER_TRANSACTION) {
            session.in_transaction(|| write_records(session, change, before, after, part))?;
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
fn compare(session: &impl ComparableGenerations, task: &TaskName) -> StoreResult<Comparison> {
    let previous = generation::replaced_with_key(session, task)?;
    let nothing = |why| Comparison { counts: ChangeCounts::default(), listed: Err(why), tables: None };
    let (Some(before), Some(after)) = (previous, generation::published_with_key(session, task)?) else {
        return Ok(nothing(UnlistedReason::Lost));
    };
    let Some(basis) = ComparisonBasis::of(&before.shape(), &after.shape()) else {
        return Ok(nothing(UnlistedReason::Key));
    };
    let mut found = differences(session, &before, &after, &basis)?;
    let listed = found.listed(before.rows.max(after.rows).unsigned_abs());
    Ok(Comparison { counts: found.counts, listed, tables: Some((before, after)) })
}

fn differences(
    session: &impl ComparableGenerations,
    before: &Generation,
    after: &Generation,
    basis: &ComparisonBasis,
) -> StoreResult<Differences> {
    if basis.uses_stored_keys()
        && let Some(found) = session.differences_by_digests(before, after)?
    {
        return Ok(found);
    }
    let mut found = Differences::default();
    let passes = u128::from((before.rows.max(after.rows) / RECORDS_PER_PASS).unsigned_abs() + 1);
    for pass in 0..passes {
        let part = |it| fingerprints(session, it, basis, |key| key % passes == pass);
        found.merge_join(part(before)?.into_iter().map(Ok), part(after)?.into_iter().map(Ok))?;
    }
    Ok(found)
}

/// The records of a share of the keys, sorted by key and row: by the keys stored beside them and all their texts.
pub(super) fn own_fingerprints<S: RowTables>(
    session: &S,
    generation: &Generation,
    is_wanted: impl Fn(u128) -> bool,
) -> StoreResult<Vec<RowFingerprint>> {
    fingerprints(session, generation, &ComparisonBasis::of_one(&generation.shape()), is_wanted)
}

/// The records of a share of the keys, sorted by key and row.
fn fingerprints<S: RowTables>(
    session: &S,
    generation: &Generation,
    basis: &ComparisonBasis,
    is_wanted: impl Fn(u128) -> bool,
) -> StoreResult<Vec<RowFingerprint>> {
    let cells = S::cells_sql(&generation.columns, |it| it.is_text() && basis.includes_column(&it.stored));
    let names: Vec<&str> = generation.texts().into_iter().filter(|it| basis.includes_column(it)).collect();
    let sql = format!("SELECT {}, _key{cells} FROM {}", S::ROW_NUMBER, S::rows_sql(generation));
    let mut marks = Vec::new();
    session.query_each(&sql, &[], |row| {
        let mark = basis.fingerprint(row.get(0)?, u128::from_be_bytes(row.get(1)?), &row.named_texts(2, &names)?);
        if is_wanted(mark.key) {
            marks.push(mark);
        }
        Ok(())
    })?;
    marks.sort_unstable();
    Ok(marks)
}

/// Writes records of one change.
fn write_records<S: ComparableGenerations>(
    session: &S,
    change: i64,
    before: &Generation,
    after: &Generation,
    listed: &[Difference],
) -> StoreResult<()> {
    let insert =
        "INSERT INTO _changed_record (change, key, what, name, first_seen, cells) VALUES ($1, $2, $3, $4, $5, $6)";
    let rows_of = |it: &Difference| match it.kind {
        ChangeKind::Added => (None, Some(it.row)),
        ChangeKind::Changed => (Some(it.row_before), Some(it.row)),
        ChangeKind::Removed => (Some(it.row), None),
    };
    for part in listed.chunks(S::RECORDS_PER_READ) {
        let (old, new): (Vec<_>, Vec<_>) = part.iter().map(rows_of).unzip();
        let read = |generation, rows: Vec<Option<i64>>| {
            session.records_at(generation, &rows.into_iter().flatten().collect::<Vec<_>>())
        };
        let (old, new) = (read(before, old)?, read(after, new)?);
        for it in part {
            let (from, to) = rows_of(it);
            let (from, to) = (from.and_then(|row| old.get(&row)), to.and_then(|row| new.get(&row)));
            let Some(record) = to.or(from) else { continue };
            let cells = record_diff::differing_cells(from.map(|it| &it.cells), to.map(|it| &it.cells));
            let key = it.key.to_be_bytes();
            let values: SqlParams<'_> =
                &[&change, &key.as_slice(), &it.kind.word(), &record.name, &record.first_seen, &cells];
            session.modify(insert, values)?;
        }
    }
    Ok(())
}

/// Closes a change: from here on readers see it.
fn close_change(
    session: &impl SqlSession,
    change: i64,
    counts: ChangeCounts,
    unlisted: Option<UnlistedReason>,
) -> StoreResult<()> {
    let sql = "UPDATE _change SET added = $2, changed = $3, removed = $4, unlisted = $5 WHERE id = $1";
    let ChangeCounts { added, changed, removed } = counts;
    session.apply(sql, &[&change, &added, &changed, &removed, &unlisted.map(UnlistedReason::word)])
}
