//! Full-text search: FTS5 returns entries, best first; the published tables tell which of them are current.

use std::cell::RefCell;
use std::collections::HashMap;

use chrono::{DateTime, Utc};
use rusqlite::{Connection, OptionalExtension};

use super::generation::{self, Generation, RowTables};
use super::names::ColumnName;
use super::{Sqlite, StoreResult, digest, index, index_entry, keys, timestamp};
use crate::model::{Row, TaskName};
use crate::store::search::{
    self, FullTextIndex, FullTextSearch, Hit, IndexProgress, MAX_COUNTED, MAX_RANKED, Query, SearchRequest,
    SearchResults, collect_results, slot,
};
use crate::store::sql::SqlSession;

impl FullTextSearch for Sqlite {
    fn search(&self, wanted: &SearchRequest) -> StoreResult<SearchResults> {
        // One snapshot: a publication in between must not drop a table.
        let moment = self.connection.unchecked_transaction()?;
        let behind = search::unindexed_tasks(&*moment)?.iter().map(|(_, rows)| rows).sum();
        let Some(places) = task_condition(&moment, &wanted.tasks)? else {
            return Ok(SearchResults { unindexed_rows: behind, ..SearchResults::default() });
        };
        let asked = format!("_words MATCH $1{places}");
        let words = match_text(&wanted.query);
        let tables = RefCell::new(PublishedTables { connection: &moment, tables: HashMap::new() });
        collect_results(
            &IndexQuery { connection: &moment, selection: asked, words, query: &wanted.query, tables },
            wanted,
            behind,
        )
    }

    fn index_next_part(&mut self, task: &TaskName) -> StoreResult<IndexProgress> {
        index::step(self, task).or_else(|error| {
            index_entry::rebuild_if_damaged(&self.connection, error)?;
            Ok(IndexProgress::default())
        })
    }

    fn unindexed_tasks(&self) -> StoreResult<Vec<(TaskName, u64)>> {
        search::unindexed_tasks(&self.connection)
    }
}

/// Condition that limits entries to some tasks; none where nothing of them is in the index.
fn task_condition(connection: &Connection, tasks: &[TaskName]) -> StoreResult<Option<String>> {
    if tasks.is_empty() {
        return Ok(Some(String::new()));
    }
    let mut places = Vec::new();
    for task in tasks {
        let sql = "SELECT number FROM _indexed WHERE task = $1";
        let number: Option<i64> = connection.query_first(sql, &[task], |row| row.get(0))?;
        let place = |(first, last)| format!("rowid BETWEEN {first} AND {last}");
        places.extend(number.map(index_entry::id_range).map(place));
    }
    Ok((!places.is_empty()).then(|| format!(" AND ({})", places.join(" OR "))))
}

/// The query in the syntax of FTS5. Words contain letters and digits only, so none of them is syntax.
fn match_text(query: &Query) -> String {
    let (excluded, wanted): (Vec<_>, Vec<_>) = query.terms.iter().partition(|term| term.is_excluded);
    let text = |term: &&crate::store::search::Term| {
        let column =
            term.column.as_ref().map(|name| format!("c{} : ", slot(name, index_entry::SLOTS))).unwrap_or_default();
        format!("{column}\"{}\"{}", term.words.join(" "), if term.is_prefix { " *" } else { "" })
    };
    let wanted: Vec<String> = wanted.iter().map(text).collect();
    // A word that is excluded from one column only is checked in the rows themselves: its slot may have other columns.
    let excluded: Vec<String> = excluded.iter().filter(|term| term.column.is_none()).map(text).collect();
    match excluded.is_empty() {
        true => wanted.join(" AND "),
        false => format!("({}) NOT ({})", wanted.join(" AND "), excluded.join(" OR ")),
    }
}

/// One query to FTS5.
struct IndexQuery<'c> {
    connection: &'c Connection,
    /// Condition on entries, with the words as `$1`.
    selection: String,
    words: String,
    query: &'c Query,
    tables: RefCell<PublishedTables<'c>>,
}

impl FullTextIndex for IndexQuery<'_> {
    type Entry = (i64, f64);

    /// Of entries with equal rank the older comes first.
    fn entries(&self, most: u64) -> StoreResult<Vec<(i64, f64)>> {
        let ranked =
            format!("SELECT rowid AS id, bm25(_words) AS rank FROM _words WHERE {} LIMIT {MAX_RANKED}", self.selection);
        let sql = format!("SELECT id, rank FROM ({ranked}) ORDER BY 2, 1 LIMIT $2");
        // The rank of FTS5 is negative, the best is the lowest.
        self.connection.query(&sql, &[&self.words, &most], |row| Ok((row.get(0)?, -row.get::<f64>(1)?)))
    }

    fn hits(&self, entries: &[(i64, f64)]) -> StoreResult<Vec<Hit>> {
        let mut tables = self.tables.borrow_mut();
        entries.iter().filter_map(|(id, rank)| tables.hit(*id, *rank, self.query).transpose()).collect()
    }

    fn count(&self) -> StoreResult<u64> {
        let sql =
            format!("SELECT count(*) FROM (SELECT 1 FROM _words WHERE {} LIMIT {})", self.selection, MAX_COUNTED + 1);
        Ok(u64::try_from(self.connection.query_number(&sql, &[&self.words])?).unwrap_or(0))
    }
}

/// The published tables that entries lead to.
struct PublishedTables<'c> {
    connection: &'c Connection,
    /// By the task's number in the index.
    tables: HashMap<i64, Option<PublishedTable>>,
}

struct PublishedTable {
    task: TaskName,
    generation: Generation,
    blocks: bool,
    columns: Vec<String>,
    sql: String,
}

impl PublishedTables<'_> {
    /// The row of an entry, if it is published as it was indexed, and matches the query.
    fn hit(&mut self, id: i64, rank: f64, query: &Query) -> StoreResult<Option<Hit>> {
        let number = index_entry::task_number(id);
        if !self.tables.contains_key(&number) {
            self.tables.insert(number, published(self.connection, number)?);
        }
        let Some(table) = self.tables.get(&number).and_then(Option::as_ref) else { return Ok(None) };
        let sql = "SELECT digest, key, row FROM _doc WHERE id = $1";
        let entry =
            self.connection.query_first(sql, &[&id], |it| Ok((it.get(0)?, it.get::<Vec<u8>>(1)?, it.get(2)?)))?;
        let Some((digest, key, row)) = entry else { return Ok(None) };
        let found = match read(self.connection, table, row, digest)? {
            Some(found) => Some(found),
            // The table has changed since; a record with the same texts is found by its key.
            None => match digest::KeyHash::try_from(key.as_slice()) {
                Ok(key) => keys::find(self.connection, table.generation.id, table.blocks, key)?
                    .map(|it| read(self.connection, table, it.row, digest))
                    .transpose()?
                    .flatten(),
                Err(_) => None,
            },
        };
        let Some((row, first_seen)) = found else { return Ok(None) };
        let Some(highlights) = query.highlights(&table.columns, &row) else { return Ok(None) };
        let (task, columns) = (table.task.clone(), table.columns.clone());
        Ok(Some(Hit { task, columns, row, first_seen, rank, highlights }))
    }
}

fn published(connection: &Connection, number: i64) -> StoreResult<Option<PublishedTable>> {
    let sql = "SELECT task FROM _indexed WHERE number = $1";
    let Some(task) = connection.query_first(sql, &[&number], |row| row.get(0))? else { return Ok(None) };
    let Some(generation) = generation::published(connection, &task)? else { return Ok(None) };
    let columns: Vec<String> = generation.texts().into_iter().map(str::to_owned).collect();
    let cells = Connection::cells_sql(&generation.columns, ColumnName::is_text);
    let rows = Connection::rows_sql(&generation);
    let sql = format!("SELECT _page, _first_seen{cells} FROM {rows} AND _rowid_ = ?1");
    let blocks = keys::has_blocks(connection, generation.id)?;
    Ok(Some(PublishedTable { task, generation, blocks, columns, sql }))
}

/// A row of the table, if its texts have this digest.
fn read(
    connection: &Connection,
    table: &PublishedTable,
    row: i64,
    wanted: i64,
) -> StoreResult<Option<(Row, DateTime<Utc>)>> {
    let found: Option<(Row, String)> = connection
        .prepare_cached(&table.sql)?
        .query_row([row], |row| {
            let cells = (0..table.columns.len()).map(|at| row.get(at + 2)).collect::<Result<_, _>>()?;
            Ok((Row { cells, page: row.get(0)? }, row.get(1)?))
        })
        .optional()?;
    let Some((row, first_seen)) = found else { return Ok(None) };
    let cells = table.columns.iter().zip(&row.cells);
    let cells = cells.filter_map(|(column, cell)| Some((column.as_str(), cell.as_deref()?)));
    if digest::short(digest::record_digest(cells)) != wanted {
        return Ok(None);
    }
    Ok(Some((row, timestamp::parse(&first_seen)?)))
}
