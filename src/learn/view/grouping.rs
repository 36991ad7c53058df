//! Samples, groups and counts.

use std::hash::Hash;

use foldhash::{HashMap, HashMapExt};

/// Maximum rows sampled, spread over the list: more cost time and change no score visibly.
const MAX_SAMPLE: usize = 60;

/// At most [`MAX_SAMPLE`] of the rows, evenly spread.
pub fn sample<T: Copy>(rows: &[T]) -> Vec<T> {
    if rows.len() <= MAX_SAMPLE {
        return rows.to_vec();
    }
    (0..MAX_SAMPLE).map(|i| rows[i * rows.len() / MAX_SAMPLE]).collect()
}

/// Items grouped by the key before each; groups in order of first appearance.
pub fn grouped<K: Hash + Eq, T>(items: impl IntoIterator<Item = (K, T)>) -> Vec<Vec<T>> {
    let mut places: HashMap<K, usize> = HashMap::new();
    let mut groups: Vec<Vec<T>> = Vec::new();
    for (key, item) in items {
        let place = *places.entry(key).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[place].push(item);
    }
    groups
}

/// How often each key occurs.
pub fn count_keys<K: Hash + Eq>(keys: impl IntoIterator<Item = K>) -> HashMap<K, usize> {
    let mut counts = HashMap::new();
    keys.into_iter().for_each(|key| *counts.entry(key).or_default() += 1);
    counts
}
