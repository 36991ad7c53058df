//! A key that is not unique: every changed row is still counted and shown, and the run reports the key.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::stage::Stage;

const SHOP: &str = "practice-shop";

#[test]
fn as_many_rows_are_shown_as_are_counted_in_a_file() {
    rows_that_changed_are_counted_and_shown(Stage::new());
}

#[test]
fn as_many_rows_are_shown_as_are_counted_on_a_server() {
    rows_that_changed_are_counted_and_shown(Stage::on_postgres());
}

fn rows_that_changed_are_counted_and_shown(mut stage: Stage) {
    stage.drop_folder(SHOP);
    let task = stage.read("tasks/practice-shop/task.toml").replace("key = [\"link\"]", "key = [\"stock\"]");
    stage.write("tasks/practice-shop/task.toml", &task.replace("every = \"30s\"", "every = \"6h\""));
    stage.start_daemon();
    stage.wait_for("the first rows", || stage.status(SHOP)["rows"] == 48);
    let prices = || -> BTreeMap<String, String> {
        let rows = stage.sql("SELECT link, price FROM \"practice-shop\"");
        rows.lines().filter_map(|line| line.split_once('|')).map(|(a, b)| (a.to_owned(), b.to_owned())).collect()
    };
    let before = prices();
    stage.post("/switch/prices");
    let verdict = stage.pieme(&["run", SHOP, "--json"]).json();
    assert_eq!(verdict["cause"], "changed", "{verdict}");
    let after = prices();
    let changed = after.iter().filter(|(link, price)| before.get(*link) != Some(price)).count();
    assert!(changed > 2, "{changed} prices moved");
    let diff = stage.pieme(&["diff", SHOP, "--json"]).json();
    let change = &diff["changes"][0];
    assert_eq!(change["counts"]["changed"], changed, "{change}");
    let records = change["records"].as_array().cloned().unwrap_or_default();
    let is_one_price =
        |it: &&Value| it["what"] == "changed" && it["cells"].as_array().is_some_and(|all| all.len() == 1);
    assert_eq!((records.len(), records.iter().filter(is_one_price).count()), (changed, changed), "{change}");
    let history = stage.pieme(&["history", SHOP, "--json"]).json();
    assert_eq!(history["changes"][0]["counts"], change["counts"], "{history}");
    let shown = stage.pieme(&["diff", SHOP]).stdout;
    assert_eq!(shown.lines().filter(|line| line.contains("price")).count(), changed, "{shown}");
    let sentence = verdict["sentence"].as_str().unwrap_or_default();
    assert!(sentence.contains("of 48 rows share their key (`stock`) with another row"), "{sentence}");
    let log = stage.pieme(&["log", SHOP]);
    assert!(log.stdout.contains("share their key") || log.stderr.contains("share their key"), "{}", log.stdout);
}
