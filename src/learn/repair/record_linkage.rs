//! Old records on a new page.

use foldhash::{HashMap, HashMapExt, HashSet};

use super::super::leaf::fingerprint;
use super::super::template::Template;
use crate::model::{Row, Table};

/// Old rows that are looked for.
const MAX_PREVIOUS_ROWS: usize = 2_000;
/// A value shorter than this says nothing about whose it is.
const MIN_CHARS: usize = 3;
/// An old value that this many records share says nothing either.
const MAX_OWNERS: usize = 3;

/// The last good rows.
pub struct PreviousRows<'t> {
    pub template: &'t Template,
    /// Of each column of the template: where the rows have it.
    row_columns: Vec<Option<usize>>,
    rows: &'t [Row],
    /// Of each telling value: the records that have it.
    owners: HashMap<u64, Vec<usize>>,
}

/// Which old record each row of a list is.
pub struct RecordLinks {
    pub pairs: Vec<(usize, usize)>,
    old: usize,
}

impl RecordLinks {
    /// Of the old records: how many were found. Not of the rows: four links that every page has are all found again.
    pub fn share(&self) -> f64 {
        self.pairs.len() as f64 / self.old.max(1) as f64
    }
}

impl<'t> PreviousRows<'t> {
    pub fn new(template: &'t Template, good: &'t Table) -> PreviousRows<'t> {
        let place = |name: &str| good.columns.iter().position(|it| it == name);
        let places: Vec<Option<usize>> = template.columns().iter().map(|column| place(&column.name)).collect();
        let rows = &good.rows[..good.rows.len().min(MAX_PREVIOUS_ROWS)];
        let mut owners: HashMap<u64, Vec<usize>> = HashMap::new();
        for (i, row) in rows.iter().enumerate() {
            for print in value_fingerprints(&row.cells) {
                owners.entry(print).or_default().push(i);
            }
        }
        owners.retain(|_, records| records.len() <= MAX_OWNERS);
        PreviousRows { template, row_columns: places, rows, owners }
    }

    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    pub fn has_column(&self, column: usize) -> bool {
        self.row_columns[column].is_some()
    }

    /// The values of a column of the template.
    pub fn column(&self, column: usize) -> impl Iterator<Item = Option<&str>> {
        (0..self.rows.len()).map(move |row| self.cell(row, column))
    }

    pub fn cell(&self, row: usize, column: usize) -> Option<&str> {
        self.rows[row].cells.get(self.row_columns[column]?)?.as_deref()
    }

    /// Each row with the old record that it shares most telling values with; each record once.
    pub fn link_records(&self, table: &Table) -> RecordLinks {
        let mut shared: Vec<(usize, usize, usize, usize)> = Vec::new();
        for (i, row) in table.rows.iter().enumerate() {
            let mut counts: HashMap<usize, usize> = HashMap::new();
            for print in value_fingerprints(&row.cells) {
                for &record in self.owners.get(&print).into_iter().flatten() {
                    *counts.entry(record).or_default() += 1;
                }
            }
            // The row that holds the whole list has every record in it.
            if counts.len() <= MAX_OWNERS * 2 {
                shared.extend(counts.into_iter().map(|(record, count)| (count, i.abs_diff(record), i, record)));
            }
        }
        shared.sort_by_key(|&(count, apart, row, record)| (std::cmp::Reverse(count), apart, row, record));
        let (mut rows, mut records): (HashSet<usize>, HashSet<usize>) = (HashSet::default(), HashSet::default());
        let mut pairs = Vec::new();
        for (_, _, row, record) in shared {
            if !rows.contains(&row) && !records.contains(&record) {
                rows.insert(row);
                records.insert(record);
                pairs.push((row, record));
            }
        }
        RecordLinks { pairs, old: self.rows.len() }
    }
}

/// The values of a row that may tell whose it is, each once.
fn value_fingerprints(cells: &[Option<String>]) -> HashSet<u64> {
    let values = cells.iter().flatten().map(|value| value.trim());
    values.filter(|value| value.chars().nth(MIN_CHARS - 1).is_some()).map(fingerprint).collect()
}
