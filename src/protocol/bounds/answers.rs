//! Bounds of the answers about a stored page: of a repair, and of an inspection for labelling.

use super::{
    BoundedMessage, MAX_FRAME, MAX_HELP_BYTES, MAX_LIST_ROWS, MAX_LISTS, MAX_NAME_BYTES, MAX_PAGE_BYTES,
    MAX_SENTENCE_BYTES, MAX_TEMPLATE_BYTES, MAX_TEMPLATE_COLUMNS, MAX_WORD_BYTES, OutOfBounds, at_most, bytes, finite,
    json, names, optional_text, text, url,
};
use crate::labelling::page::{
    AcceptedList, CandidateView, LabellingAnswer, MAX_OUTLINED_ROWS, MAX_SHOWN_CHARS, MAX_SHOWN_ROWS, ProposalView,
};
use crate::model::{RepairProposal, Table};
use crate::protocol::kinds::FrameKind;
use crate::protocol::messages::{InspectAnswer, RepairAnswer};

/// Bytes of a character at most.
const CHAR_BYTES: usize = 4;

impl BoundedMessage for RepairAnswer {
    fn kinds() -> &'static [FrameKind] {
        &[FrameKind::Repair]
    }

    fn check(&self, raw_bytes: usize) -> Result<(), OutOfBounds> {
        bytes("raw bytes", raw_bytes, MAX_PAGE_BYTES)?;
        optional_text("repair.doubt", self.0.doubt.as_ref(), MAX_SENTENCE_BYTES)?;
        bytes("repair.proposals", self.0.proposals.len(), MAX_LISTS)?;
        self.0.proposals.iter().try_for_each(check_proposal)
    }
}

fn check_proposal(proposal: &RepairProposal) -> Result<(), OutOfBounds> {
    let RepairProposal { method, score, template, table, places, names: shown } = proposal;
    text("repair.method", method, MAX_WORD_BYTES)?;
    finite("repair.score", *score)?;
    super::template("repair.template", template)?;
    check_table("repair.table", table)?;
    bytes("repair.places", places.len(), MAX_LIST_ROWS)?;
    optional_names("repair.names", shown)
}

impl BoundedMessage for InspectAnswer {
    fn kinds() -> &'static [FrameKind] {
        &[FrameKind::Inspection]
    }

    fn check(&self, raw_bytes: usize) -> Result<(), OutOfBounds> {
        // The page as HTML, which the sanitiser may lengthen; the frame is its bound.
        let most_raw = match self.0 {
            LabellingAnswer::Page | LabellingAnswer::Taken(_) | LabellingAnswer::More { .. } => MAX_FRAME,
            LabellingAnswer::Lists(_) | LabellingAnswer::Rows(_) | LabellingAnswer::Refused(_) => 0,
        };
        bytes("raw bytes", raw_bytes, most_raw)?;
        match &self.0 {
            LabellingAnswer::Page | LabellingAnswer::More { .. } => Ok(()),
            LabellingAnswer::Refused(refusal) => text("refused", &refusal.sentence, MAX_SENTENCE_BYTES),
            LabellingAnswer::Rows(table) => check_table("rows", table),
            LabellingAnswer::Lists(view) => check_view(view),
            LabellingAnswer::Taken(accepted) => check_accepted(accepted),
        }
    }
}

fn check_view(view: &ProposalView) -> Result<(), OutOfBounds> {
    url("lists.url", &view.url)?;
    bytes("lists", view.lists.len(), MAX_LISTS)?;
    view.lists.iter().try_for_each(check_candidate)?;
    json("lists.said", &view.said, MAX_HELP_BYTES)?;
    optional_text("lists.doubt", view.doubt.as_ref(), MAX_SENTENCE_BYTES)
}

fn check_candidate(view: &CandidateView) -> Result<(), OutOfBounds> {
    let CandidateView { method, score, rows, template, columns, names: shown, records, places, limit, lost, key } =
        view;
    text("lists.method", method, MAX_WORD_BYTES)?;
    finite("lists.score", *score)?;
    optional_text("lists.limit", limit.as_ref(), MAX_SENTENCE_BYTES)?;
    bytes("lists.rows", *rows, MAX_LIST_ROWS)?;
    text("lists.template", template, MAX_TEMPLATE_BYTES)?;
    names("lists.columns", columns.iter(), MAX_TEMPLATE_COLUMNS)?;
    optional_names("lists.names", shown)?;
    self::names("lists.lost", lost.iter(), MAX_TEMPLATE_COLUMNS)?;
    self::names("lists.key", key.iter(), MAX_TEMPLATE_COLUMNS)?;
    bytes("lists.records", records.len(), MAX_SHOWN_ROWS)?;
    records.iter().try_for_each(|cells| {
        bytes("lists.cells", cells.len(), MAX_TEMPLATE_COLUMNS)?;
        let most = MAX_SHOWN_CHARS * CHAR_BYTES;
        cells.iter().try_for_each(|cell| optional_text("lists.cell", cell.as_ref(), most))
    })?;
    bytes("lists.places", places.len(), MAX_OUTLINED_ROWS)
}

fn check_accepted(accepted: &AcceptedList) -> Result<(), OutOfBounds> {
    let AcceptedList { template, candidate, method, rows, first_row, .. } = accepted;
    super::template("taken.template", template)?;
    bytes("taken.candidate", *candidate as usize, MAX_LISTS)?;
    text("taken.method", method, MAX_WORD_BYTES)?;
    at_most("taken.rows", *rows, MAX_LIST_ROWS as u64)?;
    text("taken.first_row", first_row, Table::FIRST_ROW_CHARS * CHAR_BYTES)?;
    let AcceptedList { columns, names: chosen, key, expected, said, repairs: _, seconds, .. } = accepted;
    bytes("taken.columns", columns.len(), MAX_TEMPLATE_COLUMNS)?;
    json("taken.columns in bytes", columns, MAX_HELP_BYTES)?;
    names("taken.names", chosen.iter(), MAX_TEMPLATE_COLUMNS)?;
    names("taken.key", key.iter(), MAX_TEMPLATE_COLUMNS)?;
    check_table("taken.expected", expected)?;
    json("taken.said", said, MAX_HELP_BYTES)?;
    seconds.map_or(Ok(()), |it| finite("taken.seconds", it))
}

/// The text of a table is bounded by its frame.
fn check_table(field: &'static str, table: &Table) -> Result<(), OutOfBounds> {
    names(field, table.columns.iter(), MAX_TEMPLATE_COLUMNS)?;
    bytes(field, table.rows.len(), MAX_LIST_ROWS)?;
    table.rows.iter().try_for_each(|row| bytes(field, row.cells.len(), table.columns.len()))
}

fn optional_names(field: &'static str, names: &[Option<String>]) -> Result<(), OutOfBounds> {
    bytes(field, names.len(), MAX_TEMPLATE_COLUMNS)?;
    names.iter().try_for_each(|name| optional_text(field, name.as_ref(), MAX_NAME_BYTES))
}
