//! An answer out of the entries of an index: they are asked for, the best first, until as many rows as are wanted stand behind
//! them.

use super::{Answer, Hit, Wanted};
use crate::store::StoreError;

/// Hits are counted up to here.
pub(in crate::store) const COUNTED: u64 = 10_000;

/// Entries that are looked at for one answer: more are asked for only where the index is far behind, or where a word is excluded
/// from a column.
const LOOKED_AT: u64 = 40_000;

/// Entries that are ranked: a word that more rows have says little about any of them, and ranking 500,000 took SQLite 1.6 s.
pub(in crate::store) const RANKED: u64 = 50_000;

/// Entries whose rows are in memory at a time.
const AT_ONCE: usize = 500;

/// What an index can be asked.
pub(in crate::store) trait Index {
    type Entry;

    /// So many entries with the words at most, the best first.
    fn entries(&self, most: u64) -> Result<Vec<Self::Entry>, StoreError>;

    /// The rows of entries, in their order; an entry without one is left out.
    fn hits(&self, entries: &[Self::Entry]) -> Result<Vec<Hit>, StoreError>;

    /// How many entries have the words; beyond [`COUNTED`] it does not matter.
    fn count(&self) -> Result<u64, StoreError>;
}

pub(in crate::store) fn answer(index: &impl Index, wanted: &Wanted, behind: u64) -> Result<Answer, StoreError> {
    let end = wanted.offset.saturating_add(wanted.limit);
    let (mut hits, mut total, mut looked_at) = (Vec::new(), 0, 0);
    // Ranking is what takes its time, however many are asked for: few are enough, or as many as there may be.
    for most in [end.saturating_add(1), LOOKED_AT.max(end)] {
        let found = index.entries(most)?;
        let is_all = (found.len() as u64) < most;
        // Those that were looked at come first again: all looks are of one moment.
        for entries in found.get(looked_at..).unwrap_or_default().chunks(AT_ONCE) {
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
            return Ok(Answer { hits, total, is_more: false, behind });
        }
        if total >= end {
            break;
        }
    }
    let counted = index.count()?;
    Ok(Answer { hits, total: counted.min(COUNTED), is_more: counted > COUNTED, behind })
}
