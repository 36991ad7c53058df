//! The monitor from end to end: a site changes under a daemon that watches it, people are told, and a person mends it with one
//! key. And the other way round: what is no redesign asks nobody to label.

use pieme::practice::Mood;
use serde_json::Value;

use super::alerts::listeners::Receiver;
use super::stage::Stage;
use super::terminal::typed;

const SHOP: &str = "shop";

/// A daemon that watches the practice shop by a template that a person has confirmed.
fn watched(receiver: &Receiver) -> Stage {
    let mut stage = Stage::new();
    let config = stage.read("config.toml");
    stage.write("config.toml", &format!("{config}[alert]\nallow_private = true\n"));
    let alert = format!("[alert]\nurls = [\"http://127.0.0.1:{}/hook\"]\nafter = 1\n", receiver.port);
    stage.write_task(SHOP, "/products", &format!("{alert}[schedule]\nevery = \"6h\"\n"));
    stage.start_daemon();
    stage.wait_for_state(SHOP, "needs-label");
    stage.wait_for("that to be told", || receiver.kinds() == ["needs-label needs-label"]);
    let labelled = typed(&stage, &["label"], "\n\n");
    assert_eq!(stage.state(SHOP), "ok", "{labelled}");
    stage.wait_for("its end to be told", || receiver.kinds().len() == 2);
    assert_eq!(receiver.kinds()[1], "recovered ok");
    stage
}

/// Outcome and cause of a run by the daemon.
fn run(stage: &Stage) -> String {
    let verdict = stage.pieme(&["run", SHOP, "--json"]).json();
    format!("{} {}", verdict["outcome"].as_str().unwrap_or("?"), verdict["cause"].as_str().unwrap_or("?"))
}

fn records(stage: &Stage) -> Vec<Value> {
    stage.pieme(&["records", SHOP, "--json"]).json()["records"].as_array().cloned().unwrap_or_default()
}

/// Column names in their order, as a reader of the table sees them.
fn columns(stage: &Stage) -> String {
    stage.sql("SELECT group_concat(name) FROM pragma_table_info('shop')")
}

fn queue(stage: &Stage) -> Value {
    stage.pieme(&["label", "--json"]).json()["waiting"].clone()
}

/// All alerts after the first label, once nothing more is on its way.
fn told(stage: &Stage, receiver: &Receiver, count: usize) -> Vec<String> {
    stage.wait_for("the alert", || receiver.kinds().len() >= 2 + count);
    stage.wait_for("all to be delivered", || {
        stage.sql("SELECT count(*) FROM _delivery WHERE next_try IS NOT NULL") == "0"
    });
    receiver.kinds()[2..].to_vec()
}

#[test]
fn a_redesign_costs_one_run_one_alert_and_one_key() {
    let receiver = Receiver::start();
    let stage = watched(&receiver);
    let (before, names) = (records(&stage), columns(&stage));
    assert_eq!(before.len(), 48);

    stage.site.set_redesign(true);
    assert_eq!(run(&stage), "quarantined layout", "within one run");
    assert_eq!(records(&stage), before, "the last good rows stay published");
    assert_eq!(queue(&stage), serde_json::json!([SHOP]));
    assert_eq!(stage.status(SHOP)["do"], "pieme label shop");
    assert_eq!(run(&stage), "quarantined layout", "and once more, which is no news");
    assert_eq!(told(&stage, &receiver, 1), ["needs-label quarantined"], "one alert");

    let shown = typed(&stage, &["label"], "\n");
    assert_eq!(stage.state(SHOP), "ok", "{shown}");
    assert_eq!(columns(&stage), names, "columns and their names as before");
    assert_eq!(records(&stage), before, "the same products in them, off the new page");
    assert_eq!(told(&stage, &receiver, 2)[1..], ["recovered ok"], "one word that it is well again");
    stage.post("/switch/prices");
    assert_eq!(run(&stage), "published changed", "and what the new page says from now on is published");
    assert_ne!(records(&stage), before);
    assert_eq!(columns(&stage), names);
    assert_eq!(told(&stage, &receiver, 2).len(), 2, "which is no news");
    assert_eq!(queue(&stage), serde_json::json!([]));
}

#[test]
fn what_is_no_redesign_has_a_cause_of_its_own_and_asks_nobody_to_label() {
    let receiver = Receiver::start();
    let stage = watched(&receiver);
    let before = records(&stage);
    for (mood, wanted) in [
        (Mood::Error, "failed http"),
        (Mood::Block, "failed blocked"),
        (Mood::Wall, "failed login"),
        (Mood::Nothing, "empty no-results"),
        (Mood::Cut, "failed network"),
    ] {
        stage.site.set_mood(mood);
        assert_eq!(run(&stage), wanted, "{mood:?}");
        assert_eq!(records(&stage), before, "{mood:?}: the last good rows stay");
        assert_eq!(queue(&stage), serde_json::json!([]), "{mood:?}: it is not in the queue");
        let status = stage.status(SHOP);
        assert!(!status["do"].as_str().unwrap_or_default().contains("label"), "{mood:?}: {status}");
        stage.site.set_mood(Mood::Well);
        assert_eq!(run(&stage), "published unchanged", "{mood:?}: and it is well again by itself");
    }
    let told = told(&stage, &receiver, 8);
    assert!(!told.iter().any(|kind| kind.starts_with("needs-label")), "{told:?}");
}

#[test]
fn rows_that_a_person_accepts_are_told_at_once() {
    let receiver = Receiver::start();
    let stage = watched(&receiver);
    let task = stage.read("tasks/shop/task.toml");
    stage.write("tasks/shop/task.toml", &format!("{task}\n[expect]\nmin_rows = 60\n"));
    assert_eq!(run(&stage), "quarantined rows");
    assert_eq!(told(&stage, &receiver, 1), ["failed quarantined"]);
    let accepted = stage.pieme(&["label", SHOP, "--accept"]);
    assert_eq!(accepted.code, 0, "{}{}", accepted.stdout, accepted.stderr);
    assert_eq!(told(&stage, &receiver, 2)[1..], ["recovered ok"], "no run was needed");
}
