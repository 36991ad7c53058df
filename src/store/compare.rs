//! Compares two generations with a merge join. Both are sorted by key; one pass over both finds the records that were
//! added, changed and removed.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::iter::Peekable;
use std::mem;

use super::StoreResult;
use super::change_set::{ChangeKind, UnlistedReason};
use super::digest;
use crate::model::ChangeCounts;

/// This many records are listed whatever share of the table they are: the prices of a whole shop may change every day.
const ALWAYS_LISTED: u64 = 10_000;

/// More are never listed: 100,000 records with one changed cell each came to 21 MB of history.
const MAX_LISTED: u64 = 100_000;

/// The part of a record that the comparison needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RowFingerprint {
    pub key: u128,
    /// Its row number in the table.
    pub row: i64,
    /// Hash of the compared cells.
    pub digest: u64,
}

/// By which columns two generations are compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ComparisonBasis {
    /// The text columns that both have.
    common_columns: Vec<String>,
    /// Set where columns or key have changed: the keys of both generations are then computed from these columns.
    new_key_columns: Option<Vec<String>>,
}

/// The text columns of a generation, and its key columns; the key of a generation of an older version is unknown.
pub(super) type RowShape = (Vec<String>, Option<Vec<String>>);

impl ComparisonBasis {
    /// None where a key column is missing in one of the two.
    pub fn of((old, old_key): &RowShape, (new, new_key): &RowShape) -> Option<ComparisonBasis> {
        let is_same = old == new && old_key == new_key;
        let common: Vec<String> = new.iter().filter(|column| old.contains(column)).cloned().collect();
        let key = new_key.clone().unwrap_or_default();
        let is_possible = is_same || !common.is_empty() && key.iter().all(|column| common.contains(column));
        is_possible.then(|| ComparisonBasis { common_columns: common, new_key_columns: (!is_same).then_some(key) })
    }

    /// Of a generation as it is stored.
    pub fn of_one((columns, _): &RowShape) -> ComparisonBasis {
        ComparisonBasis { common_columns: columns.clone(), new_key_columns: None }
    }

    /// Of a generation by other key columns; without any, the whole record is the key.
    pub fn by_key((columns, _): &RowShape, key: &[String]) -> ComparisonBasis {
        ComparisonBasis { common_columns: columns.clone(), new_key_columns: Some(key.to_vec()) }
    }

    /// Whether the keys stored beside the rows are valid for both generations.
    pub fn uses_stored_keys(&self) -> bool {
        self.new_key_columns.is_none()
    }

    pub fn includes_column(&self, column: &str) -> bool {
        self.uses_stored_keys() || self.common_columns.iter().any(|it| it == column)
    }

    /// Fingerprint of a record, from its cells in the compared columns.
    pub fn fingerprint(&self, row: i64, written_key: u128, cells: &[(&str, &str)]) -> RowFingerprint {
        let record = digest::record_digest(cells.iter().copied());
        let key = match &self.new_key_columns {
            None => written_key,
            Some(key) => {
                let keyed = || key.iter().filter_map(|name| cells.iter().find(|(column, _)| column == name)).copied();
                if keyed().next().is_some() { digest::record_digest(keyed()) } else { record }
            }
        };
        RowFingerprint { key, row, digest: digest::first_half(record) }
    }
}

/// A record that differs: its row in the new table (in the old one if it was removed), and its row in the old table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Difference {
    pub kind: ChangeKind,
    pub row: i64,
    pub row_before: i64,
    pub key: u128,
}

/// The differences of two generations.
#[derive(Debug, Default)]
pub(super) struct Differences {
    pub counts: ChangeCounts,
    /// The differences, as many as may be listed.
    listable: Vec<Difference>,
}

impl Differences {
    /// Compares two generations, or the parts of both with the same range of keys; both sorted.
    pub fn merge_join(
        &mut self,
        before: impl Iterator<Item = StoreResult<RowFingerprint>>,
        after: impl Iterator<Item = StoreResult<RowFingerprint>>,
    ) -> StoreResult<()> {
        let (mut before, mut after) = (before.peekable(), after.peekable());
        let (mut old, mut new) = (Vec::new(), Vec::new());
        loop {
            let order = match (before.peek(), after.peek()) {
                (None, None) => return Ok(()),
                (Some(Err(_)), _) | (Some(_), None) => Ordering::Less,
                (_, Some(Err(_))) | (None, Some(_)) => Ordering::Greater,
                (Some(Ok(old)), Some(Ok(new))) => old.key.cmp(&new.key),
            };
            if order != Ordering::Greater {
                next_key_group(&mut before, &mut old)?;
            }
            if order != Ordering::Less {
                next_key_group(&mut after, &mut new)?;
            }
            self.diff_key_group(&mut old, &mut new);
        }
    }

    /// Compares the rows of one key. Where several rows share it, equal rows cancel out regardless of order, and the
    /// rest are paired in order: each differing row is counted once and listed once.
    fn diff_key_group(&mut self, old: &mut Vec<RowFingerprint>, new: &mut Vec<RowFingerprint>) {
        if old.len() > 1 || new.len() > 1 {
            cancel_equal_rows(old, new);
        }
        let (mut olds, mut news) = (old.drain(..), new.drain(..));
        loop {
            match (olds.next(), news.next()) {
                (None, None) => return,
                (old, new) => self.count_pair(old, new),
            }
        }
    }

    fn count_pair(&mut self, old: Option<RowFingerprint>, new: Option<RowFingerprint>) {
        let (what, key, row) = match (old, new) {
            (Some(old), Some(new)) if old.digest == new.digest => return,
            (Some(_), Some(new)) => (ChangeKind::Changed, new.key, new.row),
            (None, Some(new)) => (ChangeKind::Added, new.key, new.row),
            (Some(old), None) => (ChangeKind::Removed, old.key, old.row),
            (None, None) => return,
        };
        match what {
            ChangeKind::Added => self.counts.added += 1,
            ChangeKind::Changed => self.counts.changed += 1,
            ChangeKind::Removed => self.counts.removed += 1,
        }
        if self.counts.total() <= MAX_LISTED {
            self.listable.push(Difference { kind: what, row, row_before: old.map_or(0, |old| old.row), key });
        } else {
            self.listable = Vec::new();
        }
    }

    /// The listed differences, each kind in the order of its table, or why nothing is listed. `rows` is the row count
    /// of the larger generation.
    pub fn listed(&mut self, rows: u64) -> Result<Vec<Difference>, UnlistedReason> {
        let all = self.counts.total();
        if all > ALWAYS_LISTED && (all > MAX_LISTED || all > rows / 2) {
            return Err(UnlistedReason::Many);
        }
        let mut found = mem::take(&mut self.listable);
        found.sort_unstable();
        Ok(found)
    }
}

/// All rows of the next key.
fn next_key_group<I>(marks: &mut Peekable<I>, of_key: &mut Vec<RowFingerprint>) -> StoreResult<()>
where
    I: Iterator<Item = StoreResult<RowFingerprint>>,
{
    let Some(first) = marks.next().transpose()? else { return Ok(()) };
    of_key.push(first);
    while let Some(next) = marks.next_if(|next| next.as_ref().is_ok_and(|next| next.key == first.key)) {
        of_key.push(next?);
    }
    Ok(())
}

/// Removes the rows that both have, as often as both have them. The order stays.
fn cancel_equal_rows(old: &mut Vec<RowFingerprint>, new: &mut Vec<RowFingerprint>) {
    let mut both: HashMap<u64, (usize, usize)> = HashMap::new();
    old.iter().for_each(|mark| both.entry(mark.digest).or_default().0 += 1);
    new.iter().for_each(|mark| both.entry(mark.digest).or_default().1 += 1);
    let equal = |(digest, (old, new)): (u64, (usize, usize))| (digest, (old.min(new), old.min(new)));
    let mut equal: HashMap<u64, (usize, usize)> = both.into_iter().map(equal).collect();
    let mut is_other = |mark: &RowFingerprint, count: fn(&mut (usize, usize)) -> &mut usize| {
        let left = equal.get_mut(&mark.digest).map(count).filter(|left| **left > 0);
        left.map(|left| *left -= 1).is_none()
    };
    old.retain(|mark| is_other(mark, |it| &mut it.0));
    new.retain(|mark| is_other(mark, |it| &mut it.1));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::StoreError;

    type Fingerprints<'t> = &'t [(u128, i64, u64)];

    fn marks(of: Fingerprints<'_>) -> Vec<StoreResult<RowFingerprint>> {
        of.iter().map(|&(key, row, digest)| Ok(RowFingerprint { key, row, digest })).collect()
    }

    fn check(
        before: Fingerprints<'_>,
        after: Fingerprints<'_>,
        counts: ChangeCounts,
        expected: &[(ChangeKind, [i64; 3])],
    ) {
        let mut found = Differences::default();
        found.merge_join(marks(before).into_iter(), marks(after).into_iter()).expect("marks");
        assert_eq!(found.counts, counts);
        let short = |it: &Difference| (it.kind, [it.key as i64, it.row, it.row_before]);
        assert_eq!(found.listed(9).expect("few").iter().map(short).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn rows_that_share_a_key_count_one_by_one() {
        use ChangeKind::{Added, Changed, Removed};
        check(
            &[(1, 1, 7), (1, 2, 7), (1, 3, 8), (1, 4, 9), (2, 5, 1)],
            &[(1, 1, 9), (1, 2, 5), (1, 3, 7), (2, 4, 1), (2, 5, 1), (3, 6, 1), (3, 7, 1)],
            ChangeCounts { added: 3, changed: 1, removed: 1 },
            &[(Added, [2, 5, 0]), (Added, [3, 6, 0]), (Added, [3, 7, 0]), (Changed, [1, 2, 2]), (Removed, [1, 3, 3])],
        );
    }

    #[test]
    fn records_are_listed_by_kind_and_in_the_order_of_their_table() {
        use ChangeKind::{Added, Changed, Removed};
        check(
            &[(1, 4, 9), (3, 1, 9), (5, 2, 9), (6, 3, 9)],
            &[(0, 2, 9), (3, 3, 9), (5, 4, 8), (7, 1, 9)],
            ChangeCounts { added: 2, changed: 1, removed: 2 },
            &[(Added, [7, 1, 0]), (Added, [0, 2, 0]), (Changed, [5, 4, 2]), (Removed, [6, 3, 3]), (Removed, [1, 4, 4])],
        );
    }

    #[test]
    fn most_of_a_large_table_is_counted_and_not_listed() {
        let all = |digest: u64, rows: u64| {
            (0..rows).map(move |n| Ok(RowFingerprint { key: n.into(), row: n as i64, digest }))
        };
        let check = |changed: u64, rows: u64| {
            let mut found = Differences::default();
            found.merge_join(all(1, changed), all(2, changed)).expect("marks");
            assert_eq!(found.counts.changed, changed);
            found.listed(rows).map(|listed| listed.len() as u64)
        };
        assert_eq!(check(ALWAYS_LISTED, ALWAYS_LISTED), Ok(ALWAYS_LISTED), "a whole shop");
        assert_eq!(check(ALWAYS_LISTED + 1, ALWAYS_LISTED + 1), Err(UnlistedReason::Many));
        assert_eq!(check(ALWAYS_LISTED + 1, 2 * ALWAYS_LISTED + 2), Ok(ALWAYS_LISTED + 1), "half of it");
        assert_eq!(check(MAX_LISTED + 1, 1_000_000), Err(UnlistedReason::Many));
    }

    #[test]
    fn other_columns_are_left_out_and_another_key_is_computed_anew() {
        let shape = |columns: &[&str], key: &[&str]| {
            let own = |names: &[&str]| names.iter().map(|&it| it.to_owned()).collect::<Vec<_>>();
            (own(columns), Some(own(key)))
        };
        let old = shape(&["link", "name"], &["link"]);
        assert!(ComparisonBasis::of(&old, &old).is_some_and(|it| it.uses_stored_keys()));
        assert_eq!(ComparisonBasis::of(&old, &shape(&["url", "name"], &["url"])), None, "the key was renamed");
        assert_eq!(ComparisonBasis::of(&old, &shape(&["x"], &[])), None, "nothing is the same");
        let wider =
            ComparisonBasis::of(&old, &shape(&["link", "name", "badge"], &["link"])).expect("both have the key");
        assert_eq!((wider.includes_column("name"), wider.includes_column("badge")), (true, false));
        let (a, b) = (
            wider.fingerprint(1, 7, &[("link", "/a"), ("name", "A")]),
            wider.fingerprint(9, 8, &[("link", "/a"), ("name", "B")]),
        );
        assert_eq!((a.key == b.key, a.digest == b.digest), (true, false), "{a:?} {b:?}");
        let other_key = ComparisonBasis::of(&old, &shape(&["link", "name"], &[])).expect("the same columns");
        assert_ne!(
            other_key.fingerprint(1, 7, &[("name", "A")]).key,
            other_key.fingerprint(1, 7, &[("name", "B")]).key
        );
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let broken = || std::iter::once(Err(StoreError::InvalidValue("a block".to_owned())));
        assert!(Differences::default().merge_join(broken(), marks(&[(1, 1, 1)]).into_iter()).is_err());
        assert!(Differences::default().merge_join(marks(&[(1, 1, 1)]).into_iter(), broken()).is_err());
    }
}
