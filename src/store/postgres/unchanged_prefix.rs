//! A run that finds the published rows writes nothing (`store/unchanged_prefix.rs`). The rows that it was compared with
//! stay until it ends, even if the task is published meanwhile (`generation::removable`).

use tokio_postgres::Row;

use super::generation::{self, RowTables};
use super::names::{quoted, rows_table};
use super::session::get;
use super::stage::{StagedRows, StagedTable};
use super::view::{PgType, column_name};
use super::{Member, PgSession, SqlSession, StoreError, StoreResult, runs};
use crate::model::{RunId, TaskName};
use crate::store::batch::BufferedRow;
use crate::store::unchanged_prefix;
use crate::store::unchanged_prefix::UnchangedPrefix;

impl StagedRows {
    /// Whether the buffered rows equal the next published ones; then they leave the buffer.
    pub fn extend_unchanged_prefix(&mut self, session: &PgSession, task: &TaskName) -> StoreResult<bool> {
        if self.written.is_some() {
            return Ok(false);
        }
        let published = generation::published(session, task)?;
        let Some(same) = UnchangedPrefix::resume(self.unchanged_prefix, published.as_ref(), &self.batch) else {
            return Ok(false);
        };
        if !session.in_snapshot(|| self.matches_published_rows(session, same))? {
            return Ok(false);
        }
        self.unchanged_prefix = Some(same.extended_by(self.batch.pending().len()));
        self.batch.clear_pending();
        Ok(true)
    }

    fn matches_published_rows(&self, session: &PgSession, same: UnchangedPrefix) -> StoreResult<bool> {
        let columns = PgSession::cells_sql(&self.batch.columns, |_| true);
        let table = quoted(&rows_table(same.table));
        let sql = format!(
            "SELECT _key, _page{columns} FROM {table} WHERE _generation = $1 AND _n > $2 AND _n <= $3 ORDER BY _n"
        );
        let types: Vec<PgType> = self.batch.columns.iter().map(PgType::of).collect();
        let end = same.rows + unchanged_prefix::to_i64(self.batch.pending().len());
        let mut waiting = self.batch.pending().iter();
        let mut is_same = true;
        session.each(&sql, &[&same.generation, &same.rows, &end], |row| {
            let record = waiting.next().filter(|_| is_same);
            is_same = record.map_or(Ok(false), |record| self.is_unchanged_row(record, row, &types))?;
            Ok(())
        })?;
        Ok(is_same && waiting.next().is_none())
    }

    fn is_unchanged_row(&self, record: &BufferedRow, row: &Row, types: &[PgType]) -> StoreResult<bool> {
        if get::<&[u8]>(row, 0)? != record.key || get::<i64>(row, 1)? != i64::from(record.page) {
            return Ok(false);
        }
        for ((at, kind), text) in types.iter().enumerate().zip(self.batch.cells(record)) {
            if !is_unchanged_cell(row, at + 2, *kind, text)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Copies the unchanged rows into the run's own, in transactions of their own. After an error it continues where it
    /// stopped.
    pub fn copy_unchanged_prefix(
        &mut self,
        session: &PgSession,
        member: Option<&Member>,
        (run, task): (RunId, &TaskName),
    ) -> StoreResult<()> {
        while let Some((same, next)) = self.unchanged_prefix.and_then(|same| Some((same, same.after_next_copy()?))) {
            let written = session.in_transaction(|| {
                runs::require_open(session, member, run)?;
                let written = self.table_for_next_rows(session, run, task)?;
                copy_rows(session, same, next, written)?;
                Ok(StagedTable { rows: next.copied, ..written })
            })?;
            self.written = Some(written);
            self.unchanged_prefix = Some(next);
        }
        Ok(())
    }
}

fn copy_rows(session: &PgSession, same: UnchangedPrefix, next: UnchangedPrefix, to: StagedTable) -> StoreResult<()> {
    let names: String = (0..same.columns).map(|at| format!(", {}", column_name(at))).collect();
    let (from, to, generation) = (quoted(&rows_table(same.table)), quoted(&rows_table(to.table)), to.generation);
    let sql = format!(
        "INSERT INTO {to} (_generation, _n, _key, _first_seen, _page{names})
         SELECT $1::bigint, _n, _key, _first_seen, _page{names} FROM {from}
         WHERE _generation = $2 AND _n > $3 AND _n <= $4"
    );
    let copied = session.execute(&sql, &[&generation, &same.generation, &same.copied, &next.copied])?;
    match i64::try_from(copied) == Ok(next.copied - same.copied) {
        true => Ok(()),
        false => Err(StoreError::InvalidValue(format!(
            "generation {} has lost rows that a run was compared with",
            same.generation
        ))),
    }
}

/// Whether a cell equals a text as COPY would have written it.
fn is_unchanged_cell(row: &Row, at: usize, kind: PgType, text: Option<&str>) -> StoreResult<bool> {
    let cell = text.and_then(|text| kind.cell(text));
    let number = || cell.as_deref().and_then(|text| text.parse::<f64>().ok());
    Ok(match kind {
        PgType::Text => get::<Option<&str>>(row, at)? == cell.as_deref(),
        PgType::Bigint => get::<Option<i64>>(row, at)? == cell.and_then(|text| text.parse().ok()),
        PgType::Double | PgType::Numeric => get::<Option<f64>>(row, at)? == number(),
        PgType::Boolean => get::<Option<bool>>(row, at)? == cell.map(|text| text == "t"),
    })
}
