//! The rows that the last run kept aside: look at them, publish them, or drop them.

use axum::extract::{Path, Query, State};
use axum::response::Html;
use maud::html;
use serde::Deserialize;

use super::super::gate::Visitor;
use super::super::route::Route;
use super::super::trouble::Trouble;
use super::super::{Shared, parts};
use super::marks::Marks;
use super::sheet::{heading, sheet};
use super::{Side, address, found, page};

/// Rows of one page.
const ROWS: u64 = 50;

pub fn routes() -> Vec<Route> {
    vec![Route::get("/task/{name}/aside", show)]
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Wanted {
    page: u64,
}

async fn show(
    State(web): State<Shared>,
    visitor: Visitor,
    name: Path<String>,
    Query(wanted): Query<Wanted>,
) -> Result<Html<String>, Trouble> {
    let line = found(&web, name).await?;
    let (task, here) = (line.task.clone(), wanted.page.max(1));
    let offset = (here - 1).saturating_mul(ROWS);
    let rows = web.reader.read(move |store| match store.aside(&task)? {
        Some(run) => store.quarantined_rows(run, ROWS, offset),
        None => Ok(None),
    });
    let body = html! {
        div #aside data-live {
            @match rows.await? {
                None => p.empty { "No rows of this task are kept aside." },
                Some(rows) => {
                    p {
                        (parts::number(rows.total)) " rows of " a href=(address(&line.task, &format!("/run/{}", rows.run))) { "this run" }
                        " were not published; the last good ones still are."
                    }
                    div.actions {
                        (parts::verb(&visitor, &line, "accept", "Publish these rows", &address(&line.task, "/aside")))
                        (parts::verb(&visitor, &line, "drop", "Drop them", &address(&line.task, "/aside")))
                    }
                    (sheet("Rows kept aside", &rows, &Marks::default(), offset + 1, heading))
                    (parts::pager(here as usize, rows.total.div_ceil(ROWS) as usize, |page| {
                        address(&line.task, &format!("/aside?page={page}"))
                    }))
                },
            }
        }
    };
    Ok(page(&visitor, &line, Side::Aside, body))
}
