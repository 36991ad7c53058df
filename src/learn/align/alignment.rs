//! Alignment: assigns the leaves of all rows to common columns, by dynamic programming over row and columns.

use super::aligner::{Aligner, SCORING_COST};
use super::profile::{Profile, ValueCounts};
use super::scores::{MatchScores, best_pairs, greedy_pairs};
use crate::learn::template::Slot;
use crate::learn::view::{Leaf, Limit, MAX_COLUMNS, PathInterner, sample};
/// Budgets for finding the columns of one row set: pairs of leaf and column compared, and the cost of scoring them.
/// Once one is spent, further rows are only checked for additional columns. 60 rows as rich as the richest of the
/// corpus (150 leaves), in 100 columns, come to 900,000 and 7 million.
const MAX_GROW_COMPARISONS: usize = 4_000_000;
const MAX_GROW_SCORED_PAIRS: usize = 16_000_000;
/// A column found in a smaller share of the rows is noise (docs/design/learning.md 2.4), on lists of at least five.
const MIN_SHARE: f64 = 0.04;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::apply::extract;
    use crate::learn::view::MAX_LEAVES;
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
