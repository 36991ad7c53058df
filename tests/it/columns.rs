//! Columns follow their names: the columns of a table are swapped, dropped, inserted, renamed and moved to the end.
//! Each run is right, or quarantined; values are never published under the wrong column.

mod changes;
mod real_tables;

use serde_json::Value;

use super::files::Files;
use super::stage::Stage;
use changes::{Change, Naming, TablePage};

const TASK: &str = "table";
const PAGE: &str = "/table.html";

/// What a run made of a changed table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// Published, and every value is under its column.
    Right,
    /// Published without the column that is gone.
    Emptied,
    /// Quarantined, with this cause.
    Columns,
    Layout,
    /// Published with values under another column.
    Wrong,
}

/// A task on a table, published as the page was before.
struct Watch {
    stage: Stage,
    site: Files,
    page: TablePage,
    before: Vec<Value>,
}

impl Watch {
    fn new(page: TablePage) -> Watch {
        let site = Files::serve([(PAGE, page.html(None))]);
        let stage = Stage::new();
        stage.grant_private(&site.url(""));
        let fetch = "[fetch]\ndelay = \"0s\"\nretries = 0\nrobots_txt = false\n[limits]\nmax_pages = 1\n";
        stage.write(&format!("tasks/{TASK}/task.toml"), &format!("url = \"{}\"\n{fetch}", site.url(PAGE)));
        stage.pieme(&["run", TASK]);
        let pick = page.pick(&stage.pieme(&["label", TASK, "--json"]).json()).to_string();
        let said = stage.pieme(&["label", TASK, "--pick", &pick, "--yes"]);
        assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
        let before = records(&stage);
        assert!(before.len() >= 3, "the table is published: {before:?}");
        Watch { stage, site, page, before }
    }

    /// The columns change; what does the next run make of it? Afterwards the table is as before, published.
    fn change(&self, change: Change) -> (Ending, String) {
        self.site.put(PAGE, self.page.html(Some(change)));
        let verdict = self.stage.pieme(&["run", TASK, "--json"]).json();
        let sentence = verdict["sentence"].as_str().unwrap_or_default().to_owned();
        let ending = match (verdict["outcome"].as_str(), verdict["cause"].as_str()) {
            (Some("published"), _) => self.published(&records(&self.stage)),
            (Some("quarantined"), Some("columns")) => Ending::Columns,
            (Some("quarantined"), Some("layout")) => Ending::Layout,
            other => panic!("{change:?}: {other:?}: {sentence}"),
        };
        if ending != Ending::Wrong {
            self.restore();
        }
        (ending, sentence)
    }

    fn restore(&self) {
        self.site.put(PAGE, self.page.html(None));
        let verdict = self.stage.pieme(&["run", TASK, "--json"]).json();
        assert_eq!(verdict["outcome"], "published", "the table as it was: {verdict}");
        assert_eq!(records(&self.stage), self.before);
    }

    fn published(&self, now: &[Value]) -> Ending {
        if now == self.before {
            return Ending::Right;
        }
        let is_there = |(old, new): (&Value, &Value)| {
            new.as_object()
                .is_some_and(|new| new.iter().all(|(name, value)| value.is_null() || old.get(name) == Some(value)))
        };
        let are_same = now.len() == self.before.len() && self.before.iter().zip(now).all(is_there);
        if are_same { Ending::Emptied } else { Ending::Wrong }
    }
}

fn records(stage: &Stage) -> Vec<Value> {
    stage.pieme(&["records", TASK, "--json"]).json()["records"].as_array().cloned().unwrap_or_default()
}

/// All changes of a table with each way of naming its columns; prints what became of them.
fn check(name: &str, html: &str) {
    let mut wrong = Vec::new();
    for naming in [Naming::Headers, Naming::Classes, Naming::Nothing] {
        let watch = Watch::new(TablePage::new(html, naming));
        for change in Change::ALL {
            let (ending, sentence) = watch.change(change);
            eprintln!("{name:<22} {naming:<8?} {change:<7?} {ending:<8?} {sentence}");
            let is_fine = match (change, naming) {
                (Change::Drop | Change::Insert, Naming::Headers | Naming::Classes) => ending == Ending::Columns,
                (_, Naming::Headers | Naming::Classes) => ending == Ending::Right,
                (_, Naming::Nothing) => ending != Ending::Wrong,
            };
            if !is_fine {
                wrong.push(format!("{naming:?} {change:?}: {ending:?}: {sentence}"));
            }
            if ending == Ending::Wrong {
                break;
            }
        }
    }
    assert!(wrong.is_empty(), "{name}: {wrong:#?}");
}

macro_rules! tables {
    ($($test:ident: $file:literal,)*) => {
        $(#[test]
        fn $test() {
            check($file, include_str!(concat!("columns/", $file, ".html")));
        })*
    };
}

tables! {
    posts_with_sort_links: "posts",
    a_league: "league",
    a_price_list_without_thead: "prices",
    releases_with_classes_and_links: "releases",
    staff_with_links: "staff",
}

#[test]
fn a_template_of_before_is_read_by_order() {
    let (stage, folder) = (Stage::new(), tempfile::tempdir().expect("a scratch folder"));
    let page = TablePage::new(include_str!("columns/prices.html"), Naming::Headers);
    for (change, first) in [(None, "Anvil"), (Some(Change::ToEnd), "Tools")] {
        let path = folder.path().join("page.html");
        std::fs::write(&path, page.html(change)).expect("a file");
        let template = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/columns/template-without-table.json");
        let said = stage.pieme(&["extract", "--template", template, path.to_str().expect("a path"), "--json"]);
        let found: Value = serde_json::from_str(&said.stdout).expect("JSON");
        assert_eq!(found["rows"], 9, "{}{}", said.stdout, said.stderr);
        assert_eq!(found["records"][0]["article"], first, "it has no names of columns");
    }
}

/// Countries with capital and language, whose columns nothing names; `order` is that of the columns.
fn countries(order: [usize; 3]) -> String {
    const COUNTRIES: [[&str; 3]; 6] = [
        ["Austria", "Vienna", "German"],
        ["Bulgaria", "Sofia", "Bulgarian"],
        ["Croatia", "Zagreb", "Croatian"],
        ["Denmark", "Copenhagen", "Danish"],
        ["Estonia", "Tallinn", "Estonian"],
        ["Finland", "Helsinki", "Finnish"],
    ];
    let cells = |row: &[&str; 3]| order.map(|column| format!("<td>{}</td>", row[column])).concat();
    let rows: String = COUNTRIES.iter().map(|row| format!("<tr>{}</tr>", cells(row))).collect();
    format!("<!DOCTYPE html><html><title>Countries</title><h1>Countries</h1><table>{rows}</table></html>")
}

fn values_in_other_columns(stage: &Stage) {
    let site = Files::serve([(PAGE, countries([0, 1, 2]))]);
    stage.grant_private(&site.url(""));
    let fetch = "[fetch]\ndelay = \"0s\"\nretries = 0\nrobots_txt = false\n";
    stage.write(&format!("tasks/{TASK}/task.toml"), &format!("url = \"{}\"\n{fetch}", site.url(PAGE)));
    stage.pieme(&["run", TASK]);
    assert_eq!(stage.pieme(&["label", TASK, "--yes"]).code, 0);
    let before = records(stage);
    assert_eq!(before.len(), 6);
    let names: Vec<&str> = before[0].as_object().expect("a record").keys().map(String::as_str).collect();
    for order in [[1, 0, 2], [1, 2, 0]] {
        site.put(PAGE, countries(order));
        let verdict = stage.pieme(&["run", TASK, "--json"]).json();
        assert_eq!((&verdict["outcome"], &verdict["cause"]), (&"quarantined".into(), &"columns".into()), "{verdict}");
        let sentence = verdict["sentence"].as_str().unwrap_or_default();
        assert!(sentence.starts_with("the values of `") && sentence.contains("` are now in `"), "{sentence}");
        assert!(names.iter().any(|name| sentence.contains(&format!("`{name}`"))), "{names:?}: {sentence}");
        assert_eq!(records(stage), before, "the last good rows stay published");
    }
    // A person says that it is right so; then it is.
    let said = stage.pieme(&["label", TASK, "--accept"]);
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    assert_eq!(stage.pieme(&["run", TASK, "--json"]).json()["outcome"], "published");
}

#[test]
fn values_that_are_in_other_columns_are_named() {
    values_in_other_columns(&Stage::new());
}

#[test]
fn values_that_are_in_other_columns_are_named_on_postgresql() {
    values_in_other_columns(&Stage::on_postgres());
}
