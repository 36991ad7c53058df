//! Repair after a redesign: finds the list again on the stored page of a run and tests the proposal on the samples.
//! Runs in the same sandbox as a run and sends no requests.

use crate::labelling::page::parse_page;
use crate::learn::apply::{self, ColumnTransform};
use crate::learn::repair::{doubt, repair, with_task_names};
use crate::learn::{Candidate, Template};
use crate::model::{RepairProposal, RepairProposals, Table};
use crate::page::{Tree, charset};
use crate::protocol::bounds::{MAX_PAGE_BYTES, MAX_SENTENCE_BYTES, cut};
use crate::protocol::{FrameKind, RepairAnswer, RepairJob, budgets};

use super::inspect::MAX_UNPACKED;

/// The proposals and the page as the site sent it; none if the template cannot be used or a limit was reached.
pub fn answer(job: &RepairJob, raw: &[u8]) -> Option<(RepairAnswer, Vec<u8>)> {
    let (mut repair, body) = find_list(job, raw)?;
    let body = if body.len() > MAX_PAGE_BYTES {
        repair.doubt.get_or_insert_with(|| "the page is too large to be kept as a sample".to_owned());
        Vec::new()
    } else {
        body
    };
    while !fits(&repair) {
        repair.proposals.pop();
    }
    repair.doubt = repair.doubt.map(|doubt| cut(doubt, MAX_SENTENCE_BYTES));
    Some((RepairAnswer(repair), body))
}

/// Whether the proposals fit into one frame. Dropped ones are computed again when a person labels.
fn fits(repair: &RepairProposals) -> bool {
    let fits = |json: Vec<u8>| budgets::fits(FrameKind::Repair, &json, MAX_PAGE_BYTES);
    repair.proposals.is_empty() || serde_json::to_vec(repair).is_ok_and(fits)
}

fn find_list(job: &RepairJob, raw: &[u8]) -> Option<(RepairProposals, Vec<u8>)> {
    let (packed, mut samples) = raw.split_at_checked(job.page_bytes)?;
    let body = zstd::bulk::decompress(packed, MAX_UNPACKED).ok()?;
    let charset_key = job.charset.as_str();
    let told = Some(charset_key).filter(|&it| it != "auto");
    let page = parse_page(charset_key, &job.page, &body);
    // With transformed columns the published values differ from what the template reads, so they cannot be compared
    // here. Labelling handles that case.
    if !ColumnTransform::new(&job.columns).is_ok_and(|shape| shape.is_plain()) {
        return None;
    }
    let template = Template::from_json(&job.template).ok()?;
    let template = with_task_names(&template, &job.columns);
    if page.limit.is_some() {
        return None;
    }
    let candidates = repair(&template, &job.good, &page).into_iter();
    let mut candidates: Vec<Candidate> = candidates.map(|candidate| candidate.read_back(&page)).collect();
    candidates.retain(|candidate| candidate.limit.is_none());
    let mut doubt = doubt(&template, &job.good, &candidates);
    if let Some(first) = candidates.first() {
        for sample in &job.samples {
            let (body, rest) = samples.split_at_checked(sample.bytes)?;
            samples = rest;
            let page = Tree::parse(&charset::decode(body, told).text);
            if doubt.is_none() && !reads_as_before(&first.template, &page, &sample.expected) {
                doubt = Some(format!("sample {} would no longer be read as it was", sample.index));
            }
        }
    }
    if job.samples_left_out {
        doubt.get_or_insert_with(|| "the samples are too large to be tested".to_owned());
    }
    Some((RepairProposals { proposals: candidates.into_iter().map(proposal).collect(), doubt }, body))
}

fn reads_as_before(template: &Template, page: &Tree, expected: &Table) -> bool {
    let mut found = apply::records(template, page).table;
    found.rows.retain(|row| row.cells.iter().any(Option::is_some));
    let cells = |table: &Table| table.rows.iter().map(|row| row.cells.clone()).collect::<Vec<_>>();
    found.columns == expected.columns && cells(&found) == cells(expected)
}

fn proposal(candidate: Candidate) -> RepairProposal {
    let shown = candidate.template.columns().iter().map(|column| (!column.hidden).then(|| column.name.clone()));
    RepairProposal {
        method: candidate.method.to_owned(),
        score: candidate.score,
        names: shown.collect(),
        places: candidate.row_spans.iter().map(|place| (place.start, place.stop)).collect(),
        template: candidate.template.to_json(),
        table: candidate.table,
    }
}
