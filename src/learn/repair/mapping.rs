//! Matches the new columns with the old ones.
//!
//! Each pair is scored by the values of linked records, by the kind of values, by name and position; the best pairs are
//! taken first. The best sum over all pairs (Kuhn and Munkres) was tried: it gave up a certain pair for two weak ones,
//! and moved the names of two lists of 32 to wrong columns.

use foldhash::HashSet;

use super::origin::origins_alike;
use super::record_linkage::{PreviousRows, RecordLinks};
use super::value_kinds::{MAX_SAMPLED_ROWS, ValueProfile};
use crate::learn::candidates::Candidate;

/// Weight of equal values of the same records; it takes more than one.
const SAME_RECORDS_WEIGHT: f64 = 4.0;
/// Minimum score of a pair: a missing column is better than a wrong one.
const MIN_PAIR_SCORE: f64 = 2.2;
/// The same without good rows, when fewer features are known. All values of one kind, a similar fill rate and position
/// suffice.
const MIN_PAIR_SCORE_WITHOUT_ROWS: f64 = 1.5;
/// From this score on, the confidence of a pair is 1.
const FULL_PAIR_SCORE: f64 = 4.5;
/// From this confidence on, a pair is not replaced by that of a copy.
const SURE_CONFIDENCE: f64 = 0.9;
/// Columns that are equal in this share of the rows are copies: one row of ten may be a header or a total.
const MIN_COPY_SHARE: f64 = 0.9;
/// Copies must be equal to the next row, by chance, less often than this: two columns of zeros are not copies.
const MAX_CHANCE_SHARE: f64 = 0.5;

/// From this many linked records on, a constant that none of them had before is no value of theirs: a menu repeats
/// “Actions” in every row, and a column of priorities that the page no longer had was found there.
const MIN_RECORDS_AGAINST: usize = 5;

pub struct ColumnMapping {
    /// The new column of each old column.
    pub columns: Vec<Option<usize>>,
    /// New columns that are neither matched nor copies of matched ones.
    pub new: Vec<usize>,
    /// How well the old columns that are shown are matched, 0 to 1.
    pub score: f64,
}

impl ColumnMapping {
    pub fn new(old: &PreviousRows<'_>, candidate: &Candidate, again: &RecordLinks) -> ColumnMapping {
        let before: Vec<ValueProfile> =
            (0..old.template.columns().len()).map(|i| ValueProfile::of_old(old, i)).collect();
        let now: Vec<ValueProfile> =
            (0..candidate.table.columns.len()).map(|i| ValueProfile::of_new(candidate, i)).collect();
        let mut choice = ColumnAssignment { old, candidate, before, columns: Vec::new(), confidences: Vec::new() };
        choice.take_surest_first(&now, again);
        choice.pair_copies();
        choice.drop_redundant_pairs();
        let shown = || choice.before.iter().zip(&choice.confidences).filter(|(was, _)| was.is_shown);
        let all: f64 = shown().map(|(was, _)| was.fill).sum();
        let found: f64 = shown().map(|(was, worth)| was.fill * worth).sum();
        let new = (0..now.len()).filter(|&column| now[column].is_shown && choice.is_new(column)).collect();
        ColumnMapping { new, columns: choice.columns, score: if all > 0.0 { found / all } else { 0.0 } }
    }
}

/// The assignment so far.
struct ColumnAssignment<'m, 't> {
    old: &'m PreviousRows<'t>,
    candidate: &'m Candidate,
    before: Vec<ValueProfile>,
    columns: Vec<Option<usize>>,
    /// The confidence of each old column's pair, 0 to 1.
    confidences: Vec<f64>,
}

impl ColumnAssignment<'_, '_> {
    fn take_surest_first(&mut self, now: &[ValueProfile], again: &RecordLinks) {
        let ColumnAssignment { old, candidate, before, .. } = self;
        let mut pairs: Vec<(f64, usize, usize)> = Vec::new();
        // A hidden column without rows has no values to compare, and its loss is not noticed.
        for (i, was) in before.iter().enumerate().filter(|(i, was)| was.is_shown || old.has_column(*i)) {
            let may_be = |j: usize, is: &ValueProfile| {
                let is_label = || {
                    was.is_replaced_by_constant(is)
                        && filled_links(old, candidate, again, (i, j)) >= MIN_RECORDS_AGAINST
                };
                is.family == was.family && !is_label()
            };
            for (j, is) in now.iter().enumerate().filter(|(j, is)| may_be(*j, is)) {
                let from = origins_alike((old.template, i), (&candidate.template, j));
                let worth = was.similarity(is) + from + SAME_RECORDS_WEIGHT * agreement(old, candidate, again, i, j);
                pairs.push((worth, i, j));
            }
        }
        pairs.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        let least = if self.old.rows() > 0 { MIN_PAIR_SCORE } else { MIN_PAIR_SCORE_WITHOUT_ROWS };
        self.columns = vec![None; self.before.len()];
        self.confidences = vec![0.0; self.before.len()];
        let mut taken: HashSet<usize> = HashSet::default();
        for (worth, i, j) in pairs.into_iter().take_while(|(worth, _, _)| *worth >= least) {
            if self.columns[i].is_none() && taken.insert(j) {
                self.columns[i] = Some(j);
                self.confidences[i] = (worth / FULL_PAIR_SCORE).min(1.0);
            }
        }
    }

    /// A column that always equalled another one gets the same new column, unless its own pair is more certain. For two
    /// hidden columns, nearly always is enough; if one of them is shown, every difference counts.
    fn pair_copies(&mut self) {
        for i in 0..self.before.len() {
            let is_led = |&k: &usize| {
                let needed = if self.before[i].is_shown || self.before[k].is_shown { 1.0 } else { MIN_COPY_SHARE };
                self.confidences[k] > self.confidences[i]
                    && self.before[k].family == self.before[i].family
                    && self.sameness_before(i, k, 0) >= needed
                    && self.sameness_before(i, k, 1) < MAX_CHANCE_SHARE
            };
            if let Some(copy) = (0..self.before.len()).find(is_led).filter(|_| self.confidences[i] < SURE_CONFIDENCE) {
                (self.columns[i], self.confidences[i]) = (self.columns[copy], self.confidences[copy]);
            }
        }
    }

    /// Drops the pair of a hidden column if it repeats the pair of a shown column more than the old columns repeated
    /// each other: then it is another column.
    fn drop_redundant_pairs(&mut self) {
        let echoes = |i: usize, k: usize| {
            let (Some(one), Some(other)) = (self.columns[i], self.columns[k]) else { return false };
            let now = Redundancy::of((0..self.rows()).map(|row| (self.cell(row, one), self.cell(row, other))));
            let rows = 0..self.old.rows().min(MAX_SAMPLED_ROWS);
            let before = Redundancy::of(rows.map(|row| (self.old.cell(row, i), self.old.cell(row, k))));
            one != other && now > before
        };
        let shown: Vec<usize> = (0..self.before.len()).filter(|&k| self.before[k].is_shown).collect();
        let is_echo = |i: &usize| !self.before[*i].is_shown && shown.iter().any(|&k| echoes(*i, k));
        for i in (0..self.before.len()).filter(is_echo).collect::<Vec<usize>>() {
            self.columns[i] = None;
        }
    }

    /// Whether a new column is neither matched nor a copy of a matched one.
    fn is_new(&self, column: usize) -> bool {
        self.columns.iter().flatten().all(|&taken| column != taken && self.sameness_now(column, taken) < MIN_COPY_SHARE)
    }

    /// Equality of two old columns, the second one shifted by this many rows.
    fn sameness_before(&self, i: usize, k: usize, shift: usize) -> f64 {
        let rows = self.old.rows();
        sameness(
            (0..rows.min(MAX_SAMPLED_ROWS)).map(|row| (self.old.cell(row, i), self.old.cell((row + shift) % rows, k))),
        )
    }

    fn sameness_now(&self, one: usize, other: usize) -> f64 {
        sameness((0..self.rows()).map(|row| (self.cell(row, one), self.cell(row, other))))
    }

    fn rows(&self) -> usize {
        self.candidate.table.rows.len().min(MAX_SAMPLED_ROWS)
    }

    fn cell(&self, row: usize, column: usize) -> Option<&str> {
        self.candidate.table.rows[row].cells[column].as_deref()
    }
}

/// How far a column repeats another one.
#[derive(PartialEq, PartialOrd)]
enum Redundancy {
    /// The two differ in some row.
    None,
    /// Every value of it is also in the other.
    Part,
    /// And it has nearly all values of the other.
    Whole,
}

impl Redundancy {
    fn of<'c>(cells: impl Iterator<Item = CellPair<'c>> + Clone) -> Redundancy {
        let differ = |(a, b): CellPair<'_>| a.is_some() && b.is_some() && a.map(str::trim) != b.map(str::trim);
        match () {
            () if cells.clone().any(differ) => Redundancy::None,
            () if sameness(cells.clone()) >= MIN_COPY_SHARE => Redundancy::Whole,
            () if cells.clone().all(|(a, b)| a.is_none() || b.is_some()) => Redundancy::Part,
            () => Redundancy::None,
        }
    }
}

type CellPair<'c> = (Option<&'c str>, Option<&'c str>);

/// Share of the rows in which two columns are equal; rows in which both are empty are ignored.
fn sameness<'c>(cells: impl Iterator<Item = CellPair<'c>>) -> f64 {
    equal_cells(cells).1
}

/// The rows in which two columns are equal: their number and, as [`sameness`], their share.
fn equal_cells<'c>(cells: impl Iterator<Item = CellPair<'c>>) -> (u32, f64) {
    let (mut same, mut all) = (0_u32, 0_u32);
    for (a, b) in cells.filter(|(a, b)| a.is_some() || b.is_some()) {
        all += 1;
        same += u32::from(a.map(str::trim) == b.map(str::trim));
    }
    (same, f64::from(same) / f64::from(all.max(1)))
}

/// The linked records that have a value in both columns.
fn filled_links(
    old: &PreviousRows<'_>,
    candidate: &Candidate,
    again: &RecordLinks,
    (before, now): (usize, usize),
) -> usize {
    let is_filled = |&&(row, record): &&(usize, usize)| {
        old.cell(record, before).is_some() && candidate.table.rows[row].cells[now].is_some()
    };
    again.pairs.iter().filter(is_filled).count()
}

/// Share of the linked records with equal values in both columns, corrected for chance as in Cohen's kappa: zeros are
/// equal in every record.
fn agreement(old: &PreviousRows<'_>, candidate: &Candidate, again: &RecordLinks, before: usize, now: usize) -> f64 {
    let pairs = &again.pairs[..again.pairs.len().min(MAX_SAMPLED_ROWS)];
    let cells = |shift: usize| {
        pairs.iter().enumerate().map(move |(i, &(_, record))| {
            let (row, _) = pairs[(i + shift) % pairs.len()];
            (old.cell(record, before), candidate.table.rows[row].cells[now].as_deref())
        })
    };
    let (same, share) = equal_cells(cells(0));
    // A single equal value may be a coincidence.
    if same < 2 {
        return 0.0;
    }
    let chance = if pairs.len() > 2 { sameness(cells(1)) } else { 0.0 };
    if chance < 1.0 { ((share - chance) / (1.0 - chance)).max(0.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two columns, one letter per row, `-` for an empty cell.
    fn cells<'c>(one: &'c str, other: &'c str) -> impl Iterator<Item = CellPair<'c>> + Clone {
        let letters = |text: &'c str| (0..text.len()).map(move |i| Some(&text[i..=i]).filter(|it| *it != "-"));
        letters(one).zip(letters(other))
    }

    #[test]
    fn a_column_is_an_echo_of_one_that_says_all_it_says() {
        let check = |one: &str, other: &str, expected: Redundancy| {
            assert!(Redundancy::of(cells(one, other)) == expected, "{one} {other}");
        };
        check("abcd", "abcd", Redundancy::Whole);
        // One row of ten may be a header that only one of them has.
        check("abcdefghij", "-bcdefghij", Redundancy::Whole);
        check("ab--", "abcd", Redundancy::Part);
        check("abcd", "ab--", Redundancy::None);
        check("abcdefghijk", "abcdefghijx", Redundancy::None);
    }

    #[test]
    fn rows_in_which_neither_column_says_anything_do_not_count() {
        assert!((sameness(cells("a--b", "a--c")) - 0.5).abs() < 1e-9);
        assert!(sameness(cells("---", "---")) < 1e-9);
    }
}
