//! Duplicates: records that differ only in spelling, within the task or across tasks. They are shown, never merged.

use axum::extract::Query;
use axum::response::Html;
use maud::{Markup, html};
use serde::Deserialize;

use crate::model::TaskName;
use crate::show::StatusLine;
use crate::show::duplicates::{self, DuplicateGroup, DuplicateLimits, DuplicateRecord, DuplicateReport, MatchKind};
use crate::web::SharedState;
use crate::web::components;
use crate::web::error::WebError;

use super::task_page::{TaskPage, TaskTab, address};

/// A search reads all rows twice, so larger tables and several tables are searched only on request.
const MAX_AUTOMATIC_ROWS: u64 = 5_000;
/// 16 MB of hashes and some 20 MB of records; one search runs at a time.
const LIMITS: DuplicateLimits = DuplicateLimits { compared: 1_000_000, kept: 20_000 };
/// Groups shown, and records shown per group.
const GROUPS: usize = 100;
const RECORDS: usize = 20;
/// Longer texts are truncated.
const MOST_CHARS: usize = 200;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct DuplicatesQuery {
    /// The column to compare; empty: the key, or else all columns.
    by: String,
    /// Also compare with the records of all other tasks.
    across: bool,
    /// Search, however many rows there are.
    look: bool,
}

pub(super) async fn show(at: TaskPage, Query(wanted): Query<DuplicatesQuery>) -> Result<Html<String>, WebError> {
    let task = at.task().clone();
    let columns = at.web.store.read(move |store| store.published(&task, 0, 0)).await?.map(|rows| rows.table.columns);
    let is_small = at.line.rows.is_some_and(|rows| rows <= MAX_AUTOMATIC_ROWS) && !wanted.across;
    let groups = match columns.is_some() && (wanted.look || is_small) {
        true => Some(find_duplicates(&at.web, at.task(), &wanted).await?),
        false => None,
    };
    let body = html! {
        @match &columns {
            None => p.empty { "Nothing is published yet." },
            Some(columns) => {
                p {
                    "Records that differ only in spelling. Case, accents, punctuation and the order of words are "
                    "ignored, and initials may stand for names. Duplicates are shown here and never merged."
                }
                (form(at.task(), columns, &wanted))
                @match &groups {
                    Some(found) => (result(&at.line, found, wanted.across)),
                    None => p.empty {
                        "The search reads " (components::counted(at.line.rows.unwrap_or(0), "row"))
                        @if wanted.across { " and those of all other tasks" } ". Press Search to start it."
                    },
                }
            },
        }
    };
    Ok(at.show(TaskTab::Duplicates, body))
}

/// Waits for its turn, since each search reads all rows twice.
async fn find_duplicates(
    web: &SharedState,
    task: &TaskName,
    wanted: &DuplicatesQuery,
) -> Result<DuplicateReport, WebError> {
    let _turn = web.duplicate_search.acquire().await.map_err(|_| WebError::Internal)?;
    let (task, across) = (task.clone(), wanted.across);
    let by: Vec<String> = Some(wanted.by.clone()).filter(|it| !it.is_empty()).into_iter().collect();
    let work = web.store.work(move |store, config| {
        let mut tasks = vec![task.clone()];
        if across {
            tasks.extend(store.task_names()?.into_iter().filter(|it| *it != task));
        }
        let mut found = duplicates::find(config, store, &tasks, &by, LIMITS)?;
        // Groups without a record of this task appear on the pages of the other tasks.
        found.groups.retain(|group| group.records.iter().any(|(_, record)| record.task == task));
        Ok(found)
    });
    work.await
}

fn form(task: &TaskName, columns: &[String], wanted: &DuplicatesQuery) -> Markup {
    html! {
        form.choices action=(address(task, "/duplicates")) {
            input type="hidden" name="look" value="true";
            label for="by" { "Compare" }
            select #by name="by" {
                option value="" { "the key, or else all columns" }
                @for column in columns {
                    option value=(column) selected[*column == wanted.by] {
                        (components::truncated(column, MOST_CHARS))
                    }
                }
            }
            label.check {
                input type="checkbox" name="across" value="true" checked[wanted.across];
                " with the records of all other tasks"
            }
            button.main { "Search" }
        }
    }
}

fn result(line: &StatusLine, found: &DuplicateReport, across: bool) -> Markup {
    html! {
        p #groups-found {
            (components::counted(found.groups.len() as u64, "group"))
            " among " (components::counted(found.compared, "record")) "."
            @if !found.is_complete {
                " There are more records than this page searches; "
                code { "pieme duplicates " (line.task) } " searches more."
            }
        }
        ol.hits { @for group in found.groups.iter().take(GROUPS) { (group_view(group, across)) } }
        @if found.groups.len() > GROUPS {
            p.faint { "The first " (GROUPS) " are shown; " code { "pieme duplicates " (line.task) } " shows all." }
        }
    }
}

fn group_view(group: &DuplicateGroup<DuplicateRecord>, across: bool) -> Markup {
    html! {
        li.card {
            ul.same { @for (how, record) in group.records.iter().take(RECORDS) {
                li {
                    span.how { (word(*how)) }
                    span {
                        a href=(address(&record.task, &format!("/record/{}", record.key))) { (texts(record)) }
                        @if across { span.faint { " in " (record.task) } }
                    }
                }
            } }
            @if group.records.len() > RECORDS { p.faint { "and " (group.records.len() - RECORDS) " more" } }
        }
    }
}

fn texts(record: &DuplicateRecord) -> String {
    let texts: Vec<&str> = record.cells.values().filter_map(|text| text.as_str()).collect();
    let all = components::truncated(&texts.join(" · "), MOST_CHARS);
    if all.trim().is_empty() { "(no text)".to_owned() } else { all }
}

fn word(how: MatchKind) -> &'static str {
    match how {
        MatchKind::Exact => "same",
        MatchKind::Initials => "may be",
    }
}
