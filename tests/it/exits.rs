//! Exit codes are the same with and without a running daemon.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use super::stage::Stage;

const SHOP: &str = "practice-shop";
/// A ninth column, which matches nothing.
const UNMATCHED: &str = "[[column]]\nname = \"nonsense\"\n";

/// A good task, a broken one, one with a column that matches nothing, one with an unknown alert command, and one to be
/// broken by an edit.
fn staged() -> Stage {
    let stage = Stage::new();
    stage.drop_folder(SHOP);
    stage.write("tasks/broken/task.toml", "url = 3\n[limits]\nmax_pages = \"ten\"\n");
    stage.drop_folder_as(SHOP, "unmatched");
    stage.write("tasks/unmatched/task.toml", &format!("{}{UNMATCHED}", stage.read("tasks/unmatched/task.toml")));
    stage.write_task("caller", "/products", "[alert]\nurls = ['exec:nobody']");
    stage.drop_folder_as(SHOP, "edited");
    stage
}

/// Breaks the task after its first run.
fn break_edited(stage: &Stage) {
    assert_eq!(stage.pieme(&["run", "edited"]).code, 0);
    stage.write("tasks/edited/task.toml", &format!("enabld = true\n{}", stage.read("tasks/edited/task.toml")));
}

const TABLE: &[(&[&str], i32)] = &[
    (&["run", SHOP], 0),
    (&["run", "nobody"], 2),
    (&["run", "No Name"], 2),
    (&["run", "broken"], 78),
    (&["run", "edited"], 78),
    (&["run", "unmatched"], 78),
    (&["run", "caller"], 78),
    (&["label", "nobody", "--yes"], 2),
    (&["label", "broken", "--yes"], 78),
    (&["label", "edited", "--yes"], 78),
    (&["label", SHOP, "--pick", "99"], 2),
    (&["label", SHOP, "--accept"], 1),
    (&["label", SHOP, "--drop"], 1),
    (&["pause", "nobody"], 2),
    (&["pause", "broken"], 0),
    (&["resume", "broken"], 0),
    (&["resume", "nobody"], 2),
    (&["rollback", "nobody"], 2),
    (&["rollback", "broken"], 78),
    (&["rollback", SHOP], 1),
    (&["validate", "nobody"], 2),
    (&["validate", "edited"], 78),
    (&["validate", "unmatched"], 78),
    (&["validate", SHOP], 0),
    (&["test", "broken"], 78),
    (&["step", "broken"], 78),
    (&["step", "nobody"], 2),
    (&["explain", "broken"], 78),
    (&["records", "nobody"], 2),
    (&["records", "unmatched"], 1),
    (&["log", "nobody"], 2),
    (&["log", "broken"], 1),
    (&["export", "nobody"], 2),
    (&["status", "nobody"], 2),
    (&["status"], 0),
    (&["gc", "--dry-run"], 0),
    (&["gc"], 0),
];

fn check(stage: &Stage, daemon: &str) {
    let wrong = TABLE.iter().filter_map(|(words, code)| {
        let said = stage.pieme(words);
        (said.code != *code).then(|| format!("{words:?}: {} instead of {code}: {}", said.code, said.stderr))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "daemon {daemon}:\n{}", wrong.join("\n"));
}

#[test]
fn every_verb_exits_alike_with_the_daemon_up_and_down() {
    let stage = staged();
    break_edited(&stage);
    check(&stage, "down");
    let mut stage = staged();
    stage.start_daemon();
    stage.wait_for_state(SHOP, "ok");
    stage.wait_for_state("edited", "ok");
    break_edited(&stage);
    check(&stage, "up");
}

/// A `pieme run` that is killed on drop.
struct Going(Child);

impl Drop for Going {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_run_that_is_going_already_is_a_passing_trouble() {
    for daemon in [false, true] {
        let silent = TcpListener::bind("127.0.0.1:0").expect("a port of loopback is free");
        let address = silent.local_addr().expect("it is bound");
        let mut stage = Stage::new();
        if daemon {
            stage.start_daemon();
        }
        let task = format!("url = \"http://{address}/\"\n[fetch]\nrobots_txt = false\n");
        stage.grant_private(&address.to_string());
        stage.write("tasks/slow/task.toml", &format!("enabled = false\n{task}"));
        let first = Command::new(env!("CARGO_BIN_EXE_pieme"))
            .arg("--config")
            .arg(stage.path("config.toml"))
            .args(["run", "slow"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("pieme starts");
        let _first = Going(first);
        // The run has started when the site gets a request, which it never answers.
        let _asked = silent.accept().expect("it comes");
        let said = stage.pieme(&["run", "slow"]);
        assert_eq!(said.code, 75, "daemon {daemon}: {}", said.stderr);
    }
}
