//! E1: a task uses a secret only where `[secret.NAME]` of config.toml grants it.

use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::listener::Listener;
use crate::stage::{Said, Stage};

pub const VALUE: &str = "v3ry-s3cret-w0rd";

pub fn write_secret(stage: &Stage, name: &str) {
    stage.write(&format!("secrets/{name}"), VALUE);
    stage.make_private(&format!("secrets/{name}"));
}

/// Appends a grant to config.toml.
pub fn grant(stage: &Stage, name: &str, task: &str, origins: &[String]) {
    let config = stage.read("config.toml");
    stage.write("config.toml", &format!("{config}\n[secret.{name}]\ntasks = [\"{task}\"]\norigins = {origins:?}\n"));
}

/// A task with this robot.toml; `more` is for task.toml.
pub fn write_task(stage: &Stage, task: &str, robot: &str, more: &str) {
    stage.write_task(task, "/products", more);
    let path = format!("tasks/{task}/task.toml");
    stage.write(&path, &format!("{}robots_txt = false\n", stage.read(&path)));
    stage.write(&format!("tasks/{task}/robot.toml"), robot);
}

pub fn run(stage: &Stage, task: &str) -> Value {
    stage.pieme(&["run", task, "--json"]).json()
}

pub fn sentence(verdict: &Value) -> &str {
    verdict["sentence"].as_str().unwrap_or_default()
}

fn pieme_with_input(stage: &Stage, words: &[&str], input: &str) -> Said {
    let mut child = Command::new(env!("CARGO_BIN_EXE_pieme"))
        .arg("--config")
        .arg(stage.path("config.toml"))
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("pieme starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    // A command that fails before it reads has closed the pipe.
    let _ = std::io::Write::write_all(&mut stdin, input.as_bytes());
    drop(stdin);
    child.wait_with_output().expect("it ends").into()
}

#[test]
fn a_folder_from_elsewhere_sends_no_secret_and_is_told_the_lines_to_add() {
    let thief = Listener::page("<ul><li>a</li><li>b</li></ul>");
    let (mut stage, there) = (Stage::new(), thief.origin());
    write_secret(&stage, "db");
    stage.grant_private(&there);
    let robot = format!("[[step]]\nget = {{ url = '{there}/x', headers = {{ x-key = '${{secret:db}}' }} }}\n");
    write_task(&stage, "elsewhere", &robot, "");
    let verdict = run(&stage, "elsewhere");
    assert_eq!(thief.all(), "", "nothing was sent");
    assert_eq!(verdict["cause"], "config", "{verdict}");
    let lines = format!("[secret.db]\ntasks = [\"elsewhere\"]\norigins = [\"{there}\"]\n");
    assert!(sentence(&verdict).contains(&lines), "{verdict}");
    let command = format!("pieme secret set db --task elsewhere --origin {there}");
    assert!(sentence(&verdict).contains(&command), "{verdict}");
    let validated = stage.pieme(&["validate", "elsewhere"]);
    assert_eq!(validated.code, 78, "{}", validated.stdout);
    assert!(validated.stdout.contains("robot.toml:2:") && validated.stdout.contains(&command), "{}", validated.stdout);

    // The daemon does the same.
    stage.start_daemon();
    stage.wait_for_state("elsewhere", "config");
    let shown = stage.pieme(&["status", "elsewhere"]).stdout;
    let is_a_line = |line: &str| shown.lines().any(|it| it.trim() == line);
    assert!(lines.lines().all(is_a_line) && shown.contains(&command), "lines to copy: {shown}");
    assert_eq!(thief.all(), "", "nothing was sent");
    stage.signal_daemon("-TERM");
    stage.daemon_ended();

    // Exactly these lines, and it is sent where they say.
    let config = stage.read("config.toml");
    stage.write("config.toml", &format!("{config}\n{lines}"));
    assert_eq!(stage.pieme(&["validate", "elsewhere"]).code, 0);
    let verdict = run(&stage, "elsewhere");
    assert!(thief.all().contains(VALUE), "{verdict}");
    // Another task is another matter.
    write_task(&stage, "another", &robot, "");
    let heard = thief.heard().len();
    let verdict = run(&stage, "another");
    assert_eq!((&verdict["cause"], thief.heard().len()), (&Value::from("config"), heard), "{verdict}");
    assert!(sentence(&verdict).contains("tasks = [\"elsewhere\", \"another\"]\n"), "{verdict}");
}

#[test]
fn an_alert_and_a_proxy_get_no_secret_without_a_grant_either() {
    let thief = Listener::page("<p>thanks</p>");
    let (stage, there) = (Stage::new(), thief.origin());
    let config = stage.read("config.toml");
    stage.write("config.toml", &format!("{config}[alert]\nallow_private = true\n"));
    write_secret(&stage, "db");
    stage.grant_private(&there);
    stage.write_task("alerting", "/products", &format!("[alert]\nurls = ['{there}/${{secret:db}}']"));
    stage.write_task("proxied", "/products", "");
    let proxied = stage.read("tasks/proxied/task.toml");
    let proxy = there.replace("http://", "http://me:${secret:db}@");
    stage.write("tasks/proxied/task.toml", &format!("{proxied}proxy = '{proxy}'\n"));
    for task in ["alerting", "proxied"] {
        let verdict = run(&stage, task);
        assert_eq!(verdict["cause"], "config", "{task}: {verdict}");
        let lines = format!("[secret.db]\ntasks = [\"{task}\"]\norigins = [\"{there}\"]\n");
        assert!(sentence(&verdict).contains(&lines), "{verdict}");
        let validated = stage.pieme(&["validate", task]);
        assert!(validated.code == 78 && validated.stdout.contains("[secret.db]"), "{}", validated.stdout);
    }
    let tried = stage.pieme(&["alert", "test", "alerting"]);
    assert!(tried.code != 0 && !tried.stdout.contains(VALUE), "{}{}", tried.stdout, tried.stderr);
    assert_eq!(thief.all(), "", "nothing was sent");

    grant(&stage, "db", "*", &["https://elsewhere.example".to_owned()]);
    let tried = stage.pieme(&["alert", "test", "alerting"]);
    assert!(tried.code == 1 && tried.stdout.contains("https://elsewhere.example"), "{}", tried.stdout);
    let verdict = run(&stage, "proxied");
    assert!(sentence(&verdict).contains("https://elsewhere.example"), "{verdict}");
    assert_eq!(thief.all(), "", "nothing was sent");
    stage.write("config.toml", &stage.read("config.toml").replace("https://elsewhere.example", &there));
    assert_eq!(stage.pieme(&["alert", "test", "alerting"]).code, 0);
    assert!(thief.all().contains(VALUE), "where the grant says, it is sent");
    run(&stage, "proxied");
    // me:v3ry-s3cret-w0rd in base64
    assert!(thief.all().contains("bWU6djNyeS1zM2NyZXQtdzByZA=="), "{}", thief.all());
}

#[test]
fn a_secret_that_config_toml_uses_itself_is_given_to_no_task() {
    let stage = Stage::new();
    let plain = stage.read("config.toml");
    write_secret(&stage, "hooks");
    stage.write("config.toml", &format!("{plain}[alert]\nsigned_with = '${{secret:hooks}}'\n"));
    write_task(&stage, "elsewhere", "[[step]]\nget = 'https://a.example/${secret:hooks}'\n", "");
    let verdict = run(&stage, "elsewhere");
    assert_eq!(verdict["cause"], "config", "{verdict}");
    assert!(sentence(&verdict).contains("config.toml uses the secret `hooks` itself"), "{verdict}");
    grant(&stage, "hooks", "*", &["https://a.example".to_owned()]);
    let said = stage.pieme(&["status"]);
    assert_eq!(said.code, 78, "{}{}", said.stdout, said.stderr);
    assert!(said.stderr.contains("config.toml uses the secret `hooks` itself"), "{}", said.stderr);
}

#[test]
fn mistakes_in_a_grant_are_named_with_line_and_hint() {
    let stage = Stage::new();
    let plain = stage.read("config.toml");
    for (lines, place, what) in [
        ("tasks = [\"a\"]\norigins = [\"shop.example\"]", "3:12", "write scheme, host and"),
        ("tasks = [\"a\"]\norigins = [\"https://shop.example/x\"]", "3:12", "has no path"),
        ("tasks = [\"a\"]\norigins = [\"https://me@shop.example\"]", "3:12", "no user"),
        ("tasks = [\"a\"]\norigins = [\"https://*.example\"]", "3:12", "`*`"),
        ("tasks = [\"a/b\"]\norigins = []", "2:10", "matches no task"),
        ("tasks = [\"a\"]\norigins = []\nhosts = []", "4:1", "unknown key `hosts`"),
        ("tasks = [\"a\"]", "1:1", "origins"),
    ] {
        stage.write("config.toml", &format!("[secret.shop]\n{lines}\n"));
        let said = stage.pieme(&["status"]);
        assert_eq!(said.code, 78, "{lines}: {}", said.stderr);
        assert!(said.stderr.contains(&format!("config.toml:{place}")), "{lines}: {}", said.stderr);
        assert!(said.stderr.contains(what), "{lines}: {}", said.stderr);
    }
    stage.write("config.toml", &plain);
    assert_eq!(stage.pieme(&["status"]).code, 0);
}

#[test]
fn a_person_sets_lists_and_removes_a_secret_with_its_grant() {
    let stage = Stage::new();
    let set = ["secret", "set", "shop", "--task", "shop-*", "--origin", "https://shop.example"];
    let said = pieme_with_input(&stage, &set, &format!("{VALUE}\n"));
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    assert_eq!(stage.read("secrets/shop").trim_end(), VALUE);
    let mode = |inside: &str| stage.path(inside).metadata().expect("it is there").permissions().mode() & 0o777;
    assert_eq!((mode("secrets/shop"), mode("secrets")), (0o600, 0o700));
    let lines = "[secret.shop]\ntasks = [\"shop-*\"]\norigins = [\"https://shop.example\"]\n";
    assert!(stage.read("config.toml").contains(lines), "{}", stage.read("config.toml"));

    // Without a value the one that is there stays, and the grant grows.
    let more = ["secret", "set", "shop", "--task", "other", "--origin", "http://127.0.0.1:8643"];
    let said = pieme_with_input(&stage, &more, "");
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    assert_eq!(stage.read("secrets/shop").trim_end(), VALUE);
    let grown = "tasks = [\"shop-*\", \"other\"]\norigins = [\"https://shop.example\", \"http://127.0.0.1:8643\"]\n";
    assert!(stage.read("config.toml").contains(grown), "{}", stage.read("config.toml"));
    grant(&stage, "absent", "x", &[]);
    let listed = stage.pieme(&["secret", "list", "--json"]).json();
    let names: Vec<&str> =
        listed["secrets"].as_array().into_iter().flatten().filter_map(|it| it["name"].as_str()).collect();
    assert_eq!(names, ["absent", "practice_password", "shop"], "{listed}");
    assert_eq!((&listed["secrets"][0]["missing"], &listed["secrets"][2]["missing"]), (&true.into(), &false.into()));
    assert_eq!(listed["secrets"][2]["origins"][1], "http://127.0.0.1:8643");
    let shown = stage.pieme(&["secret", "list"]);
    assert!(shown.stdout.contains("shop-*") && shown.stdout.contains("missing"), "{}", shown.stdout);
    for text in [&shown.stdout, &shown.stderr, &listed.to_string()] {
        assert!(!text.contains(VALUE), "{text}");
    }

    assert_eq!(pieme_with_input(&stage, &["secret", "rm", "shop"], "").code, 2, "nobody said yes");
    assert_eq!(stage.pieme(&["secret", "rm", "shop", "--yes"]).code, 0);
    assert!(!stage.path("secrets/shop").exists() && !stage.read("config.toml").contains("secret.shop"));
    assert_eq!(stage.pieme(&["secret", "rm", "shop", "--yes"]).code, 2, "there is none");
    for (words, input, what) in [
        (&["secret", "set", "shop", "--task", "Shop", "--origin", "https://a.example"][..], "x", "matches no task"),
        (&["secret", "set", "shop", "--task", "shop", "--origin", "a.example"], "x", "scheme"),
        (&["secret", "set", "../shop", "--task", "shop", "--origin", "https://a.example"], "x", "not a valid name"),
        (&["secret", "set", "shop", "--task", "shop", "--origin", "https://a.example"], "", "no value"),
        (&["secret", "set", "shop", "value", "--task", "shop", "--origin", "https://a.example"], "x", "unexpected"),
    ] {
        let said = pieme_with_input(&stage, words, input);
        assert!(said.code == 2 && said.stderr.contains(what), "{words:?}: {}", said.stderr);
    }
    assert!(!stage.path("secrets/shop").exists() && !stage.read("config.toml").contains("secret.shop"));
}

/// Each command reads config.toml, changes it and replaces it; none may undo another's change.
#[test]
fn grants_that_are_set_at_the_same_time_are_all_written() {
    let stage = Stage::new();
    let names: Vec<String> = (0..12).map(|number| format!("shop{number}")).collect();
    std::thread::scope(|scope| {
        let set = |name| {
            let words = ["secret", "set", name, "--task", name, "--origin", "https://shop.example"];
            pieme_with_input(&stage, &words, VALUE)
        };
        let commands: Vec<_> = names.iter().map(|name| scope.spawn(move || set(name))).collect();
        for said in commands.into_iter().map(|it| it.join().expect("no panic")) {
            assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
        }
    });
    let config = stage.read("config.toml");
    let lost: Vec<&String> = names.iter().filter(|name| !config.contains(&format!("[secret.{name}]"))).collect();
    assert!(lost.is_empty(), "{lost:?} are not in {config}");
}

/// Whoever may read config.toml can lock it, and so delay an edit; but not for ever.
#[test]
fn a_lock_that_another_process_holds_on_config_toml_ends_in_a_sentence() {
    let stage = Stage::new();
    let before = stage.read("config.toml");
    let held = std::fs::File::open(stage.path("config.toml")).expect("it is there");
    held.lock().expect("nobody has it");
    let set = ["secret", "set", "shop", "--task", "shop", "--origin", "https://shop.example"];
    let said = pieme_with_input(&stage, &set, VALUE);
    assert_eq!(said.code, 78, "{}{}", said.stdout, said.stderr);
    assert!(said.stderr.contains("another process holds a lock on it"), "{}", said.stderr);
    assert_eq!(stage.read("config.toml"), before);
    assert!(!stage.path("secrets/shop").exists(), "no value without its grant");
}
