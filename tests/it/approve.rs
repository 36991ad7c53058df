//! Approve = publish: the rows and columns that a person is shown are those that are published, for a new list and
//! after a redesign; nothing is lost without a word; and records are recognised by the key that was proposed.

use serde_json::Value;

use super::files::Files;
use super::stage::Stage;
use super::terminal::typed;

const TASK: &str = "houses";
const PAGE: &str = "/houses.html";
const NAMES: [&str; 8] = ["Adler", "Bellevue", "Central", "Dorint", "Elite", "Falken", "Grand", "Hof"];

/// A task on this page, not run yet.
struct Watch {
    stage: Stage,
    site: Files,
}

impl Watch {
    fn new(page: &str) -> Watch {
        let site = Files::serve([(PAGE, page.to_owned())]);
        let stage = Stage::new();
        stage.grant_private(&site.url(""));
        let fetch = "[fetch]\ndelay = \"0s\"\nretries = 0\nrobots_txt = false\n[limits]\nmax_pages = 1\n";
        stage.write(&format!("tasks/{TASK}/task.toml"), &format!("url = \"{}\"\n{fetch}", site.url(PAGE)));
        Watch { stage, site }
    }

    fn run(&self) -> String {
        let verdict = self.stage.pieme(&["run", TASK, "--json"]).json();
        format!("{} {}", verdict["outcome"].as_str().unwrap_or("?"), verdict["cause"].as_str().unwrap_or("?"))
    }

    fn proposals(&self) -> Value {
        self.stage.pieme(&["label", TASK, "--json"]).json()
    }

    fn published(&self) -> Vec<Value> {
        self.stage.pieme(&["records", TASK, "--json"]).json()["records"].as_array().cloned().unwrap_or_default()
    }

    /// Accepts the first proposal; the published rows are the ones that were shown.
    fn approve(&self) -> Vec<Value> {
        let shown = self.proposals()["candidates"][0].clone();
        let columns: Vec<&str> = shown["shown"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let said = self.stage.pieme(&["label", TASK, "--yes"]);
        assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
        let published = self.published();
        let cells = |record: &Value| -> Vec<String> {
            columns.iter().map(|name| record[name].as_str().unwrap_or_default().to_owned()).collect()
        };
        let records = shown["records"].as_array().cloned().unwrap_or_default();
        assert_eq!(published.iter().map(cells).collect::<Vec<_>>(), records.iter().map(cells).collect::<Vec<_>>());
        published
    }
}

fn table(id: &str, names: &[&str], total: bool) -> String {
    let row = |(i, name): (usize, &&str)| {
        format!("<tr><td>{name}</td><td>{}</td><td>{}</td></tr>", 40 + 7 * i, 3 + 2 * (i % 3))
    };
    let rows: String = names.iter().enumerate().map(row).collect();
    let total = if total { "<tr><td>Total</td><td>521</td><td>38</td></tr>" } else { "" };
    format!("<table id={id}><tr><th>House</th><th>Beds</th><th>Stars</th></tr>{rows}{total}</table>")
}

fn cards(names: &[&str], price: bool) -> String {
    let card = |(i, name): (usize, &&str)| {
        let price = if price { format!("<b>EUR {}.00</b>", 95 + i) } else { String::new() };
        format!("<li class=house><a href=/h/{name}>House {name}</a><i>{} km</i>{price}</li>", i + 1)
    };
    format!("<h1>Houses</h1><ul>{}</ul>", names.iter().enumerate().map(card).collect::<String>())
}

fn redesigned(names: &[&str], price: bool) -> String {
    let card = |(i, name): (usize, &&str)| {
        let price = if price { format!("<div>EUR {}.00</div>", 95 + i) } else { String::new() };
        format!(
            "<article><h3><a href=/h/{name}>House {name}</a></h3><p>A fine place, number {i}.</p><span>{} km</span>\
             {price}</article>",
            i + 1
        )
    };
    let menu = "<nav><a href=/a>Home</a><a href=/b>Houses</a><a href=/c>Help</a></nav>";
    format!("{menu}<main>{}</main>", names.iter().enumerate().map(card).collect::<String>())
}

#[test]
fn the_rows_that_are_shown_are_published_whatever_stands_beside_them() {
    let watch = Watch::new(&table("one", &NAMES, true));
    watch.run();
    assert_eq!(watch.approve().len(), NAMES.len(), "eight houses, and no total");
    assert_eq!(watch.run(), "published unchanged");
}

#[test]
fn a_repair_is_published_as_it_is_shown_and_the_old_layout_is_still_read() {
    let watch = Watch::new(&cards(&NAMES, true));
    watch.run();
    watch.approve();
    watch.site.put(PAGE, redesigned(&NAMES, true));
    assert_eq!(watch.run(), "quarantined layout");
    assert_eq!(watch.approve().len(), NAMES.len());
    assert_eq!(watch.run(), "published unchanged");
    watch.site.put(PAGE, cards(&NAMES, true));
    assert_eq!(watch.run(), "published unchanged", "a site may show its old layout again");
}

#[test]
fn a_column_that_the_new_page_lacks_is_named_and_stays_in_the_table() {
    let watch = Watch::new(&cards(&NAMES, true));
    watch.run();
    let named = watch.stage.pieme(&["label", TASK, "--yes"]);
    assert_eq!(named.code, 0, "{}{}", named.stdout, named.stderr);
    let before = watch.published();
    let price = "EUR 95.00";
    let column =
        before[0].as_object().and_then(|row| row.iter().find(|(_, cell)| *cell == price)).map(|(name, _)| name);
    let column = column.expect("a column has the price").clone();

    watch.site.put(PAGE, redesigned(&NAMES, false));
    assert_eq!(watch.run(), "quarantined layout");
    let shown = watch.proposals();
    assert_eq!(shown["candidates"][0]["lost"], serde_json::json!([column]), "{shown}");
    let again = "Press Enter again";
    let screen = typed(&watch.stage, &["label", TASK], &[("> ", "\r"), (again, ""), ("> ", "\r")]);
    assert!(screen.contains(&format!("no value for the column `{column}`")), "{screen}");
    let now = watch.published();
    assert_eq!(now.len(), NAMES.len(), "{screen}");
    assert_eq!(now[0][&column], Value::Null);
    assert!(now[0].as_object().is_some_and(|row| row.contains_key(&column)), "the column is there, empty: {now:?}");
    assert!(watch.stage.read(&format!("tasks/{TASK}/task.toml")).contains(&format!("name = \"{column}\"")));
    assert_eq!(watch.run(), "published unchanged", "nobody is asked about it again");
}

#[test]
fn the_key_is_proposed_and_written_and_a_change_is_one_changed_record() {
    let watch = Watch::new(&cards(&NAMES, true));
    watch.run();
    assert_eq!(watch.proposals()["candidates"][0]["key"], serde_json::json!(["link"]));
    watch.approve();
    let task = watch.stage.read(&format!("tasks/{TASK}/task.toml"));
    assert!(task.contains("[data]\nkey = [\"link\"]"), "{task}");
    watch.site.put(PAGE, cards(&NAMES, true).replace("EUR 97.00", "EUR 66.00"));
    assert_eq!(watch.run(), "published changed");
    let diff = watch.stage.pieme(&["diff", TASK, "--json"]).json();
    let counts = serde_json::json!({ "added": 0, "changed": 1, "removed": 0 });
    assert_eq!(diff["changes"][0]["counts"], counts, "{diff}");
    let without = watch.stage.pieme(&["label", TASK, "--yes", "--key", "-"]);
    assert_eq!(without.code, 0, "{}{}", without.stdout, without.stderr);
    assert!(!watch.stage.read(&format!("tasks/{TASK}/task.toml")).contains("key ="));
    let unknown = watch.stage.pieme(&["label", TASK, "--yes", "--key", "colour"]);
    assert_eq!(unknown.code, 2, "{}", unknown.stderr);
    assert!(unknown.stderr.contains("no column `colour`"), "{}", unknown.stderr);
}

#[test]
fn a_link_that_carries_a_token_is_no_identity_and_not_shown() {
    let page =
        |nonce: &str| cards(&NAMES, true).replace("</li>", &format!("<a href=/del?n=1&_wpnonce={nonce}>x</a></li>"));
    let watch = Watch::new(&page("8f3a91c07d"));
    watch.run();
    let first = watch.proposals()["candidates"][0].clone();
    assert_eq!(first["key"], serde_json::json!(["link"]), "{first}");
    watch.approve();
    watch.site.put(PAGE, page("1d2c77e0aa"));
    assert_eq!(watch.run(), "published unchanged", "nothing of a record has changed");
}
