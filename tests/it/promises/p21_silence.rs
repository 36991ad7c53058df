//! Silence is visible: a task that has not finished within two periods is never `ok`, and a page that could not be
//! fetched does not count as a layout change.

use chrono::{DateTime, TimeDelta, Utc};
use pieme::judge::{self, TaskSnapshot};
use pieme::model::{Outcome, PastRun, Publication, RunId, State, Verdict};

use super::{report, times};
use crate::stage::Stage;

/// Ways in which a page cannot be fetched; none of them is a layout change.
const FAILURES: [&str; 6] = ["404", "500", "cut", "loop", "captcha", "gzip-bomb"];

#[test]
fn promise_21_silence_is_visible_and_a_failure_to_fetch_is_no_change_of_layout() {
    let (looks, mut violations, control) = silent_tasks();
    let pages = &FAILURES[..times(3, FAILURES.len())];
    violations += unfetched(pages);
    let counted =
        format!("{looks} looks at tasks silent for two periods: `ok`; {} failures to fetch: `layout`", pages.len());
    report(21, &counted, violations, control);
}

/// Evaluates tasks of many periods whose last run was good, from two periods after it on. The control judges by the
/// last run alone.
fn silent_tasks() -> (usize, usize, usize) {
    let (mut looks, mut violations, mut control) = (0, 0, 0);
    for period in [10, 60, 600, 3_600, 86_400, 7 * 86_400].map(TimeDelta::seconds) {
        for later in 0..50 {
            let started_at = DateTime::from_timestamp(1_800_000_000, 0).expect("a time of this century");
            let standing = |next_due: Option<DateTime<Utc>>| TaskSnapshot {
                last_run: Some(good_run(started_at)),
                published_before: true,
                next_due,
                ..TaskSnapshot::default()
            };
            let now = started_at + period * 2 + period * later / 10 + TimeDelta::seconds(1);
            let is_fine = |standing: &TaskSnapshot| [State::Ok, State::Changed].contains(&judge::state(standing, now));
            looks += 1;
            violations += usize::from(is_fine(&standing(Some(started_at + period))));
            control += usize::from(is_fine(&standing(None)));
        }
    }
    (looks, violations, control)
}

fn good_run(started_at: DateTime<Utc>) -> PastRun {
    let outcome = Outcome::Published(Publication::Unchanged);
    let verdict = Verdict { outcome, ..Verdict::interrupted() };
    PastRun { run: RunId::new(), started_at, ended_at: started_at + TimeDelta::seconds(1), verdict }
}

/// A task with a template whose page cannot be fetched.
fn unfetched(pages: &[&str]) -> usize {
    let stage = Stage::new();
    stage.drop_folder("practice-shop");
    let good = stage.read("tasks/practice-shop/task.toml");
    let verdict = |path: &str| {
        stage.write("tasks/practice-shop/task.toml", &good.replace("/products", path));
        stage.pieme(&["run", "practice-shop", "--json"]).json()
    };
    assert_eq!(verdict("/products")["outcome"], "published");
    let mut violations = 0;
    for page in pages {
        let verdict = verdict(&format!("/bad/{page}"));
        violations += usize::from(verdict["outcome"] != "failed" || verdict["cause"] == "layout");
    }
    violations
}
