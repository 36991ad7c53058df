//! The limits of the answers about a stored page.

use super::*;
use crate::labelling::page::{
    AcceptedList, CandidateView, LabellingRefusal, MAX_OUTLINED_ROWS, MAX_SHOWN_CHARS, MAX_SHOWN_ROWS, ProposalView,
};
use crate::learn::Help;
use crate::model::{Column, RepairProposal, RepairProposals, RunId};
use crate::protocol::RepairAnswer;

fn proposal() -> RepairProposal {
    RepairProposal {
        method: "siblings".to_owned(),
        score: 1.0,
        template: "{}".to_owned(),
        table: Table::default(),
        places: Vec::new(),
        names: Vec::new(),
    }
}

pub(super) fn repair_with(change: impl Fn(&mut RepairProposal)) -> RepairAnswer {
    let mut proposal = proposal();
    change(&mut proposal);
    RepairAnswer(RepairProposals { proposals: vec![proposal], doubt: None })
}

#[test]
fn the_answer_to_a_repair_has_its_limits() {
    at_its_limit("repair.doubt", MAX_SENTENCE_BYTES, |n| {
        RepairAnswer(RepairProposals { proposals: Vec::new(), doubt: Some(long(n)) })
    });
    at_its_limit("repair.proposals", MAX_LISTS, |n| {
        RepairAnswer(RepairProposals { proposals: many(proposal(), n), doubt: None })
    });
    at_its_limit("repair.method", MAX_WORD_BYTES, |n| repair_with(|it| it.method = long(n)));
    assert_eq!(field(&repair_with(|it| it.score = f64::INFINITY), 0), Some("repair.score"));
    at_its_limit("repair.template", MAX_TEMPLATE_BYTES, |n| repair_with(|it| it.template = long(n)));
    at_its_limit("repair.table", MAX_TEMPLATE_COLUMNS, |n| {
        repair_with(|it| it.table.columns = many("name".to_owned(), n))
    });
    at_its_limit("repair.table", 1, |n| {
        repair_with(|it| it.table = Table { columns: vec!["name".to_owned()], rows: vec![row(&many(1, n))] })
    });
    at_its_limit("repair.places", MAX_LIST_ROWS, |n| repair_with(|it| it.places = many((0, 1), n)));
    at_its_limit("repair.names", MAX_TEMPLATE_COLUMNS, |n| repair_with(|it| it.names = many(None, n)));
    at_its_limit("repair.names", MAX_NAME_BYTES, |n| repair_with(|it| it.names = vec![Some(long(n))]));
}

pub(super) fn lists_with(change: impl Fn(&mut ProposalView)) -> InspectAnswer {
    let list = CandidateView {
        method: "siblings".to_owned(),
        score: 1.0,
        rows: 1,
        template: String::new(),
        columns: Vec::new(),
        names: Vec::new(),
        records: Vec::new(),
        places: Vec::new(),
        limit: None,
        lost: Vec::new(),
        key: Vec::new(),
    };
    let mut view = ProposalView {
        run: RunId::new(),
        url: address(40),
        lists: vec![list],
        said: Help::default(),
        repairs: false,
        doubt: None,
    };
    change(&mut view);
    InspectAnswer(LabellingAnswer::Lists(Box::new(view)))
}

fn help(len: usize) -> Help {
    Help { records: vec![long(len)], ..Help::default() }
}

#[test]
fn lists_to_choose_from_have_their_limits() {
    at_its_limit("refused", MAX_SENTENCE_BYTES, |n| InspectAnswer(LabellingRefusal::of_page(&long(n))));
    assert_eq!(field(&lists_with(|view| view.lists[0].score = f64::NAN), 0), Some("lists.score"));
    at_its_limit("lists.limit", MAX_SENTENCE_BYTES, |n| lists_with(|view| view.lists[0].limit = Some(long(n))));
    at_its_limit("rows", 1, |n| {
        let table = Table { columns: vec!["name".to_owned()], rows: vec![row(&many(1, n))] };
        InspectAnswer(LabellingAnswer::Rows(table))
    });
    at_its_limit("lists.url", MAX_URL_BYTES, |n| lists_with(|view| view.url = address(n)));
    at_its_limit("lists", MAX_LISTS, |n| lists_with(|view| view.lists = many(view.lists[0].clone(), n)));
    at_its_limit("lists.doubt", MAX_SENTENCE_BYTES, |n| lists_with(|view| view.doubt = Some(long(n))));
    let around = json_bytes(&help(0));
    at_its_limit("lists.said", MAX_HELP_BYTES, |n| lists_with(|view| view.said = help(n - around)));
    at_its_limit("lists.method", MAX_WORD_BYTES, |n| lists_with(|view| view.lists[0].method = long(n)));
    at_its_limit("lists.rows", MAX_LIST_ROWS, |n| lists_with(|view| view.lists[0].rows = n));
    at_its_limit("lists.template", MAX_TEMPLATE_BYTES, |n| lists_with(|view| view.lists[0].template = long(n)));
    at_its_limit("lists.columns", MAX_TEMPLATE_COLUMNS, |n| {
        lists_with(|view| view.lists[0].columns = many("name".to_owned(), n))
    });
    at_its_limit("lists.names", MAX_TEMPLATE_COLUMNS, |n| lists_with(|view| view.lists[0].names = many(None, n)));
    at_its_limit("lists.lost", MAX_TEMPLATE_COLUMNS, |n| {
        lists_with(|view| view.lists[0].lost = many("name".to_owned(), n))
    });
    at_its_limit("lists.key", MAX_TEMPLATE_COLUMNS, |n| {
        lists_with(|view| view.lists[0].key = many("name".to_owned(), n))
    });
    at_its_limit("lists.records", MAX_SHOWN_ROWS, |n| lists_with(|view| view.lists[0].records = many(Vec::new(), n)));
    at_its_limit("lists.cells", MAX_TEMPLATE_COLUMNS, |n| {
        lists_with(|view| view.lists[0].records = vec![many(None, n)])
    });
    at_its_limit("lists.cell", MAX_SHOWN_CHARS * 4, |n| {
        lists_with(|view| view.lists[0].records = vec![vec![Some(long(n))]])
    });
    at_its_limit("lists.places", MAX_OUTLINED_ROWS, |n| {
        lists_with(|view| view.lists[0].places = many(((0, 0), (1, 0)), n))
    });
}

pub(super) fn taken_with(change: impl Fn(&mut AcceptedList)) -> InspectAnswer {
    let mut accepted = AcceptedList {
        template: "{}".to_owned(),
        candidate: 1,
        method: "siblings".to_owned(),
        rows: 1,
        first_row: String::new(),
        columns: Vec::new(),
        names: Vec::new(),
        key: Vec::new(),
        expected: Table::default(),
        said: Help::default(),
        repairs: false,
        seconds: None,
    };
    change(&mut accepted);
    InspectAnswer(LabellingAnswer::Taken(Box::new(accepted)))
}

#[test]
fn an_accepted_list_has_its_limits() {
    at_its_limit("taken.template", MAX_TEMPLATE_BYTES, |n| taken_with(|it| it.template = long(n)));
    at_its_limit("taken.candidate", MAX_LISTS, |n| taken_with(|it| it.candidate = n as u32));
    at_its_limit("taken.method", MAX_WORD_BYTES, |n| taken_with(|it| it.method = long(n)));
    at_its_limit("taken.rows", MAX_LIST_ROWS, |n| taken_with(|it| it.rows = n as u64));
    at_its_limit("taken.first_row", Table::FIRST_ROW_CHARS * 4, |n| taken_with(|it| it.first_row = long(n)));
    at_its_limit("taken.key", MAX_TEMPLATE_COLUMNS, |n| taken_with(|it| it.key = many("name".to_owned(), n)));
    let column = |name: usize| vec![Column::text(&long(name))];
    at_its_limit("taken.columns", MAX_TEMPLATE_COLUMNS, |n| taken_with(|it| it.columns = many(Column::text("a"), n)));
    let around = json_bytes(&column(0));
    at_its_limit("taken.columns in bytes", MAX_HELP_BYTES, |n| taken_with(|it| it.columns = column(n - around)));
    at_its_limit("taken.names", MAX_TEMPLATE_COLUMNS, |n| taken_with(|it| it.names = many("name".to_owned(), n)));
    at_its_limit("taken.expected", MAX_LIST_ROWS, |n| {
        taken_with(|it| it.expected.rows = many(Row { cells: Vec::new(), page: 0 }, n))
    });
    let around = json_bytes(&help(0));
    at_its_limit("taken.said", MAX_HELP_BYTES, |n| taken_with(|it| it.said = help(n - around)));
    assert_eq!(field(&taken_with(|it| it.seconds = Some(f64::NAN)), 0), Some("taken.seconds"));
}
