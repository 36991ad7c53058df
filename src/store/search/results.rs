//! Builds the results of a search from index entries: reads entries, best first, until enough of them lead to published
//! rows.

use super::{Hit, SearchRequest, SearchResults};
use crate::store::StoreResult;

/// Hits are counted up to this number.
pub(in crate::store) const MAX_COUNTED: u64 = 10_000;

/// Entries examined for one search: more are needed only where the index is far behind, or where a word is excluded
/// from a column.
const MAX_EXAMINED: u64 = 40_000;

/// Entries that are ranked: a word that more rows contain says little about any of them, and ranking 500,000 took
/// SQLite 1.6 s.
pub(in crate::store) const MAX_RANKED: u64 = 50_000;

/// Entries whose rows are in memory at a time.
const ENTRIES_PER_FETCH: usize = 500;

/// What a full-text index must answer.
pub(in crate::store) trait FullTextIndex {
    type Entry;

    /// At most this many matching entries, best first.
    fn entries(&self, most: u64) -> StoreResult<Vec<Self::Entry>>;

    /// The rows of entries, in their order; entries without a row are left out.
    fn hits(&self, entries: &[Self::Entry]) -> StoreResult<Vec<Hit>>;

    /// Number of matching entries; beyond [`MAX_COUNTED`] it does not matter.
    fn count(&self) -> StoreResult<u64>;
}

pub(in crate::store) fn collect_results(
    index: &impl FullTextIndex,
    wanted: &SearchRequest,
    behind: u64,
) -> StoreResult<SearchResults> {
    let end = wanted.offset.saturating_add(wanted.limit);
    let (mut hits, mut total, mut looked_at) = (Vec::new(), 0, 0);
    // Ranking takes the time, however many entries are asked for: first few, then as many as are allowed.
    for most in [end.saturating_add(1), MAX_EXAMINED.max(end)] {
        let found = index.entries(most)?;
        let is_all = (found.len() as u64) < most;
        // The entries that were examined come first again: all queries read one snapshot.
        for entries in found.get(looked_at..).unwrap_or_default().chunks(ENTRIES_PER_FETCH) {
            for hit in index.hits(entries)? {
                if total >= wanted.offset && total < end {
                    hits.push(hit);
                }
                total += 1;
            }
            looked_at += entries.len();
            if total >= end {
                break;
            }
        }
        if is_all && looked_at == found.len() {
            return Ok(SearchResults { hits, total, is_total_capped: false, unindexed_rows: behind });
        }
        if total >= end {
            break;
        }
    }
    let counted = index.count()?;
    Ok(SearchResults {
        hits,
        total: counted.min(MAX_COUNTED),
        is_total_capped: counted > MAX_COUNTED,
        unindexed_rows: behind,
    })
}
