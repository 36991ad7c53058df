//! Labelling in a sandboxed child process, as the dashboard does it: the same lists, choices and pages as the command.

use std::sync::Arc;

use pieme::config::Config;
use pieme::daemon::child::page_jobs::PageInspector;
use pieme::daemon::child::spawn::Spawner;
use pieme::labelling::page::{CandidateChoice, LabellingAnswer, LabellingQuestion, ProposalView};
use pieme::labelling::task;
use pieme::learn::teach::{Block, Help, ValueLabel};
use pieme::page::{NodeId, Tree};
use pieme::store::Store;
use pieme::tasks;
use pieme::tasks::TaskFolder;

use super::stage::Stage;

const SHOP: &str = "shop";

struct Desk {
    stage: Stage,
    config: Config,
    folder: Arc<TaskFolder>,
    runtime: tokio::runtime::Runtime,
    scholar: PageInspector,
}

impl Desk {
    /// A shop that was labelled, and then redesigned.
    fn redesigned() -> Desk {
        let stage = Stage::new();
        stage.drop_folder_as("practice-shop", SHOP);
        assert_eq!(stage.pieme(&["run", SHOP]).code, 0);
        stage.site.set_redesign(true);
        assert_eq!(stage.pieme(&["run", SHOP]).code, 3, "it waits for a person");
        Desk::at(stage)
    }

    fn at(stage: Stage) -> Desk {
        let config = Config::load(&stage.path("config.toml")).expect("the stage's own file");
        let folder = Arc::new(tasks::read(&stage.path("tasks/shop")).expect("a task"));
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let spawner = Spawner::start(env!("CARGO_BIN_EXE_pieme-daemon").into()).expect("a thread");
        let scholar = PageInspector::new(spawner, config.grants.clone());
        Desk { stage, folder, runtime: runtime.expect("a runtime"), scholar, config }
    }

    fn ask(&self, ask: LabellingQuestion) -> (LabellingAnswer, Vec<u8>) {
        let store = Store::open_reader(&self.config.store).expect("a store");
        let (known, packed) = task::load_page(&store, &self.folder).expect("a page");
        let asked = self.scholar.inspect(Arc::clone(&self.folder), known, packed, ask);
        self.runtime.block_on(asked).expect("the process answers")
    }

    fn lists(&self, help: Help) -> ProposalView {
        match self.ask(LabellingQuestion::Lists(help)) {
            (LabellingAnswer::Lists(shown), _) => *shown,
            (other, _) => panic!("{other:?}"),
        }
    }

    fn refusal(&self, ask: LabellingQuestion) -> String {
        match self.ask(ask) {
            (LabellingAnswer::Refused(refusal), _) => refusal.sentence,
            (other, _) => panic!("{other:?}"),
        }
    }
}

#[test]
fn what_a_sealed_process_proposes_is_what_the_command_proposes() {
    let desk = Desk::redesigned();
    let shown = desk.lists(Help::default());
    let command = desk.stage.pieme(&["label", SHOP, "--json"]).json();
    assert!(shown.repairs && shown.doubt.is_none());
    assert_eq!(shown.lists.len(), command["candidates"].as_array().map_or(0, Vec::len));
    for (list, theirs) in shown.lists.iter().zip(command["candidates"].as_array().into_iter().flatten()) {
        assert_eq!(list.template, theirs["template"]);
        assert_eq!(serde_json::json!(list.names), theirs["names"]);
        assert_eq!(list.places.len(), list.rows, "each row can be outlined");
    }
}

#[test]
fn rows_are_outlined_where_they_stand_on_the_page_that_is_shown() {
    let desk = Desk::redesigned();
    let first = desk.lists(Help::default()).lists.swap_remove(0);
    let (answer, html) = desk.ask(LabellingQuestion::Page);
    assert!(matches!(answer, LabellingAnswer::Page));
    let html = String::from_utf8(html).expect("text");
    let page = Tree::parse(&html);
    let texts = |(from, to): (u32, u32)| -> String {
        let number = |node: &NodeId| page.attribute(*node, "data-n").and_then(|it| it.parse::<u32>().ok());
        let inside = page.subtree(page.root()).filter(|node| number(node).is_some_and(|n| (from..=to).contains(&n)));
        inside.map(|node| page.text(node)).collect::<Vec<_>>().join(" ")
    };
    let name = first.names.iter().position(|it| it.as_deref() == Some("name")).expect("a column of before");
    for (record, &((from, _), (to, _))) in first.records.iter().zip(&first.places) {
        let value = record[name].as_deref().unwrap_or("?");
        assert!(texts((from, to)).contains(value), "{value} stands in its row");
    }
    assert!(
        !html.contains("href=") && !html.contains("<script") && !html.contains("<form"),
        "nothing that does anything"
    );
}

#[test]
fn a_choice_is_worked_out_in_the_sealed_process_and_written_by_the_parent() {
    let desk = Desk::redesigned();
    let names = desk.lists(Help::default()).lists[0].names.clone();
    let choice = CandidateChoice { pick: 0, names, seconds: Some(2.345), key: None };
    let (answer, body) = desk.ask(LabellingQuestion::Take(Help::default(), choice));
    let LabellingAnswer::Taken(accepted) = answer else { panic!("{answer:?}") };
    task::write(&desk.folder, &accepted, &body, chrono::Utc::now()).expect("the folder can be written");
    assert!(desk.stage.read("tasks/shop/labels.toml").contains("seconds = 2.3"));
    assert_eq!(desk.stage.pieme(&["run", SHOP]).code, 0, "and it is well again");
    assert_eq!(desk.stage.state(SHOP), "ok");
    assert_eq!(desk.stage.pieme(&["test", SHOP]).code, 0, "old and new page are read as expected");
}

#[test]
fn a_person_helps_by_values_records_and_blocks() {
    let desk = Desk::redesigned();
    let first = desk.lists(Help::default()).lists.swap_remove(0);
    let name = first.names.iter().position(|it| it.as_deref() == Some("name")).expect("a column of before");
    let value = |row: usize| first.records[row][name].clone().expect("a name");
    let (from, to) = (first.places[0].0.0, first.places[0].1.0);
    for (what, help) in [
        ("records", Help { records: vec![value(0), value(1)], ..Help::default() }),
        ("label", Help { labels: vec![ValueLabel::value("product", &value(0))], ..Help::default() }),
        ("text", Help { enclosed: vec![Block::Text(value(2))], ..Help::default() }),
        ("nodes", Help { enclosed: vec![Block::Nodes(NodeId(from), NodeId(to))], ..Help::default() }),
    ] {
        let shown = desk.lists(help.clone());
        assert_eq!(shown.lists[0].rows, first.rows, "{what}");
        assert_eq!(shown.said, help, "{what}");
        if what == "label" {
            assert!(shown.lists[0].names.contains(&Some("product".to_owned())));
        }
    }
}

#[test]
fn what_does_not_fit_the_page_is_refused_with_a_sentence() {
    let desk = Desk::redesigned();
    let nodes = |first, last| Help { enclosed: vec![Block::Nodes(NodeId(first), NodeId(last))], ..Help::default() };
    let columns = desk.lists(Help::default()).lists[0].columns.len();
    let choice = |pick, names: Vec<Option<String>>| {
        LabellingQuestion::Take(Help::default(), CandidateChoice { pick, names, seconds: None, key: None })
    };
    for (ask, wanted) in [
        (LabellingQuestion::Lists(nodes(u32::MAX, 1)), "nothing on the page matches"),
        (LabellingQuestion::Lists(nodes(0, 1_000_000_000)), "nothing on the page matches"),
        (
            LabellingQuestion::Lists(Help { records: vec!["nowhere".to_owned()], ..Help::default() }),
            "is not on the page",
        ),
        (choice(usize::MAX, Vec::new()), "there is no candidate"),
        (choice(0, Vec::new()), "names were given"),
        (choice(0, vec![None; columns]), "at least one column"),
    ] {
        let said = desk.refusal(ask);
        assert!(said.contains(wanted), "{wanted}: {said}");
    }
}
