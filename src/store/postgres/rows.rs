//! Reads published and quarantined rows.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::ControlFlow;

use serde_json::Value as Json;
use tokio_postgres::Row as Answer;

use super::digest::{self, KeyHash};
use super::history::record_key;
use super::names::{quoted, rows_table};
use super::run_end::Generation;
use super::session::{SqlParams, get};
use super::view::{PgType, column_name, read_list};
use super::{PgSession, Postgres, StoreError, browse, decode, generation};
use crate::model::{Row, RunId, Table, TaskName, ValueColumn};
use crate::store::{BrowseQuery, PublishedRows, Rows};

/// Rows per part, where all rows are read.
const PART_ROWS: i64 = 500;

const PUBLISHED: &str = "task = $1 AND state = 'published'";

impl PublishedRows for Postgres {
    fn published(&self, task: &TaskName, limit: u64, offset: u64) -> Result<Option<Rows>, StoreError> {
        self.rows(PUBLISHED, task.as_str(), limit, offset)
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
            while (*take.borrow_mut())(&part).is_continue() && after < generation.rows {
                part = read(&self.session, &generation, "_n > $2", &[&generation.id, &after, &PART_ROWS])?;
                after += PART_ROWS;
            }
            Ok(true)
        })
    }

    fn quarantined_rows(&self, run: RunId, limit: u64, offset: u64) -> Result<Option<Rows>, StoreError> {
        self.rows("run = $1 AND state = 'quarantined'", &run.to_string(), limit, offset)
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

impl Postgres {
    pub(super) fn rows(
        &self,
        condition: &str,
        text: &str,
        limit: u64,
        offset: u64,
    ) -> Result<Option<Rows>, StoreError> {
        self.session.in_snapshot(|| {
            let Some(generation) = generation::find(&self.session, condition, &text)? else { return Ok(None) };
            let (limit, offset) = (to_i64(limit), to_i64(offset));
            read(&self.session, &generation, "_n > $2", &[&generation.id, &offset, &limit]).map(Some)
        })
    }
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
        let key = KeyHash::try_from(get::<&[u8]>(&row, 0)?).map_err(StoreError::invalid_value)?;
        let cells = (0..texts.len()).map(|index| get(&row, index + 2)).collect::<Result<_, _>>()?;
        found.insert(key, Row { cells, page: page(&row, 1)? });
    }
    Ok(found)
}

pub(super) fn page(row: &Answer, at: usize) -> Result<u32, StoreError> {
    u32::try_from(get::<i64>(row, at)?).map_err(StoreError::invalid_value)
}

pub(super) fn to_i64(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A generation's columns, without its rows.
pub(super) fn without_rows(session: &PgSession, generation: &Generation) -> Result<Rows, StoreError> {
    let sql = "SELECT run, last_seen FROM _generation WHERE id = $1";
    let gone = || StoreError::InvalidValue(format!("generation {} is gone", generation.id));
    let seen = session.row(sql, &[&generation.id])?.ok_or_else(gone)?;
    let columns = &generation.columns;
    let (texts, values): (Vec<usize>, Vec<usize>) = (0..columns.len()).partition(|&at| columns[at].is_text());
    // Index among the text columns, as the table has them.
    let among = |value: ValueColumn| ValueColumn { of: texts.iter().filter(|&&at| at < value.of).count(), ..value };
    let mut rows = Rows {
        run: decode::run_id(get(&seen, 0)?)?,
        last_seen: get(&seen, 1)?,
        total: u64::try_from(generation.rows).unwrap_or(0),
        table: Table::default(),
        values: values.iter().filter_map(|&at| columns[at].value).map(among).collect(),
        cells: Vec::new(),
        first_seen: Vec::new(),
        keys: Vec::new(),
    };
    rows.table.columns = texts.iter().map(|&at| columns[at].stored.clone()).collect();
    Ok(rows)
}

/// Rows of a generation (`$1`) in their order. They are numbered from 1 without a gap, so that an offset needs no
/// counting. `$3` is the limit.
fn read(session: &PgSession, generation: &Generation, which: &str, values: SqlParams<'_>) -> Result<Rows, StoreError> {
    let sql = format!("{} WHERE _generation = $1 AND {which} ORDER BY _n LIMIT $3", select(generation));
    fill(without_rows(session, generation)?, generation, &session.rows(&sql, values)?)
}

/// Selects everything that [`fill`] reads of a row.
pub(super) fn select(generation: &Generation) -> String {
    let columns = read_list(&generation.columns);
    format!("SELECT _page, _first_seen, _key{columns} FROM {}", quoted(&rows_table(generation.table)))
}

pub(super) fn fill(mut rows: Rows, generation: &Generation, found: &[Answer]) -> Result<Rows, StoreError> {
    let columns = &generation.columns;
    let (texts, values): (Vec<usize>, Vec<usize>) = (0..columns.len()).partition(|&at| columns[at].is_text());
    for row in found {
        let cells = texts.iter().map(|&at| get(row, at + 3)).collect::<Result<_, _>>()?;
        rows.table.rows.push(Row { cells, page: page(row, 0)? });
        rows.first_seen.push(get(row, 1)?);
        rows.keys.push(record_key(row, 2)?);
        if !values.is_empty() {
            let value = |&at: &usize| json(row, at + 3, PgType::of(&columns[at]));
            rows.cells.push(values.iter().map(value).collect::<Result<_, _>>()?);
        }
    }
    Ok(rows)
}

pub(super) fn json(row: &Answer, at: usize, kind: PgType) -> Result<Json, StoreError> {
    Ok(match kind {
        PgType::Text => get::<Option<String>>(row, at)?.into(),
        PgType::Bigint => get::<Option<i64>>(row, at)?.into(),
        PgType::Double | PgType::Numeric => get::<Option<f64>>(row, at)?.into(),
        // As in SQLite, which has no booleans.
        PgType::Boolean => get::<Option<bool>>(row, at)?.map(i64::from).into(),
    })
}
