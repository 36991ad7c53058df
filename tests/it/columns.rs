//! Columns follow their names: the columns of a table are swapped, dropped, inserted, renamed and moved to the end. Each
//! run is right, or quarantined; values are never published under the wrong column.

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
            new.as_object().is_some_and(|new| new.iter().all(|(name, value)| old.get(name) == Some(value)))
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
            let may_be_published = match (change, naming) {
                // A column that nobody needs may become empty, and one without header or classes has no name.
                (Change::Drop, _) | (Change::Rename, Naming::Nothing) => true,
                (_, Naming::Headers | Naming::Classes) => ending == Ending::Right,
                (_, Naming::Nothing) => true,
            };
            if ending == Ending::Wrong || !may_be_published && ending != Ending::Columns {
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
