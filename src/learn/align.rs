//! Alignment: assigns the leaves of all rows to common columns, by dynamic programming over row and columns.

use foldhash::{HashMap, HashMapExt, HashSet};

use super::features::sample;
use super::leaf::{Leaf, LeafKind};
use super::limit::Limit;
use super::paths::{PathId, PathInterner};
use super::profile::{Profile, ValueCounts};
use super::template::Slot;

/// Maximum columns of a row set. Further leaves get no column, and the limit is reported ([`Limit`]). It is higher than
/// the limit of a published table, because some columns are hidden.
pub const MAX_COLUMNS: usize = 600;
/// Budgets for finding the columns of one row set: pairs of leaf and column compared, and the cost of scoring them.
/// Once one is spent, further rows are only checked for additional columns. 60 rows as rich as the richest of the
/// corpus (150 leaves), in 100 columns, come to 900,000 and 7 million.
const MAX_GROW_COMPARISONS: usize = 4_000_000;
const MAX_GROW_SCORED_PAIRS: usize = 16_000_000;
/// The same budgets for aligning rows to known columns; rows beyond them are aligned greedily ([`greedy_pairs`]). They
/// hold for the whole list, plus [`COMPARISONS_PER_LEAF`]: a table of fewer columns is aligned completely, however
/// long.
const MAX_COMPARISONS: usize = 16_000_000;
const COMPARISONS_PER_LEAF: usize = 100;
const MAX_SCORED_PAIRS: usize = 8_000_000;
/// Cost of scoring a leaf with a new signature against a column, in comparisons of a known one. With a distinct class
/// path for every leaf, 50 deep, half of 1.6 s was spent on it.
const SCORING_COST: usize = 8;
/// Maximum columns that a leaf may skip in greedy alignment.
const MAX_SKIPPED_COLUMNS: usize = 8;
/// A column found in a smaller share of the rows is noise (docs/design/learning.md 2.4), on lists of at least five.
const MIN_SHARE: f64 = 0.04;

// The weights of docs/design/learning.md 2.4.
const KNOWN_PATH: f64 = 0.7;
const PATH_SHARE: f64 = 0.3;
const MIN_PATH: f64 = 0.35;
const CLASS: f64 = 0.6;
const VALUE: f64 = 0.8;
const TYPE: f64 = 0.3;
const LABEL_MISMATCH: f64 = 0.35;
const GAP: f64 = 0.45;

/// Credit for a value on a new path: half (docs/design/learning.md 2.5), more if an element was only wrapped around it.
const NEW_PATH: f64 = 0.5;
const SAME_CLASSES: f64 = 0.9;

/// The result: for each row and column, the index of the leaf.
pub struct Alignment {
    pub columns: Vec<Profile>,
    pub cells: Vec<Vec<Option<usize>>>,
    /// The limit that was reached: leaves may have no column or a wrong one.
    pub limit: Option<Limit>,
}

impl Alignment {
    /// The columns as slots of a template. `rows` are the aligned rows.
    pub fn slots(&self, rows: &[Vec<Leaf>], paths: &PathInterner) -> Vec<Slot> {
        let mut values: Vec<ValueCounts<'_>> = self.columns.iter().map(|_| ValueCounts::default()).collect();
        // Row by row, because the leaves of a row are adjacent in memory.
        for (row, cells) in rows.iter().zip(&self.cells) {
            for ((column, values), cell) in self.columns.iter().zip(&mut values).zip(cells) {
                if let Some(leaf) = cell.filter(|_| column.has_repeated_value()) {
                    values.add(&row[leaf]);
                }
            }
        }
        self.columns.iter().zip(values).map(|(column, values)| column.to_slot(paths, values)).collect()
    }
}

/// Aligns rows. Starts with the row at the third quartile of length; each row of a sample is aligned to the columns so
/// far and may add columns. Then all rows are aligned to the final columns.
pub fn align(rows: &[Vec<Leaf>], paths: &mut PathInterner) -> Alignment {
    let mut by_length: Vec<usize> = (0..rows.len()).collect();
    by_length.sort_by_key(|&i| (rows[i].len(), i));
    let Some(&seed) = by_length.get(by_length.len() * 3 / 4) else {
        return Alignment { columns: Vec::new(), cells: Vec::new(), limit: None };
    };
    let all: Vec<usize> = (0..rows.len()).filter(|&i| i != seed).collect();
    let mut columns: Vec<Profile> = Vec::new();
    let (mut sampled, mut compared, mut weighed, mut limit) = (0, 0, 0, None);
    for i in std::iter::once(seed).chain(sample(&all)) {
        compared += columns.len() * rows[i].len();
        if compared > MAX_GROW_COMPARISONS || weighed > MAX_GROW_SCORED_PAIRS {
            let has_more = greedy_pairs(&columns, &rows[i]).contains(&None);
            limit = limit.or(has_more.then_some(Limit::Comparisons));
            continue;
        }
        let (reached, cost) = grow(&mut columns, &rows[i], paths);
        (limit, weighed) = (limit.or(reached), weighed + cost * SCORING_COST);
        sampled += 1;
    }
    if sampled >= 5 {
        columns.retain(|column| f64::from(column.count) >= MIN_SHARE * sampled as f64);
    }
    let mut aligner = Aligner::new(columns);
    let cells: Vec<Vec<Option<usize>>> = rows.iter().map(|row| aligner.align(row, paths)).collect();
    let limit = limit.or(aligner.limit());
    Alignment { limit, ..recount(rows, cells, aligner.columns) }
}

/// Recounts from the final cells and drops empty columns.
fn recount(rows: &[Vec<Leaf>], cells: Vec<Vec<Option<usize>>>, columns: Vec<Profile>) -> Alignment {
    let mut counted: Vec<Profile> = columns.iter().map(|column| Profile::new(column.kind)).collect();
    for (row, cells) in rows.iter().zip(&cells) {
        for (column, cell) in counted.iter_mut().zip(cells) {
            if let Some(leaf) = cell {
                column.add(&row[*leaf]);
            }
        }
    }
    if counted.iter().all(|column| column.count > 0) {
        return Alignment { columns: counted, cells, limit: None };
    }
    let kept: Vec<usize> = (0..counted.len()).filter(|&i| counted[i].count > 0).collect();
    let cells = cells.iter().map(|row| kept.iter().map(|&i| row[i]).collect()).collect();
    counted.retain(|column| column.count > 0);
    Alignment { columns: counted, cells, limit: None }
}

/// Aligns one row and adds it: matched leaves are counted, others become new columns at their position, up to the
/// limit. Also returns the number of scored pairs.
fn grow(columns: &mut Vec<Profile>, row: &[Leaf], paths: &mut PathInterner) -> (Option<Limit>, usize) {
    let mut limit = None;
    let mut worth = MatchScores::of(columns);
    let pairs = best_pairs(columns, &mut worth, row, paths);
    let mut merged: Vec<Profile> = Vec::with_capacity(columns.len() + 4);
    let mut old = std::mem::take(columns).into_iter();
    let mut taken = 0;
    for (leaf, column) in row.iter().zip(pairs) {
        match column {
            Some(column) => {
                merged.extend(old.by_ref().take(column - taken));
                taken = column + 1;
                let mut profile = old.next().expect("matched columns ascend within the list");
                profile.add(leaf);
                merged.push(profile);
            }
            None if merged.len() + old.len() < MAX_COLUMNS => {
                let mut profile = Profile::new(leaf.kind);
                profile.add(leaf);
                merged.push(profile);
            }
            None => limit = Some(Limit::Columns),
        }
    }
    merged.extend(old);
    *columns = merged;
    (limit, worth.scored_pairs)
}

/// Aligns rows to fixed columns; rows with the same signature are aligned once.
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

type LeafSignature = (LeafKind, PathId, PathId, u64);

impl Aligner {
    pub fn new(columns: Vec<Profile>) -> Aligner {
        let anchors = columns.iter().flat_map(Profile::anchors).collect();
        let weight = columns.iter().map(|column| f64::from(column.count)).sum();
        let (known, build) = (HashMap::new(), Vec::new());
        Aligner {
            scores: MatchScores::of(&columns),
            columns,
            anchors,
            alignments: known,
            row_signature: build,
            weight,
            comparisons: 0,
            leaves: 0,
            used_greedy_pairs: false,
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

/// Cached scores of leaves against fixed columns.
struct MatchScores {
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
    scored_pairs: usize,
}

/// Maximum cached scores. A page where every row has its own signatures gains nothing from the cache and would need
/// 100 MB. A table of 300 columns, each with its own class, has 300,000 scores.
const MAX_CACHED_SCORES: usize = 500_000;

impl MatchScores {
    fn of(columns: &[Profile]) -> MatchScores {
        let most = f64::from(columns.iter().map(|column| column.count).max().unwrap_or(1).max(1));
        let skip = |column: &Profile| -GAP * (0.35 + 0.65 * f64::from(column.count) / most);
        MatchScores {
            skip_costs: columns.iter().map(skip).collect(),
            labels: columns.iter().map(Profile::is_label).collect(),
            main_paths: columns.iter().map(Profile::main_path).collect(),
            signature_index: HashMap::new(),
            signature_scores: Vec::new(),
            path_index: HashMap::new(),
            path_scores: Vec::new(),
            scored_pairs: 0,
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
            main_paths: mains,
            signature_index: builds,
            signature_scores: by_build,
            path_index: ways,
            path_scores: by_way,
            scored_pairs: weighed,
            ..
        } = self;
        let place = |leaf: &Leaf| {
            let kind = leaf.value_type();
            *builds.entry((leaf.kind, leaf.path, leaf.class_path, kind)).or_insert_with(|| {
                let way = *ways.entry((leaf.kind, leaf.path)).or_insert_with(|| {
                    let way = by_way.len();
                    let worth = |(column, &main): (&Profile, &PathId)| fit_path(leaf, column, main, paths);
                    by_way.extend(columns.iter().zip(mains.iter()).map(worth));
                    way
                });
                let place = by_build.len();
                let worth = |(column, &path): (&Profile, &Option<f64>)| Some(fit_signature(leaf, kind, column, path?));
                by_build.extend(columns.iter().zip(&by_way[way..]).map(worth));
                *weighed += columns.len();
                place
            })
        };
        row.iter().map(place).collect()
    }
}

/// The best order-preserving assignment, by dynamic programming: the column of each leaf.
fn best_pairs(columns: &[Profile], worth: &mut MatchScores, row: &[Leaf], paths: &PathInterner) -> Vec<Option<usize>> {
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
fn greedy_pairs(columns: &[Profile], row: &[Leaf]) -> Vec<Option<usize>> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extract::extract;
    use crate::learn::leaf::MAX_LEAVES;
    use crate::learn::{Candidate, LearnOptions, learn};
    use crate::page::Tree;

    const ROWS: usize = 12;

    /// A table whose cells are generated from row and column.
    fn table(columns: usize, cell: impl Fn(usize, usize) -> String) -> Tree {
        let row = |row: usize| format!("<tr>{}</tr>", (0..columns).map(|column| cell(row, column)).collect::<String>());
        Tree::parse(&format!("<table>{}</table>", (0..ROWS).map(row).collect::<String>()))
    }

    /// The list of the table's rows; its cells may be a list of their own.
    fn rows_of(page: &Tree) -> Candidate {
        let found = learn(std::slice::from_ref(page), &LearnOptions::default());
        found.into_iter().find(|it| it.table.rows.len() == ROWS).expect("the rows are a list")
    }

    #[test]
    fn all_columns_of_a_wide_table_are_found_or_a_limit_is_named() {
        let plain = |row: usize, column: usize| format!("<td>{row} of {column}</td>");
        let classed = |row: usize, column: usize| {
            let name: String = column.to_string().bytes().map(|it| char::from(it - b'0' + b'a')).collect();
            format!("<td class=v{name}>{row} of {column}</td>")
        };
        for page in [table(300, plain), table(300, classed)] {
            let found = rows_of(&page);
            assert_eq!((found.limit, found.template.variants[0].slots.len()), (None, 300));
            let read = extract(&found.template, &page);
            assert_eq!((read.limit, read.table.rows.len()), (None, ROWS));
            assert_eq!(read.table.rows[ROWS - 1].cells[299].as_deref(), Some("11 of 299"));
        }
        assert_eq!(rows_of(&table(MAX_COLUMNS + 1, plain)).limit, Some(Limit::Columns));
        assert_eq!(rows_of(&table(MAX_LEAVES + 1, plain)).limit, Some(Limit::Columns));
        let narrow = rows_of(&table(MAX_LEAVES / 2, plain));
        let links =
            table(MAX_LEAVES / 2, |row, column| format!("<td><a href=/{row}>{row} of {column}</a><i>!</i></td>"));
        assert_eq!(rows_of(&links).limit, Some(Limit::Columns));
        assert_eq!((narrow.limit, narrow.table.rows.len()), (None, ROWS));
    }
}
