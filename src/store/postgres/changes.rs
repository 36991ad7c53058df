//! Comparison of two generations for the history, and its records.

use super::compare::{ComparisonBasis, Difference, Differences, RowFingerprint};
use super::names::{quoted, rows_table};
use super::session::get;
use super::view::column_name;
use super::{PgSession, StoreError, reader, record_diff};
use crate::store::ChangeKind;
use crate::store::changes::{ComparableGenerations, INSERT_RECORD};
use crate::store::generation::Generation;

/// Records in memory at a time (16 MB); larger generations are compared in several passes, each over a share of the
/// keys.
const RECORDS_PER_PASS: i64 = 500_000;

impl ComparableGenerations for PgSession {
    fn differences(
        &self,
        before: &Generation,
        after: &Generation,
        basis: &ComparisonBasis,
    ) -> Result<Differences, StoreError> {
        let mut found = Differences::default();
        let passes = u128::from((before.rows.max(after.rows) / RECORDS_PER_PASS).unsigned_abs() + 1);
        for pass in 0..passes {
            let part = |it| fingerprints(self, it, basis, |key| key % passes == pass);
            found.merge_join(part(before)?.into_iter().map(Ok), part(after)?.into_iter().map(Ok))?;
        }
        Ok(found)
    }

    fn write_records(
        &self,
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
        let (old, new) = (reader::read(self, before, &old)?, reader::read(self, after, &new)?);
        for it in listed {
            let (from, to) = match it.kind {
                ChangeKind::Added => (None, new.get(&it.row)),
                ChangeKind::Changed => (old.get(&it.row_before), new.get(&it.row)),
                ChangeKind::Removed => (old.get(&it.row), None),
            };
            let cells = record_diff::differing_cells(from.map(|it| &it.cells), to.map(|it| &it.cells));
            let Some(record) = to.or(from) else { continue };
            self.execute(
                INSERT_RECORD,
                &[&change, &it.key.to_be_bytes().as_slice(), &it.kind.word(), &record.name, &record.first_seen, &cells],
            )?;
        }
        Ok(())
    }
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
