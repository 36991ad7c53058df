//! Looking for words in all published rows. What is looked for, and what a word is, is the same for every database; the index that
//! finds it is the database's own, and follows the publications in small steps.

mod results;
mod words;
mod query;
mod snippet;

use chrono::{DateTime, Utc};

use super::StoreError;
use crate::model::{Row, TaskName};

pub(super) use self::results::{FullTextIndex, MAX_COUNTED, MAX_RANKED, collect_results};
pub(super) use query::Term;
pub use query::{Highlights, Query, QueryError};
pub use snippet::Snippet;
pub(super) use words::{fold_words_into, folded, slot, words};

/// What a person wants to see.
#[derive(Clone, Debug)]
pub struct SearchRequest {
    pub query: Query,
    /// Only of these; of all where there are none.
    pub tasks: Vec<TaskName>,
    pub limit: u64,
    pub offset: u64,
}

/// A published row that has what was looked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    pub task: TaskName,
    pub columns: Vec<String>,
    pub row: Row,
    pub first_seen: DateTime<Utc>,
    /// The more of it, the better it fits; of use only to compare the hits of one search.
    pub rank: f64,
    pub highlights: Highlights,
}

impl Hit {
    /// The cells that matched, under their columns' names.
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
    /// The best first.
    pub hits: Vec<Hit>,
    /// How many there are in all.
    pub total: u64,
    /// There are more than `total` says: beyond some thousand nobody counts.
    pub is_total_capped: bool,
    /// Published rows of tasks whose last publication is not all in the index yet.
    pub unindexed_rows: u64,
}

/// What a step has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexProgress {
    pub added: u64,
    pub removed: u64,
    /// The index has what is published of the task.
    pub is_done: bool,
}

/// Words in all published rows.
pub trait FullTextSearch {
    /// Only rows that are published at this moment, and say what is looked for.
    fn search(&self, wanted: &SearchRequest) -> Result<SearchResults, StoreError>;

    /// Brings some of what is published of a task into the index, in one short transaction. Cut short at any place, it goes on the
    /// next time.
    fn index_next_part(&mut self, task: &TaskName) -> Result<IndexProgress, StoreError>;

    /// The tasks whose published rows are not all in the index, with how many they have.
    fn unindexed_tasks(&self) -> Result<Vec<(TaskName, u64)>, StoreError>;
}
