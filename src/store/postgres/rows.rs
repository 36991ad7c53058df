//! Reads published and quarantined rows.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::ControlFlow;

use super::digest::{self, KeyHash};
use super::generation::{self, Generation};
use super::names::{quoted, rows_table};
use super::view::column_name;
use super::{PgSession, Postgres, SqlSession, StoreError, browse};
use crate::model::{Row, RunId, TaskName};
use crate::store::rows::{BrowseQuery, PublishedRows, RowLayout, Rows, without_rows};
use crate::store::sql::{SqlParam, SqlRow};

/// Rows per part, where all rows are read.
const PART_ROWS: u64 = 500;

const PUBLISHED: &str = "task = $1 AND state = 'published'";

impl PublishedRows for Postgres {
    fn published(&self, task: &TaskName, limit: u64, offset: u64) -> Result<Option<Rows>, StoreError> {
        read(&self.session, PUBLISHED, task, limit, offset)
    }

    fn browse(&self, task: &TaskName, wanted: &BrowseQuery) -> Result<Option<Rows>, StoreError> {
        self.session.in_snapshot(|| {
            let Some(generation) = generation::published(&self.session, task)? else { return Ok(None) };
            browse::rows(&self.session, &generation, wanted).map(Some)
        })
    }

    fn each_published(
        &self,
        task: &TaskName,
        take: &mut dyn FnMut(&Rows) -> ControlFlow<()>,
    ) -> Result<bool, StoreError> {
        let take = RefCell::new(take);
        // Not retried: parts that were sent cannot be taken back.
        self.session.in_snapshot_once(|| {
            let Some(generation) = generation::published(&self.session, task)? else { return Ok(false) };
            let mut part = without_rows(&self.session, &generation)?;
            let mut after = 0;
            while (*take.borrow_mut())(&part).is_continue() && after < part.total {
                part = read_part(&self.session, &generation, PART_ROWS, after)?;
                after += PART_ROWS;
            }
            Ok(true)
        })
    }

    fn quarantined_rows(&self, run: RunId, limit: u64, offset: u64) -> Result<Option<Rows>, StoreError> {
        read(&self.session, "run = $1 AND state = 'quarantined'", &run, limit, offset)
    }

    fn published_by_key(&self, task: &TaskName, keys: &[Vec<(&str, &str)>]) -> Result<Vec<Option<Row>>, StoreError> {
        let hash = |key: &Vec<(&str, &str)>| digest::record_digest(key.iter().copied()).to_be_bytes();
        let wanted: Vec<KeyHash> = keys.iter().map(hash).collect();
        let mut found = self.session.in_snapshot(|| {
            let Some(generation) = generation::published(&self.session, task)? else { return Ok(HashMap::new()) };
            by_key(&self.session, &generation, &wanted)
        })?;
        Ok(wanted.iter().map(|key| found.remove(key)).collect())
    }
}

/// Some rows of the newest generation that meets a condition on one value.
pub(super) fn read(
    session: &PgSession,
    condition: &str,
    value: &dyn SqlParam,
    limit: u64,
    offset: u64,
) -> Result<Option<Rows>, StoreError> {
    session.in_snapshot(|| {
        let generation = generation::find(session, condition, value)?;
        generation.map(|it| read_part(session, &it, limit, offset)).transpose()
    })
}

/// The oldest record of each key.
fn by_key(session: &PgSession, generation: &Generation, keys: &[KeyHash]) -> Result<HashMap<KeyHash, Row>, StoreError> {
    let texts: Vec<usize> = (0..generation.columns.len()).filter(|&at| generation.columns[at].is_text()).collect();
    let columns: String = texts.iter().map(|&at| format!(", {}", column_name(at))).collect();
    let sql = format!(
        "SELECT _key, _page{columns} FROM {} WHERE _generation = $1 AND _key = ANY($2)
         ORDER BY _first_seen DESC, _n DESC",
        quoted(&rows_table(generation.table))
    );
    let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
    let mut found = HashMap::new();
    for row in session.rows(&sql, &[&generation.id, &keys])? {
        let row: &dyn SqlRow = &row;
        let cells = (0..texts.len()).map(|index| row.get(index + 2)).collect::<Result<_, _>>()?;
        found.insert(row.get(0)?, Row { cells, page: row.get(1)? });
    }
    Ok(found)
}

/// Rows of a generation in their order. They are numbered from 1 without a gap, so that an offset needs no counting.
fn read_part(session: &PgSession, generation: &Generation, limit: u64, offset: u64) -> Result<Rows, StoreError> {
    let sql = format!("{} WHERE _generation = $1 AND _n > $2 ORDER BY _n LIMIT $3", browse::select(generation));
    let mut rows = without_rows(session, generation)?;
    let layout = RowLayout::of(generation);
    session.query(&sql, &[&generation.id, &offset, &limit], |row| layout.append_row(row, &mut rows))?;
    Ok(rows)
}
