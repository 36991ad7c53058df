//! The browser engine: runs that drive the real Chromium. tests/all.sh installs it; without it these tests fail.

use std::fs;

use super::stage::{Stage, is_alive, signal_process};

const BROWSER: &str = "engine = \"browser\"\n";

/// A task with the browser engine on the practice site.
pub fn write_task(stage: &Stage, name: &str, path: &str, script: &str) {
    stage.write_task(name, path, "");
    let file = format!("tasks/{name}/task.toml");
    stage.write(&file, &(stage.read(&file) + BROWSER));
    if !script.is_empty() {
        stage.write(&format!("tasks/{name}/robot.toml"), script);
    }
}

/// The processes of this stage's browser, recognised by the profile's path in their command lines.
pub fn browsers(stage: &Stage) -> Vec<u32> {
    let profiles = stage.path("state/runs").display().to_string();
    fs::read_dir("/proc")
        .expect("/proc is there")
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter(|pid| {
            let read = |file: &str| fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
            let said = [read("cmdline"), read("environ")].concat();
            is_alive(*pid) && String::from_utf8_lossy(&said).contains(&profiles)
        })
        .collect()
}

fn nothing_is_left(stage: &Stage) {
    assert_eq!(browsers(stage), Vec::<u32>::new(), "no Chromium is left");
    assert_eq!(profiles(stage), 0, "and no profile");
}

fn profiles(stage: &Stage) -> usize {
    fs::read_dir(stage.path("state/runs")).map(Iterator::count).unwrap_or(0)
}

#[test]
fn a_list_made_by_a_script_yields_all_rows_by_its_button() {
    let stage = Stage::unprivileged();
    write_task(&stage, "js", "/js/products", "");
    let said = stage.pieme(&["run", "js", "--json"]);
    let verdict = said.json();
    assert_eq!(verdict["rows"], 48, "{}\n{}", said.stdout, said.stderr);
    nothing_is_left(&stage);
}

#[test]
fn an_endless_list_is_scrolled_to_its_end() {
    let mut stage = Stage::unprivileged();
    write_task(
        &stage,
        "endless",
        "/js/endless",
        "[[step]]\nget = '/js/endless'\n[[step]]\npaginate = { scroll = true }\n",
    );
    stage.start_daemon();
    stage.wait_for("the run", || stage.status("endless")["last_run"]["outcome"].is_string());
    let status = stage.status("endless");
    assert_eq!(status["last_run"]["rows"], 48, "{status}");
    nothing_is_left(&stage);
}

#[test]
fn the_script_clicks_waits_and_scrolls() {
    let stage = Stage::unprivileged();
    let script = "[[step]]\nget = '/js/products'\n[[step]]\nwait_for = { css = '.products li:nth-child(12)' }\n\
        [[step]]\nclick = { text = 'load more' }\n[[step]]\nscroll = { times = 2 }\n\
        [[step]]\nexpect = { css = '.products li:nth-child(24)' }\n";
    write_task(&stage, "clicks", "/js/products", script);
    let said = stage.pieme(&["run", "clicks", "--json"]);
    assert_eq!(said.json()["rows"], 24, "{}\n{}", said.stdout, said.stderr);
    let script = format!("{script}[[step]]\nwait_for = {{ text = 'Sold out', timeout = '300ms' }}\n");
    stage.write("tasks/clicks/robot.toml", &script);
    let said = stage.pieme(&["run", "clicks", "--json"]).json();
    assert_eq!(said["cause"], "robot", "{said}");
    assert!(said["sentence"].as_str().is_some_and(|it| it.contains("did not show “Sold out”")), "{said}");
}

#[test]
fn a_log_in_through_the_browser_survives_the_run() {
    let stage = Stage::unprivileged();
    let script = "[[step]]\nlogin = { url = '/login', user = 'demo', password = '${secret:practice_password}', \
        logged_out_if = { text = 'Log in' } }\n[[step]]\nget = '/orders'\n[[step]]\npaginate = {}\n";
    write_task(&stage, "orders", "/orders", script);
    let first = stage.pieme(&["run", "orders", "--json"]);
    assert_eq!(first.json()["rows"], 30, "{}\n{}", first.stdout, first.stderr);
    assert!(first.stderr.contains("logged in") && !first.stderr.contains("open-sesame"), "{}", first.stderr);
    // The http engine continues the same session.
    let file = "tasks/orders/task.toml";
    stage.write(file, &stage.read(file).replace(BROWSER, ""));
    stage.write("tasks/orders/robot.toml", &script.replace("url = '/login'", "url = '/orders'"));
    let second = stage.pieme(&["run", "orders", "--json"]);
    assert_eq!(second.json()["rows"], 30, "{}\n{}", second.stdout, second.stderr);
    assert!(second.stderr.contains("still logged in"), "{}", second.stderr);
    nothing_is_left(&stage);
}

/// A daemon whose run hangs in a browser: the process ids of both.
pub fn hanging(stage: &mut Stage) -> (u32, u32) {
    write_task(stage, "hangs", "/bad/hang", "");
    let daemon = stage.start_daemon();
    stage.wait_for("Chromium", || browsers(stage).len() > 3);
    let run = *stage.children_of(daemon).first().expect("a run goes on");
    (daemon, run)
}

#[test]
fn a_killed_run_leaves_no_chromium() {
    let mut stage = Stage::unprivileged();
    let (_, run) = hanging(&mut stage);
    signal_process(run, "-KILL");
    stage.wait_for("Chromium to be gone", || browsers(&stage).is_empty());
    stage.wait_for_state("hangs", "crash");
    nothing_is_left(&stage);
}

#[test]
fn a_killed_daemon_leaves_no_chromium_and_the_next_one_removes_its_profile() {
    let mut stage = Stage::unprivileged();
    hanging(&mut stage);
    stage.signal_daemon("-KILL");
    assert_eq!(stage.daemon_ended(), None, "a signal ended it");
    stage.wait_for("Chromium to be gone", || browsers(&stage).is_empty());
    stage.write("tasks/hangs/task.toml", "url = 'https://nowhere.test/'\nenabled = false\n");
    stage.start_daemon();
    stage.wait_for("the profile to be removed", || profiles(&stage) == 0);
    nothing_is_left(&stage);
}

#[test]
fn a_missing_chromium_is_said_and_what_to_install() {
    let stage = Stage::unprivileged();
    let config = stage.read("config.toml");
    stage.write("config.toml", &format!("{config}browser = \"/nowhere/chromium\"\n"));
    write_task(&stage, "js", "/js/products", "");
    let said = stage.pieme(&["run", "js", "--json"]).json();
    assert_eq!(said["cause"], "config", "{said}");
    assert!(said["sentence"].as_str().is_some_and(|it| it.contains("apt install chromium")), "{said}");
    assert_eq!(stage.pieme(&["validate", "js"]).code, 0, "the folder itself is sound");
}
