//! Row count check: compares the number of rows with the median of the good runs.

use serde::Serialize;

use super::record_overlap::OverlapMeasure;
use super::window::{MAX_ROW_DROP, MIN_ROW_DROP, Window};
use crate::model::counted;
use crate::model::task::Expect;

/// The row count of a run beside those of the good runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RowMeasure {
    pub rows: u64,
    /// Of the good runs, newest first.
    pub good: Vec<u64>,
    /// Their median; `None` before the first good run.
    pub usual: Option<u64>,
    /// The share of the usual rows that may be missing.
    pub drop_allowed: f64,
    /// `drop_allowed` comes from task.toml (`expect.max_row_drop`).
    pub drop_is_told: bool,
    /// `expect.min_rows`
    pub min_rows: u64,
    /// The minimum row count; fewer rows are quarantined.
    pub fewest: u64,
    /// Why fewer or more rows may be missing than usual.
    pub reason: Option<&'static str>,
    /// What is wrong, as a sentence.
    pub off: Option<String>,
}

/// Tolerance for floating-point error: a tenth of 40 is computed as 4 − 10⁻¹⁵.
const ROUNDING: f64 = 1e-9;

const STRANGE: &str = "no record is known from earlier runs";
const LOST: &str = "missing records are elsewhere on the page";
const NATURAL: &str = "records are missing from the beginning of the list, or between others";

pub(super) fn measure(expect: &Expect, rows: u64, overlap: &OverlapMeasure, window: &Window<'_>) -> RowMeasure {
    let reason = match overlap {
        // Another list in the same layout rarely has the same length.
        OverlapMeasure { is_strange: true, .. } => Some(STRANGE),
        // A part of the list has another form.
        OverlapMeasure { has_lost_records: true, .. } => Some(LOST),
        // A page that was cut, or a list that is shown in parts, loses its end.
        OverlapMeasure { shrinks_by_nature: true, .. } => Some(NATURAL),
        _ => None,
    };
    let is_suspicious = matches!(reason, Some(STRANGE | LOST));
    let learned = || match reason {
        _ if is_suspicious => MIN_ROW_DROP,
        Some(_) => MAX_ROW_DROP,
        None => window.drop_allowed(),
    };
    let drop_allowed = expect.max_row_drop.unwrap_or_else(learned);
    let declining = window.declining_rows().filter(|_| reason == Some(NATURAL));
    let usual = declining.or_else(|| window.usual_rows());
    let by_window = usual.filter(|_| drop_allowed < 1.0).map_or(0, |usual| {
        // A drop of exactly `drop_allowed` is already too much.
        let left = (usual as f64 * (1.0 - drop_allowed) + ROUNDING).floor() as u64;
        usual.min(left + 1)
    });
    // A list that grew may become as short as it was.
    let by_window = match window.rows().into_iter().min() {
        Some(least) if !is_suspicious && expect.max_row_drop.is_none() => by_window.min(least),
        _ => by_window,
    };
    let measure = RowMeasure {
        rows,
        good: window.rows(),
        usual,
        drop_allowed,
        drop_is_told: expect.max_row_drop.is_some(),
        min_rows: expect.min_rows,
        fewest: by_window.max(expect.min_rows),
        reason,
        off: None,
    };
    RowMeasure { off: measure.anomaly(), ..measure }
}

impl RowMeasure {
    fn anomaly(&self) -> Option<String> {
        let rows = self.rows;
        if rows < self.min_rows {
            return Some(format!(
                "{}, but at least {} are expected (expect.min_rows)",
                counted(rows, "row"),
                self.min_rows
            ));
        }
        let usual = self.usual.filter(|_| rows < self.fewest)?;
        let missing = 100.0 * (1.0 - rows as f64 / usual as f64);
        let reason = self.reason.filter(|it| *it != NATURAL).map(|it| format!(" and {it}")).unwrap_or_default();
        Some(format!(
            "{}, good runs had {usual}: {missing:.0} % are missing{reason}; the limit is {:.0} % \
             (expect.max_row_drop)",
            counted(rows, "row"),
            self.drop_allowed * 100.0
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::{past_run, record_overlap};
    use crate::model::{Failure, Outcome, PastRun, Publication, RunStatistics, Verdict};

    fn good(rows: &[u64]) -> Vec<PastRun> {
        let outcome = Outcome::Published(Publication::Changed);
        let run = |&rows: &u64| past_run(Verdict { outcome, rows, ..Verdict::failed(Failure::Internal, "") });
        rows.iter().map(run).collect()
    }

    fn nothing_known() -> OverlapMeasure {
        record_overlap::measure(&RunStatistics::default(), 0, &Window::of(&[]))
    }

    #[test]
    fn as_many_rows_as_may_not_be_missing_are_the_fewest() {
        let told = |drop| Expect { max_row_drop: Some(drop), ..Expect::default() };
        for (what, expect, past, fewest) in [
            ("nothing is known", Expect::default(), &[][..], 1),
            ("one good run", Expect::default(), &[40], 21),
            ("four steady ones", Expect::default(), &[40, 40, 40, 40], 31),
            ("a person allows more", told(0.9), &[40, 40, 40, 40], 5),
            ("a person allows any", told(1.0), &[40], 1),
            ("a person allows none", told(0.0), &[40], 40),
            ("a person wants more than there were", Expect { min_rows: 60, ..Expect::default() }, &[40], 60),
            ("a list that grew", Expect::default(), &[40, 40, 12, 10], 10),
            ("a list of one", Expect::default(), &[1], 1),
        ] {
            let past = good(past);
            let window = Window::of(&past);
            assert_eq!(measure(&expect, 0, &nothing_known(), &window).fewest, fewest, "{what}");
            assert_eq!(measure(&expect, fewest, &nothing_known(), &window).off, None, "{what}: enough");
            assert!(measure(&expect, fewest - 1, &nothing_known(), &window).off.is_some(), "{what}: one less");
        }
    }

    #[test]
    fn more_rows_are_no_alarm_and_the_sentence_has_the_numbers() {
        let past = good(&[40]);
        let window = Window::of(&past);
        assert_eq!(measure(&Expect::default(), 4_000, &nothing_known(), &window).off, None);
        let off = measure(&Expect::default(), 10, &nothing_known(), &window).off.unwrap_or_default();
        assert!(off.contains("10 rows, good runs had 40: 75 % are missing"), "{off}");
    }
}
