//! Full-text search over all published rows. Query syntax and tokenisation are the same for every database; each
//! database has an index of its own, which follows publications in small steps.

mod query;
mod results;
mod snippet;
mod words;

use chrono::{DateTime, Utc};

use super::StoreResult;
use super::sql::SqlSession;
use crate::model::{Row, TaskName};

pub(super) use query::Term;
pub use query::{Highlights, Query, QueryError};
pub(super) use results::{FullTextIndex, MAX_COUNTED, MAX_RANKED, collect_results};
pub use snippet::Snippet;
pub(super) use words::{fold_words_into, folded, slot, words};

/// A search over some or all tasks.
#[derive(Clone, Debug)]
pub struct SearchRequest {
    pub query: Query,
    /// Only these tasks; all tasks where it is empty.
    pub tasks: Vec<TaskName>,
    pub limit: u64,
    pub offset: u64,
}

/// A published row that matches.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    pub task: TaskName,
    pub columns: Vec<String>,
    pub row: Row,
    pub first_seen: DateTime<Utc>,
    /// Higher is better; comparable only within one search.
    pub rank: f64,
    pub highlights: Highlights,
}

impl Hit {
    /// The matching cells, by column name.
    pub fn snippets(&self) -> Vec<(&str, Snippet)> {
        let shown = |(at, marks): &(usize, Vec<std::ops::Range<usize>>)| {
            let text = self.row.cells[*at].as_deref().unwrap_or_default();
            (self.columns[*at].as_str(), Snippet::of(text, marks))
        };
        self.highlights.iter().map(shown).collect()
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchResults {
    /// Best first.
    pub hits: Vec<Hit>,
    /// Number of all hits.
    pub total: u64,
    /// There are more hits than `total` says: counting stops after some thousand.
    pub is_total_capped: bool,
    /// Published rows of tasks whose last publication is not completely indexed yet.
    pub unindexed_rows: u64,
}

/// What one indexing step has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexProgress {
    pub added: u64,
    pub removed: u64,
    /// The task's published rows are completely indexed.
    pub is_done: bool,
}

/// Full-text search and the maintenance of its index.
pub trait FullTextSearch {
    /// Returns only rows that are published at this moment and match.
    fn search(&self, wanted: &SearchRequest) -> StoreResult<SearchResults>;

    /// Indexes some of a task's published rows, in one short transaction. After an interruption the next call
    /// continues.
    fn index_next_part(&mut self, task: &TaskName) -> StoreResult<IndexProgress>;

    /// Tasks whose published rows are not completely indexed, with their row counts.
    fn unindexed_tasks(&self) -> StoreResult<Vec<(TaskName, u64)>>;
}

/// As [`FullTextSearch::unindexed_tasks`].
pub(super) fn unindexed_tasks(session: &impl SqlSession) -> StoreResult<Vec<(TaskName, u64)>> {
    let sql = "SELECT t.name, g.rows FROM _task t JOIN _generation g ON g.id = t.published
               LEFT JOIN _indexed i ON i.task = t.name WHERE i.digest IS DISTINCT FROM g.digest ORDER BY t.name";
    session.query(sql, &[], |row| Ok((row.get(0)?, row.get(1)?)))
}
