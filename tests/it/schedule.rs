//! `pieme pause`, `pieme resume`, and the progress of a run under way.

use crate::stage::Stage;

const SHOP: &str = "practice-shop";

#[test]
fn a_paused_task_rests_over_restarts_until_it_is_resumed() {
    let mut stage = Stage::new();
    stage.drop_folder(SHOP);
    let unknown = stage.pieme(&["pause", SHOP, "practice-shpo"]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.stderr.contains("there is no task `practice-shpo`"), "{}", unknown.stderr);
    assert!(unknown.stderr.contains("did you mean `practice-shop`?"), "{}", unknown.stderr);
    assert_eq!(stage.state(SHOP), "never", "all or none");

    let paused = stage.pieme(&["pause", SHOP, "--json"]);
    assert_eq!(paused.json()["tasks"][0], serde_json::json!({ "task": SHOP, "paused": true }));
    assert_eq!(stage.state(SHOP), "paused", "without a daemon");
    stage.start_daemon();
    stage.write_task("other", "/bad/404", "");
    stage.wait_for_state("other", "failed");
    assert_eq!(stage.state(SHOP), "paused", "others ran meanwhile");
    assert_eq!(stage.pieme(&["run", SHOP]).code, 0, "a person may run it all the same");
    assert_eq!(stage.state(SHOP), "paused");
    assert!(stage.status(SHOP)["next"].is_null(), "nothing is planned");

    assert_eq!(stage.pieme(&["resume", SHOP]).code, 0);
    assert_eq!(stage.state(SHOP), "ok");
    assert!(stage.status(SHOP)["next"].is_string(), "it is planned again");
}

#[test]
fn a_pause_lets_the_run_under_way_go_on_and_a_killed_daemon_remembers_it() {
    let mut stage = Stage::new();
    stage.write_task("hangs", "/bad/hang", "");
    let daemon = stage.start_daemon();
    stage.wait_for("a run that hangs", || !stage.children_of(daemon).is_empty());
    let children = stage.children_of(daemon);
    assert_eq!(stage.pieme(&["pause", "hangs"]).code, 0);
    assert_eq!(stage.state("hangs"), "paused");
    assert_eq!(stage.children_of(daemon), children, "the run goes on");
    stage.signal_daemon("-KILL");
    stage.daemon_ended();
    let daemon = stage.start_daemon();
    stage.write_task("other", "/bad/404", "");
    stage.wait_for_state("other", "failed");
    assert_eq!(stage.state("hangs"), "paused");
    assert_eq!(stage.children_of(daemon), Vec::<u32>::new());
}

#[test]
fn the_status_table_shows_how_far_a_run_is() {
    let mut stage = Stage::new();
    stage.drop_folder(SHOP);
    let slow = stage.read("tasks/practice-shop/task.toml");
    stage.write("tasks/practice-shop/task.toml", &slow.replace("delay = \"0s\"", "delay = \"1500ms\""));
    stage.start_daemon();
    let mut seen = serde_json::Value::Null;
    stage.wait_for("a run that has some of its rows", || {
        seen = stage.status(SHOP)["progress"].clone();
        seen["rows"].as_u64().is_some_and(|rows| rows > 0)
    });
    assert!(seen["pages"].as_u64().is_some_and(|pages| pages > 0) && seen["step"].is_string(), "{seen}");
    let table = stage.pieme(&["status"]).stdout;
    assert!(table.contains("now: ") && table.contains(" rows, "), "{table}");
    stage.wait_for_state(SHOP, "ok");
    assert!(stage.status(SHOP)["progress"].is_null(), "it is over");
}
