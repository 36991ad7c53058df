//! The window of past good runs that a new run is compared with.
//!
//! It has up to eight runs, not the last one alone: a list that loses a third of its rows each day would otherwise
//! always be only a little smaller than the day before.

use crate::model::{ColumnStatistics, MinHash, PastRun, Signs, TableChanges};

/// Maximum number of good runs in the window.
const MAX_GOOD_RUNS: usize = 8;
/// Minimum number of runs from which the spread of the row counts is used.
const MIN_RUNS_FOR_SPREAD: usize = 4;
/// Bounds of the allowed drop: at most half of the rows, however they varied; at least a quarter, however steady.
pub(super) const MAX_ROW_DROP: f64 = 0.5;
pub(super) const MIN_ROW_DROP: f64 = 0.25;
/// The allowed drop is this many times the spread of the good runs.
const SPREAD_FACTOR: f64 = 3.0;

pub(super) struct Window<'p> {
    /// Newest first.
    good: Vec<&'p PastRun>,
}

impl<'p> Window<'p> {
    /// `past` is newest first.
    pub fn of(past: &'p [PastRun]) -> Window<'p> {
        let mut good: Vec<&PastRun> =
            past.iter().filter(|run| run.verdict.outcome.is_published()).take(MAX_GOOD_RUNS).collect();
        if let Some(accepted) = good.iter().position(|run| run.verdict.statistics.accepted) {
            good.truncate(accepted + 1);
        }
        Window { good }
    }

    pub fn is_empty(&self) -> bool {
        self.good.is_empty()
    }

    /// The median of the row counts.
    pub fn usual_rows(&self) -> Option<u64> {
        let mut rows = self.rows();
        rows.sort_unstable();
        rows.get(rows.len() / 2).copied()
    }

    /// The share of the usual rows that may be missing, from the spread of the good runs.
    pub fn drop_allowed(&self) -> f64 {
        let rows = self.rows();
        match (rows.iter().min(), rows.iter().max()) {
            (Some(&least), Some(&most)) if rows.len() >= MIN_RUNS_FOR_SPREAD => {
                let spread = 1.0 - least as f64 / most.max(1) as f64;
                (SPREAD_FACTOR * spread).clamp(MIN_ROW_DROP, MAX_ROW_DROP)
            }
            _ => MAX_ROW_DROP,
        }
    }

    /// The column's statistics and the row count of each good run that has the column.
    pub fn column(&self, name: &str) -> Vec<(&'p ColumnStatistics, u64)> {
        let of = |run: &&'p PastRun| {
            let column = run.verdict.statistics.columns.iter().find(|column| column.name == name)?;
            Some((column, run.verdict.rows))
        };
        self.good.iter().filter_map(of).collect()
    }

    /// MinHashes of the good runs' records, where stored.
    pub fn sketches(&self) -> Vec<&'p MinHash> {
        self.good.iter().filter_map(|run| run.verdict.statistics.records.as_ref()).collect()
    }

    /// Those of the changes that no good run had: a person may have accepted the others.
    pub fn news_of_table(&self, changes: &TableChanges) -> TableChanges {
        let before = |of: fn(&TableChanges) -> &[String], name: &String| {
            self.good.iter().any(|run| of(&run.verdict.statistics.table).contains(name))
        };
        let news = |of: fn(&TableChanges) -> &[String]| -> Vec<String> {
            of(changes).iter().filter(|name| !before(of, name)).cloned().collect()
        };
        TableChanges { new: news(|it| &it.new), gone: news(|it| &it.gone) }
    }

    /// MinHash of the last good run's cells.
    pub fn last_cells(&self) -> Option<&'p MinHash> {
        self.good.first()?.verdict.statistics.cells.as_ref()
    }

    /// The row count of the last good run if the list has only become shorter, otherwise `None`.
    pub fn declining_rows(&self) -> Option<u64> {
        let rows = self.rows();
        let is_declining = rows.len() >= MIN_RUNS_FOR_SPREAD && rows.is_sorted() && rows.first() < rows.last();
        rows.first().copied().filter(|_| is_declining)
    }

    /// The signs of a page (login form, error page, block page) that any good run had.
    pub fn signs(&self) -> Signs {
        let any = |sign: fn(&Signs) -> bool| self.good.iter().any(|run| sign(&run.verdict.statistics.signs));
        Signs {
            login: any(|it| it.login),
            blocked: any(|it| it.blocked),
            error: any(|it| it.error),
            no_results: any(|it| it.no_results),
            cut_off: any(|it| it.cut_off),
        }
    }

    /// The signs that no good run had: only these count.
    pub fn new_signs(&self, signs: &Signs) -> Signs {
        let before = self.signs();
        Signs {
            login: signs.login && !before.login,
            blocked: signs.blocked && !before.blocked,
            error: signs.error && !before.error,
            no_results: signs.no_results && !before.no_results,
            cut_off: signs.cut_off && !before.cut_off,
        }
    }

    /// The row counts of the good runs, newest first.
    pub fn rows(&self) -> Vec<u64> {
        self.good.iter().map(|run| run.verdict.rows).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::past_run;
    use crate::model::{Failure, Outcome, Publication, Quarantine, RunStatistics, Verdict};

    /// Newest first; `-` before a count: quarantined, `!` after it: accepted by a person.
    fn past(runs: &str) -> Vec<PastRun> {
        let run = |word: &str| {
            let outcome = match word.starts_with('-') {
                true => Outcome::Quarantined(Quarantine::Rows),
                false => Outcome::Published(Publication::Changed),
            };
            let figures = RunStatistics { accepted: word.ends_with('!'), ..RunStatistics::default() };
            let rows = word.trim_matches(['-', '!']).parse().expect("a number");
            past_run(Verdict { outcome, rows, statistics: figures, ..Verdict::failed(Failure::Internal, "") })
        };
        runs.split_whitespace().map(run).collect()
    }

    #[test]
    fn only_good_runs_since_a_person_spoke_are_looked_back_on() {
        for (runs, rows) in [
            ("", &[][..]),
            ("3 -1 2", &[3, 2]),
            ("3 4! 90 91", &[3, 4]),
            ("-9! 3 4", &[3, 4]),
            ("1 2 3 4 5 6 7 8 9 10", &[1, 2, 3, 4, 5, 6, 7, 8]),
        ] {
            assert_eq!(Window::of(&past(runs)).rows(), rows, "{runs}");
        }
    }

    #[test]
    fn what_is_usual_is_in_the_middle_and_not_the_last_word() {
        for (runs, usual) in [("", None), ("40", Some(40)), ("1 40 41", Some(40)), ("10 40 41 42", Some(41))] {
            assert_eq!(Window::of(&past(runs)).usual_rows(), usual, "{runs}");
        }
    }

    #[test]
    fn a_list_that_varies_may_vary() {
        for (runs, drop) in [
            ("40 40 40", 0.5),
            ("40 40 40 40", 0.25),
            ("40 39 40 40", 0.25),
            ("40 36 40 40", 0.3),
            ("40 10 40 40", 0.5),
            ("0 0 0 0", 0.5),
        ] {
            let allowed = Window::of(&past(runs)).drop_allowed();
            assert!((allowed - drop).abs() < 1e-9, "{runs}: {allowed}");
        }
    }
}
