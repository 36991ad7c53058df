//! Groups duplicate records in two passes: the first collects hashes only, the second keeps the few records that may
//! have a duplicate.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::MatchKey;

/// How a record belongs to a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchKind {
    /// Equal except for spelling and order.
    Exact,
    /// May be the same: one of the two has initials. Two such records need not be the same as each other.
    Initials,
}

/// Records of the same thing, and records that may be of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DuplicateGroup<R> {
    pub records: Vec<(MatchKind, R)>,
}

/// The first pass. It needs 16 bytes per record, and 8 for each word of a record with initials.
#[derive(Default)]
pub struct CandidateFilter {
    /// Number of records with this hash, up to two.
    seen: HashMap<u64, u8>,
    /// Blocking keys of the records with initials.
    initials_keys: HashSet<u64>,
}

impl CandidateFilter {
    pub fn note(&mut self, likeness: &MatchKey) {
        let count = self.seen.entry(likeness.exact_hash()).or_default();
        *count = count.saturating_add(1);
        if likeness.has_initials() {
            self.initials_keys.extend(likeness.blocking_keys());
        }
    }

    /// Begins the second pass over the same records.
    pub fn into_candidates<R>(self) -> DuplicateCandidates<R> {
        DuplicateCandidates { sieve: self, kept: Vec::new() }
    }
}

/// The second pass.
pub struct DuplicateCandidates<R> {
    sieve: CandidateFilter,
    kept: Vec<(MatchKey, R)>,
}

impl<R: Clone> DuplicateCandidates<R> {
    /// Whether the record may have a duplicate. May be true wrongly, but never false wrongly.
    pub fn may_have_duplicate(&self, likeness: &MatchKey) -> bool {
        self.sieve.seen.get(&likeness.exact_hash()).is_some_and(|&count| count > 1)
            || likeness.has_initials()
            || likeness.blocking_keys().iter().any(|hook| self.sieve.initials_keys.contains(hook))
    }

    pub fn keep(&mut self, likeness: MatchKey, record: R) {
        self.kept.push((likeness, record));
    }

    pub fn len(&self) -> usize {
        self.kept.len()
    }

    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Groups of at least two records, in the order of their first ones.
    pub fn groups(self) -> Vec<DuplicateGroup<R>> {
        let mut places: HashMap<Vec<Vec<String>>, usize> = HashMap::new();
        let mut alike: Vec<(MatchKey, Vec<R>)> = Vec::new();
        for (likeness, record) in self.kept {
            let place = *places.entry(likeness.texts.clone()).or_insert(alike.len());
            match alike.get_mut(place) {
                Some((_, records)) => records.push(record),
                None => alike.push((likeness, vec![record])),
            }
        }
        let short = short_forms(&alike);
        let mut groups = Vec::new();
        for (place, (_, records)) in alike.iter().enumerate() {
            let others = short.get(&place).into_iter().flatten().flat_map(|&other| &alike[other].1);
            let same = records.iter().map(|record| (MatchKind::Exact, record.clone()));
            let all: Vec<(MatchKind, R)> =
                same.chain(others.map(|record| (MatchKind::Initials, record.clone()))).collect();
            if all.len() > 1 {
                groups.push(DuplicateGroup { records: all });
            }
        }
        groups
    }
}

/// For each record, the records that may be its short form with initials.
fn short_forms<R>(alike: &[(MatchKey, Vec<R>)]) -> BTreeMap<usize, Vec<usize>> {
    let mut by_hook: HashMap<u64, Vec<usize>> = HashMap::new();
    for (place, (likeness, _)) in alike.iter().enumerate() {
        for hook in likeness.blocking_keys() {
            by_hook.entry(hook).or_default().push(place);
        }
    }
    let initials = |place: usize| alike[place].0.texts.iter().flatten().filter(|word| super::is_initial(word)).count();
    let mut found: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (place, (likeness, _)) in alike.iter().enumerate().filter(|(_, (likeness, _))| likeness.has_initials()) {
        let mut near: Vec<usize> =
            likeness.blocking_keys().iter().filter_map(|hook| by_hook.get(hook)).flatten().copied().collect();
        near.sort_unstable();
        near.dedup();
        for other in near {
            let is_shorter = (initials(place), other) > (initials(other), place);
            if other != place && is_shorter && likeness.is_abbreviation_of(&alike[other].0) {
                found.entry(other).or_default().push(place);
            }
        }
    }
    found
}
