//! Collects column statistics of a run, row by row: fill rate, kinds of value, distinct values, repeated keys.

use std::hash::BuildHasher;

use foldhash::quality::RandomState;
use foldhash::{HashSet, HashSetExt};

use super::record_tally::RecordTally;
use crate::model::{ColumnStatistics, KnownRecords, MinHash, SIMILARITY_THRESHOLD};

/// Distinct values counted per column; a higher count changes no decision.
const MAX_DIFFERENT: usize = 10_000;

#[derive(Default)]
pub struct Tally {
    columns: Vec<ColumnStatistics>,
    different: Vec<HashSet<u64>>,
    hashes: RandomState,
    records: RecordTally,
    rows: u64,
    key: Option<KeyTally>,
}

/// The key columns, and how many rows repeat the key of an earlier row.
struct KeyTally {
    columns: Vec<String>,
    places: Vec<usize>,
    seen: HashSet<u64>,
    repeated: u64,
}

impl Tally {
    /// Also counts rows that share a key.
    pub fn with_key(self, columns: &[String]) -> Tally {
        let key = KeyTally { columns: columns.to_vec(), places: Vec::new(), seen: HashSet::new(), repeated: 0 };
        Tally { key: (!columns.is_empty()).then_some(key), ..self }
    }

    /// A sentence if several rows share a key. Only the first 10,000 distinct keys are remembered, so the number for a
    /// large table is a lower bound.
    pub fn shared_keys(&self, rows: u64) -> Option<String> {
        let key = self.key.as_ref().filter(|key| key.repeated > 0)?;
        let columns: Vec<String> = key.columns.iter().map(|name| format!("`{name}`")).collect();
        Some(format!(
            "{} of {rows} rows share their key ({}) with another row: data.key does not identify them",
            key.repeated,
            columns.join(", ")
        ))
    }

    /// `columns` identify a record, `last` are the records of the last good run ([`super::known_records`]).
    pub fn comparing((columns, last): (Vec<String>, Option<&MinHash>)) -> Tally {
        Tally { records: RecordTally::new(columns, last), ..Tally::default() }
    }

    /// Names of the columns, and whether each is visible text. Only the first call has an effect.
    pub fn set_columns(&mut self, columns: impl Iterator<Item = (String, bool)>) {
        if self.columns.is_empty() {
            self.columns =
                columns.map(|(name, is_text)| ColumnStatistics { name, is_text, ..Default::default() }).collect();
            self.different = vec![HashSet::new(); self.columns.len()];
            let place = |name: &String| self.columns.iter().position(|column| column.name == *name);
            if let Some(key) = &mut self.key {
                key.places = key.columns.iter().filter_map(place).collect();
            }
            self.records.set_columns(&self.columns.iter().map(|it| it.name.clone()).collect::<Vec<_>>());
        }
    }

    pub fn has_columns(&self) -> bool {
        !self.columns.is_empty()
    }

    pub fn add(&mut self, cells: &[Option<String>]) {
        for ((column, different), cell) in self.columns.iter_mut().zip(&mut self.different).zip(cells) {
            let Some(value) = cell.as_deref().map(str::trim).filter(|value| !value.is_empty()) else { continue };
            column.filled += 1;
            *kind_counter(column, value) += 1;
            if different.len() < MAX_DIFFERENT {
                different.insert(self.hashes.hash_one(value));
            }
        }
        if let Some(key) = &mut self.key {
            key.add(cells, &self.hashes);
        }
        self.records.add(cells);
        self.rows += 1;
    }

    /// MinHash of the records; `None` if no column identifies them.
    pub fn records(&self) -> Option<MinHash> {
        self.records.records(&self.statistics(), self.rows)
    }

    /// MinHash of the cells with their columns; `None` without cells.
    pub fn cells(&self) -> Option<MinHash> {
        self.records.cells()
    }

    /// What became of the records of the last good run; `None` if it is unknown.
    pub fn known(&self) -> Option<KnownRecords> {
        self.records.known()
    }

    /// Are so many known records missing that the rest of the page should be shown to [`Tally::see_value`]?
    pub fn misses_records(&self, similarity: f64) -> bool {
        self.records.misses_records(similarity < SIMILARITY_THRESHOLD)
    }

    /// A text or link of the page, inside or outside its rows.
    pub fn see_value(&mut self, value: &str) {
        self.records.see_value(value);
    }

    /// Counts a text without a value of the column's type; such a cell counts as empty.
    pub fn count_unread(&mut self, column: usize) {
        if let Some(column) = self.columns.get_mut(column) {
            column.unread += 1;
        }
    }

    pub fn statistics(&self) -> Vec<ColumnStatistics> {
        let counted = self.columns.iter().zip(&self.different);
        counted.map(|(column, it)| ColumnStatistics { different: it.len() as u64, ..column.clone() }).collect()
    }
}

impl KeyTally {
    fn add(&mut self, cells: &[Option<String>], hashes: &RandomState) {
        let texts: Vec<Option<&str>> = self.places.iter().map(|&at| cells.get(at)?.as_deref()).collect();
        // A record with an empty key is identified by all its cells.
        if texts.iter().all(Option::is_none) {
            return;
        }
        let hash = hashes.hash_one(&texts);
        if self.seen.contains(&hash) {
            self.repeated += 1;
        } else if self.seen.len() < MAX_DIFFERENT {
            self.seen.insert(hash);
        }
    }
}

/// The counter of a value's rough kind; prices and dates are numbers.
fn kind_counter<'c>(column: &'c mut ColumnStatistics, value: &str) -> &'c mut u64 {
    let has_scheme = value.starts_with("http://") || value.starts_with("https://");
    if has_scheme || value.starts_with('/') || value.starts_with("../") {
        return &mut column.links;
    }
    let (mut digits, mut letters) = (0_u32, 0_u32);
    for c in value.chars() {
        digits += u32::from(c.is_numeric());
        letters += u32::from(c.is_alphabetic());
    }
    if digits > 0 && digits >= letters { &mut column.numbers } else { &mut column.words }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_counted_by_what_they_hold() {
        let mut tally = Tally::default();
        tally.set_columns(["name", "price", "link"].into_iter().map(|name| (name.to_owned(), name != "link")));
        for (name, price) in [("Adler", "EUR 95.00"), ("Ida", ""), ("Ida", "3. April 2024")] {
            let cells = [name, price, "/hotel?id=1"].map(|cell| Some(cell.to_owned()));
            tally.add(&cells);
        }
        tally.add(&[None, None, None]);
        let counts = |it: &ColumnStatistics| [it.filled, it.numbers, it.words, it.links, it.different];
        let all: Vec<[u64; 5]> = tally.statistics().iter().map(counts).collect();
        assert_eq!(all, [[3, 0, 3, 0, 2], [2, 2, 0, 0, 2], [3, 0, 0, 3, 1]]);
    }
}
