//! What a run's pages amount to.

use crate::model::task::Expect;
use crate::model::{Emptiness, Outcome, PastRun, Publication, Quarantine, Verdict};

/// What the child saw, in numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    pub pages: u32,
    pub rows: u64,
    /// Of the page least like the template among those that have rows; of the first page when none has.
    pub similarity: Option<f64>,
    /// Some list stands on the first page, whether or not it fits the template.
    pub any_list: bool,
    pub learning: Learning,
}

/// Where the template came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Learning {
    /// A person has confirmed it.
    Confirmed,
    /// Learned in an earlier run; nobody has looked at it yet.
    Unconfirmed,
    /// Learned just now.
    Now { clearly_ahead: bool },
}

/// The verdict over a run whose robot came through. `past` is newest first.
pub fn verdict(expect: &Expect, seen: &Seen, past: &[PastRun]) -> Verdict {
    let (outcome, sentence) = judge(expect, seen, past);
    Verdict {
        outcome,
        sentence,
        similarity: seen.similarity,
        rows: seen.rows,
        pages: seen.pages,
        provisional: seen.learning != Learning::Confirmed,
    }
}

fn judge(expect: &Expect, seen: &Seen, past: &[PastRun]) -> (Outcome, String) {
    let Seen { rows, pages, .. } = *seen;
    if let Learning::Now { clearly_ahead } = seen.learning {
        return match (rows, clearly_ahead) {
            (0, _) => (Outcome::Empty(Emptiness::Unexpected), no_list(pages)),
            (_, true) => (
                Outcome::Published(Publication::Changed),
                format!("learned a list of {rows} rows and published it; look at it and say yes or choose another"),
            ),
            (_, false) => (Outcome::Quarantined(Quarantine::Provisional), unchosen(rows)),
        };
    }
    let similarity = seen.similarity.unwrap_or(0.0);
    if rows == 0 && expect.allow_empty && !seen.any_list {
        return (Outcome::Empty(Emptiness::NoResults), "no rows today, which the task allows".to_owned());
    }
    if rows == 0 && !seen.any_list {
        return (Outcome::Empty(Emptiness::Unexpected), no_list(pages));
    }
    if similarity < expect.similarity {
        let sentence = format!(
            "the page no longer looks like its template (similarity {similarity:.2}, wanted {:.2}); the last good rows stay published",
            expect.similarity
        );
        return (Outcome::Quarantined(Quarantine::Layout), sentence);
    }
    if rows < expect.min_rows {
        let sentence = format!("{rows} rows, but at least {} are expected (expect.min_rows)", expect.min_rows);
        return (Outcome::Quarantined(Quarantine::Rows), sentence);
    }
    if let Some(good) = last_good_rows(past)
        && (rows as f64) < good as f64 * (1.0 - expect.max_row_drop)
    {
        let sentence = format!(
            "{rows} rows, but the last good run had {good}: more than {:.0} % are missing (expect.max_row_drop)",
            expect.max_row_drop * 100.0
        );
        return (Outcome::Quarantined(Quarantine::Rows), sentence);
    }
    // Learned in an earlier run that did not dare to publish: it still takes a person's yes.
    if seen.learning == Learning::Unconfirmed && last_good_rows(past).is_none() {
        return (Outcome::Quarantined(Quarantine::Provisional), unchosen(rows));
    }
    (Outcome::Published(Publication::Changed), format!("{rows} rows from {}", counted(pages, "page")))
}

fn unchosen(rows: u64) -> String {
    format!("learned a list of {rows} rows, but another one looks as good: choose which is yours")
}

fn no_list(pages: u32) -> String {
    format!("no list was found on {}; open the page to see what it says now", counted(pages, "page"))
}

fn counted(count: u32, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

fn last_good_rows(past: &[PastRun]) -> Option<u64> {
    past.iter().find(|run| run.verdict.outcome.is_published()).map(|run| run.verdict.rows)
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;
    use crate::model::RunId;

    fn seen(rows: u64, similarity: f64) -> Seen {
        Seen { pages: 2, rows, similarity: Some(similarity), any_list: rows > 0, learning: Learning::Confirmed }
    }

    fn good_run(rows: u64) -> PastRun {
        let verdict = verdict(&Expect::default(), &seen(rows, 1.0), &[]);
        let then = DateTime::from_timestamp(1_800_000_000, 0).expect("a time of this century");
        PastRun { run: RunId::new(), started_at: then, ended_at: then, verdict }
    }

    #[test]
    fn runs_are_judged_by_their_numbers() {
        let expect = Expect::default();
        let past = [good_run(40)];
        let other_list = Seen { any_list: true, ..seen(0, 0.31) };
        for (what, seen, words) in [
            ("as before", seen(40, 0.98), "published changed"),
            ("just over the line", seen(40, 0.7), "published changed"),
            ("just under the line", seen(40, 0.699), "quarantined layout"),
            ("another list stands there", other_list, "quarantined layout"),
            ("nothing like a list", seen(0, 0.0), "empty unexpected"),
            ("half the rows gone is still allowed", seen(20, 0.98), "published changed"),
            ("more than half gone", seen(19, 0.98), "quarantined rows"),
        ] {
            let verdict = verdict(&expect, &seen, &past);
            assert_eq!(format!("{} {}", verdict.outcome.word(), verdict.outcome.cause()), words, "{what}");
        }
    }

    #[test]
    fn an_empty_list_is_fine_only_where_the_task_allows_it() {
        let allowed = Expect { allow_empty: true, ..Expect::default() };
        let verdict = verdict(&allowed, &seen(0, 0.0), &[good_run(40)]);
        assert_eq!(verdict.outcome, Outcome::Empty(Emptiness::NoResults));
    }

    #[test]
    fn a_template_that_nobody_chose_is_not_published_by_the_second_run() {
        let unconfirmed = Seen { learning: Learning::Unconfirmed, ..seen(12, 1.0) };
        let words = |past: &[PastRun]| verdict(&Expect::default(), &unconfirmed, past).outcome.cause();
        assert_eq!(words(&[]), "provisional");
        assert_eq!(words(&[good_run(12)]), "changed", "one that was clearly ahead goes on");
    }

    #[test]
    fn a_fresh_template_waits_for_a_person_either_way() {
        for (clearly_ahead, words) in [(true, "published changed"), (false, "quarantined provisional")] {
            let seen = Seen { learning: Learning::Now { clearly_ahead }, ..seen(12, 1.0) };
            let verdict = verdict(&Expect::default(), &seen, &[]);
            assert_eq!(format!("{} {}", verdict.outcome.word(), verdict.outcome.cause()), words);
            assert!(verdict.provisional);
        }
    }
}
