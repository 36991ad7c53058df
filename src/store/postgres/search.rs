//! Looking for words: the index names entries, the best first; the published rows say which of them are rows of now.

use std::collections::HashMap;

use chrono::{DateTime, Utc};

use super::names::{quoted, rows_table};
use super::session::{Values, get};
use super::settle::Generation;
use super::view::column;
use super::{Postgres, Session, StoreError, digest, generation, index, rows, stored};
use crate::model::{Row, TaskName};
use crate::store::search::{Answer, Hit, Indexed, Query, Search, Term, Wanted};

/// Hits are counted up to here.
const COUNTED: u64 = 10_000;

/// Entries that are looked at for one answer: more are asked for only where the index is far behind, or where a column is named.
const LOOKED_AT: u64 = 40_000;

const ASKED: &str = "words @@ $1::text::tsquery AND ($2::text[] IS NULL OR task = ANY($2))";

impl Search for Postgres {
    fn search(&self, wanted: &Wanted) -> Result<Answer, StoreError> {
        let session = &self.session;
        let words = match_text(&wanted.query);
        let tasks: Vec<&str> = wanted.tasks.iter().map(TaskName::as_str).collect();
        let tasks = (!tasks.is_empty()).then_some(tasks);
        let end = wanted.offset.saturating_add(wanted.limit);
        session.moment(|| {
            let behind = index::behind(session)?.iter().map(|(_, rows)| rows).sum();
            let mut most = end.saturating_add(1);
            loop {
                let found = entries(session, &words, &tasks, most)?;
                let is_all = (found.len() as u64) < most;
                let mut shown = Shown { session, published: HashMap::new() };
                let (mut hits, mut total) = (Vec::new(), 0);
                for entry in &found {
                    let Some(hit) = shown.hit(entry, &wanted.query)? else { continue };
                    if total >= wanted.offset && total < end {
                        hits.push(hit);
                    }
                    total += 1;
                }
                if is_all {
                    return Ok(Answer { hits, total, is_more: false, behind });
                }
                if total >= end || most >= LOOKED_AT {
                    let sql = format!(
                        "SELECT count(*) FROM (SELECT 1 FROM _words WHERE {ASKED} LIMIT {}) AS found",
                        COUNTED + 1
                    );
                    let counted = stored::count(Some(session.number(&sql, &[&words, &tasks])?)).unwrap_or(0);
                    return Ok(Answer { hits, total: counted.min(COUNTED), is_more: counted > COUNTED, behind });
                }
                most = most.saturating_mul(4).min(LOOKED_AT);
            }
        })
    }

    fn index(&mut self, task: &TaskName) -> Result<Indexed, StoreError> {
        self.index_step(task)
    }

    fn unindexed(&self) -> Result<Vec<(TaskName, u64)>, StoreError> {
        index::behind(&self.session)
    }
}

/// As a query is written. Words are letters and digits only, so none of them is syntax; columns are looked at in the rows.
fn match_text(query: &Query) -> String {
    let text = |term: &Term| {
        let last = term.words.len().saturating_sub(1);
        let word =
            |(at, word): (usize, &String)| format!("'{word}'{}", if at == last && term.goes_on { ":*" } else { "" });
        let phrase: Vec<String> = term.words.iter().enumerate().map(word).collect();
        format!("({})", phrase.join(" <-> "))
    };
    let wanted = query.terms.iter().filter(|term| !term.is_not).map(text);
    // One that is excluded from a column only is looked for in the rows themselves.
    let excluded = query.terms.iter().filter(|term| term.is_not && term.column.is_none());
    wanted.chain(excluded.map(|term| format!("!{}", text(term)))).collect::<Vec<_>>().join(" & ")
}

struct Entry {
    task: String,
    digest: i64,
    key: Vec<u8>,
    n: i64,
    rank: f64,
}

/// The best first.
fn entries(session: &Session, words: &str, tasks: &Option<Vec<&str>>, most: u64) -> Result<Vec<Entry>, StoreError> {
    let sql = format!(
        "SELECT task, digest, key, n, ts_rank(words, $1::text::tsquery)::double precision AS rank FROM _words WHERE {ASKED}
         ORDER BY rank DESC, task, n LIMIT $3"
    );
    let values: Values<'_> = &[&words, tasks, &rows::number(most)];
    let entry = |row| {
        Ok(Entry { task: get(row, 0)?, digest: get(row, 1)?, key: get(row, 2)?, n: get(row, 3)?, rank: get(row, 4)? })
    };
    session.rows(&sql, values)?.iter().map(entry).collect()
}

/// The published rows that entries lead to.
struct Shown<'s> {
    session: &'s Session,
    published: HashMap<String, Option<(TaskName, Generation)>>,
}

impl Shown<'_> {
    /// The row of an entry, if it is published as it was indexed, and has what is looked for.
    fn hit(&mut self, entry: &Entry, query: &Query) -> Result<Option<Hit>, StoreError> {
        if !self.published.contains_key(&entry.task) {
            let task = stored::task_name(&entry.task)?;
            let found = generation::published(self.session, &task)?.map(|it| (task, it));
            self.published.insert(entry.task.clone(), found);
        }
        let Some((task, generation)) = self.published.get(&entry.task).and_then(Option::as_ref) else {
            return Ok(None);
        };
        // Where the table is another one by now, a record that says the same is there under its key.
        let by_place = read(self.session, generation, "_n = $2", &[&generation.id, &entry.n], entry.digest)?;
        let found = match by_place {
            Some(found) => Some(found),
            None => read(self.session, generation, "_key = $2", &[&generation.id, &entry.key], entry.digest)?,
        };
        let Some((row, first_seen)) = found else { return Ok(None) };
        let columns: Vec<String> = generation.texts().map(|column| column.stored.clone()).collect();
        let Some(marks) = query.marks(&columns, &row) else { return Ok(None) };
        Ok(Some(Hit { task: task.clone(), columns, row, first_seen, rank: entry.rank, marks }))
    }
}

/// A row of the table, if its texts are those.
fn read(
    session: &Session,
    generation: &Generation,
    which: &str,
    values: Values<'_>,
    wanted: i64,
) -> Result<Option<(Row, DateTime<Utc>)>, StoreError> {
    let texts: Vec<usize> = (0..generation.columns.len()).filter(|&at| generation.columns[at].is_text()).collect();
    let names: String = texts.iter().map(|&at| format!(", {}", column(at))).collect();
    let table = quoted(&rows_table(generation.table));
    let sql = format!("SELECT _page, _first_seen{names} FROM {table} WHERE _generation = $1 AND {which} ORDER BY _n");
    for row in session.rows(&sql, values)? {
        let cells: Vec<Option<String>> =
            (0..texts.len()).map(|index| get(&row, index + 2)).collect::<Result<_, _>>()?;
        let named = texts.iter().zip(&cells);
        let named = named.filter_map(|(&at, cell)| Some((generation.columns[at].stored.as_str(), cell.as_deref()?)));
        if index::short(digest::of_cells(named)) == wanted {
            return Ok(Some((Row { cells, page: rows::page(&row, 0)? }, get(&row, 1)?)));
        }
    }
    Ok(None)
}
