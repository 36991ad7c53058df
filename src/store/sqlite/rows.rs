//! Reads published and quarantined rows.

use std::ops::ControlFlow;

use rusqlite::Connection;

use super::digest::KeyHash;
use super::generation::{self, Generation, RowTables};
use super::names::ColumnName;
use super::{StoreResult, keys};
use crate::model::{Row, TaskName};
use crate::store::rows::{RowLayout, RowReading, Rows, select, without_rows};

/// Limits of one part, where all rows are read; whichever comes first.
const PART_ROWS: usize = 2_000;
const PART_BYTES: usize = 1 << 20;

impl RowReading for Connection {
    const IS_NUMBERED_WITHOUT_GAPS: bool = false;

    /// The text anywhere in a cell.
    fn pattern(text: &str) -> String {
        let plain: String =
            text.chars().flat_map(|c| ['%', '_', '\\'].contains(&c).then_some('\\').into_iter().chain([c])).collect();
        format!("%{plain}%")
    }

    fn contains_sql(cell: &str) -> String {
        format!("{cell} LIKE $1 ESCAPE '\\'")
    }

    fn order_sql(cell: &str, _: &ColumnName, direction: &str) -> String {
        format!("{cell} IS NULL OR {cell} = '', {cell} COLLATE NOCASE {direction}, ")
    }

    fn each_published(&self, task: &TaskName, take: &mut dyn FnMut(&Rows) -> ControlFlow<()>) -> StoreResult<bool> {
        let moment = self.unchecked_transaction()?;
        let Some(generation) = generation::published(&*moment, task)? else { return Ok(false) };
        let mut part = without_rows(&*moment, &generation)?;
        if take(&part).is_continue() {
            each_part(&moment, &generation, &mut part, take)?;
        }
        Ok(true)
    }

    fn rows_by_key(&self, generation: &Generation, keys: &[KeyHash]) -> StoreResult<Vec<Option<Row>>> {
        let blocks = keys::has_blocks(self, generation.id)?;
        let record = |key: &KeyHash| {
            let found = keys::find(self, generation.id, blocks, *key)?;
            found.map(|it| read_row(self, generation, it.row)).transpose()
        };
        keys.iter().map(record).collect()
    }
}

fn read_row(connection: &Connection, generation: &Generation, row: i64) -> StoreResult<Row> {
    let cells = Connection::cells_sql(&generation.columns, ColumnName::is_text);
    let sql = format!("SELECT _page{cells} FROM {} AND _rowid_ = ?1", Connection::rows_sql(generation));
    let row = connection.prepare_cached(&sql)?.query_row([row], |found| {
        let cells = (0..generation.texts().len()).map(|index| found.get(index + 1)).collect::<Result<_, _>>()?;
        Ok(Row { cells, page: found.get(0)? })
    })?;
    Ok(row)
}

fn each_part(
    connection: &Connection,
    generation: &Generation,
    part: &mut Rows,
    take: &mut dyn FnMut(&Rows) -> ControlFlow<()>,
) -> StoreResult<()> {
    let mut statement = connection.prepare(&format!("{} ORDER BY _rowid_", select::<Connection>(generation)))?;
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
