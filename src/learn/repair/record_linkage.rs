//! Record linkage: finds the old records among the rows of a new page.

use foldhash::{HashMap, HashMapExt, HashSet};

use crate::learn::template::Template;
use crate::learn::view::{count_keys, fingerprint};
use crate::model::{Row, Table};

/// Maximum number of old rows that are looked for.
const MAX_PREVIOUS_ROWS: usize = 2_000;
/// Shorter values do not identify a record.
const MIN_CHARS: usize = 3;
/// Values of more old records than this do not identify one either.
const MAX_OWNERS: usize = 3;

/// The last good rows, indexed by their distinctive values.
pub struct PreviousRows<'t> {
    pub template: &'t Template,
    /// The index of each template column in the rows.
    row_columns: Vec<Option<usize>>,
    rows: &'t [Row],
    /// The records that have each distinctive value.
    owners: HashMap<u64, Vec<usize>>,
}

/// The pairs (row of the new list, old record).
pub struct RecordLinks {
    pub pairs: Vec<(usize, usize)>,
    old: usize,
}

impl RecordLinks {
    /// Share of the old records that were found. Not of the new rows: a list of four links that every page has would
    /// score 1.
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

    pub fn column(&self, column: usize) -> impl Iterator<Item = Option<&str>> {
        (0..self.rows.len()).map(move |row| self.cell(row, column))
    }

    pub fn cell(&self, row: usize, column: usize) -> Option<&str> {
        self.rows[row].cells.get(self.row_columns[column]?)?.as_deref()
    }

    /// Links each row to the old record with which it shares the most distinctive values; each record once.
    pub fn link_records(&self, table: &Table) -> RecordLinks {
        let mut shared: Vec<(usize, usize, usize, usize)> = Vec::new();
        for (i, row) in table.rows.iter().enumerate() {
            let prints = value_fingerprints(&row.cells);
            let counts = count_keys(prints.iter().filter_map(|print| self.owners.get(print)).flatten().copied());
            // A row that contains the whole list shares values with every record; it is ignored.
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

/// The distinct values of a row that are long enough to identify a record.
fn value_fingerprints(cells: &[Option<String>]) -> HashSet<u64> {
    let values = cells.iter().flatten().map(|value| value.trim());
    values.filter(|value| value.chars().nth(MIN_CHARS - 1).is_some()).map(fingerprint).collect()
}
