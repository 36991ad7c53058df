//! Rows that a person rolled back. As long as the rows of before are published, a run that brings them again is
//! recognised; the next publication of other rows ends that memory.

use std::collections::HashMap;
use std::hash::Hash;

use chrono::{DateTime, Utc};

use super::StoreResult;
use super::changes::{self, ComparableGenerations};
use super::compare::RowFingerprint;
use super::generation::{self, Generation};
use super::sql::{SqlSession, SqlStore};
use crate::model::{RunId, TaskName};

/// Rows of a generation that are compared; of a larger one those whose keys fall into a share of the key space.
const MAX_COMPARED_ROWS: i64 = 100_000;

/// The rows of a run compared with those that were rolled back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RefusedOverlap {
    /// Rows in which the rolled-back and the restored rows differ.
    pub differing: u64,
    /// Those of them that are again as they were rolled back.
    pub again: u64,
}

impl RefusedOverlap {
    /// Whether these are (nearly) the rows that were rolled back: at least half of what the person refused.
    pub fn is_refused(self) -> bool {
        self.differing > 0 && 2 * self.again >= self.differing
    }
}

/// The memory of rolled-back rows.
pub trait RefusedRows {
    /// Since when rows of the task are rolled back; none where other rows were published since.
    fn refused_since(&self, task: &TaskName) -> StoreResult<Option<DateTime<Utc>>>;

    /// Compares the staged rows of a running run with the rolled-back ones; none where there are none of either, or
    /// where the staged rows are the published ones.
    fn compare_with_refused(&mut self, run: RunId, task: &TaskName) -> StoreResult<Option<RefusedOverlap>>;
}

/// A store that can write all staged rows of a run before the run ends.
pub(super) trait StagedWriting: SqlStore<Session: ComparableGenerations> {
    /// The written generation; none where there are no staged rows, or where they equal the published ones.
    fn write_staged(&mut self, run: RunId, task: &TaskName) -> StoreResult<Option<Generation>>;
}

impl<S: StagedWriting> RefusedRows for S {
    fn refused_since(&self, task: &TaskName) -> StoreResult<Option<DateTime<Utc>>> {
        // While they are remembered, the last run that changed the rows is the rollback. It may be forgotten already.
        let sql = "SELECT coalesce((SELECT max(started) FROM _runs
                                    WHERE task = $1 AND outcome = 'published' AND cause = 'changed'), last_seen)
                   FROM _generation WHERE task = $1 AND state = 'refused'";
        self.session().query_first(sql, &[task], |row| row.get(0))
    }

    fn compare_with_refused(&mut self, run: RunId, task: &TaskName) -> StoreResult<Option<RefusedOverlap>> {
        if generation::refused_with_key(self.session(), task)?.is_none() {
            return Ok(None);
        }
        let Some(staged) = self.write_staged(run, task)? else { return Ok(None) };
        let session = self.session();
        session.in_snapshot(|| {
            let refused = generation::refused_with_key(session, task)?;
            let restored = generation::published_with_key(session, task)?;
            let Some((refused, restored)) = refused.zip(restored) else { return Ok(None) };
            let most = refused.rows.max(restored.rows).max(staged.rows);
            let parts = u128::from((most / MAX_COMPARED_ROWS).unsigned_abs() + 1);
            let read = |it| changes::own_fingerprints(session, it, |key| key % parts == 0);
            Ok(Some(overlap(&read(&refused)?, &read(&restored)?, &read(&staged)?)))
        })
    }
}

/// What is again as it was refused. A row that only the refused generation has counts where it is there again, and a
/// row that it lacks where it is missing again. Rows missing from a list of other rows say nothing, so those count only
/// where at least half of the rows are known from the refused generation.
fn overlap(refused: &[RowFingerprint], restored: &[RowFingerprint], now: &[RowFingerprint]) -> RefusedOverlap {
    let by_digest = |rows: &[RowFingerprint]| counts(rows.iter().map(|it| it.digest));
    let by_key = |rows: &[RowFingerprint]| counts(rows.iter().map(|it| it.key));
    let (refused_keys, restored_keys, now_keys) = (by_key(refused), by_key(restored), by_key(now));
    let came = excess(&by_digest(refused), &by_digest(restored), &by_digest(now), |now, restored| {
        now.saturating_sub(restored)
    });
    let gone = excess(&restored_keys, &refused_keys, &now_keys, |now, refused| now.saturating_sub(refused));
    let known: u64 = now_keys.iter().map(|(key, count)| *count.min(refused_keys.get(key).unwrap_or(&0))).sum();
    let is_same_list = 2 * known >= now.len() as u64;
    RefusedOverlap { differing: came.0 + gone.0, again: came.1 + if is_same_list { gone.0 - gone.1 } else { 0 } }
}

/// How many rows `more` has beyond `less`, and how many of these `now` has, too.
fn excess<K: Eq + Hash>(
    more: &HashMap<K, u64>,
    less: &HashMap<K, u64>,
    now: &HashMap<K, u64>,
    beyond: impl Fn(u64, u64) -> u64,
) -> (u64, u64) {
    let of = |counts: &HashMap<K, u64>, key: &K| counts.get(key).copied().unwrap_or(0);
    more.iter().fold((0, 0), |(all, again), (key, &count)| {
        let less = of(less, key);
        let excess = count.saturating_sub(less);
        (all + excess, again + excess.min(beyond(of(now, key), less)))
    })
}

fn counts<K: Eq + Hash>(keys: impl Iterator<Item = K>) -> HashMap<K, u64> {
    let mut counts = HashMap::new();
    keys.for_each(|key| *counts.entry(key).or_default() += 1);
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows as `key.digest` pairs.
    fn rows(text: &str) -> Vec<RowFingerprint> {
        let row = |(row, word): (usize, &str)| {
            let (key, digest) = word.split_once('.').unwrap_or((word, "0"));
            let (key, version): (u128, u64) = (key.parse().expect("a number"), digest.parse().expect("a number"));
            RowFingerprint { key, row: row as i64, digest: key as u64 * 100 + version }
        };
        text.split_whitespace().enumerate().map(row).collect()
    }

    #[test]
    fn nearly_the_refused_rows_are_recognised_and_others_are_not() {
        for (what, refused, restored, now, expected) in [
            ("changed and the same again", "1.1 2.1 3", "1 2 3", "1.1 2.1 3", (2, 2)),
            ("half of it", "1.1 2.1 3", "1 2 3", "1.1 2.2 3", (2, 1)),
            ("as it was restored, with news", "1.1 2.1 3", "1 2 3", "1 2 3.7 4", (2, 0)),
            ("cut off, and again", "1 2", "1 2 3 4", "1 2", (2, 2)),
            ("cut off, and again with news", "1 2 3.4", "1 2 3 4 5 6", "1.1 2 3", (4, 3)),
            ("cut off, and whole again", "1 2", "1 2 3 4", "1 2 3 4.1", (2, 0)),
            ("a new list of other rows is not missing anything", "9", "1 2 3 4", "5 6 7 8", (5, 0)),
            ("without a key: every row is another one", "11 12 13", "1 2 3", "21 22 23", (6, 0)),
            ("without a key: most are there again", "11 12 13", "1 2 3", "11 12 23", (6, 5)),
            ("each row twice, and again", "1 1 2 2", "1 2", "1 1 2 2", (2, 2)),
            ("each row twice, and once", "1 1 2 2", "1 2", "1 2 3", (2, 0)),
        ] {
            let found = overlap(&rows(refused), &rows(restored), &rows(now));
            assert_eq!((found.differing, found.again), expected, "{what}");
            assert_eq!(found.is_refused(), 2 * expected.1 >= expected.0, "{what}");
        }
        assert!(!RefusedOverlap::default().is_refused(), "only the columns differ");
    }
}
