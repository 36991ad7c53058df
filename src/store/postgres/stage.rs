//! Stages the rows of a running run. Once there are many, they are written where no view shows them.

use std::collections::HashMap;
use std::fmt::Write as _;

use bytes::Bytes;
use chrono::{DateTime, Utc};

use super::digest::KeyHash;
use super::generation::{self, Generation};
use super::names::{ColumnName, quoted, rows_table};
use super::session::get;
use super::view::{PgType, column_name};
use super::{Member, PgSession, Postgres, SqlSession, StoreResult, runs, shape, timestamp};
use crate::model::{Row, RunId, TaskName, ValueColumn};
use crate::store::RowStaging;
use crate::store::batch::Batch;
use crate::store::rekey::first_seen_by_new_key;
use crate::store::unchanged_prefix::UnchangedPrefix;

/// The rows of one run so far.
#[derive(Default)]
pub(super) struct StagedRows {
    pub batch: Batch,
    /// Leading rows that equal the published ones and were not written.
    pub(super) unchanged_prefix: Option<UnchangedPrefix>,
    pub(super) written: Option<StagedTable>,
}

/// Where a run's rows are written, once some are.
#[derive(Clone, Copy)]
pub(super) struct StagedTable {
    pub generation: i64,
    pub table: i64,
    pub columns: usize,
    pub rows: i64,
}

impl RowStaging for Postgres {
    fn stage_values(
        &mut self,
        run: RunId,
        task: &TaskName,
        columns: (&[String], &[ValueColumn]),
        key: &[String],
        rows: &[Row],
        now: DateTime<Utc>,
    ) -> StoreResult<()> {
        runs::require_open(&self.session, self.member.as_ref(), run)?;
        let staged = self.staged.entry(run).or_default();
        let places = staged.batch.map_columns(columns, key)?;
        for row in rows {
            staged.batch.push(row, &places, now.timestamp_millis());
            if staged.batch.is_full() && !staged.extend_unchanged_prefix(&self.session, task)? {
                let published = generation::published_with_key(&self.session, task)?;
                staged.spill(&self.session, self.member.as_ref(), (run, task), published.as_ref())?;
            }
        }
        Ok(())
    }
}

impl StagedRows {
    /// Writes the buffered rows in a transaction of its own, and returns the generation and its table. After an error
    /// nothing was written and all rows are still buffered.
    pub fn spill(
        &mut self,
        session: &PgSession,
        member: Option<&Member>,
        (run, task): (RunId, &TaskName),
        published: Option<&Generation>,
    ) -> StoreResult<(i64, i64)> {
        self.copy_unchanged_prefix(session, member, (run, task))?;
        let written = session.in_transaction(|| {
            runs::require_open(session, member, run)?;
            let written = self.table_for_next_rows(session, run, task)?;
            let known = first_seen(session, &self.batch, task, published)?;
            let text = self.copy_text(written, &known);
            session.copy_in(&copy_sql(written.table, &self.batch.columns), &text)?;
            generation::write_metadata(session, written.generation, &self.batch)?;
            Ok(StagedTable { rows: self.batch.rows, ..written })
        })?;
        self.batch.clear_pending();
        self.written = Some(written);
        Ok((written.generation, written.table))
    }

    /// The table for the next rows.
    pub(super) fn table_for_next_rows(
        &self,
        session: &PgSession,
        run: RunId,
        task: &TaskName,
    ) -> StoreResult<StagedTable> {
        let columns = &self.batch.columns;
        let Some(before) = self.written else {
            let (generation, table) = generation::create(session, run, task, columns)?;
            return Ok(StagedTable { generation, table, columns: columns.len(), rows: 0 });
        };
        // A commit that was not confirmed may have written rows all the same.
        let unheard = format!("DELETE FROM {} WHERE _generation = $1 AND _n > $2", quoted(&rows_table(before.table)));
        session.execute(&unheard, &[&before.generation, &before.rows])?;
        if before.columns == columns.len() { Ok(before) } else { self.move_rows(session, task, before) }
    }

    /// Columns that a later page adds need another table: the rows already written move there.
    fn move_rows(&self, session: &PgSession, task: &TaskName, before: StagedTable) -> StoreResult<StagedTable> {
        let table = shape::find_or_make(session, task, &self.batch.columns)?;
        let names: String = (0..before.columns).map(|at| format!(", {}", column_name(at))).collect();
        let names = format!("_generation, _n, _key, _first_seen, _page{names}");
        let (from, to) = (quoted(&rows_table(before.table)), quoted(&rows_table(table)));
        session.execute(
            &format!("INSERT INTO {to} ({names}) SELECT {names} FROM {from} WHERE _generation = $1"),
            &[&before.generation],
        )?;
        session.execute(&format!("DELETE FROM {from} WHERE _generation = $1"), &[&before.generation])?;
        session.execute("UPDATE _generation SET shape = $2 WHERE id = $1", &[&before.generation, &table])?;
        Ok(StagedTable { table, columns: self.batch.columns.len(), ..before })
    }

    /// The buffered rows in the text format of COPY.
    fn copy_text(&self, written: StagedTable, known: &HashMap<KeyHash, i64>) -> Bytes {
        let types: Vec<PgType> = self.batch.columns.iter().map(PgType::of).collect();
        let mut text = String::new();
        for (n, record) in (written.rows + 1..).zip(self.batch.pending()) {
            let seen = known.get(&record.key).copied().unwrap_or(record.seen);
            let cells = types.iter().copied().zip(self.batch.cells(record));
            push_row(&mut text, (written.generation, n), record.key, seen, record.page, cells);
        }
        text.into()
    }
}

/// When the buffered rows were first seen (milliseconds), for keys of the published generation and of removed records
/// in the history.
fn first_seen(
    session: &PgSession,
    batch: &Batch,
    task: &TaskName,
    published: Option<&Generation>,
) -> StoreResult<HashMap<KeyHash, i64>> {
    let Some(published) = published.filter(|_| !batch.pending().is_empty()) else { return Ok(HashMap::new()) };
    let keys: Vec<&[u8]> = batch.pending().iter().map(|record| &record.key[..]).collect();
    let table = quoted(&rows_table(published.table));
    let gone = "SELECT r.key, r.first_seen FROM _changed_record r JOIN _change c ON c.id = r.change
                WHERE r.key = ANY($2) AND r.what = 'removed' AND c.task = $1 ORDER BY r.id";
    let shown =
        format!("SELECT _key, min(_first_seen) FROM {table} WHERE _generation = $1 AND _key = ANY($2) GROUP BY _key");
    let mut known = HashMap::new();
    // As of the last removal; a published record takes precedence.
    let mut found = session.rows(gone, &[&task.as_str(), &keys])?;
    let rekeyed = first_seen_by_new_key(session, published, batch)?;
    if rekeyed.is_none() {
        found.extend(session.rows(&shown, &[&published.id, &keys])?);
    }
    for row in &found {
        let seen: DateTime<Utc> = get(row, 1)?;
        if let Ok(key) = KeyHash::try_from(get::<&[u8]>(row, 0)?) {
            known.insert(key, seen.timestamp_millis());
        }
    }
    known.extend(rekeyed.into_iter().flatten());
    Ok(known)
}

pub(super) fn copy_sql(table: i64, columns: &[ColumnName]) -> String {
    let names: String = (0..columns.len()).map(|at| format!(", {}", column_name(at))).collect();
    format!("COPY {} (_generation, _n, _key, _first_seen, _page{names}) FROM STDIN", quoted(&rows_table(table)))
}

/// Appends a row in the text format of COPY, with the numbers of its generation and of the row.
pub(super) fn push_row<'a>(
    text: &mut String,
    (generation, n): (i64, i64),
    key: KeyHash,
    first_seen: i64,
    page: u32,
    cells: impl Iterator<Item = (PgType, Option<&'a str>)>,
) {
    let (key, seen) = (u128::from_be_bytes(key), timestamp::text_of_millis(first_seen));
    // Writing to a string does not fail.
    let _ = write!(text, "{generation}\t{n}\t\\\\x{key:032x}\t{seen}\t{page}");
    for (kind, cell) in cells {
        text.push('\t');
        match cell.and_then(|cell| kind.cell(cell)) {
            Some(cell) => escape(&cell, text),
            None => text.push_str("\\N"),
        }
    }
    text.push('\n');
}

/// Escapes a cell for the text format of COPY: a tab ends a cell, a newline ends a row, a backslash begins an escape.
pub(super) fn escape(cell: &str, text: &mut String) {
    for part in cell.split_inclusive(['\t', '\n', '\r', '\\']) {
        let Some(last) = part.chars().next_back().filter(|last| "\t\n\r\\".contains(*last)) else {
            text.push_str(part);
            continue;
        };
        text.push_str(&part[..part.len() - 1]);
        text.push_str(match last {
            '\t' => "\\t",
            '\n' => "\\n",
            '\r' => "\\r",
            _ => "\\\\",
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_cell_says_it_ends_where_it_ends() {
        let mut text = String::new();
        escape("a\tb\nc\\N\r\\.", &mut text);
        assert_eq!(text, "a\\tb\\nc\\\\N\\r\\\\.");
    }
}
