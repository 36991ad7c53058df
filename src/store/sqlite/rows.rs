//! Reading rows: those published, and those kept aside.

use chrono::{DateTime, Utc};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, params};
use serde_json::Value as Json;

use super::generation;
use super::names::{ColumnName, list, quoted, rows_table};
use super::settle::Generation;
use super::{Sqlite, StoreError, digest, keys, stamp, stored};
use crate::model::{Row, RunId, Table, TaskName, ValueColumn};
use crate::store::{Rows, Shown};

impl Shown for Sqlite {
    fn published(&self, task: &TaskName, limit: u64, offset: u64) -> Result<Option<Rows>, StoreError> {
        self.rows("task = ?1 AND state = 'published'", task.as_str(), limit, offset)
    }

    fn quarantined_rows(&self, run: RunId, limit: u64, offset: u64) -> Result<Option<Rows>, StoreError> {
        self.rows("run = ?1 AND state = 'quarantined'", &run.to_string(), limit, offset)
    }

    fn published_by_key(&self, task: &TaskName, keys: &[Vec<(&str, &str)>]) -> Result<Vec<Option<Row>>, StoreError> {
        let moment = self.connection.unchecked_transaction()?;
        let found = generation::find(&moment, "task = ?1 AND state = 'published'", task.as_str())?;
        let Some(generation) = found else { return Ok(vec![None; keys.len()]) };
        let blocks = keys::has_blocks(&moment, generation.id)?;
        let record = |key: &Vec<(&str, &str)>| {
            let key = digest::of_cells(key.iter().copied()).to_be_bytes();
            keys::find(&moment, generation.id, blocks, key)?
                .map(|it| read_row(&moment, &generation, it.row))
                .transpose()
        };
        keys.iter().map(record).collect()
    }
}

impl Sqlite {
    pub(super) fn rows(
        &self,
        condition: &str,
        text: &str,
        limit: u64,
        offset: u64,
    ) -> Result<Option<Rows>, StoreError> {
        // All of one moment: a publication in between must not take the table away.
        let moment = self.connection.unchecked_transaction()?;
        let Some(generation) = generation::find(&moment, condition, text)? else { return Ok(None) };
        let (run, last_seen) = seen(&moment, generation.id)?;
        let total = u64::try_from(generation.rows).unwrap_or(0);
        let empty = Rows {
            run,
            last_seen,
            total,
            table: Table::default(),
            values: Vec::new(),
            cells: Vec::new(),
            first_seen: Vec::new(),
        };
        read(&moment, &generation, limit, offset, empty).map(Some)
    }
}

fn seen(connection: &Connection, generation: i64) -> Result<(RunId, DateTime<Utc>), StoreError> {
    let found: Option<(String, String)> = connection
        .prepare_cached("SELECT run, last_seen FROM _generation WHERE id = ?1")?
        .query_row([generation], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let (run, last_seen) = found.ok_or_else(|| StoreError::Value(format!("generation {generation} is gone")))?;
    Ok((stored::run_id(&run)?, stamp::parse(&last_seen)?))
}

fn read_row(connection: &Connection, generation: &Generation, row: i64) -> Result<Row, StoreError> {
    let columns: Vec<ColumnName> = generation.columns.iter().filter(|column| column.is_text()).cloned().collect();
    let separator = if columns.is_empty() { "" } else { ", " };
    let table = quoted(&rows_table(generation.id));
    let sql = format!("SELECT _page{separator}{} FROM {table} WHERE _rowid_ = ?1", list(&columns));
    let row = connection.prepare_cached(&sql)?.query_row([row], |found| {
        let cells = (0..columns.len()).map(|index| found.get(index + 1)).collect::<Result<_, _>>()?;
        Ok(Row { cells, page: found.get(0)? })
    })?;
    Ok(row)
}

fn read(
    connection: &Connection,
    generation: &Generation,
    limit: u64,
    offset: u64,
    mut rows: Rows,
) -> Result<Rows, StoreError> {
    let columns = &generation.columns;
    let separator = if columns.is_empty() { "" } else { ", " };
    // `_rowid_`: a page may well name a column `rowid`, but none starts with `_`.
    let sql = format!(
        "SELECT _page, _first_seen{separator}{} FROM {} ORDER BY _rowid_ LIMIT ?1 OFFSET ?2",
        list(columns),
        quoted(&rows_table(generation.id))
    );
    let (texts, values): (Vec<usize>, Vec<usize>) = (0..columns.len()).partition(|&at| columns[at].is_text());
    let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let mut statement = connection.prepare(&sql)?;
    let mut found = statement.query(params![number(limit), number(offset)])?;
    while let Some(row) = found.next()? {
        let cells = texts.iter().map(|index| row.get(index + 2)).collect::<Result<_, _>>()?;
        rows.table.rows.push(Row { cells, page: row.get(0)? });
        rows.first_seen.push(stamp::parse(&row.get::<_, String>(1)?)?);
        if !values.is_empty() {
            rows.cells
                .push(values.iter().map(|index| Ok(json(row.get_ref(index + 2)?))).collect::<Result<_, StoreError>>()?);
        }
    }
    rows.table.columns = texts.iter().map(|&at| columns[at].stored.clone()).collect();
    // Counted among the texts, as the table has them.
    let among = |value: ValueColumn| ValueColumn { of: texts.iter().filter(|&&at| at < value.of).count(), ..value };
    rows.values = values.iter().filter_map(|&at| columns[at].value).map(among).collect();
    Ok(rows)
}

fn json(cell: ValueRef<'_>) -> Json {
    match cell {
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => number.into(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into(),
        ValueRef::Null | ValueRef::Blob(_) => Json::Null,
    }
}
