//! An answer out of the entries of an index: they are asked for, the best first, until as many rows as are wanted stand behind
//! them.

use super::{Hit, SearchRequest, SearchResults};
use crate::store::StoreError;

/// Hits are counted up to here.
pub(in crate::store) const MAX_COUNTED: u64 = 10_000;

/// Entries that are looked at for one answer: more are asked for only where the index is far behind, or where a word is excluded
/// from a column.
const MAX_EXAMINED: u64 = 40_000;

/// Entries that are ranked: a word that more rows have says little about any of them, and ranking 500,000 took SQLite 1.6 s.
pub(in crate::store) const MAX_RANKED: u64 = 50_000;

/// Entries whose rows are in memory at a time.
const ENTRIES_PER_FETCH: usize = 500;

/// What an index can be asked.
pub(in crate::store) trait FullTextIndex {
    type Entry;

    /// So many entries with the words at most, the best first.
    fn entries(&self, most: u64) -> Result<Vec<Self::Entry>, StoreError>;

    /// The rows of entries, in their order; an entry without one is left out.
    fn hits(&self, entries: &[Self::Entry]) -> Result<Vec<Hit>, StoreError>;

    /// How many entries have the words; beyond [`COUNTED`] it does not matter.
    fn count(&self) -> Result<u64, StoreError>;
}

pub(in crate::store) fn collect_results(
    index: &impl FullTextIndex,
    wanted: &SearchRequest,
    behind: u64,
) -> Result<SearchResults, StoreError> {
    let end = wanted.offset.saturating_add(wanted.limit);
    let (mut hits, mut total, mut looked_at) = (Vec::new(), 0, 0);
    // Ranking is what takes its time, however many are asked for: few are enough, or as many as there may be.
    for most in [end.saturating_add(1), MAX_EXAMINED.max(end)] {
        let found = index.entries(most)?;
        let is_all = (found.len() as u64) < most;
        // Those that were looked at come first again: all looks are of one moment.
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
