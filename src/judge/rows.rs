//! Whether a run has as many rows as it should.

use serde::Serialize;

use super::window::Window;
use crate::model::task::Expect;

/// A run's rows against those of the good runs before it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RowMeasure {
    pub rows: u64,
    /// Of the good runs, newest first.
    pub good: Vec<u64>,
    /// The middle of those; none before the first good run.
    pub usual: Option<u64>,
    /// The share of the usual rows that may be missing.
    pub drop_allowed: f64,
    /// A person has said so (`expect.max_row_drop`).
    pub drop_is_told: bool,
    /// `expect.min_rows`
    pub min_rows: u64,
    /// Fewer are off.
    pub fewest: u64,
    /// What is off, in words.
    pub off: Option<String>,
}

pub fn measure(expect: &Expect, rows: u64, window: &Window<'_>) -> RowMeasure {
    let drop_allowed = expect.max_row_drop.unwrap_or_else(|| window.drop_allowed());
    let usual = window.usual_rows();
    let by_window = usual.filter(|_| drop_allowed < 1.0).map_or(0, |usual| {
        // Exactly as many as may be missing are too many.
        let gone = (usual as f64 * (1.0 - drop_allowed)).floor() as u64;
        usual.min(gone + 1)
    });
    let measure = RowMeasure {
        rows,
        good: window.rows(),
        usual,
        drop_allowed,
        drop_is_told: expect.max_row_drop.is_some(),
        min_rows: expect.min_rows,
        fewest: by_window.max(expect.min_rows),
        off: None,
    };
    RowMeasure { off: measure.what_is_off(), ..measure }
}

impl RowMeasure {
    fn what_is_off(&self) -> Option<String> {
        let rows = self.rows;
        if rows < self.min_rows {
            return Some(format!("{rows} rows, but at least {} are expected (expect.min_rows)", self.min_rows));
        }
        let usual = self.usual.filter(|_| rows < self.fewest)?;
        let missing = 100.0 * (1.0 - rows as f64 / usual as f64);
        Some(format!(
            "{rows} rows where good runs had {usual}: {missing:.0} % are missing, and {:.0} % are too many (expect.max_row_drop)",
            self.drop_allowed * 100.0
        ))
    }
}
