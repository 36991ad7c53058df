//! Record overlap: what a run shares with the good runs. New data alone raises no alarm. What became of the known
//! records decides how many rows may be missing, and whether a page that is built anew is still understood.

use serde::Serialize;

use super::identity::identifying_columns;
use super::window::Window;
use crate::model::{KnownRecords, MinHash, PastRun, RunStatistics};

/// Pairs of consecutive good runs needed to know how fast the list changes.
const MIN_PAIRS: usize = 3;
/// A list whose consecutive runs always shared at least this much is never replaced as a whole.
const MIN_STEADY_OVERLAP: f64 = 0.25;
/// Minimum number of known records to judge by what became of them.
const MIN_KNOWN: u32 = 8;
/// The rows lost records if at least this share of the missing ones is elsewhere on the page. Of 24 sites captured over
/// months and years, 14 redesigns had all of them there, and no page of the same template had 0.3.
const MIN_ELSEWHERE_SHARE: f64 = 0.5;
/// A list shrinks by nature if records are missing from its beginning or between others: 0 for a list without its end,
/// 0.5 where chance decides, 1 for a list without its beginning.
const MIN_LOST_BEFORE_FOUND: f64 = 0.25;
/// The rows are another list if fewer of the known records are rows again, and the others are elsewhere on the page.
const MAX_FOUND_SHARE: f64 = 0.25;
/// A page is understood, however it is built, if it has this share of the last good run's cells under their columns.
/// Rows that had become less similar to their template had 0.88 and more of them; redesigns had 0.69 and less.
const MIN_SAME_CELLS: f64 = 0.8;
/// It also has about as many rows as the last good run: a new element may hide a record.
const SAME_ROWS: std::ops::RangeInclusive<f64> = 0.9..=1.1;

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
    /// What became of the last good run's records.
    pub known: Option<KnownRecords>,
    /// Missing records are on the page, but not in its rows.
    pub has_lost_records: bool,
    /// The known records are on the page, and hardly any row has one, although good runs always shared many.
    pub is_other_list: bool,
    /// Records are missing from the beginning of the list, or between others, and are not elsewhere on the page.
    pub shrinks_by_nature: bool,
    /// Jaccard similarity of the cells, with their columns, of this run and the last good one.
    pub same_cells: Option<f64>,
    /// The cells stand under their columns as before.
    pub is_in_place: bool,
}

pub(super) fn measure(figures: &RunStatistics, rows: u64, window: &Window<'_>) -> OverlapMeasure {
    let sketches = window.sketches();
    let columns = figures.records.as_ref().map(|it| it.columns.clone()).unwrap_or_default();
    let shared = figures.records.as_ref().zip(sketches.first()).and_then(|(now, last)| now.jaccard(last));
    let before: Vec<f64> = sketches.windows(2).filter_map(|pair| pair[0].jaccard(pair[1])).collect();
    let is_steady = before.len() >= MIN_PAIRS && before.iter().all(|&shared| shared >= MIN_STEADY_OVERLAP);
    let known = figures.known.filter(|it| it.sought >= MIN_KNOWN && !window.is_empty());
    let missing = |it: &KnownRecords| it.sought.saturating_sub(it.found);
    let elsewhere = |it: &KnownRecords| f64::from(it.elsewhere) >= MIN_ELSEWHERE_SHARE * f64::from(missing(it).max(1));
    let has_lost_records = known.is_some_and(|it| elsewhere(&it));
    let is_found = |it: KnownRecords| f64::from(it.found) > MAX_FOUND_SHARE * f64::from(it.sought);
    let is_natural = |it: KnownRecords| it.found > 0 && it.lost_before_found >= MIN_LOST_BEFORE_FOUND;
    let same_cells = figures.cells.as_ref().zip(window.last_cells()).and_then(|(now, last)| now.jaccard(last));
    // Every known record is a row again, or gone from the page.
    let are_rows = known.is_some_and(|it| is_found(it) && it.elsewhere == 0);
    let last_rows = window.rows().first().map_or(0.0, |&last| last as f64);
    let are_as_many = SAME_ROWS.contains(&(rows as f64 / last_rows.max(1.0)));
    OverlapMeasure {
        columns,
        shared,
        is_strange: is_steady && shared == Some(0.0),
        before,
        has_lost_records,
        is_other_list: is_steady && has_lost_records && !known.is_some_and(is_found),
        shrinks_by_nature: !has_lost_records && known.is_some_and(is_natural),
        known,
        is_in_place: are_rows && are_as_many && same_cells.is_some_and(|same| same >= MIN_SAME_CELLS),
        same_cells,
    }
}

/// The columns that identify the records of the next run, and the records of the last good run.
pub fn known_records<'p>(key: &[String], past: &'p [PastRun]) -> (Vec<String>, Option<&'p MinHash>) {
    let columns = identifying_columns(key, past);
    let last = past.iter().find(|run| run.verdict.outcome.is_published());
    let records = last.and_then(|run| run.verdict.statistics.records.as_ref()).filter(|it| it.columns == columns);
    (columns, records)
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;
    use crate::judge::{RunObservation, Tally, TemplateOrigin, past_run, verdict};
    use crate::model::task::Expect;

    /// A run that found these hotels; `past` is newest first.
    fn seen(hotels: Range<u32>, past: &[PastRun]) -> RunObservation {
        let mut tally = Tally::comparing(known_records(&[], past));
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
        let chosen = first.statistics.records.as_ref().map(|it| it.columns.clone());
        assert_eq!(chosen, Some(vec!["name".to_owned()]), "the first run chooses by its own rows");
        let past = [past_run(verdict(&Expect::default(), &[], &first, &[]))];
        assert_eq!(identifying_columns(&[], &past), ["name"], "prices differ too, and change");
        assert_eq!(identifying_columns(&["link".to_owned()], &past), ["link"], "a person has said so");
    }
}
