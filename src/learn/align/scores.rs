//! Scores of leaves against columns, and the best assignment of a row's leaves, by dynamic programming.

use foldhash::HashMap;

use super::profile::Profile;
use crate::learn::view::{Leaf, LeafKind, PathId, PathInterner};

/// Maximum columns that a leaf may skip in greedy alignment.
const MAX_SKIPPED_COLUMNS: usize = 8;

// The weights of docs/design/learning.md 2.4.
const KNOWN_PATH: f64 = 0.7;
const PATH_SHARE: f64 = 0.3;
const MIN_PATH: f64 = 0.35;
const CLASS: f64 = 0.6;
const VALUE: f64 = 0.8;
const TYPE: f64 = 0.3;
const LABEL_MISMATCH: f64 = 0.35;
const GAP: f64 = 0.45;

/// Cached scores of leaves against fixed columns.
#[derive(Default)]
pub struct MatchScores {
    /// The cost of skipping each column.
    skip_costs: Vec<f64>,
    labels: Vec<bool>,
    main_paths: Vec<PathId>,
    /// Offset of the scores of each leaf signature. Rows have few distinct signatures.
    signature_index: HashMap<(LeafKind, PathId, PathId, u8), usize>,
    signature_scores: Vec<Option<(f64, f64)>>,
    /// The same for paths alone: with distinct classes for every leaf, 50 deep, signatures are many and paths are few.
    path_index: HashMap<(LeafKind, PathId), usize>,
    path_scores: Vec<Option<f64>>,
    /// Pairs of signature and column scored so far.
    pub scored_pairs: usize,
}

/// Maximum cached scores. A page where every row has its own signatures gains nothing from the cache and would need
/// 100 MB. A table of 300 columns, each with its own class, has 300,000 scores.
const MAX_CACHED_SCORES: usize = 500_000;

impl MatchScores {
    pub fn of(columns: &[Profile]) -> MatchScores {
        let most = f64::from(columns.iter().map(|column| column.count).max().unwrap_or(1).max(1));
        let skip = |column: &Profile| -GAP * (0.35 + 0.65 * f64::from(column.count) / most);
        MatchScores {
            skip_costs: columns.iter().map(skip).collect(),
            labels: columns.iter().map(Profile::is_label).collect(),
            main_paths: columns.iter().map(Profile::main_path).collect(),
            ..MatchScores::default()
        }
    }

    /// The offset of the scores of each leaf of the row.
    fn score_offsets(&mut self, columns: &[Profile], row: &[Leaf], paths: &PathInterner) -> Vec<usize> {
        if self.signature_scores.len() > MAX_CACHED_SCORES {
            self.signature_index.clear();
            self.signature_scores.clear();
        }
        if self.path_scores.len() > MAX_CACHED_SCORES {
            self.path_index.clear();
            self.path_scores.clear();
        }
        let MatchScores {
            main_paths, signature_index, signature_scores, path_index, path_scores, scored_pairs, ..
        } = self;
        let place = |leaf: &Leaf| {
            let kind = leaf.value_type();
            *signature_index.entry((leaf.kind, leaf.path, leaf.class_path, kind)).or_insert_with(|| {
                let path = *path_index.entry((leaf.kind, leaf.path)).or_insert_with(|| {
                    let place = path_scores.len();
                    let worth = |(column, &main): (&Profile, &PathId)| fit_path(leaf, column, main, paths);
                    path_scores.extend(columns.iter().zip(main_paths.iter()).map(worth));
                    place
                });
                let place = signature_scores.len();
                let worth = |(column, &path): (&Profile, &Option<f64>)| Some(fit_signature(leaf, kind, column, path?));
                signature_scores.extend(columns.iter().zip(&path_scores[path..]).map(worth));
                *scored_pairs += columns.len();
                place
            })
        };
        row.iter().map(place).collect()
    }
}

/// The best order-preserving assignment, by dynamic programming: the column of each leaf.
pub fn best_pairs(
    columns: &[Profile],
    worth: &mut MatchScores,
    row: &[Leaf],
    paths: &PathInterner,
) -> Vec<Option<usize>> {
    let (n, m) = (row.len(), columns.len());
    let places = worth.score_offsets(columns, row, paths);
    let MatchScores { skip_costs: skip, labels, signature_scores: by_build, .. } = worth;
    let width = m + 1;
    let mut best = vec![0.0_f64; (n + 1) * width];
    for j in 0..m {
        best[j + 1] = best[j] + skip[j];
    }
    for (i, leaf) in row.iter().enumerate() {
        let (above, here) = best[i * width..(i + 2) * width].split_at_mut(width);
        let mut left = above[0] - GAP;
        here[0] = left;
        for (j, &build) in by_build[places[i]..places[i] + m].iter().enumerate() {
            let without = f64::max(left + skip[j], above[j + 1] - GAP);
            left = f64::max(without, above[j] + fit(leaf, build, &columns[j], labels[j]));
            here[j + 1] = left;
        }
    }
    let mut pairs = vec![None; n];
    let (mut i, mut j) = (n, m);
    while i > 0 && j > 0 {
        let here = best[i * width + j];
        // On ties the column is skipped, so that matches move to the left.
        if here <= best[i * width + j - 1] + skip[j - 1] {
            j -= 1;
        } else if here <= best[(i - 1) * width + j] - GAP {
            i -= 1;
        } else {
            (i, j) = (i - 1, j - 1);
            pairs[i] = by_build[places[i] + j].is_some().then_some(j);
        }
    }
    pairs
}

/// A greedy order-preserving assignment in one pass: each leaf takes the next column that has its path.
pub fn greedy_pairs(columns: &[Profile], row: &[Leaf]) -> Vec<Option<usize>> {
    let mut next = 0;
    let pair = |leaf: &Leaf| {
        let near = columns.iter().enumerate().skip(next).take(MAX_SKIPPED_COLUMNS);
        let mut fitting = near.filter(|(_, it)| it.kind == leaf.kind && it.path_share(leaf.path).is_some());
        let column = fitting.next().map(|(column, _)| column);
        next = column.map_or(next, |column| column + 1);
        column
    };
    row.iter().map(pair).collect()
}

/// Score of a leaf in a column; minus infinity if it cannot be there.
fn fit(leaf: &Leaf, build: Option<(f64, f64)>, column: &Profile, is_label: bool) -> f64 {
    let Some((way, kind)) = build else { return f64::NEG_INFINITY };
    let same_value = column.value_share(leaf.fingerprint);
    let other_label = if is_label && same_value == 0.0 { LABEL_MISMATCH } else { 0.0 };
    way + VALUE * same_value + kind - other_label
}

/// Score of a leaf's path and classes, and of its value type.
fn fit_signature(leaf: &Leaf, kind: u8, column: &Profile, path: f64) -> (f64, f64) {
    (path + CLASS * column.class_share(leaf.class_path), TYPE * column.type_share(kind))
}

/// Score of the path; `None` if the leaf cannot be in the column.
fn fit_path(leaf: &Leaf, column: &Profile, main: PathId, paths: &PathInterner) -> Option<f64> {
    if leaf.kind != column.kind {
        return None;
    }
    let path = match column.path_share(leaf.path) {
        Some(share) => KNOWN_PATH + PATH_SHARE * share,
        // An upper bound by length: with paths 50 deep it saves most comparisons.
        None if main != PathId::TOP && KNOWN_PATH * paths.most_overlap(leaf.path, main) < MIN_PATH => return None,
        None => KNOWN_PATH * paths.overlap(leaf.path, main),
    };
    (path >= MIN_PATH).then_some(path)
}
