//! The quarantined rows of the last run: view, publish or drop them.

use axum::extract::Query;
use axum::response::Html;
use maud::html;
use serde::Deserialize;

use crate::web::components;
use crate::web::error::WebError;

use super::change_marks::ChangeMarks;
use super::sheet::{heading, sheet};
use super::task_page::{TaskPage, TaskTab};

/// Rows per page.
const ROWS: u64 = 50;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct QuarantineQuery {
    page: u64,
}

pub(super) async fn show(at: TaskPage, Query(wanted): Query<QuarantineQuery>) -> Result<Html<String>, WebError> {
    let (task, here) = (at.task().clone(), wanted.page.max(1));
    let offset = (here - 1).saturating_mul(ROWS);
    let rows = at.web.store.read(move |store| match store.quarantined_run(&task)? {
        Some(run) => store.quarantined_rows(run, ROWS, offset),
        None => Ok(None),
    });
    let body = html! {
        div #aside data-live {
            @match rows.await? {
                None => p.empty { "No rows of this task are kept back." },
                Some(rows) => {
                    @let back = at.address("/aside");
                    p {
                        (components::counted(rows.total, "row")) " of "
                        a href=(at.address(&format!("/run/{}", rows.run))) { "this run" }
                        " kept back; the last good rows stay published."
                    }
                    div.actions {
                        (components::action_button(&at.visitor, &at.line, "accept", "Publish these rows", &back))
                        (components::action_button(&at.visitor, &at.line, "drop", "Drop these rows", &back))
                    }
                    (sheet("Rows kept back", &rows, &ChangeMarks::default(), offset + 1, heading))
                    (components::pager(here as usize, rows.total.div_ceil(ROWS) as usize, |page| {
                        at.address(&format!("/aside?page={page}"))
                    }))
                },
            }
        }
    };
    Ok(at.show(TaskTab::Quarantine, body))
}
