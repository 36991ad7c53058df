//! Decides outcome and cause of a run whose robot reached the pages.

use super::columns::ColumnMeasure;
use super::record_overlap::OverlapMeasure;
use super::window::Window;
use super::{columns, record_overlap, rows};
use crate::model::task::Expect;
use crate::model::{
    Column, Emptiness, Failure, KnownRecords, Outcome, PastRun, Publication, Quarantine, RunStatistics,
    SIMILARITY_THRESHOLD, TableChanges, Verdict, counted,
};

/// What the child measured.
#[derive(Clone, Debug, PartialEq)]
pub struct RunObservation {
    pub pages: u32,
    pub rows: u64,
    /// The lowest similarity of the pages with rows; of the first page if none has rows.
    pub similarity: Option<f64>,
    /// The first page has a list, whether or not it fits the template.
    pub has_any_list: bool,
    pub statistics: RunStatistics,
    /// Why rows are missing although the robot reached the pages, as a sentence.
    pub missing_rows: Option<String>,
    pub template_origin: TemplateOrigin,
}

/// Where the template came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplateOrigin {
    /// A person has confirmed it.
    Confirmed,
    /// Learned in an earlier run; no person has confirmed it yet.
    Unconfirmed,
    /// Learned in this run.
    LearnedNow { clearly_ahead: bool },
}

/// The verdict on a run whose robot reached the pages. `named` are the task's columns; `past` is newest first.
pub fn verdict(expect: &Expect, named: &[Column], seen: &RunObservation, past: &[PastRun]) -> Verdict {
    let (outcome, sentence) = judge(expect, named, seen, &Window::of(past));
    Verdict {
        outcome,
        sentence,
        similarity: seen.similarity,
        rows: seen.rows,
        pages: seen.pages,
        provisional: seen.template_origin != TemplateOrigin::Confirmed,
        statistics: seen.statistics.clone(),
    }
}

fn judge(expect: &Expect, named: &[Column], seen: &RunObservation, window: &Window<'_>) -> (Outcome, String) {
    let RunObservation { rows, pages, .. } = *seen;
    let is_incomplete = seen.missing_rows.as_ref().filter(|_| rows > 0);
    let incomplete = is_incomplete.map(|sentence| (Outcome::Quarantined(Quarantine::Rows), sentence.clone()));
    if let TemplateOrigin::LearnedNow { clearly_ahead } = seen.template_origin {
        return incomplete.unwrap_or_else(|| match (rows, clearly_ahead) {
            (0, _) => outcome_from_signs(expect, seen, window).unwrap_or_else(|| no_list_outcome(pages)),
            (_, true) => (
                Outcome::Published(Publication::Changed),
                format!("learned a list of {} and published it; confirm it or choose another", counted(rows, "row")),
            ),
            (_, false) => (Outcome::Quarantined(Quarantine::Provisional), ambiguous_sentence(rows)),
        });
    }
    let similarity = seen.similarity.unwrap_or(0.0);
    let overlap = record_overlap::measure(&seen.statistics, rows, window);
    let measured = columns::measure(&seen.statistics.columns, rows, named, window);
    let is_understood = similarity >= expect.similarity || is_in_place(expect, &overlap, &measured);
    let is_missing = rows == 0 || !is_understood;
    if is_missing && let Some(told) = outcome_from_signs(expect, seen, window) {
        return told;
    }
    if rows == 0 && !seen.has_any_list {
        return no_list_outcome(pages);
    }
    if is_missing {
        return (Outcome::Quarantined(Quarantine::Layout), dissimilar_sentence(expect, seen, similarity));
    }
    if let Some(incomplete) = incomplete {
        return incomplete;
    }
    // Some sites drop the end tag one day; then no row is missing.
    let has_fewer = window.usual_rows().is_some_and(|usual| rows < usual);
    if has_fewer && window.new_signs(&seen.statistics.signs).cut_off {
        let sentence =
            "the first page is cut off: pages of earlier runs have an end, it has none, and rows are missing";
        return (Outcome::Failed(Failure::Network), sentence.to_owned());
    }
    if let Some(known) = overlap.known.filter(|_| overlap.is_other_list) {
        return (Outcome::Quarantined(Quarantine::Layout), other_list_sentence(known));
    }
    if let Some(sentence) = rows::measure(expect, rows, &overlap, window).off {
        return (Outcome::Quarantined(Quarantine::Rows), sentence);
    }
    if let Some(sentence) = table_sentence(&window.news_of_table(&seen.statistics.table)) {
        return (Outcome::Quarantined(Quarantine::Columns), format!("{sentence}; the last good rows stay published"));
    }
    if let Some(off) = measured.into_iter().find_map(|column| column.off) {
        return (Outcome::Quarantined(Quarantine::Columns), format!("{off}; the last good rows stay published"));
    }
    // An earlier run learned the template and did not publish: a person must still confirm it.
    if seen.template_origin == TemplateOrigin::Unconfirmed && window.is_empty() {
        return (Outcome::Quarantined(Quarantine::Provisional), ambiguous_sentence(rows));
    }
    (Outcome::Published(Publication::Changed), format!("{} from {}", counted(rows, "row"), counted(pages, "page")))
}

/// Do the cells of the last good run stand under their columns, and is every column as full as before? Then the page is
/// understood, whatever elements it is built of. A person who asks for more similarity than usual gets it.
fn is_in_place(expect: &Expect, overlap: &OverlapMeasure, columns: &[ColumnMeasure]) -> bool {
    expect.similarity <= SIMILARITY_THRESHOLD && overlap.is_in_place && columns.iter().all(|it| !it.has_lost_cells())
}

/// The outcome by the signs of a page without its list: block page, login form, error page, cut off, no results.
fn outcome_from_signs(expect: &Expect, seen: &RunObservation, window: &Window<'_>) -> Option<(Outcome, String)> {
    let news = window.new_signs(&seen.statistics.signs);
    let failed = |cause: Failure, sentence: &str| Some((Outcome::Failed(cause), sentence.to_owned()));
    if news.blocked {
        return failed(Failure::Blocked, "the site blocks robots and shows no list; the last good rows stay published");
    }
    if news.login {
        return failed(
            Failure::Login,
            "the page asks to log in and shows no list; add a `login` step to robot.toml or renew the password",
        );
    }
    if news.error {
        return failed(Failure::Http, "the page is an error page and shows no list; the last good rows stay published");
    }
    if news.cut_off {
        return failed(Failure::Network, "the page is cut off before its list; the last good rows stay published");
    }
    let is_empty = seen.rows == 0 && (news.no_results || expect.allow_empty && !seen.has_any_list);
    is_empty.then(|| (Outcome::Empty(Emptiness::NoResults), "the page says that there are no results".to_owned()))
}

fn other_list_sentence(known: KnownRecords) -> String {
    let KnownRecords { sought, found, elsewhere, .. } = known;
    format!(
        "the rows are another list: of {sought} known records {found} are in the rows and {elsewhere} are elsewhere on \
         the page; the last good rows stay published"
    )
}

fn dissimilar_sentence(expect: &Expect, seen: &RunObservation, similarity: f64) -> String {
    let least = seen
        .statistics
        .similarity_parts
        .as_ref()
        .map(|likeness| format!(": {}", likeness.lowest_part().1))
        .unwrap_or_default();
    format!(
        "the page no longer looks like its template (similarity {similarity:.2}, at least {:.2} required){least}; the \
         last good rows stay published",
        expect.similarity
    )
}

/// Names the columns that are new or gone in the page's table.
fn table_sentence(changes: &TableChanges) -> Option<String> {
    let quoted = |names: &[String]| names.iter().map(|name| format!("“{name}”")).collect::<Vec<_>>().join(", ");
    let (new, gone) = (quoted(&changes.new), quoted(&changes.gone));
    match (changes.new.is_empty(), changes.gone.is_empty()) {
        (true, true) => None,
        (false, true) => Some(format!("the table has new columns: {new}")),
        (true, false) => Some(format!("columns of the table are gone: {gone}")),
        (false, false) => Some(format!("columns of the table are gone: {gone}; others are new: {new}")),
    }
}

fn ambiguous_sentence(rows: u64) -> String {
    format!("learned a list of {}, but another one scores nearly as well: choose the right one", counted(rows, "row"))
}

fn no_list_outcome(pages: u32) -> (Outcome, String) {
    let sentence = format!("no list was found on {}; open the page in a browser to see why", counted(pages, "page"));
    (Outcome::Empty(Emptiness::Unexpected), sentence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::past_run;

    fn seen(rows: u64, similarity: f64) -> RunObservation {
        RunObservation {
            pages: 2,
            rows,
            similarity: Some(similarity),
            has_any_list: rows > 0,
            statistics: RunStatistics::default(),
            missing_rows: None,
            template_origin: TemplateOrigin::Confirmed,
        }
    }

    fn good_run(rows: u64) -> PastRun {
        past_run(verdict(&Expect::default(), &[], &seen(rows, 1.0), &[]))
    }

    #[test]
    fn runs_are_judged_by_their_numbers() {
        let expect = Expect::default();
        let past = [good_run(40)];
        let other_list = RunObservation { has_any_list: true, ..seen(0, 0.31) };
        for (what, seen, words) in [
            ("as before", seen(40, 0.98), "published changed"),
            ("just over the line", seen(40, 0.7), "published changed"),
            ("just under the line", seen(40, 0.699), "quarantined layout"),
            ("another list stands there", other_list, "quarantined layout"),
            ("nothing like a list", seen(0, 0.0), "empty unexpected"),
            ("a few gone", seen(21, 0.98), "published changed"),
            ("half of them gone", seen(20, 0.98), "quarantined rows"),
        ] {
            let verdict = verdict(&expect, &[], &seen, &past);
            assert_eq!(format!("{} {}", verdict.outcome.word(), verdict.outcome.cause()), words, "{what}");
        }
    }

    #[test]
    fn an_empty_list_is_fine_only_where_the_task_allows_it() {
        let allowed = Expect { allow_empty: true, ..Expect::default() };
        let verdict = verdict(&allowed, &[], &seen(0, 0.0), &[good_run(40)]);
        assert_eq!(verdict.outcome, Outcome::Empty(Emptiness::NoResults));
    }

    #[test]
    fn a_template_that_nobody_chose_is_not_published_by_the_second_run() {
        let unconfirmed = RunObservation { template_origin: TemplateOrigin::Unconfirmed, ..seen(12, 1.0) };
        let words = |past: &[PastRun]| verdict(&Expect::default(), &[], &unconfirmed, past).outcome.cause();
        assert_eq!(words(&[]), "provisional");
        assert_eq!(words(&[good_run(12)]), "changed", "one that was clearly ahead goes on");
    }

    #[test]
    fn a_fresh_template_waits_for_a_person_either_way() {
        for (clearly_ahead, words) in [(true, "published changed"), (false, "quarantined provisional")] {
            let seen =
                RunObservation { template_origin: TemplateOrigin::LearnedNow { clearly_ahead }, ..seen(12, 1.0) };
            let verdict = verdict(&Expect::default(), &[], &seen, &[]);
            assert_eq!(format!("{} {}", verdict.outcome.word(), verdict.outcome.cause()), words);
            assert!(verdict.provisional);
        }
    }
}
