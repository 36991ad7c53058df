//! Reads published and quarantined rows.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::ControlFlow;

use super::digest::KeyHash;
use super::generation::{self, Generation, RowTables};
use super::names::ColumnName;
use super::view::PgType;
use super::{PgSession, StoreResult};
use crate::model::{Row, TaskName};
use crate::store::rows::{BrowseQuery, RowReading, Rows, read_part, without_rows};
use crate::store::sql::SqlRow;

/// Rows per part, where all rows are read.
const PART_ROWS: u64 = 500;

impl RowReading for PgSession {
    const IS_NUMBERED_WITHOUT_GAPS: bool = true;

    fn pattern(text: &str) -> String {
        text.to_owned()
    }

    fn contains_sql(cell: &str) -> String {
        format!("strpos(lower({cell}), lower($1)) > 0")
    }

    fn order_sql(cell: &str, column: &ColumnName, direction: &str) -> String {
        match PgType::of(column) {
            PgType::Text => format!("({cell} IS NULL OR {cell} = ''), lower({cell}) {direction}, "),
            PgType::Bigint | PgType::Double | PgType::Numeric | PgType::Boolean => {
                format!("({cell} IS NULL), {cell} {direction}, ")
            }
        }
    }

    fn each_published(&self, task: &TaskName, take: &mut dyn FnMut(&Rows) -> ControlFlow<()>) -> StoreResult<bool> {
        let take = RefCell::new(take);
        // Not retried: parts that were sent cannot be taken back.
        self.in_snapshot_once(|| {
            let Some(generation) = generation::published(self, task)? else { return Ok(false) };
            let mut part = without_rows(self, &generation)?;
            let mut after = 0;
            while (*take.borrow_mut())(&part).is_continue() && after < part.total {
                part = read_part(self, &generation, &BrowseQuery::part(PART_ROWS, after))?;
                after += PART_ROWS;
            }
            Ok(true)
        })
    }

    fn rows_by_key(&self, generation: &Generation, keys: &[KeyHash]) -> StoreResult<Vec<Option<Row>>> {
        let cells = PgSession::cells_sql(&generation.columns, ColumnName::is_text);
        let rows = PgSession::rows_sql(generation);
        let sql =
            format!("SELECT _key, _page{cells} FROM {rows} AND _key = ANY($1) ORDER BY _first_seen DESC, _n DESC");
        let wanted: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
        let mut found: HashMap<KeyHash, Row> = HashMap::new();
        for row in self.rows(&sql, &[&wanted])? {
            let row: &dyn SqlRow = &row;
            found.insert(row.get(0)?, Row { cells: row.cells(2, generation.texts().len())?, page: row.get(1)? });
        }
        Ok(keys.iter().map(|key| found.remove(key)).collect())
    }
}
