//! Collects the MinHash of a run's records, and looks for the records of the last good run.

use super::identity::identifying_column;
use crate::model::{ColumnStatistics, KnownRecords, MinHash};

/// A page like its template is searched for known records only if its rows have fewer than this share of them.
const MIN_FOUND_SHARE: f64 = 0.75;

#[derive(Default)]
pub(super) struct RecordTally {
    /// The columns that identify a record, and their indices; empty if the run has to choose.
    columns: Vec<String>,
    places: Vec<usize>,
    /// One sketch per column while none is chosen, otherwise one.
    sketches: Vec<MinHash>,
    /// All cells with the name of their column.
    cells: MinHash,
    names: Vec<String>,
    sought: Vec<SoughtRecord>,
}

struct SoughtRecord {
    hash: u32,
    is_row: bool,
    is_on_page: bool,
}

impl RecordTally {
    /// `columns` identify a record; if there are none, the first run chooses one. `last` are the records of the last
    /// good run.
    pub fn new(columns: Vec<String>, last: Option<&MinHash>) -> RecordTally {
        let known = last.map(MinHash::in_order).unwrap_or_default();
        let sought = known.iter().map(|&hash| SoughtRecord { hash, is_row: false, is_on_page: false });
        RecordTally { columns, sought: sought.collect(), ..RecordTally::default() }
    }

    pub fn set_columns(&mut self, names: &[String]) {
        let place = |name: &String| names.iter().position(|it| it == name);
        // A missing column identifies nothing.
        self.places = self.columns.iter().map(place).collect::<Option<_>>().unwrap_or_default();
        self.sketches = match (self.columns.is_empty(), self.places.is_empty()) {
            (true, _) => names.iter().map(|name| MinHash::new(vec![name.clone()])).collect(),
            (false, true) => Vec::new(),
            (false, false) => vec![MinHash::new(self.columns.clone())],
        };
        names.clone_into(&mut self.names);
    }

    pub fn add(&mut self, cells: &[Option<String>]) {
        for (name, cell) in self.names.iter().zip(cells) {
            if let Some(value) = cell.as_deref().filter(|value| !value.trim().is_empty())
                && let Some(hash) = MinHash::hash_of([Some(name.as_str()), Some(value)].into_iter())
            {
                self.cells.add_hash(hash);
            }
        }
        let cell = |place: usize| cells.get(place)?.as_deref();
        if self.columns.is_empty() {
            for (place, sketch) in self.sketches.iter_mut().enumerate() {
                sketch.add([cell(place)].into_iter());
            }
        } else if let Some(sketch) = self.sketches.first_mut()
            && let Some(hash) = MinHash::hash_of(self.places.iter().map(|&place| cell(place)))
        {
            sketch.add_hash(hash);
            self.sought.iter_mut().filter(|it| it.hash == hash).for_each(|it| it.is_row = true);
        }
    }

    /// Are so many known records missing that the rest of the page is worth a search? On a page that is unlike its
    /// template each of them counts. Records that several columns identify cannot be found outside a row.
    pub fn misses_records(&self, is_dissimilar: bool) -> bool {
        let found = self.sought.iter().filter(|it| it.is_row).count() as f64;
        let needed = if is_dissimilar { 1.0 } else { MIN_FOUND_SHARE };
        self.places.len() == 1 && found < self.sought.len() as f64 * needed
    }

    /// A text or link of the page, inside or outside its rows.
    pub fn see_value(&mut self, value: &str) {
        let hash = MinHash::hash_of([Some(value)].into_iter());
        self.sought.iter_mut().filter(|it| Some(it.hash) == hash).for_each(|it| it.is_on_page = true);
    }

    /// `None` if no column identifies the records.
    pub fn records(&self, columns: &[ColumnStatistics], rows: u64) -> Option<MinHash> {
        let chosen = if self.columns.is_empty() { identifying_column(columns, rows)? } else { 0 };
        self.sketches.get(chosen).cloned()
    }

    pub fn cells(&self) -> Option<MinHash> {
        (self.cells.hash_count() > 0).then(|| self.cells.clone())
    }

    pub fn known(&self) -> Option<KnownRecords> {
        if self.sought.is_empty() || self.places.is_empty() {
            return None;
        }
        let count = |is: fn(&SoughtRecord) -> bool| self.sought.iter().filter(|it| is(it)).count();
        let (all, found) = (self.sought.len(), count(|it| it.is_row));
        let elsewhere = count(|it| !it.is_row && it.is_on_page);
        let (mut lost, mut pairs) = (0, 0);
        for record in &self.sought {
            if record.is_row {
                pairs += lost;
            } else {
                lost += 1;
            }
        }
        let most = (found * (all - found)).max(1);
        Some(KnownRecords {
            sought: all as u32,
            found: found as u32,
            elsewhere: elsewhere as u32,
            lost_before_found: pairs as f64 / most as f64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(names: &[&str], last: Option<&MinHash>) -> RecordTally {
        let mut tally = RecordTally::new(vec!["name".to_owned()], last);
        tally.set_columns(&["name".to_owned()]);
        names.iter().for_each(|name| tally.add(&[Some((*name).to_owned())]));
        tally
    }

    #[test]
    fn a_missing_record_is_elsewhere_or_gone_and_was_first_or_last() {
        let names = ["Adler", "Ida", "Krone", "Linde", "Mohr", "Nord", "Ochsen", "Post"];
        let last = list(&names, None).records(&[], 8);
        for (what, now, on_page, expected) in [
            ("all are there", &names[..], "", (8, 0, 0.0)),
            ("the end is cut off", &names[..6], "", (6, 0, 0.0)),
            ("the beginning is past", &names[3..], "", (5, 0, 1.0)),
            ("one moved into a box", &names[1..], "Adler", (7, 1, 1.0)),
            ("some are closed", &["Ida", "Linde", "Nord", "Post"], "", (4, 0, 10.0 / 16.0)),
        ] {
            let mut tally = list(now, last.as_ref());
            tally.see_value(on_page);
            let known = tally.known().unwrap_or_default();
            assert_eq!((known.found, known.elsewhere, known.lost_before_found), expected, "{what}");
            assert_eq!(tally.misses_records(false), known.found < 6, "{what}");
            assert_eq!(tally.misses_records(true), known.found < 8, "{what}");
        }
    }
}
