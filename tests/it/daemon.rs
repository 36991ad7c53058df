//! The daemon end to end: a dropped folder becomes published rows, and nothing is lost on the way.

use std::fs;
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

use crate::stage::{Stage, is_alive, signal_process};

const SHOP: &str = "practice-shop";

#[test]
fn a_dropped_folder_becomes_published_rows_and_a_redesign_is_noticed_and_mended() {
    let mut stage = Stage::new();
    let daemon = stage.start_daemon();
    stage.drop_folder(SHOP);
    stage.wait_for_state(SHOP, "ok");
    assert_eq!(stage.status(SHOP)["rows"], 48);
    assert_eq!(stage.sql("SELECT count(*) FROM \"practice-shop\""), "48");
    let before = stage.sql("SELECT name, price FROM \"practice-shop\" ORDER BY name");
    assert!(stage.status(SHOP)["next"].is_string(), "it is scheduled");
    assert_eq!(stage.children_of(daemon), Vec::<u32>::new(), "the run's process is gone");

    stage.site.set_redesign(true);
    let run = stage.pieme(&["run", SHOP, "--json"]);
    let verdict = run.json();
    assert_eq!(
        (verdict["outcome"].as_str(), verdict["cause"].as_str()),
        (Some("quarantined"), Some("layout")),
        "{verdict}"
    );
    assert!(verdict["similarity"].as_f64().is_some_and(|it| it < 0.7), "{verdict}");
    assert_eq!(run.code, 3, "it needs a person");
    let status = stage.status(SHOP);
    assert_eq!(
        (status["state"].as_str(), status["do"].as_str()),
        (Some("quarantined"), Some("pieme label practice-shop"))
    );
    assert_eq!(stage.sql("SELECT name, price FROM \"practice-shop\" ORDER BY name"), before, "old rows stay published");

    let labelled = stage.pieme(&["label", SHOP, "--yes"]);
    assert_eq!(labelled.code, 0, "{}{}", labelled.stdout, labelled.stderr);
    stage.wait_for("it to be mended", || ["ok", "changed"].contains(&stage.state(SHOP).as_str()));
    assert_eq!(
        stage.sql("SELECT name, price FROM \"practice-shop\" ORDER BY name"),
        before,
        "the same rows under the same names"
    );
}

#[test]
fn the_first_lines_of_the_journal_are_ours() {
    let mut stage = Stage::new();
    stage.start_daemon_with(&[("RUST_LOG", "")]);
    stage.wait_for("the first lines", || stage.read("log").contains("the daemon is ready"));
    let log = stage.read("log");
    assert!(!log.contains("tokio_cron_scheduler"), "{log}");
}

#[test]
fn a_task_behind_a_log_in_is_paged_through_and_its_secret_is_nowhere() {
    let mut stage = Stage::new();
    stage.drop_folder("practice-orders");
    stage.start_daemon();
    stage.wait_for_state("practice-orders", "ok");
    assert_eq!(stage.sql("SELECT count(*) FROM \"practice-orders\""), "30");
    let trace = stage.pieme(&["log", "practice-orders"]).stdout;
    assert!(trace.contains("login"), "{trace}");
    let dump = stage.sql(".dump");
    // The password is an ordinary word that also names the site: look for it as a value.
    for text in [&trace, &dump, &stage.read("log")] {
        assert!(!text.contains("password=practice") && !text.contains("\"practice\""), "{text}");
    }
}

#[test]
fn a_folder_with_one_line_is_learned_and_waits_for_a_person() {
    let mut stage = Stage::new();
    stage.write_task("plain", "/products", "");
    stage.start_daemon();
    stage.wait_for_state("plain", "needs-label");
    assert_eq!(stage.status("plain")["do"], "pieme label plain");
    assert!(!stage.read("tasks/plain/template.json").is_empty(), "the template is in the folder");
    let labelled = stage.pieme(&["label", "plain", "--yes"]);
    assert_eq!(labelled.code, 0, "{}{}", labelled.stdout, labelled.stderr);
    stage.wait_for("a yes to be enough", || ["ok", "changed"].contains(&stage.state("plain").as_str()));
    assert_eq!(stage.sql("SELECT count(*) FROM plain"), "48");
    assert!(stage.read("tasks/plain/labels.toml").contains("pick"), "what the person said is kept");
    assert!(stage.read("tasks/plain/task.toml").contains("[[column]]"), "the columns can be edited");
}

#[test]
fn a_killed_child_is_a_crash_and_costs_no_rows() {
    let mut stage = Stage::new();
    let daemon = stage.start_daemon();
    stage.drop_folder(SHOP);
    stage.wait_for_state(SHOP, "ok");
    let good = stage.read("tasks/practice-shop/task.toml");
    stage.write("tasks/practice-shop/task.toml", &good.replace("/products", "/bad/hang"));
    stage.wait_for("a run that hangs", || {
        if stage.children_of(daemon).is_empty() {
            // The edit takes effect within two seconds; until then a run still succeeds.
            drop(start_run(&stage, SHOP));
        }
        stage.children_of(daemon).first().is_some_and(|_| stage.status(SHOP)["state"] == "running")
    });
    stage.wait_for("the child to hang at the page", || hanging(&stage, daemon).is_some());
    let child = hanging(&stage, daemon).expect("it hangs");
    signal_process(child, "-KILL");
    stage.wait_for_state(SHOP, "crash");
    let status = stage.status(SHOP);
    assert_eq!(status["last_run"]["outcome"], "failed");
    assert_eq!(status["last_run"]["cause"], "crash");
    assert!(status["last_run"]["sentence"].as_str().is_some_and(|it| it.contains("signal 9")), "{status}");
    assert_eq!(stage.sql("SELECT count(*) FROM \"practice-shop\""), "48");

    stage.write("tasks/practice-shop/task.toml", &good);
    stage.wait_for("the next run to be fine", || {
        stage.pieme(&["run", SHOP]);
        stage.state(SHOP) == "ok"
    });
}

#[test]
fn a_killed_daemon_leaves_no_child_and_goes_on_where_it_was() {
    let mut stage = Stage::new();
    // Both are at one host, where the one that hangs would block the other.
    let config = stage.read("config.toml");
    stage.write("config.toml", &format!("{config}per_host = 2\n"));
    stage.drop_folder(SHOP);
    stage.write_task("hangs", "/bad/hang", "");
    let daemon = stage.start_daemon();
    stage.wait_for_state(SHOP, "ok");
    stage.wait_for("a run that hangs", || !stage.children_of(daemon).is_empty());
    let children = stage.children_of(daemon);
    stage.signal_daemon("-KILL");
    assert_eq!(stage.daemon_ended(), None, "a signal ended it");
    stage.wait_for("no child to be left", || !children.iter().any(|&child| is_alive(child)));
    assert_eq!(stage.sql("SELECT count(*) FROM \"practice-shop\""), "48", "the rows are there with the daemon down");
    let promised = stage.status(SHOP)["next"].clone();
    assert!(promised.is_string(), "its next run is known");

    stage.start_daemon();
    let runs = stage.pieme(&["log", "hangs", "--json", "--last", "50"]).json();
    let first = runs["runs"][0].clone();
    assert_eq!((first["outcome"].as_str(), first["cause"].as_str()), (Some("failed"), Some("crash")), "{runs}");
    let next = stage.status(SHOP)["next"].clone();
    assert!(next.as_str() >= promised.as_str(), "what was promised is kept: {promised}, {next}");
    stage.wait_for("the hanging task to go on as well", || stage.status("hangs")["next"].is_string());
}

#[test]
fn a_stop_lets_a_run_finish_or_ends_it_and_owes_it() {
    let mut stage = Stage::new();
    let config = stage.read("config.toml");
    stage.write("config.toml", &format!("{config}stop_grace = \"1s\"\n"));
    stage.write_task("hangs", "/bad/hang", "");
    let daemon = stage.start_daemon();
    stage.wait_for("a run that hangs", || !stage.children_of(daemon).is_empty());
    let children = stage.children_of(daemon);
    stage.signal_daemon("-TERM");
    assert_eq!(stage.daemon_ended(), Some(0), "a clean stop");
    assert!(!children.iter().any(|&child| is_alive(child)));
    let runs = stage.pieme(&["log", "hangs", "--json"]).json();
    assert_eq!(runs["runs"][0]["cause"], "crash", "{runs}");
    let due = stage.status("hangs")["next"].clone();
    assert!(due.is_string(), "it is still owed: {due}");
}

#[test]
fn folders_are_edited_renamed_and_deleted_while_the_daemon_runs() {
    let mut stage = Stage::new();
    stage.start_daemon();
    stage.drop_folder(SHOP);
    stage.wait_for_state(SHOP, "ok");

    let good = stage.read("tasks/practice-shop/task.toml");
    stage.write("tasks/practice-shop/task.toml", &format!("{good}\nshedule = 3\n"));
    stage.wait_for_state(SHOP, "config");
    let status = stage.pieme(&["status", SHOP]).stdout;
    assert!(status.contains("task.toml:") && status.contains("pieme validate practice-shop"), "{status}");
    assert_eq!(stage.pieme(&["run", SHOP]).code, 78, "a person is told what is wrong");
    stage.wait_for("the schedule to go on with the previous good version", || stage.status(SHOP)["next"].is_string());
    stage.write("tasks/practice-shop/task.toml", &good);
    stage.wait_for_state(SHOP, "ok");

    fs::rename(stage.path("tasks/practice-shop"), stage.path("tasks/renamed")).expect("a rename");
    stage.wait_for_state("renamed", "ok");
    assert_eq!(stage.state(SHOP), "absent");
    assert_eq!(stage.sql("SELECT count(*) FROM renamed"), "48");

    fs::remove_dir_all(stage.path("tasks/renamed")).expect("a deletion");
    stage.wait_for("it to be gone", || stage.state("renamed") == "absent");
    for view in ["renamed", SHOP] {
        assert_eq!(stage.sql(&format!("SELECT count(*) FROM \"{view}\"")), "48", "published rows outlive the folder");
    }
}

#[test]
fn systemd_is_told_when_the_daemon_is_ready_alive_and_stopping() {
    let mut stage = Stage::new();
    let socket = stage.path("notify.sock");
    let systemd = UnixDatagram::bind(&socket).expect("a socket");
    systemd.set_read_timeout(Some(Duration::from_secs(60))).expect("a time-out");
    let socket = socket.display().to_string();
    stage.start_daemon_with(&[("NOTIFY_SOCKET", &socket), ("WATCHDOG_USEC", "5000000")]);
    let hears = |word: &str| {
        let mut message = [0; 4096];
        // The daemon sends few messages; the expected one is among the next.
        (0..50).any(|_| {
            let length = systemd.recv(&mut message).expect("a message within the time-out");
            String::from_utf8_lossy(&message[..length]).contains(word)
        })
    };
    assert!(hears("READY=1"));
    assert!(hears("WATCHDOG=1"));
    stage.signal_daemon("-TERM");
    assert!(hears("STOPPING=1"));
    assert_eq!(stage.daemon_ended(), Some(0));
}

#[test]
fn a_second_daemon_on_the_same_state_is_refused() {
    let mut stage = Stage::new();
    stage.start_daemon();
    let second = std::process::Command::new(env!("CARGO_BIN_EXE_pieme-daemon"))
        .arg("--config")
        .arg(stage.path("config.toml"))
        .output()
        .expect("it starts");
    assert_eq!(second.status.code(), Some(75));
    assert!(String::from_utf8_lossy(&second.stderr).contains("another pieme-daemon"));
}

#[test]
fn a_program_that_was_replaced_still_runs_its_tasks() {
    let mut stage = Stage::new();
    let program = stage.path("pieme-daemon");
    fs::copy(env!("CARGO_BIN_EXE_pieme"), &program).expect("a copy");
    stage.start_program(&program, &[]);
    fs::remove_file(&program).expect("an upgrade removes the old file");
    stage.drop_folder(SHOP);
    stage.wait_for_state(SHOP, "ok");
}

/// Asks for a run without waiting for its end.
fn start_run(stage: &Stage, task: &str) -> std::process::Child {
    std::process::Command::new(env!("CARGO_BIN_EXE_pieme"))
        .arg("--config")
        .arg(stage.path("config.toml"))
        .args(["run", task])
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("pieme starts")
}

/// The child that has run for a while: it waits for a page that never comes.
fn hanging(stage: &Stage, daemon: u32) -> Option<u32> {
    let children = stage.children_of(daemon);
    let child = *children.first()?;
    std::thread::park_timeout(Duration::from_millis(300));
    stage.children_of(daemon).contains(&child).then_some(child)
}
