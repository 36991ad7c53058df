//! Record overlap: estimates with MinHash how many records a run shares with the good runs. New data alone raises no
//! alarm; it lowers the number of rows that may be missing.

use serde::Serialize;

use super::window::Window;
use crate::model::{ColumnStatistics, MinHash, PastRun, RunStatistics};

/// Pairs of consecutive good runs needed to know how fast the list changes.
const MIN_PAIRS: usize = 3;
/// A list whose consecutive runs always shared at least this much is never replaced as a whole.
const MIN_STEADY_OVERLAP: f64 = 0.25;
/// Minimum share of distinct values of a column that identifies the rows.
const MIN_DISTINCT_SHARE: f64 = 0.9;

/// The records of a run compared with those of the good runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OverlapMeasure {
    /// The columns that identify a record.
    pub columns: Vec<String>,
    /// Jaccard similarity of the records of this run and the last good one; `None` if it is unknown.
    pub shared: Option<f64>,
    /// The same for each good run and its predecessor, newest first.
    pub before: Vec<f64>,
    /// No record is known, although consecutive good runs always shared many.
    pub is_strange: bool,
}

pub(super) fn measure(figures: &RunStatistics, window: &Window<'_>) -> OverlapMeasure {
    let sketches = window.sketches();
    let columns = figures.records.as_ref().map(|it| it.columns.clone()).unwrap_or_default();
    let shared = figures.records.as_ref().zip(sketches.first()).and_then(|(now, last)| now.jaccard(last));
    let before: Vec<f64> = sketches.windows(2).filter_map(|pair| pair[0].jaccard(pair[1])).collect();
    let is_steady = before.len() >= MIN_PAIRS && before.iter().all(|&shared| shared >= MIN_STEADY_OVERLAP);
    OverlapMeasure { columns, shared, is_strange: is_steady && shared == Some(0.0), before }
}

/// The columns that identify the records of the next run: the task's key, or else the first column that was distinct in
/// the last good run. Words and links come before numbers, which change.
pub(super) fn identifying_columns(key: &[String], past: &[PastRun]) -> Vec<String> {
    if !key.is_empty() {
        return key.to_vec();
    }
    let Some(last) = past.iter().find(|run| run.verdict.outcome.is_published()) else { return Vec::new() };
    let rows = last.verdict.rows as f64;
    let tells_apart = |column: &&ColumnStatistics| column.different as f64 >= rows * MIN_DISTINCT_SHARE;
    let candidates: Vec<&ColumnStatistics> = last.verdict.statistics.columns.iter().filter(tells_apart).collect();
    let best = candidates.iter().find(|it| it.numbers * 2 < it.filled).or(candidates.first());
    best.map(|column| column.name.clone()).into_iter().collect()
}

/// An empty MinHash for the next run's records.
pub fn sketch(key: &[String], past: &[PastRun]) -> Option<MinHash> {
    let columns = identifying_columns(key, past);
    (!columns.is_empty()).then(|| MinHash::new(columns))
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;
    use crate::judge::{RunObservation, Tally, TemplateOrigin, past_run, verdict};
    use crate::model::task::Expect;

    /// A run that found these hotels; `past` is newest first.
    fn seen(hotels: Range<u32>, past: &[PastRun]) -> RunObservation {
        let mut tally = Tally::with_minhash(sketch(&[], past));
        tally.set_columns([("price", true), ("name", true)].into_iter().map(|(name, text)| (name.to_owned(), text)));
        let rows = u64::from(hotels.end - hotels.start);
        hotels.for_each(|n| tally.add(&[Some(n.to_string()), Some(format!("Hotel {}", "x".repeat(n as usize)))]));
        let figures =
            RunStatistics { columns: tally.statistics(), records: tally.records(), ..RunStatistics::default() };
        RunObservation {
            pages: 1,
            rows,
            similarity: Some(1.0),
            has_any_list: true,
            statistics: figures,
            missing_rows: None,
            template_origin: TemplateOrigin::Confirmed,
        }
    }

    /// Outcome and cause of the last of several consecutive runs.
    fn last_of(runs: &[Range<u32>]) -> String {
        let (mut past, mut words): (Vec<PastRun>, String) = Default::default();
        for hotels in runs {
            let verdict = verdict(&Expect::default(), &[], &seen(hotels.clone(), &past), &past);
            words = format!("{} {}", verdict.outcome.word(), verdict.outcome.cause());
            past.insert(0, past_run(verdict));
        }
        words
    }

    #[test]
    fn another_list_in_the_same_dress_is_noticed_when_it_is_shorter() {
        // The row count has varied: 30 % fewer rows alone are accepted.
        let steady = [0..40, 0..34, 0..40, 1..41, 2..42];
        let then = |last: Range<u32>| last_of(&[&steady[..], &[last]].concat());
        assert_eq!(then(2..30), "published changed", "the same hotels, fewer of them");
        assert_eq!(then(100..140), "published changed", "all new and as many: new data is no alarm");
        assert_eq!(then(100..128), "quarantined rows", "all new, and fewer");
    }

    #[test]
    fn a_list_that_is_new_every_day_is_no_stranger() {
        let daily = [0..40, 50..84, 100..140, 150..190, 200..240, 300..328];
        assert_eq!(last_of(&daily), "published changed");
    }

    #[test]
    fn records_are_known_by_what_does_not_change() {
        let first = seen(0..40, &[]);
        assert_eq!(first.statistics.records, None, "nothing is known before the first good run");
        let past = [past_run(verdict(&Expect::default(), &[], &first, &[]))];
        assert_eq!(identifying_columns(&[], &past), ["name"], "prices differ too, and change");
        assert_eq!(identifying_columns(&["link".to_owned()], &past), ["link"], "a person has said so");
    }
}
