//! Repair after a redesign: finds the list again on the stored page of a run and tests the proposal on the samples.
//! Runs in the same sandbox as a run and sends no requests.

use crate::labelling::page::parse_page;
use crate::learn::apply::{self, ColumnTransform};
use crate::learn::repair::{doubt, repair, with_task_names};
use crate::learn::{Candidate, Template};
use crate::model::{RepairProposal, RepairProposals, Table};
use crate::page::{Tree, charset};
use crate::protocol::{Job, MAX_FRAME, Message, RepairJob};

use super::inspect::{MAX_BODY, MAX_UNPACKED};
use super::report_with;

/// Sends the proposals and the page as the site sent it; nothing if there is no template or a limit was reached.
pub fn run(job: &Job, repair_job: &RepairJob, raw: &[u8]) {
    let Some((mut repair, body)) = find_list(job, repair_job, raw) else { return };
    let body = if body.len() > MAX_BODY {
        repair.doubt.get_or_insert_with(|| "the page is too large to be kept as a sample".to_owned());
        Vec::new()
    } else {
        body
    };
    while !fits(&repair) {
        repair.proposals.pop();
    }
    report_with(&Message::Repaired(repair), &body);
}

/// Whether the proposals fit into one frame. Dropped ones are computed again when a person labels.
fn fits(repair: &RepairProposals) -> bool {
    let bytes = serde_json::to_vec(repair).map_or(usize::MAX, |json| json.len());
    repair.proposals.is_empty() || bytes < MAX_FRAME - MAX_BODY
}

fn find_list(job: &Job, repair_job: &RepairJob, raw: &[u8]) -> Option<(RepairProposals, Vec<u8>)> {
    let (packed, mut samples) = raw.split_at_checked(repair_job.page_bytes)?;
    let body = zstd::bulk::decompress(packed, MAX_UNPACKED).ok()?;
    let charset_key = job.task.fetch.charset.as_str();
    let told = Some(charset_key).filter(|&it| it != "auto");
    let page = parse_page(charset_key, &repair_job.page, &body);
    // With transformed columns the published values differ from what the template reads, so they cannot be compared
    // here. Labelling handles that case.
    if !ColumnTransform::new(&job.task.columns).is_ok_and(|shape| shape.is_plain()) {
        return None;
    }
    let template = Template::from_json(job.template.as_ref()?).ok()?;
    let template = with_task_names(&template, &job.task.columns);
    if page.limit.is_some() {
        return None;
    }
    let mut candidates = repair(&template, &repair_job.good, &page);
    candidates.retain(|candidate| candidate.limit.is_none());
    let mut doubt = doubt(&template, &repair_job.good, &candidates);
    if let Some(first) = candidates.first() {
        for sample in &repair_job.samples {
            let (body, rest) = samples.split_at_checked(sample.bytes)?;
            samples = rest;
            let page = Tree::parse(&charset::decode(body, told).text);
            if doubt.is_none() && !reads_as_before(&first.template, &page, &sample.expected) {
                doubt = Some(format!("sample {} would no longer be read as it was", sample.index));
            }
        }
    }
    if repair_job.samples_left_out {
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
