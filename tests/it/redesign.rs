//! A redesign from end to end: a site changes, the daemon sends an alert, and a person repairs the task with one key.
//! Conversely, a change that is not a redesign asks nobody for a label.

use pieme::practice::FailureMode;
use serde_json::Value;

use super::alerts::listeners::Receiver;
use super::stage::Stage;
use super::terminal::typed;

const SHOP: &str = "shop";

/// A daemon with the practice shop, whose template a person has confirmed.
fn watched(receiver: &Receiver) -> Stage {
    watched_on(Stage::new(), receiver)
}

fn watched_on(mut stage: Stage, receiver: &Receiver) -> Stage {
    let config = stage.read("config.toml");
    stage.write("config.toml", &format!("{config}[alert]\nallow_private = true\n"));
    let alert = format!("[alert]\nurls = [\"http://127.0.0.1:{}/hook\"]\nafter = 1\n", receiver.port);
    stage.drop_folder_as("practice-shop", SHOP);
    let task = stage.read("tasks/shop/task.toml");
    stage.write("tasks/shop/task.toml", &format!("{task}\n{alert}"));
    stage.start_daemon();
    stage.wait_for_state(SHOP, "ok");
    assert!(stage.read("tasks/shop/labels.toml").contains("[[label]]"), "a person has said yes");
    stage
}

/// Runs the task by the daemon; outcome and cause.
fn run(stage: &Stage) -> String {
    let verdict = stage.pieme(&["run", SHOP, "--json"]).json();
    format!("{} {}", verdict["outcome"].as_str().unwrap_or("?"), verdict["cause"].as_str().unwrap_or("?"))
}

fn records(stage: &Stage) -> Vec<Value> {
    stage.pieme(&["records", SHOP, "--json"]).json()["records"].as_array().cloned().unwrap_or_default()
}

/// Column names in the order of the published table.
fn columns(stage: &Stage) -> String {
    stage.columns(SHOP)
}

/// The new design has another order of rows.
fn sorted(mut rows: Vec<Value>) -> Vec<String> {
    rows.sort_by_key(|row| row["link"].to_string());
    rows.iter().map(Value::to_string).collect()
}

fn queue(stage: &Stage) -> Value {
    stage.pieme(&["label", "--json"]).json()["waiting"].clone()
}

/// All delivered alerts, once the outbox is empty.
fn told(stage: &Stage, receiver: &Receiver, count: usize) -> Vec<String> {
    stage.wait_for("the alert", || receiver.kinds().len() >= count);
    stage.wait_for("all to be delivered", || {
        stage.sql("SELECT count(*) FROM _delivery WHERE next_try IS NOT NULL") == "0"
    });
    receiver.kinds()
}

#[test]
fn a_redesign_costs_one_run_one_alert_and_one_key() {
    one_run_one_alert_and_one_key(Stage::new());
}

#[test]
fn a_redesign_costs_one_run_one_alert_and_one_key_on_postgresql() {
    one_run_one_alert_and_one_key(Stage::on_postgres());
}

fn one_run_one_alert_and_one_key(stage: Stage) {
    let receiver = Receiver::start();
    let stage = watched_on(stage, &receiver);
    let (before, names) = (records(&stage), columns(&stage));
    assert_eq!(before.len(), 48);

    stage.site.set_redesign(true);
    assert_eq!(run(&stage), "quarantined layout", "within one run");
    assert_eq!(records(&stage), before, "the last good rows stay published");
    assert_eq!(queue(&stage), serde_json::json!([SHOP]));
    assert_eq!(stage.status(SHOP)["do"], "pieme label shop");
    assert_eq!(run(&stage), "quarantined layout", "and once more, which is no news");
    assert_eq!(told(&stage, &receiver, 1), ["needs-label quarantined"], "one alert");

    let shown = typed(&stage, &["label"], &[("> ", "\r")]);
    assert_eq!(stage.state(SHOP), "ok", "{shown}");
    assert_eq!(columns(&stage), names, "columns and their names as before");
    assert_eq!(sorted(records(&stage)), sorted(before.clone()), "the same products in them, off the new page");
    assert_eq!(told(&stage, &receiver, 2)[1..], ["recovered ok"], "one word that it is well again");
    stage.post("/switch/prices");
    assert_eq!(run(&stage), "published changed", "and what the new page says from now on is published");
    assert_ne!(sorted(records(&stage)), sorted(before));
    assert_eq!(columns(&stage), names);
    assert_eq!(told(&stage, &receiver, 2).len(), 2, "which is no news");
    assert_eq!(queue(&stage), serde_json::json!([]));
}

fn accept_without_a_person(stage: &Stage) {
    let task = stage.read("tasks/shop/task.toml");
    stage.write("tasks/shop/task.toml", &format!("{task}\n[expect]\nauto_accept = true\n"));
}

#[test]
fn what_was_found_again_waits_for_the_person_who_is_asked() {
    let receiver = Receiver::start();
    let stage = watched(&receiver);
    stage.site.set_redesign(true);
    assert_eq!(run(&stage), "quarantined layout");
    let kept: Value = serde_json::from_str(&stage.read("tasks/shop/.state/proposals.json")).expect("it is there");
    assert_eq!(kept["run"], stage.status(SHOP)["last_run"]["run"]);
    assert_eq!(kept["mended"]["doubt"], Value::Null, "it was tried on the samples, and nothing speaks against it");
    // Marked, to see that the stored proposal is shown.
    let marked = stage.read("tasks/shop/.state/proposals.json").replace("Flask", "Marked flask");
    stage.write("tasks/shop/.state/proposals.json", &marked);
    let shown = stage.pieme(&["label", SHOP, "--json"]).json();
    assert!(shown["candidates"][0]["records"].to_string().contains("Marked flask"), "{shown}");
    assert_eq!(run(&stage), "quarantined layout");
    let shown = stage.pieme(&["label", SHOP, "--json"]).json();
    assert!(!shown["candidates"][0]["records"].to_string().contains("Marked"), "each run has its own");
    stage.write("tasks/shop/.state/proposals.json", "{ torn");
    assert_eq!(stage.pieme(&["label", SHOP, "--json"]).json()["candidates"][0], shown["candidates"][0], "or none");
}

#[test]
fn a_task_may_have_a_sure_repair_accepted_without_a_person() {
    let receiver = Receiver::start();
    let stage = watched(&receiver);
    let (before, names) = (records(&stage), columns(&stage));
    let template = stage.read("tasks/shop/template.json");
    accept_without_a_person(&stage);
    stage.site.set_redesign(true);
    stage.post("/switch/prices");
    let verdict = stage.pieme(&["run", SHOP, "--json"]).json();
    assert_eq!((&verdict["outcome"], &verdict["cause"]), (&"published".into(), &"changed".into()), "{verdict}");
    let sentence = verdict["sentence"].as_str().unwrap_or_default();
    assert!(sentence.contains("accepted without a person") && sentence.contains("pieme rollback shop"), "{sentence}");
    assert_eq!(columns(&stage), names);
    assert_ne!(sorted(records(&stage)), sorted(before.clone()), "the prices of the new page");
    assert_eq!(told(&stage, &receiver, 1), ["recovered changed"], "somebody is told, once");
    assert!(receiver.taken()[0].json()["sentence"].as_str().is_some_and(|it| it.contains("redesigned")));
    assert!(stage.read("tasks/shop/labels.toml").contains("mended"));
    assert_eq!(stage.pieme(&["test", SHOP]).code, 0, "old and new page are read as expected");
    assert_eq!(run(&stage), "published unchanged");

    let undone = stage.pieme(&["rollback", SHOP]);
    assert_eq!(undone.code, 0, "{}{}", undone.stdout, undone.stderr);
    assert_eq!(records(&stage), before, "rows");
    assert_eq!(stage.read("tasks/shop/template.json"), template, "and template");
    assert_eq!(stage.pieme(&["test", SHOP]).code, 3, "the page of now is no sample any more, and there was none");
    assert_eq!(run(&stage), "quarantined layout", "and from now on a person is asked");
    assert_eq!(queue(&stage), serde_json::json!([SHOP]));
}

#[test]
fn a_repair_that_is_not_sure_waits_for_a_person() {
    let receiver = Receiver::start();
    let stage = watched(&receiver);
    accept_without_a_person(&stage);
    let before = records(&stage);
    // Only a few of the earlier rows are on the current page.
    let task = stage.read("tasks/shop/task.toml");
    stage.write("tasks/shop/task.toml", &task.replace("/products\"", "/products?page=3\""));
    stage.site.set_redesign(true);
    let verdict = stage.pieme(&["run", SHOP, "--json"]).json();
    assert_eq!((&verdict["outcome"], &verdict["cause"]), (&"quarantined".into(), &"layout".into()), "{verdict}");
    let sentence = verdict["sentence"].as_str().unwrap_or_default();
    assert!(sentence.contains("the repair needs a person: only "), "{sentence}");
    assert_eq!(records(&stage), before);
    assert!(!stage.read("tasks/shop/labels.toml").contains("mended"));
    assert_eq!(told(&stage, &receiver, 1), ["needs-label quarantined"]);
}

#[test]
fn what_is_no_redesign_has_a_cause_of_its_own_and_asks_nobody_to_label() {
    let receiver = Receiver::start();
    let stage = watched(&receiver);
    let before = records(&stage);
    for (mood, wanted) in [
        (FailureMode::ErrorPage, "failed http"),
        (FailureMode::BotChallenge, "failed blocked"),
        (FailureMode::LoginWall, "failed login"),
        (FailureMode::NoResults, "empty no-results"),
        (FailureMode::Truncated, "failed network"),
    ] {
        stage.site.set_failure_mode(mood);
        assert_eq!(run(&stage), wanted, "{mood:?}");
        assert_eq!(records(&stage), before, "{mood:?}: the last good rows stay");
        assert_eq!(queue(&stage), serde_json::json!([]), "{mood:?}: it is not in the queue");
        let status = stage.status(SHOP);
        assert!(!status["do"].as_str().unwrap_or_default().contains("label"), "{mood:?}: {status}");
        stage.site.set_failure_mode(FailureMode::Healthy);
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
