//! One run: its outcome, the measurements behind it, the trace of its robot, and the stored pages.

use axum::extract::Path;
use axum::response::Html;
use maud::{Markup, html};

use crate::judge::VerdictExplanation;
use crate::model::{PageMeta, RunId, TaskName, TraceLine};
use crate::show::{times, verdict};
use crate::store::RunRow;
use crate::tasks;
use crate::web::components;
use crate::web::error::WebError;
use crate::web::task_path::find_run;

use super::account;
use super::task_page::{TaskPage, TaskTab, address};

struct RunView {
    run: RunRow,
    trace: Vec<TraceLine>,
    pages: Vec<PageMeta>,
    /// None while the run is in progress, and if the folder cannot be read.
    account: Option<VerdictExplanation>,
}

pub(super) async fn show(at: TaskPage, Path((_, run)): Path<(String, String)>) -> Result<Html<String>, WebError> {
    let task = at.task().clone();
    let seen = at.web.store.work(move |store, config| {
        let (id, run) = find_run(store, &task, &run)?;
        let folder = tasks::read(&config.tasks.join(task.as_str())).ok();
        let account = match (folder, run.clone().into_past()) {
            (Some(folder), Some(past)) => Some(verdict::account(store, &folder, &past)?),
            _ => None,
        };
        let pages = store.pages(id)?.into_iter().map(|(meta, _)| meta).collect();
        Ok(RunView { run, trace: store.trace_lines(id)?, pages, account })
    });
    let seen = seen.await?;
    let body = html! {
        div #run data-live {
            (head(&seen))
            @if let Some(account) = &seen.account { (account::show(account)) }
            (steps(&seen))
            (pages(at.task(), seen.run.start.run, &seen.pages))
        }
    };
    Ok(at.show(TaskTab::Runs, body))
}

fn head(seen: &RunView) -> Markup {
    let start = &seen.run.start;
    html! {
        h2 {
            "Run of "
            time datetime=(start.started_at.to_rfc3339()) data-style="whole" {
                (start.started_at.format("%Y-%m-%d %H:%M:%S UTC"))
            }
        }
        dl.facts {
            dt { "Id" } dd { code { (start.run) } }
            dt { "Trigger" } dd { (start.trigger.word()) }
            @match &seen.run.end {
                None => { dt { "Ended" } dd { "still running" } },
                Some((ended, verdict)) => {
                    dt { "Ended" } dd { (components::time(Some(*ended), "")) }
                    dt { "Outcome" } dd {
                        (verdict.outcome.word()) " (" (verdict.outcome.cause()) ")"
                        p { (components::sentence(&verdict.sentence)) }
                    }
                    dt { "Rows" } dd {
                        (components::number(verdict.rows)) " from " (components::counted(verdict.pages.into(), "page"))
                    }
                },
            }
        }
    }
}

fn steps(seen: &RunView) -> Markup {
    let start = seen.run.start.started_at;
    html! {
        h2 { "Steps" }
        @if seen.trace.is_empty() { p.empty { "The trace of this run is no longer kept." } } @else {
            table.cards {
                caption.sr { "Trace of the robot" }
                thead { tr {
                    @for name in ["Time", "Step", "Verb", "Result"] {
                        th.number[name == "Time"] scope="col" { (name) }
                    }
                } }
                tbody { @for line in &seen.trace { tr {
                    td.number data-label="Time" title=(line.at.format("%Y-%m-%d %H:%M:%S%.3f UTC")) {
                        (times::since(start, line.at))
                    }
                    td.number data-label="Step" { @if line.step > 0 { (line.step) } }
                    td data-label="Verb" { (line.verb) }
                    td.wide { (line.text) }
                } } }
            }
        }
    }
}

fn pages(task: &TaskName, run: RunId, pages: &[PageMeta]) -> Markup {
    html! {
        h2 { "Pages" }
        @if pages.is_empty() {
            p.empty { "No pages: they are kept of the last good run and of the last runs that were not published." }
        } @else {
            table.cards {
                caption.sr { "Stored pages" }
                thead { tr { @for name in ["Page", "Status", "Time", "Address"] { th scope="col" { (name) } } } }
                tbody { @for (at, meta) in pages.iter().enumerate() { tr {
                    th scope="row" {
                        a href=(address(task, &format!("/run/{run}/page/{}", at + 1))) { "Page " (at + 1) }
                    }
                    td.number data-label="Status" { (meta.status) }
                    td.number data-label="Time" { (components::number(meta.elapsed_ms)) " ms" }
                    td.wide { (meta.url) @if let Some(name) = &meta.saved_as { ", saved as " (name) } }
                } } }
            }
        }
    }
}
