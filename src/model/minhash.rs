//! Bottom-16 MinHash of the record keys; estimates how many records two runs share.

use std::collections::BTreeSet;
use std::hash::Hasher;

use serde::{Deserialize, Serialize};
use siphasher::sip::SipHasher13;

/// Lists with fewer records are not compared: they could share none by chance.
const MIN_RECORDS: usize = 8;

/// The MinHash of a run's records, and the columns that identify a record.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MinHash {
    pub columns: Vec<String>,
    least: BTreeSet<u32>,
    /// The same hashes in the order of the list; older runs have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    order: Vec<u32>,
}

impl MinHash {
    /// Number of hashes kept, the smallest ones. Of two lists that share three records in ten, one pair in 300 looks as
    /// if it shared none; every run of every task carries the hashes, so more would be expensive.
    pub const SKETCH_SIZE: usize = 16;

    pub fn new(columns: Vec<String>) -> MinHash {
        MinHash { columns, ..MinHash::default() }
    }

    /// Adds a record by its cells of those columns.
    pub fn add<'c>(&mut self, cells: impl Iterator<Item = Option<&'c str>>) {
        if let Some(hash) = Self::hash_of(cells) {
            self.add_hash(hash);
        }
    }

    /// Adds a record by its hash.
    pub fn add_hash(&mut self, hash: u32) {
        let is_full = self.least.len() == Self::SKETCH_SIZE;
        if is_full && self.least.last().is_some_and(|&largest| hash >= largest) || !self.least.insert(hash) {
            return;
        }
        self.order.push(hash);
        if self.least.len() > Self::SKETCH_SIZE {
            let largest = self.least.pop_last();
            self.order.retain(|&it| Some(it) != largest);
        }
    }

    /// The hash of a record by these cells; `None` if all of them are empty.
    pub fn hash_of<'c>(cells: impl Iterator<Item = Option<&'c str>>) -> Option<u32> {
        // A hash with fixed zero keys, because hashes of other processes are compared with it.
        let mut hasher = SipHasher13::new();
        let mut is_filled = false;
        for cell in cells {
            hasher.write(cell.unwrap_or_default().as_bytes());
            // A byte that is not valid UTF-8, so cell borders are unambiguous.
            hasher.write(&[0xff]);
            is_filled |= cell.is_some();
        }
        // The lower half of the hash is as uniform as the whole.
        is_filled.then(|| hasher.finish() as u32)
    }

    /// The hashes in the order of the list; empty in runs of older versions.
    pub fn in_order(&self) -> &[u32] {
        &self.order
    }

    /// Number of hashes.
    pub fn hash_count(&self) -> usize {
        self.least.len().max(self.order.len())
    }

    /// Estimated Jaccard index of the records of two runs; `None` where they cannot be compared.
    pub fn jaccard(&self, other: &MinHash) -> Option<f64> {
        if self.columns != other.columns || self.least.len().min(other.least.len()) < MIN_RECORDS {
            return None;
        }
        let least_of_both: Vec<&u32> = self.least.union(&other.least).take(Self::SKETCH_SIZE).collect();
        let shared = least_of_both.iter().filter(|it| self.least.contains(it) && other.least.contains(it)).count();
        Some(shared as f64 / least_of_both.len() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(numbers: std::ops::Range<u32>) -> MinHash {
        let mut sketch = MinHash::new(vec!["name".to_owned()]);
        numbers.for_each(|number| sketch.add([Some(format!("record {number}").as_str())].into_iter()));
        sketch
    }

    #[test]
    fn it_tells_about_how_many_records_two_lists_share() {
        assert_eq!(of(0..500).jaccard(&of(0..500)), Some(1.0));
        assert_eq!(of(0..500).jaccard(&of(500..1_000)), Some(0.0));
        assert_eq!(of(0..12).jaccard(&of(6..12)), None, "six are too few to tell");
        // 300 of 600 are in both; the estimate from sixteen hashes is within two standard deviations.
        let half = of(0..450).jaccard(&of(150..600)).expect("many records");
        assert!((0.25..=0.75).contains(&half), "{half}");
    }

    #[test]
    fn the_hashes_keep_the_order_of_the_list() {
        let hash = |number: u32| MinHash::hash_of([Some(format!("record {number}").as_str())].into_iter());
        let whole: Vec<u32> = (0..500).filter_map(hash).collect();
        let sketch = of(0..500);
        let kept: Vec<u32> = whole.into_iter().filter(|it| sketch.least.contains(it)).collect();
        assert_eq!(sketch.in_order(), kept);
        assert_eq!(kept.len(), MinHash::SKETCH_SIZE);
    }

    #[test]
    fn a_sketch_without_order_is_read() {
        let old: MinHash = serde_json::from_str(r#"{"columns":["name"],"least":[3,7]}"#).expect("as it was written");
        assert_eq!((old.hash_count(), old.in_order()), (2, &[][..]));
    }

    #[test]
    fn what_is_known_by_other_columns_cannot_be_compared() {
        let by_link = MinHash { columns: vec!["link".to_owned()], ..of(0..50) };
        assert_eq!(by_link.jaccard(&of(0..50)), None);
    }
}
