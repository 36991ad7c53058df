//! The profile of a column during alignment: counts of paths, class paths, values and value types.

use foldhash::HashMap;

use crate::learn::template::Slot;
use crate::learn::view::{Leaf, LeafKind, PathId, PathInterner, fingerprint};

/// Maximum paths, class paths and values stored per slot in a template file.
const MAX_KEPT: usize = 6;
/// Maximum distinct paths counted in one column. Without it, a column in which every row has its own path was scanned
/// for each further row: 60,000 rows took 6 s.
const MAX_COUNTED: usize = 200;
/// Maximum length of a stored value; longer ones are never anchors.
const MAX_VALUE: usize = 80;
/// Maximum length of a label such as “Price:”.
const MAX_LABEL: usize = 30;

#[derive(Clone, Debug, Default)]
pub struct Profile {
    pub kind: LeafKind,
    pub count: u32,
    paths: Vec<(PathId, u32)>,
    class_paths: Vec<(PathId, u32)>,
    values: HashMap<u64, u32>,
    /// A small Bloom filter of the values: usually a column does not have the value that is looked up.
    value_filter: [u64; 4],
    types: Vec<(u8, u32)>,
    /// Hash and count of the commonest value so far, and whether it could be a label.
    common: (u64, u32, bool),
}

impl Profile {
    pub fn new(kind: LeafKind) -> Profile {
        Profile { kind, ..Profile::default() }
    }

    pub fn add(&mut self, leaf: &Leaf) {
        self.count += 1;
        increment(&mut self.paths, leaf.path, 1);
        increment(&mut self.class_paths, leaf.class_path, 1);
        increment(&mut self.types, leaf.value_type(), 1);
        self.add_value(leaf.fingerprint, 1, &leaf.value);
    }

    fn add_value(&mut self, print: u64, times: u32, value: &str) {
        let (word, bit) = filter_bit(print);
        self.value_filter[word] |= bit;
        let count = self.values.entry(print).or_default();
        *count += times;
        if *count > self.common.1 {
            let is_label = value.len() <= MAX_LABEL && value.chars().any(char::is_alphabetic);
            self.common = (print, *count, is_label);
        }
    }

    pub fn path_share(&self, path: PathId) -> Option<f64> {
        share(&self.paths, path, self.count)
    }

    pub fn class_share(&self, path: PathId) -> f64 {
        share(&self.class_paths, path, self.count).unwrap_or(0.0)
    }

    pub fn value_share(&self, print: u64) -> f64 {
        let (word, bit) = filter_bit(print);
        if self.value_filter[word] & bit == 0 {
            return 0.0;
        }
        f64::from(self.values.get(&print).copied().unwrap_or(0)) / f64::from(self.count.max(1))
    }

    pub fn type_share(&self, kind: u8) -> f64 {
        share(&self.types, kind, self.count).unwrap_or(0.0)
    }

    pub fn main_path(&self) -> PathId {
        commonest(&self.paths).unwrap_or(PathId::TOP)
    }

    pub fn main_class_path(&self) -> PathId {
        commonest(&self.class_paths).unwrap_or(PathId::TOP)
    }

    /// All rows so far have the same value, and it looks like a label.
    pub fn is_label(&self) -> bool {
        self.kind == LeafKind::Text && self.count >= 2 && self.common.1 == self.count && self.common.2
    }

    /// Values in at least a fifth of the rows; they attract a leaf into the column.
    pub fn anchors(&self) -> impl Iterator<Item = u64> {
        self.values.iter().filter(|&(_, &count)| count >= 2 && count * 5 >= self.count).map(|(&print, _)| print)
    }

    pub fn from_slot(slot: &Slot, paths: &mut PathInterner) -> Profile {
        let mut profile = Profile::new(slot.kind);
        profile.count = slot.count.max(1);
        for (path, count) in &slot.paths {
            let path = paths.parse(path);
            increment(&mut profile.paths, path, *count);
        }
        for (path, count) in &slot.class_paths {
            let path = paths.parse(path);
            increment(&mut profile.class_paths, path, *count);
        }
        profile.types = slot.types.clone();
        for (value, count) in &slot.values {
            profile.add_value(fingerprint(value), *count, value);
        }
        profile
    }

    /// Some value occurred at least twice.
    pub fn has_repeated_value(&self) -> bool {
        self.common.1 >= 2
    }

    /// `values` are the column's values in the rows it was learned from.
    pub fn to_slot(&self, paths: &PathInterner, values: ValueCounts<'_>) -> Slot {
        let print = |list: &[(PathId, u32)]| -> Vec<(String, u32)> {
            keep_commonest(list.to_vec()).into_iter().map(|(path, count)| (paths.path_text(path), count)).collect()
        };
        let mut counts = values.counts;
        counts.retain(|&(_, count)| count >= 2);
        let values = keep_commonest(counts).into_iter().map(|(value, count)| (value.to_owned(), count)).collect();
        Slot {
            kind: self.kind,
            count: self.count,
            paths: print(&self.paths),
            class_paths: print(&self.class_paths),
            values,
            types: keep_commonest(self.types.clone()),
            beside: None,
        }
    }
}

/// Values of one column in order of first occurrence, with their counts.
#[derive(Default)]
pub struct ValueCounts<'r> {
    counts: Vec<(&'r str, u32)>,
    /// By hash of the value.
    indices: HashMap<u64, usize>,
}

impl<'r> ValueCounts<'r> {
    pub fn add(&mut self, leaf: &'r Leaf) {
        if leaf.value.len() > MAX_VALUE {
            return;
        }
        let place = *self.indices.entry(leaf.fingerprint).or_insert_with(|| {
            self.counts.push((&leaf.value, 0));
            self.counts.len() - 1
        });
        self.counts[place].1 += 1;
    }
}

/// The filter bit of a value.
fn filter_bit(print: u64) -> (usize, u64) {
    ((print >> 6) as usize % 4, 1 << (print % 64))
}

fn increment<K: PartialEq>(list: &mut Vec<(K, u32)>, key: K, times: u32) {
    match list.iter().position(|(it, _)| *it == key) {
        Some(place) => list[place].1 += times,
        None if list.len() < MAX_COUNTED => list.push((key, times)),
        None => {}
    }
}

fn share<K: PartialEq>(list: &[(K, u32)], key: K, all: u32) -> Option<f64> {
    let (_, count) = list.iter().find(|(it, _)| *it == key)?;
    Some(f64::from(*count) / f64::from(all.max(1)))
}

fn commonest<K: Copy>(list: &[(K, u32)]) -> Option<K> {
    list.iter()
        .fold(None, |best: Option<(K, u32)>, &it| match best {
            Some(best) if best.1 >= it.1 => Some(best),
            _ => Some(it),
        })
        .map(|(key, _)| key)
}

fn keep_commonest<K>(mut list: Vec<(K, u32)>) -> Vec<(K, u32)> {
    list.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    list.truncate(MAX_KEPT);
    list
}
