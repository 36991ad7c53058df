//! The published rows. The store sorts, filters and pages them.

use axum::extract::Query;
use axum::response::Html;
use maud::{Markup, html};
use serde::Deserialize;

use crate::model::{ColumnType, TaskName};
use crate::show::StatusLine;
use crate::store::{BrowseQuery, Rows};
use crate::web::components;
use crate::web::error::WebError;
use crate::web::session::SessionUser;

use super::change_marks::ChangeMarks;
use super::column_chart;
use super::sheet::{is_number, sheet};
use super::task_page::{TaskPage, TaskTab, address};

/// Rows per page.
const ROWS: u64 = 50;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct RowsQuery {
    /// A text that occurs in a cell.
    q: String,
    sort: String,
    desc: bool,
    page: u64,
}

impl RowsQuery {
    fn browse(&self) -> BrowseQuery {
        let some = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        BrowseQuery {
            contains: some(&self.q),
            sort_by: some(&self.sort),
            descending: self.desc,
            limit: ROWS,
            offset: (self.page.max(1) - 1).saturating_mul(ROWS),
        }
    }

    fn address(&self, task: &TaskName) -> String {
        let desc = if self.desc { "true" } else { "" };
        let page = components::page_parameter(self.page);
        address(task, &components::query(&[("q", &self.q), ("sort", &self.sort), ("desc", desc), ("page", &page)]))
    }
}

pub(super) async fn show(at: TaskPage, Query(wanted): Query<RowsQuery>) -> Result<Html<String>, WebError> {
    let (task, browse) = (at.task().clone(), wanted.browse());
    let read = at.web.store.read(move |store| {
        let Some(rows) = store.browse(&task, &browse)? else { return Ok(None) };
        let marks = ChangeMarks::read(store, &task, &rows)?;
        Ok(Some((rows, marks)))
    });
    let read = read.await?;
    // The live parts exist even while they are empty, so that the first rows can appear on an open page.
    let body = html! {
        (filter(at.task(), &wanted))
        div #rows data-live {
            @match &read {
                None => p.empty #nothing { "Nothing is published yet." },
                Some((rows, marks)) => (table(&at.line, rows, marks, &wanted)),
            }
        }
        div #undo data-live { @if read.is_some() && at.line.delta.is_some() { (roll_back(&at.visitor, &at.line)) } }
    };
    Ok(at.show(TaskTab::Rows, body))
}

fn filter(task: &TaskName, wanted: &RowsQuery) -> Markup {
    html! {
        form.filter role="search" data-filter action=(address(task, "")) {
            label.sr for="q" { "Filter rows" }
            input #q type="search" name="q" value=(wanted.q) placeholder="Filter rows by text" autocomplete="off";
            @if !wanted.sort.is_empty() { input type="hidden" name="sort" value=(wanted.sort); }
            @if wanted.desc { input type="hidden" name="desc" value="true"; }
            noscript { button { "Filter" } }
        }
    }
}

fn table(line: &StatusLine, rows: &Rows, marks: &ChangeMarks, wanted: &RowsQuery) -> Markup {
    let heading = |name: &str, kind: Option<ColumnType>| {
        let is_it = wanted.sort == name;
        let by = RowsQuery { sort: name.to_owned(), desc: is_it && !wanted.desc, page: 1, ..wanted.clone() };
        let arrow = match (is_it, wanted.desc) {
            (false, _) => "",
            (true, false) => " ▲",
            (true, true) => " ▼",
        };
        html! {
            a.sort href=(by.address(&line.task)) { (name) (arrow) @if is_it { span.sr { " (sorted)" } } }
            @match kind {
                Some(kind) if is_number(Some(kind)) => {
                    a.type href=(column_chart::link(&line.task, name)) title={ "Chart of " (name) " over time" } {
                        (kind.word())
                    }
                },
                Some(kind) => span.type { (kind.word()) },
                None => {},
            }
        }
    };
    let (here, pages) = (wanted.page.max(1), rows.total.div_ceil(ROWS));
    let pager = components::pager(here as usize, pages as usize, |page| {
        RowsQuery { page: page as u64, ..wanted.clone() }.address(&line.task)
    });
    html! {
        p.faint {
            (components::counted(rows.total, "row")) @if !wanted.q.is_empty() { " found" }
            ", last seen " (components::time(Some(rows.last_seen), ""))
        }
        @if rows.table.rows.is_empty() { p.empty { "No row matches the filter." } }
        @else { (marks.line()) (sheet("Rows", rows, marks, (here - 1) * ROWS + 1, heading)) (pager) }
    }
}

fn roll_back(visitor: &SessionUser, line: &StatusLine) -> Markup {
    html! {
        details.more {
            summary { "Are these rows wrong?" }
            p {
                "Undo publishes the previous rows again, and undoes the last label if it made these rows, as "
                code { "pieme rollback " (line.task) } " does. If a run brings these rows again, they are quarantined."
            }
            (components::action_button(visitor, line, "rollback", "Undo last publish", &address(&line.task, "")))
        }
    }
}
