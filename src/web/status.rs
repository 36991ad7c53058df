//! `/`: the status of all tasks, worst first, with the command to type next.

use std::collections::BTreeMap;

use axum::extract::{Query, State};
use axum::response::Html;
use chrono::Utc;
use maud::{Markup, html};
use serde::Deserialize;

use crate::daemon::runs::progress::Progress;
use crate::model::{PastRun, State as TaskState, TaskName};
use crate::show::StatusLine;
use crate::show::task_status::Hold;

use super::error::WebError;
use super::layout::{self, NavItem};
use super::overview::worst_first;
use super::session::SessionUser;
use super::{SharedState, components};

/// Tasks per page.
const LINES: usize = 40;
/// Runs shown by the two sparklines of a task.
const CURVE: u32 = 24;
const COLUMNS: &[&str] = &["Task", "State", "Rows", "Δ", "Sim", "Last ok", "Last run", "Next", "Fails", "Cause", "Do"];

/// The filter and the page of the table.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct StatusQuery {
    /// Words that occur in the name, the title, the state or the cause.
    q: String,
    /// Only this state.
    state: String,
    page: usize,
}

/// One page of the table.
struct StatusPage {
    lines: Vec<(StatusLine, Vec<PastRun>)>,
    /// How many tasks there are, and how many match the filter.
    total: usize,
    matching: usize,
    page: usize,
    /// How many of all tasks are in each state.
    states: Vec<(TaskState, usize)>,
}

pub(super) async fn show(
    State(web): State<SharedState>,
    visitor: SessionUser,
    Query(wanted): Query<StatusQuery>,
) -> Result<Html<String>, WebError> {
    let sheet = status_page(&web, &wanted).await?;
    let going = web.overview.progress();
    let body = html! {
        h1.sr { "Status" }
        (filter(&wanted))
        div #status data-live {
            @if sheet.total == 0 { (first_task(&web)) } @else {
                (counts(&sheet, &wanted))
                (table(&visitor, &sheet, &going, &wanted))
            }
        }
    };
    Ok(layout::page(&visitor, NavItem::Status, "Status", body))
}

async fn status_page(web: &SharedState, wanted: &StatusQuery) -> Result<StatusPage, WebError> {
    let (lines, now) = (web.overview.lines().await?, Utc::now());
    let words: Vec<String> = wanted.q.to_lowercase().split_whitespace().map(str::to_owned).collect();
    let only = TaskState::from_word(&wanted.state);
    let mut states = BTreeMap::new();
    lines.iter().for_each(|line| *states.entry(line.state_at(now)).or_insert(0) += 1);
    let found = worst_first(&lines, now, |line, state| {
        only.is_none_or(|only| only == state) && words.iter().all(|word| matches_state(line, state, word))
    });
    let page = wanted.page.clamp(1, found.len().div_ceil(LINES).max(1));
    let shown: Vec<StatusLine> =
        found.iter().skip((page - 1) * LINES).take(LINES).map(|(_, line)| line.at(now)).collect();
    let (all, found) = (lines.len(), found.len());
    let lines = web.store.read(move |store| {
        let with_past = |line: StatusLine| store.past_verdicts(&line.task, CURVE).map(|past| (line, past));
        shown.into_iter().map(with_past).collect()
    });
    Ok(StatusPage { lines: lines.await?, total: all, matching: found, page, states: states.into_iter().collect() })
}

fn matches_state(line: &StatusLine, state: TaskState, word: &str) -> bool {
    line.task.as_str().contains(word)
        || state.word().contains(word)
        || line.title.as_ref().is_some_and(|title| title.to_lowercase().contains(word))
        || line.last_run.as_ref().is_some_and(|run| run.verdict.outcome.cause().contains(word))
}

fn filter(wanted: &StatusQuery) -> Markup {
    html! {
        form.filter role="search" data-filter action="/" {
            label.sr for="q" { "Filter tasks" }
            input #q type="search" name="q" value=(wanted.q) autocomplete="off"
                placeholder="Filter: name, title, state, cause";
            @if !wanted.state.is_empty() { input type="hidden" name="state" value=(wanted.state); }
            noscript { button { "Filter" } }
        }
    }
}

fn counts(sheet: &StatusPage, wanted: &StatusQuery) -> Markup {
    let address = |state: &str| address(&StatusQuery { state: state.to_owned(), page: 1, ..wanted.clone() });
    html! {
        p.counts #counts {
            a href=(address("")) aria-current=[wanted.state.is_empty().then_some("true")] {
                "all " (components::number(sheet.total as u64))
            }
            @for (state, count) in &sheet.states {
                a href=(address(state.word())) aria-current=[(wanted.state == state.word()).then_some("true")] {
                    (state) " " (components::number(*count as u64))
                }
            }
        }
    }
}

fn table(
    visitor: &SessionUser,
    sheet: &StatusPage,
    going: &BTreeMap<TaskName, Progress>,
    wanted: &StatusQuery,
) -> Markup {
    let pages = sheet.matching.div_ceil(LINES);
    let address = |page| address(&StatusQuery { page, ..wanted.clone() });
    html! {
        @if sheet.matching == 0 {
            p.empty #none { "No task matches the filter. " a href="/" { "Show all" } }
        } @else {
            table.cards #lines {
                caption.sr { "Tasks, worst first" }
                thead { tr {
                    @for name in COLUMNS {
                        th.number[["Rows", "Δ", "Sim", "Fails"].contains(name)] scope="col" { (name) }
                    }
                } }
                tbody #tasks data-keyed {
                    @for (line, past) in &sheet.lines {
                        (row(visitor, line, past, going.get(&line.task), &address(sheet.page)))
                    }
                }
            }
            (components::pager(sheet.page, pages, address))
        }
    }
}

fn row(visitor: &SessionUser, line: &StatusLine, past: &[PastRun], going: Option<&Progress>, here: &str) -> Markup {
    let cause = match (&line.problem, &line.last_run) {
        (Some(_), _) => "config",
        (None, Some(run)) => run.verdict.outcome.cause(),
        (None, None) => "",
    };
    let delta = line.delta.filter(|&delta| delta != 0);
    html! {
        tr id={ "task-" (line.task) } {
            th scope="row" {
                a href={ "/task/" (line.task) } { (line.task) }
                @if let Some(title) = &line.title { span.title { (title) } }
            }
            td data-label="State" { (components::state(line)) }
            td.number data-label="Rows" {
                @match line.rows { Some(rows) => (components::number(rows)), None => "–" }
                (sparkline::rows(past))
            }
            td.number data-label="Δ" { @if let Some(delta) = delta { (format!("{delta:+}")) } }
            td.number data-label="Sim" { (components::similarity(line.similarity)) (sparkline::similarity(past)) }
            td data-label="Last ok" { (components::time(line.last_ok, "never")) }
            td data-label="Last run" {
                @match going {
                    Some(going) => span.going {
                        "now: " (components::counted(going.pages.into(), "page")) ", "
                        (components::counted(going.rows, "row"))
                    },
                    None => (components::time(line.last_run.as_ref().map(|run| run.ended_at), "never")),
                }
            }
            td data-label="Next" { (components::time(line.next, line.hold.map_or("–", Hold::word))) }
            td.number data-label="Fails" { (line.fails) }
            td data-label="Cause" { (cause) }
            td.do data-label="Do" {
                @if !line.advice.is_empty() { (components::advice(line)) }
                span.verbs { (components::action_buttons(visitor, line, here)) }
            }
        }
    }
}

fn address(wanted: &StatusQuery) -> String {
    let page = components::page_parameter(wanted.page as u64);
    format!("/{}", components::query(&[("q", &wanted.q), ("state", &wanted.state), ("page", &page)]))
}

/// Shown instead of the table while there is no task.
fn first_task(web: &SharedState) -> Markup {
    html! {
        section.card {
            h2 { "No tasks yet" }
            p {
                "A task keeps one table of one web site fresh. Create the first one from the address of a list: "
                "hotels, products, flats, jobs."
            }
            p { a.button href="/add" { "Add a task" } }
            p { "In a terminal:" }
            pre { code { "pieme --config " (web.config.file.display()) " add https://example.org/list" } }
            p { "Or create a folder in " code { (web.config.tasks.display()) } " with a task.toml of one line:" }
            pre { code { "url = \"https://example.org/list\"" } }
            p { "The task appears here within two seconds." }
        }
    }
}
mod sparkline;
