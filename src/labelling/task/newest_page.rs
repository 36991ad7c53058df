//! The page that a task is labelled on: the first page of the newest run that has reached the list.

use chrono::{DateTime, Utc};

use super::LabellingError;
use crate::config::Config;
use crate::model::{Outcome, PageMeta, PastRun, RunId, TaskName};
use crate::store::{Store, StoreError};
use crate::tasks::TaskFolder;

/// Past runs that are searched for a page to learn from.
const MAX_PAST_RUNS: u32 = 50;
/// How often runs may end while a page is looked for.
const MAX_PAGE_READS: usize = 5;

/// A stored page to label.
#[derive(Debug, PartialEq)]
pub(super) struct NewestPage<P> {
    /// The run that fetched it.
    pub run: RunId,
    pub page: P,
    /// The last run, where it is another one.
    pub newer: Option<PastRun>,
}

/// A page with its compressed bytes.
type CompressedPage = (PageMeta, Vec<u8>);

/// How old the page is that a label would be given for.
pub struct PageAge {
    pub fetched_at: DateTime<Utc>,
    /// Why it is not the page of the last run.
    pub note: Option<String>,
}

/// The age of the page that would be labelled; none where there is none yet.
pub fn page_age(store: &Store, task: &TaskName) -> Result<Option<PageAge>, StoreError> {
    let age = |found: NewestPage<CompressedPage>| PageAge { fetched_at: found.page.0.fetched_at, note: found.note() };
    Ok(find(store, task)?.map(age))
}

/// The page that would be labelled, compressed.
pub fn last_page_of(config: &Config, folder: &TaskFolder) -> Result<(PageMeta, Vec<u8>), LabellingError> {
    Ok(load(&Store::open_reader(&config.store)?, &folder.name)?.page)
}

pub(super) fn load(store: &Store, task: &TaskName) -> Result<NewestPage<CompressedPage>, LabellingError> {
    find(store, task)?.ok_or_else(|| LabellingError::NoPage(task.clone()))
}

fn find(store: &Store, task: &TaskName) -> Result<Option<NewestPage<CompressedPage>>, StoreError> {
    let past_runs = || store.past_verdicts(task, MAX_PAST_RUNS);
    newest_page(past_runs, |run| Ok(store.pages(run)?.into_iter().next()))
}

impl<P> NewestPage<P> {
    /// Why this is not the page of the last run.
    pub fn note(&self) -> Option<String> {
        let newer = self.newer.as_ref()?;
        let (at, verdict) = (newer.started_at.format("%Y-%m-%d %H:%M UTC"), &newer.verdict);
        Some(match verdict.outcome {
            Outcome::Failed(_) => format!(
                "this is not the page of the last run, which failed ({}) at {at} and has no page with the list: {}",
                verdict.outcome.cause(),
                verdict.sentence
            ),
            _ => format!("this is not the page of the last run, {at}, which has no stored page"),
        })
    }
}

/// Whether the first page of a run may show its list. A failed run is judged by it (similarity is measured) if it is a
/// block page, a login form or an error page; a run that broke off later was not judged.
fn reached_list(run: &PastRun) -> bool {
    let verdict = &run.verdict;
    !matches!(verdict.outcome, Outcome::Failed(_)) || verdict.pages > 0 && verdict.similarity.is_none()
}

/// The first page of the newest run that reached the list; where none did, of the newest that fetched any. A run that
/// ends between the two reads replaces the pages of the run before it; the runs are then listed again.
fn newest_page<P>(
    past_runs: impl Fn() -> Result<Vec<PastRun>, StoreError>,
    first_page: impl Fn(RunId) -> Result<Option<P>, StoreError>,
) -> Result<Option<NewestPage<P>>, StoreError> {
    let mut last_seen = None;
    for _ in 0..MAX_PAGE_READS {
        let past = past_runs()?;
        let others = past.iter().filter(|run| !reached_list(run) && run.verdict.pages > 0);
        for found in past.iter().filter(|run| reached_list(run)).chain(others) {
            if let Some(page) = first_page(found.run)? {
                let newer = past.first().filter(|newest| newest.run != found.run).cloned();
                return Ok(Some(NewestPage { run: found.run, page, newer }));
            }
        }
        let newest = past.first().map(|run| run.run);
        if newest == last_seen {
            break;
        }
        last_seen = newest;
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::model::{Failure, Publication, Verdict};

    fn past_run(verdict: Verdict) -> PastRun {
        let now = DateTime::UNIX_EPOCH;
        PastRun { run: RunId::new(), started_at: now, ended_at: now, verdict }
    }

    /// A run that failed after its first list page.
    fn broken_off() -> PastRun {
        past_run(Verdict { pages: 1, ..Verdict::failed(Failure::Http, "page 2 failed") })
    }

    /// A run whose first page is another one than the list.
    fn without_list(cause: Failure) -> PastRun {
        past_run(Verdict { pages: 1, similarity: Some(0.1), ..Verdict::failed(cause, "no list") })
    }

    fn good() -> PastRun {
        past_run(Verdict { outcome: Outcome::Published(Publication::Changed), ..Verdict::interrupted() })
    }

    #[test]
    fn the_newest_page_with_the_list_is_shown_whatever_came_of_its_run() {
        for (what, past, expected, is_noted) in [
            ("the last run", vec![good(), good()], 0, false),
            ("one that broke off after its first page", vec![broken_off(), good()], 0, false),
            ("not an error page", vec![without_list(Failure::Http), without_list(Failure::Login), good()], 2, true),
            ("a page that was never fetched", vec![past_run(Verdict::failed(Failure::Network, "no")), good()], 1, true),
            ("any page where there is no better one", vec![without_list(Failure::Blocked)], 0, false),
        ] {
            let found = newest_page(|| Ok(past.clone()), |run| Ok(Some(run))).expect("no error").expect("a page");
            assert_eq!((found.run, found.note().is_some()), (past[expected].run, is_noted), "{what}");
        }
    }

    #[test]
    fn a_run_that_ends_while_its_page_is_looked_for_is_found() {
        let (old, new) = (broken_off(), broken_off());
        let listings = Cell::new(0);
        // The second run ends right after the first listing, and its page replaces the one of the first run.
        let past_runs = || {
            listings.set(listings.get() + 1);
            Ok(if listings.get() == 1 { vec![old.clone()] } else { vec![new.clone(), old.clone()] })
        };
        let found = newest_page(past_runs, |run| Ok((run == new.run).then_some("page"))).expect("no error");
        assert_eq!(found, Some(NewestPage { run: new.run, page: "page", newer: None }));
    }

    #[test]
    fn a_task_without_a_page_is_listed_twice_and_no_more() {
        let run = broken_off();
        let listings = Cell::new(0);
        let past_runs = || {
            listings.set(listings.get() + 1);
            Ok(vec![run.clone()])
        };
        assert_eq!(newest_page(past_runs, |_| Ok(None::<()>)).expect("no error"), None);
        assert_eq!(listings.get(), 2);
    }
}
