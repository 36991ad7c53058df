//! `pieme learn … --detail FILE…`: adds the columns of detail pages to the list.

use std::path::Path;

use serde_json::{Value, json};

use super::super::{CliError, PageSandbox};
use super::{preview, show};
use crate::cli::output;
use crate::learn::apply::visible;
use crate::learn::teach::{DetailPage, JoinedCandidate};
use crate::learn::{Candidate, ListAndDetail};
use crate::model::counted;

pub(super) fn read(path: &Path, sandbox: &PageSandbox) -> Result<DetailPage, CliError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(DetailPage { page: sandbox.read_page(path)?, name })
}

/// The candidates with list and detail columns, and the template of the detail pages.
pub(super) fn as_json(found: &ListAndDetail, details: &[DetailPage]) -> Value {
    let of_list = |(i, it): (usize, &JoinedCandidate)| {
        let list = &it.candidate;
        json!({
            "rank": i + 1,
            "method": list.method,
            "rows": list.table.rows.len(),
            "score": list.score,
            "template": list.template.to_string(),
            "columns": it.table.columns,
            "link": it.link.map(|column| &list.table.columns[column]),
            "details": it.details.iter().map(|page| Some(&details[(*page)?].name)).collect::<Vec<_>>(),
            "records": it.table.records(),
        })
    };
    let candidates: Vec<Value> = found.candidates.iter().enumerate().map(of_list).collect();
    let detail = found.pages.as_ref().map(|pages| {
        json!({
            "template": pages.template.to_string(),
            "columns": pages.table.columns,
            "records": pages.table.records(),
        })
    });
    json!({ "candidates": candidates, "detail": detail })
}

pub(super) fn show_all(found: &ListAndDetail) {
    let lists: Vec<Candidate> = found.candidates.iter().map(|it| it.candidate.clone()).collect();
    show(&lists);
    if let Some(first) = found.candidates.first() {
        let matched = first.details.iter().flatten().count();
        let link = first.link.map_or("no column links to them".to_owned(), |column| {
            format!("the links are in {}", first.candidate.table.columns[column])
        });
        output::say(format!(
            "{matched} of {} of list 1 have a detail page; {link}",
            counted(first.details.len(), "row")
        ));
    }
    match &found.pages {
        Some(pages) => {
            output::say(format!("{}:", counted(pages.table.rows.len(), "detail page")));
            output::say(preview(&visible(&pages.table, &pages.template)));
        }
        None => output::say("The detail pages have no text of their own."),
    }
}
