//! Reads published and quarantined rows.

use std::ops::ControlFlow;

use rusqlite::Connection;

use super::generation::{self, Generation};
use super::names::{ColumnName, quoted, quoted_list, rows_table};
use super::{Sqlite, StoreError, browse, digest, keys};
use crate::model::{Row, RunId, TaskName};
use crate::store::rows::{BrowseQuery, PublishedRows, RowLayout, Rows, without_rows};
use crate::store::sql::{SqlParam, SqlSession};

const PUBLISHED: &str = "task = $1 AND state = 'published'";

/// Limits of one part, where all rows are read; whichever comes first.
const PART_ROWS: usize = 2_000;
const PART_BYTES: usize = 1 << 20;

impl PublishedRows for Sqlite {
    fn published(&self, task: &TaskName, limit: u64, offset: u64) -> Result<Option<Rows>, StoreError> {
        self.browse(task, &BrowseQuery { limit, offset, ..BrowseQuery::default() })
    }

    fn browse(&self, task: &TaskName, browse: &BrowseQuery) -> Result<Option<Rows>, StoreError> {
        read(&self.connection, PUBLISHED, task, browse)
    }

    fn each_published(
        &self,
        task: &TaskName,
        take: &mut dyn FnMut(&Rows) -> ControlFlow<()>,
    ) -> Result<bool, StoreError> {
        let moment = self.connection.unchecked_transaction()?;
        let Some(generation) = generation::published(&*moment, task)? else { return Ok(false) };
        let mut part = without_rows(&*moment, &generation)?;
        if take(&part).is_continue() {
            each_part(&moment, &generation, &mut part, take)?;
        }
        Ok(true)
    }

    fn quarantined_rows(&self, run: RunId, limit: u64, offset: u64) -> Result<Option<Rows>, StoreError> {
        let browse = BrowseQuery { limit, offset, ..BrowseQuery::default() };
        read(&self.connection, "run = $1 AND state = 'quarantined'", &run, &browse)
    }

    fn published_by_key(&self, task: &TaskName, keys: &[Vec<(&str, &str)>]) -> Result<Vec<Option<Row>>, StoreError> {
        let moment = self.connection.unchecked_transaction()?;
        let Some(generation) = generation::published(&*moment, task)? else { return Ok(vec![None; keys.len()]) };
        let blocks = keys::has_blocks(&moment, generation.id)?;
        let record = |key: &Vec<(&str, &str)>| {
            let key = digest::record_digest(key.iter().copied()).to_be_bytes();
            keys::find(&moment, generation.id, blocks, key)?
                .map(|it| read_row(&moment, &generation, it.row))
                .transpose()
        };
        keys.iter().map(record).collect()
    }
}

/// Some rows of the newest generation that meets a condition on one value.
pub(super) fn read(
    connection: &Connection,
    condition: &str,
    value: &dyn SqlParam,
    browse: &BrowseQuery,
) -> Result<Option<Rows>, StoreError> {
    // One snapshot: a publication in between must not drop the table.
    connection.in_snapshot(|| {
        let Some(generation) = generation::find(connection, condition, value)? else { return Ok(None) };
        let mut rows = without_rows(connection, &generation)?;
        rows.total = browse::count(connection, &generation, browse)?;
        let columns = &generation.columns;
        let wanted = select(&generation, &browse::condition(columns), &browse::order(columns, browse));
        let sql = format!("{wanted} LIMIT $2 OFFSET $3");
        let layout = RowLayout::of(&generation);
        connection.query_each(&sql, &[&browse::pattern(browse), &browse.limit, &browse.offset], |row| {
            layout.append_row(row, &mut rows).map(|_| ())
        })?;
        Ok(Some(rows))
    })
}

fn read_row(connection: &Connection, generation: &Generation, row: i64) -> Result<Row, StoreError> {
    let columns: Vec<ColumnName> = generation.columns.iter().filter(|column| column.is_text()).cloned().collect();
    let separator = if columns.is_empty() { "" } else { ", " };
    let table = quoted(&rows_table(generation.id));
    let sql = format!("SELECT _page{separator}{} FROM {table} WHERE _rowid_ = ?1", quoted_list(&columns));
    let row = connection.prepare_cached(&sql)?.query_row([row], |found| {
        let cells = (0..columns.len()).map(|index| found.get(index + 1)).collect::<Result<_, _>>()?;
        Ok(Row { cells, page: found.get(0)? })
    })?;
    Ok(row)
}

fn each_part(
    connection: &Connection,
    generation: &Generation,
    part: &mut Rows,
    take: &mut dyn FnMut(&Rows) -> ControlFlow<()>,
) -> Result<(), StoreError> {
    let mut statement = connection.prepare(&select(generation, "", ""))?;
    let mut found = statement.query([])?;
    let layout = RowLayout::of(generation);
    let mut bytes = 0;
    while let Some(row) = found.next()? {
        bytes += layout.append_row(row, part)?;
        if part.table.rows.len() < PART_ROWS && bytes < PART_BYTES {
            continue;
        }
        if take(part).is_break() {
            return Ok(());
        }
        bytes = 0;
        part.table.rows.clear();
        part.cells.clear();
        part.first_seen.clear();
        part.keys.clear();
    }
    if !part.table.rows.is_empty() {
        // It is the last part, whether or not `take` wants more.
        let _ = take(part);
    }
    Ok(())
}

/// Selects the rows that meet a condition, in an order and then in that of their pages, as [`RowLayout`] reads them.
fn select(generation: &Generation, condition: &str, order: &str) -> String {
    let separator = if generation.columns.is_empty() { "" } else { ", " };
    // `_rowid_`: a page may well name a column `rowid`, but none starts with `_`.
    format!(
        "SELECT _page, _first_seen, _key{separator}{} FROM {}{condition} ORDER BY {order}_rowid_",
        quoted_list(&generation.columns),
        quoted(&rows_table(generation.id))
    )
}
