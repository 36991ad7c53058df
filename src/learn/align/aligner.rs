//! Aligns rows to known columns.

use std::rc::Rc;

use foldhash::{HashMap, HashSet};

use super::headings::RowHeadings;
use super::profile::Profile;
use super::scores::{MatchScores, best_pairs, greedy_pairs};
use crate::learn::view::{Leaf, LeafKind, Limit, PathId, PathInterner};
use crate::page::tokens::Span;

/// Budgets for aligning rows to known columns: pairs of leaf and column compared, and the cost of scoring them. Rows
/// beyond them are aligned greedily ([`greedy_pairs`]). They hold for the whole list, plus
/// [`COMPARISONS_PER_LEAF`]: a table of fewer columns is aligned completely, however long.
const MAX_COMPARISONS: usize = 16_000_000;
const COMPARISONS_PER_LEAF: usize = 100;
const MAX_SCORED_PAIRS: usize = 8_000_000;
/// Cost of scoring a leaf with a new signature against a column, in comparisons of a known one. With a distinct class
/// path for every leaf, 50 deep, half of 1.6 s was spent on it.
pub const SCORING_COST: usize = 8;

/// Credit for a value on a new path: half (docs/design/learning.md 2.5), more if an element was only wrapped around it.
const NEW_PATH: f64 = 0.5;
const SAME_CLASSES: f64 = 0.9;

/// Aligns rows to fixed columns; rows with the same signature are aligned once.
#[derive(Default)]
pub struct Aligner {
    pub columns: Vec<Profile>,
    scores: MatchScores,
    anchors: HashSet<u64>,
    alignments: HashMap<Vec<LeafSignature>, Vec<Option<usize>>>,
    /// Buffer for the signature of the current row, reused to save allocations.
    row_signature: Vec<LeafSignature>,
    weight: f64,
    comparisons: usize,
    /// Leaves of the rows compared so far.
    leaves: usize,
    /// Some row was aligned greedily.
    used_greedy_pairs: bool,
}

/// A row with its leaves and their alignment.
pub struct AlignedRow {
    pub span: Span,
    pub leaves: Vec<Leaf>,
    pub cells: Vec<Option<usize>>,
    pub headings: Rc<RowHeadings>,
}

type LeafSignature = (LeafKind, PathId, PathId, u64);

impl Aligner {
    pub fn new(columns: Vec<Profile>) -> Aligner {
        Aligner {
            scores: MatchScores::of(&columns),
            anchors: columns.iter().flat_map(Profile::anchors).collect(),
            weight: columns.iter().map(|column| f64::from(column.count)).sum(),
            columns,
            ..Aligner::default()
        }
    }

    /// Resets the budget and forgets the alignments, for a new page. The first row of a signature decides for all rows
    /// like it, and it must be a row of the same page.
    pub fn reset_for_page(&mut self) {
        self.alignments.clear();
        (self.comparisons, self.leaves, self.scores.scored_pairs, self.used_greedy_pairs) = (0, 0, 0, false);
    }

    /// The limit that was reached: values of some row may be in a wrong column.
    pub fn limit(&self) -> Option<Limit> {
        self.used_greedy_pairs.then_some(Limit::Comparisons)
    }

    /// For each column, the index of its leaf in the row.
    pub fn align(&mut self, row: &[Leaf], paths: &mut PathInterner) -> Vec<Option<usize>> {
        let anchor = |print: u64| if self.anchors.contains(&print) { print } else { 0 };
        self.row_signature.clear();
        self.row_signature
            .extend(row.iter().map(|leaf| (leaf.kind, leaf.path, leaf.class_path, anchor(leaf.fingerprint))));
        if let Some(known) = self.alignments.get(self.row_signature.as_slice()) {
            return known.clone();
        }
        let mut cells = vec![None; self.columns.len()];
        self.comparisons += self.columns.len() * row.len();
        self.leaves += row.len();
        let most = MAX_COMPARISONS + COMPARISONS_PER_LEAF * self.leaves;
        let pairs = if self.comparisons <= most && self.scores.scored_pairs * SCORING_COST <= MAX_SCORED_PAIRS {
            best_pairs(&self.columns, &mut self.scores, row, paths)
        } else {
            self.used_greedy_pairs = true;
            greedy_pairs(&self.columns, row)
        };
        for (leaf, column) in pairs.into_iter().enumerate() {
            if let Some(column) = column {
                cells[column] = Some(leaf);
            }
        }
        self.alignments.insert(self.row_signature.clone(), cells.clone());
        cells
    }

    /// How well a row fits, 0 to 1: the F-measure of the share of the template that was found and the share of the row
    /// that is explained. A value on a new path gets half credit, more if its element has the same classes.
    pub fn quality(&self, row: &[Leaf], cells: &[Option<usize>], paths: &PathInterner) -> f64 {
        let mut found = 0.0;
        let mut matched = 0;
        for (column, cell) in self.columns.iter().zip(cells) {
            if let Some(leaf) = cell {
                let leaf = &row[*leaf];
                let credit = match column.path_share(leaf.path) {
                    Some(_) => 1.0,
                    None if paths.ends_alike(leaf.class_path, column.main_class_path()) => SAME_CLASSES,
                    None => NEW_PATH,
                };
                found += credit * f64::from(column.count);
                matched += 1;
            }
        }
        if matched == 0 || self.weight <= 0.0 {
            return 0.0;
        }
        let found = found / self.weight;
        let explained = f64::from(matched) / row.len().max(1) as f64;
        2.0 * found * explained / (found + explained)
    }
}
