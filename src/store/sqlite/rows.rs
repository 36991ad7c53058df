//! Reads published and quarantined rows.

use std::ops::ControlFlow;

use chrono::{DateTime, Utc};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, params};
use serde_json::Value as Json;

use super::generation;
use super::names::{ColumnName, quoted, quoted_list, rows_table};
use super::run_end::Generation;
use super::{Sqlite, StoreError, browse, decode, digest, keys, timestamp};
use crate::model::{Row, RunId, Table, TaskName, ValueColumn};
use crate::store::{BrowseQuery, PublishedRows, RecordKey, Rows};

/// Limits of one part, where all rows are read; whichever comes first.
const PART_ROWS: usize = 2_000;
const PART_BYTES: usize = 1 << 20;

impl PublishedRows for Sqlite {
    fn published(&self, task: &TaskName, limit: u64, offset: u64) -> Result<Option<Rows>, StoreError> {
        self.rows(
            "task = ?1 AND state = 'published'",
            task.as_str(),
            &BrowseQuery { limit, offset, ..BrowseQuery::default() },
        )
    }

    fn browse(&self, task: &TaskName, browse: &BrowseQuery) -> Result<Option<Rows>, StoreError> {
        self.rows("task = ?1 AND state = 'published'", task.as_str(), browse)
    }

    fn each_published(
        &self,
        task: &TaskName,
        take: &mut dyn FnMut(&Rows) -> ControlFlow<()>,
    ) -> Result<bool, StoreError> {
        let moment = self.connection.unchecked_transaction()?;
        let Some(generation) = generation::find(&moment, "task = ?1 AND state = 'published'", task.as_str())? else {
            return Ok(false);
        };
        let mut part = without_rows(&moment, &generation)?;
        if take(&part).is_continue() {
            each_part(&moment, &generation, &mut part, take)?;
        }
        Ok(true)
    }

    fn quarantined_rows(&self, run: RunId, limit: u64, offset: u64) -> Result<Option<Rows>, StoreError> {
        let browse = BrowseQuery { limit, offset, ..BrowseQuery::default() };
        self.rows("run = ?1 AND state = 'quarantined'", &run.to_string(), &browse)
    }

    fn published_by_key(&self, task: &TaskName, keys: &[Vec<(&str, &str)>]) -> Result<Vec<Option<Row>>, StoreError> {
        let moment = self.connection.unchecked_transaction()?;
        let found = generation::find(&moment, "task = ?1 AND state = 'published'", task.as_str())?;
        let Some(generation) = found else { return Ok(vec![None; keys.len()]) };
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

impl Sqlite {
    pub(super) fn rows(&self, condition: &str, text: &str, browse: &BrowseQuery) -> Result<Option<Rows>, StoreError> {
        // One snapshot: a publication in between must not drop the table.
        let moment = self.connection.unchecked_transaction()?;
        let Some(generation) = generation::find(&moment, condition, text)? else { return Ok(None) };
        let mut rows = without_rows(&moment, &generation)?;
        rows.total = browse::count(&moment, &generation, browse)?;
        let (columns, number) = (&generation.columns, |count: u64| i64::try_from(count).unwrap_or(i64::MAX));
        let wanted = select(&generation, &browse::condition(columns), &browse::order(columns, browse));
        let mut statement = moment.prepare(&format!("{wanted} LIMIT ?2 OFFSET ?3"))?;
        let pattern = browse::pattern(browse);
        let mut found = statement.query(params![pattern, number(browse.limit), number(browse.offset)])?;
        let layout = Layout::of(&generation);
        while let Some(row) = found.next()? {
            layout.append_row(row, &mut rows)?;
        }
        Ok(Some(rows))
    }
}

fn last_seen(connection: &Connection, generation: i64) -> Result<(RunId, DateTime<Utc>), StoreError> {
    let found: Option<(String, String)> = connection
        .prepare_cached("SELECT run, last_seen FROM _generation WHERE id = ?1")?
        .query_row([generation], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let (run, last_seen) = found.ok_or_else(|| StoreError::InvalidValue(format!("generation {generation} is gone")))?;
    Ok((decode::run_id(&run)?, timestamp::parse(&last_seen)?))
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

/// What is known of a generation before any row is read.
fn without_rows(connection: &Connection, generation: &Generation) -> Result<Rows, StoreError> {
    let (run, last_seen) = last_seen(connection, generation.id)?;
    let columns = &generation.columns;
    let layout = Layout::of(generation);
    let names = layout.texts.iter().map(|&at| columns[at].stored.clone()).collect();
    // Index among the text columns, as the table has them.
    let among =
        |value: ValueColumn| ValueColumn { of: layout.texts.iter().filter(|&&at| at < value.of).count(), ..value };
    Ok(Rows {
        run,
        last_seen,
        total: u64::try_from(generation.rows).unwrap_or(0),
        table: Table { columns: names, rows: Vec::new() },
        values: layout.values.iter().filter_map(|&at| columns[at].value).map(among).collect(),
        cells: Vec::new(),
        first_seen: Vec::new(),
        keys: Vec::new(),
    })
}

fn each_part(
    connection: &Connection,
    generation: &Generation,
    part: &mut Rows,
    take: &mut dyn FnMut(&Rows) -> ControlFlow<()>,
) -> Result<(), StoreError> {
    let mut statement = connection.prepare(&select(generation, "", ""))?;
    let mut found = statement.query([])?;
    let layout = Layout::of(generation);
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

/// Selects the rows that meet a condition, in an order and then in that of their pages, as [`Layout`] reads them.
fn select(generation: &Generation, condition: &str, order: &str) -> String {
    let separator = if generation.columns.is_empty() { "" } else { ", " };
    // `_rowid_`: a page may well name a column `rowid`, but none starts with `_`.
    format!(
        "SELECT _page, _first_seen, _key{separator}{} FROM {}{condition} ORDER BY {order}_rowid_",
        quoted_list(&generation.columns),
        quoted(&rows_table(generation.id))
    )
}

/// Which columns of a table hold texts, and which values.
struct Layout {
    texts: Vec<usize>,
    values: Vec<usize>,
}

impl Layout {
    fn of(generation: &Generation) -> Layout {
        let columns = &generation.columns;
        let (texts, values) = (0..columns.len()).partition(|&at| columns[at].is_text());
        Layout { texts, values }
    }

    /// Appends a row, and returns the number of bytes of its texts.
    fn append_row(&self, row: &rusqlite::Row<'_>, rows: &mut Rows) -> Result<usize, StoreError> {
        let cells: Vec<Option<String>> = self.texts.iter().map(|index| row.get(index + 3)).collect::<Result<_, _>>()?;
        let bytes = cells.iter().flatten().map(String::len).sum();
        rows.table.rows.push(Row { cells, page: row.get(0)? });
        rows.first_seen.push(timestamp::parse(&row.get::<_, String>(1)?)?);
        rows.keys.push(RecordKey(u128::from_be_bytes(row.get(2)?)));
        if !self.values.is_empty() {
            let value = |index: &usize| Ok(json(row.get_ref(index + 3)?));
            rows.cells.push(self.values.iter().map(value).collect::<Result<_, StoreError>>()?);
        }
        Ok(bytes)
    }
}

pub(super) fn json(cell: ValueRef<'_>) -> Json {
    match cell {
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => number.into(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into(),
        ValueRef::Null | ValueRef::Blob(_) => Json::Null,
    }
}
