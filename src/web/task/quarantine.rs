//! The quarantined rows of the last run: view, publish or drop them.

use axum::extract::{Path, Query, State};
use axum::response::Html;
use maud::html;
use serde::Deserialize;

use super::super::SharedState;
use super::super::route::Route;
use super::change_marks::ChangeMarks;
use super::sheet::{heading, sheet};
use super::{TaskTab, address, page, task_line};
use crate::web::auth::SessionUser;
use crate::web::components;
use crate::web::error::WebError;

/// Rows per page.
const ROWS: u64 = 50;

pub fn routes() -> Vec<Route> {
    vec![Route::get("/task/{name}/aside", show)]
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct QuarantineQuery {
    page: u64,
}

async fn show(
    State(web): State<SharedState>,
    visitor: SessionUser,
    name: Path<String>,
    Query(wanted): Query<QuarantineQuery>,
) -> Result<Html<String>, WebError> {
    let line = task_line(&web, name).await?;
    let (task, here) = (line.task.clone(), wanted.page.max(1));
    let offset = (here - 1).saturating_mul(ROWS);
    let rows = web.store.read(move |store| match store.quarantined_run(&task)? {
        Some(run) => store.quarantined_rows(run, ROWS, offset),
        None => Ok(None),
    });
    let body = html! {
        div #aside data-live {
            @match rows.await? {
                None => p.empty { "No rows of this task are kept back." },
                Some(rows) => {
                    @let back = address(&line.task, "/aside");
                    p {
                        (components::counted(rows.total, "row")) " of "
                        a href=(address(&line.task, &format!("/run/{}", rows.run))) { "this run" }
                        " kept back; the last good rows stay published."
                    }
                    div.actions {
                        (components::action_button(&visitor, &line, "accept", "Publish these rows", &back))
                        (components::action_button(&visitor, &line, "drop", "Drop these rows", &back))
                    }
                    (sheet("Rows kept back", &rows, &ChangeMarks::default(), offset + 1, heading))
                    (components::pager(here as usize, rows.total.div_ceil(ROWS) as usize, |page| {
                        address(&line.task, &format!("/aside?page={page}"))
                    }))
                },
            }
        }
    };
    Ok(page(&visitor, &line, TaskTab::Quarantine, body))
}
