//! Full-text search: the index returns entries, best first; the published rows tell which of them are current.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use chrono::{DateTime, Utc};

use super::generation::{self, Generation, RowTables};
use super::names::ColumnName;
use super::session::{PgParams, get};
use super::{PgSession, Postgres, SqlSession, StoreResult, decode, digest, index};
use crate::model::{Row, TaskName};
use crate::store::search::{
    self, FullTextIndex, FullTextSearch, Hit, IndexProgress, MAX_RANKED, Query, SearchRequest, SearchResults, Term,
    collect_results,
};
use crate::store::sql::SqlRow;

impl FullTextSearch for Postgres {
    fn search(&self, wanted: &SearchRequest) -> StoreResult<SearchResults> {
        let session = &self.session;
        let tasks: Vec<&str> = wanted.tasks.iter().map(TaskName::as_str).collect();
        session.in_snapshot(|| {
            let behind = search::unindexed_tasks(session)?.iter().map(|(_, rows)| rows).sum();
            let asked = IndexQuery {
                session,
                words: match_text(&wanted.query),
                tasks: (!tasks.is_empty()).then(|| tasks.clone()),
                query: &wanted.query,
                counted: Cell::default(),
                published: RefCell::default(),
            };
            collect_results(&asked, wanted, behind)
        })
    }

    fn index_next_part(&mut self, task: &TaskName) -> StoreResult<IndexProgress> {
        index::step(&self.session, task)
    }

    fn unindexed_tasks(&self) -> StoreResult<Vec<(TaskName, u64)>> {
        search::unindexed_tasks(&self.session)
    }
}

/// The query in the syntax of `tsquery`. Words contain letters and digits only, so none of them is syntax. The column
/// of a word is a weight of its position, and is checked in the rows, too.
fn match_text(query: &Query) -> String {
    let text = |term: &Term| {
        let last = term.words.len().saturating_sub(1);
        let weight = term.column.as_deref().map(index::weight);
        let word = |(at, word): (usize, &String)| {
            let begins = if at == last && term.is_prefix { "*" } else { "" };
            let signs: String = begins.chars().chain(weight).collect();
            format!("'{word}'{}{signs}", if signs.is_empty() { "" } else { ":" })
        };
        let phrase: Vec<String> = term.words.iter().enumerate().map(word).collect();
        format!("({})", phrase.join(" <-> "))
    };
    let wanted = query.terms.iter().filter(|term| !term.is_excluded).map(text);
    // A word that is excluded from one column only is checked in the rows themselves.
    let excluded = query.terms.iter().filter(|term| term.is_excluded && term.column.is_none());
    wanted.chain(excluded.map(|term| format!("!{}", text(term)))).collect::<Vec<_>>().join(" & ")
}

/// One query to the index.
struct IndexQuery<'s> {
    session: &'s PgSession,
    words: String,
    tasks: Option<Vec<&'s str>>,
    query: &'s Query,
    /// Number of matching entries among those that were ranked.
    counted: Cell<u64>,
    /// The published generations of the tasks that entries lead to.
    published: RefCell<HashMap<String, Option<Generation>>>,
}

struct RankedEntry {
    task: String,
    digest: i64,
    key: Vec<u8>,
    n: i64,
    rank: f64,
}

impl FullTextIndex for IndexQuery<'_> {
    type Entry = RankedEntry;

    /// Entries of equal rank are in the order of their rows. The column of a word does not affect the rank.
    fn entries(&self, most: u64) -> StoreResult<Vec<RankedEntry>> {
        let sql = format!(
            "SELECT e.task, e.digest, e.key, e.n, w.rank, count(*) OVER () FROM (
                 SELECT task, digest,
                     ts_rank('{{1, 1, 1, 1}}'::real[], words, $1::text::tsquery)::double precision AS rank
                 FROM _words
                 WHERE words @@ $1::text::tsquery AND ($2::text[] IS NULL OR task = ANY($2)) LIMIT {MAX_RANKED}) AS w
             JOIN _entry e ON e.task = w.task AND e.digest = w.digest ORDER BY w.rank DESC, e.task, e.n LIMIT $3"
        );
        let found = self.session.rows(&sql, &[&self.words, &self.tasks, &i64::try_from(most).unwrap_or(i64::MAX)])?;
        let counted = found.first().map(|row| get(row, 5)).transpose()?;
        self.counted.set(decode::count(counted).unwrap_or(0));
        let entry = |row| {
            Ok(RankedEntry {
                task: get(row, 0)?,
                digest: get(row, 1)?,
                key: get(row, 2)?,
                n: get(row, 3)?,
                rank: get(row, 4)?,
            })
        };
        found.iter().map(entry).collect()
    }

    fn hits(&self, entries: &[RankedEntry]) -> StoreResult<Vec<Hit>> {
        let mut rows = HashMap::new();
        for entry in entries {
            if !rows.contains_key(&entry.task) {
                let of_task: Vec<&RankedEntry> = entries.iter().filter(|it| it.task == entry.task).collect();
                rows.insert(entry.task.clone(), self.rows(&entry.task, &of_task)?);
            }
        }
        let published = self.published.borrow();
        let mut hits = Vec::new();
        for entry in entries {
            let Some(generation) = published.get(&entry.task).and_then(Option::as_ref) else { continue };
            let Some((row, first_seen)) = rows.get(&entry.task).and_then(|rows| rows.get(&entry.digest)) else {
                continue;
            };
            let columns: Vec<String> = generation.texts().into_iter().map(str::to_owned).collect();
            let Some(marks) = self.query.highlights(&columns, row) else { continue };
            let (task, row) = (decode::task_name(&entry.task)?, row.clone());
            hits.push(Hit { task, columns, row, first_seen: *first_seen, rank: entry.rank, highlights: marks });
        }
        Ok(hits)
    }

    fn count(&self) -> StoreResult<u64> {
        Ok(self.counted.get())
    }
}

/// Rows by the digest of their texts.
type RowsByDigest = HashMap<i64, (Row, DateTime<Utc>)>;

impl IndexQuery<'_> {
    /// The rows of entries that are published as they were indexed.
    fn rows(&self, task: &str, entries: &[&RankedEntry]) -> StoreResult<RowsByDigest> {
        let mut published = self.published.borrow_mut();
        if !published.contains_key(task) {
            published.insert(task.to_owned(), generation::published(self.session, &decode::task_name(task)?)?);
        }
        let mut found = RowsByDigest::new();
        let Some(generation) = published.get(task).and_then(Option::as_ref) else { return Ok(found) };
        let places: Vec<i64> = entries.iter().map(|entry| entry.n).collect();
        read(self.session, generation, "_n = ANY($1)", &[&places], &mut found)?;
        // Where the rows have changed since, a record with the same texts is found by its key.
        let moved = entries.iter().filter(|entry| !found.contains_key(&entry.digest));
        let keys: Vec<&[u8]> = moved.map(|entry| entry.key.as_slice()).collect();
        if !keys.is_empty() {
            read(self.session, generation, "_key = ANY($1)", &[&keys], &mut found)?;
        }
        Ok(found)
    }
}

/// Reads rows of a generation; of rows with equal texts the first counts.
fn read(
    session: &PgSession,
    generation: &Generation,
    which: &str,
    values: PgParams<'_>,
    found: &mut RowsByDigest,
) -> StoreResult<()> {
    let names = generation.texts();
    let cells = PgSession::cells_sql(&generation.columns, ColumnName::is_text);
    let rows = PgSession::rows_sql(generation);
    let sql = format!("SELECT _page, _first_seen{cells} FROM {rows} AND {which} ORDER BY _n");
    for row in session.rows(&sql, values)? {
        let row: &dyn SqlRow = &row;
        let digest = digest::short(digest::record_digest(row.named_texts(2, &names)?.into_iter()));
        let read = (Row { cells: row.cells(2, names.len())?, page: row.get(0)? }, row.get(1)?);
        found.entry(digest).or_insert(read);
    }
    Ok(())
}
