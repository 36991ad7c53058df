//! `pieme step`, `pieme log --pages`, `curl2robot` and `har2robot`.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::stage::{Said, Stage};

pub fn typed(stage: &Stage, words: &[&str], lines: &str) -> Said {
    let mut child = Command::new(env!("CARGO_BIN_EXE_pieme"))
        .arg("--config")
        .arg(stage.path("config.toml"))
        .args(words)
        .current_dir(stage.path(""))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("pieme starts");
    let mut stdin = child.stdin.take().expect("stdin is piped");
    // A command that has quit does not read the rest: a broken pipe is fine.
    let _ = stdin.write_all(lines.as_bytes());
    drop(stdin);
    child.wait_with_output().expect("pieme ends").into()
}

fn lines(said: &Said) -> Vec<Value> {
    said.stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

/// The orders of the practice shop, reached in five steps.
fn drop_orders(stage: &Stage) {
    stage.drop_folder("practice-orders");
    let script = "[[step]]\nget = \"URL\"\n\n[[step]]\nsubmit = { form = \"login\", fields = { user = \"demo\", \
                  password = \"${secret:practice_password}\" } }\n\n\
                  [[step]]\nexpect = { text = \"Welcome back\", cause = \"login\" }\n\n[[step]]\n\
                  follow = { text = \"Orders\" }\n\n[[step]]\npaginate = { max_pages = 10 }\n";
    stage.write("tasks/practice-orders/robot.toml", &script.replace("URL", &stage.url("/login")));
}

#[test]
fn a_script_is_walked_step_by_step_and_back() {
    let stage = Stage::new();
    drop_orders(&stage);
    let said = typed(&stage, &["step", "practice-orders"], "\n\nf\nb\nb\nb\n\n\nv\nr\nw page.html\nl\nq\n");
    assert_eq!(said.code, 0, "{}", said.stderr);
    let shown = &said.stdout;
    for part in [
        "practice-orders: 5 steps of robot.toml",
        "── step 1 of 5",
        "[[step]]\nget = \"http",
        "GET http",
        "title   ",
        "fills the form “",
        "sent csrf_token=",
        "password=***",
        "This is the beginning.",
        "No variable is set.",
        "── step 5 (paginate)",
        "All 5 steps done: 30 rows extracted from 3 pages so far",
        "bytes to page.html",
    ] {
        assert!(shown.contains(part), "“{part}” is not in\n{shown}");
    }
    assert_eq!(shown.matches("── step 2 (submit)").count(), 2, "it was done again after going back\n{shown}");
    assert!(!shown.contains(pieme::practice::PASSWORD), "the password is never shown");
    assert!(stage.read("page.html").contains("<html"));
    assert_eq!(stage.state("practice-orders"), "never", "nothing was published or recorded");
    assert!(!stage.path("tasks/practice-orders/.state").exists(), "and no session was kept");
}

#[test]
fn going_back_forgets_the_log_in() {
    let stage = Stage::new();
    drop_orders(&stage);
    // Going back to before the login restores the cookies: the site asks to log in again.
    let said = typed(&stage, &["step", "practice-orders"], "\n\nb\nb\n\nf\nq\n");
    let after = said.stdout.rsplit("── step 1 (get)").next().unwrap_or_default().to_owned();
    assert!(said.stdout.contains("Log out"), "{}", said.stdout);
    assert!(after.contains("password (password)") && !after.contains("Log out"), "{}", said.stdout);
}

#[test]
fn every_step_is_a_line_of_json() {
    let stage = Stage::new();
    drop_orders(&stage);
    let said = stage.pieme(&["step", "practice-orders", "--json"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    let all = lines(&said);
    let verbs: Vec<&str> = all.iter().filter_map(|line| line["verb"].as_str()).collect();
    assert_eq!(verbs, ["get", "submit", "expect", "follow", "paginate"]);
    assert_eq!((all[0]["ok"].as_bool(), all[0]["page"]["status"].as_u64()), (Some(true), Some(200)), "{}", all[0]);
    assert_eq!((all[4]["rows"].as_u64(), all[4]["new_rows"].as_u64()), (Some(30), Some(30)), "{}", all[4]);
    assert_eq!(lines(&stage.pieme(&["step", "practice-orders", "--json", "--until", "3"])).len(), 2);
    assert!(!stage.path("tasks/practice-orders/.state").exists());
    assert_eq!(stage.pieme(&["step", "practice-orders", "--json", "--keep-session"]).code, 0);
    assert!(stage.path("tasks/practice-orders/.state/cookies.json").exists(), "kept when asked for");
}

#[test]
fn a_step_that_fails_says_why_and_the_rest_is_not_done() {
    let stage = Stage::new();
    stage.write_task("broken", "/", "");
    stage.write(
        "tasks/broken/robot.toml",
        "[[step]]\nget = '/login'\n[[step]]\nexpect = { text = 'no such words', cause = 'login' }\n\
         [[step]]\nget = '/'\n",
    );
    let said = stage.pieme(&["step", "broken", "--json"]);
    assert_eq!(said.code, 77, "{}", said.stdout);
    let all = lines(&said);
    assert_eq!((all.len(), all[1]["failed"]["cause"].as_str()), (2, Some("login")), "{}", said.stdout);
    let said = typed(&stage, &["step", "broken"], "\n\n\n\nq\n");
    assert_eq!(said.stdout.matches("FAILED (login): step 2 (expect)").count(), 3, "it is tried again\n{}", said.stdout);
}

#[test]
fn a_task_without_a_script_is_a_get_and_a_paginate() {
    let stage = Stage::new();
    stage.drop_folder("practice-shop");
    let all = lines(&stage.pieme(&["step", "practice-shop", "--json"]));
    let steps: Vec<_> = all.iter().map(|line| (line["verb"].as_str(), line["implied"].as_bool())).collect();
    assert_eq!(steps, [(Some("get"), Some(true)), (Some("paginate"), Some(true))]);
    assert_eq!(all[1]["rows"].as_u64(), Some(48));
    let secret_missing = stage.pieme(&["step", "nobody"]);
    assert_eq!(secret_missing.code, 2, "{}", secret_missing.stderr);
}

#[test]
fn the_pages_of_a_failed_run_and_those_that_a_script_saved_can_be_had() {
    let stage = Stage::new();
    stage.write_task("saving", "/products", "");
    stage.write(
        "tasks/saving/robot.toml",
        "[[step]]\nget = '/login'\n[[step]]\nsave = 'the door'\n[[step]]\nget = '/products'\n[[step]]\nextract = {}\n\
         [[step]]\nexpect = { text = 'no such words' }\n",
    );
    assert_eq!(stage.pieme(&["run", "saving"]).code, 1);
    let log = stage.pieme(&["log", "saving"]);
    assert!(log.stdout.contains("text/html") && log.stdout.contains("as “the door”"), "{}", log.stdout);
    let listed = stage.pieme(&["log", "saving", "--pages", "--json"]).json();
    let pages = listed["pages"].as_array().cloned().unwrap_or_default();
    let saved: Vec<_> = pages.iter().map(|page| page["meta"]["saved_as"].as_str()).collect();
    assert_eq!(saved, [None, None, Some("the door")], "{listed}");
    let table = stage.pieme(&["log", "saving", "--pages"]);
    assert!(table.stdout.contains("the door") && table.stdout.contains("/products"), "{}", table.stdout);
    let door = stage.pieme(&["log", "saving", "--page", "3"]);
    assert!(door.code == 0 && door.stdout.contains("type=\"password\""), "{}", door.stdout);
    let file = stage.path("out.html");
    let file = file.to_str().expect("a plain path");
    assert_eq!(stage.pieme(&["log", "saving", "--page", "1", "-o", file]).code, 0);
    assert!(stage.read("out.html").contains("class=\"products\""));
    assert_eq!(stage.pieme(&["log", "saving", "--page", "9"]).code, 2);
    let run = listed["run"].as_str().expect("its run");
    assert_eq!(stage.pieme(&["log", "saving", "--run", run, "--pages", "--json"]).json()["run"], listed["run"]);
    assert_eq!(stage.pieme(&["log", "saving", "--run", "zzz"]).code, 2);
}

#[test]
fn the_page_that_a_run_failed_on_is_kept_however_many_were_before_it() {
    let stage = Stage::new();
    stage.write_task("long", "/products", "");
    let many = (1..=25).map(|n| format!("'{n}'")).collect::<Vec<_>>().join(", ");
    let script = format!(
        "[[step]]\n[step.for_each]\nas = 'n'\nin = [{many}]\n[[step.for_each.steps]]\nget = '/search?q=${{n}}'\n\
         [[step]]\nget = '/bad/404'\n"
    );
    stage.write("tasks/long/robot.toml", &script);
    assert_eq!(stage.pieme(&["run", "long"]).code, 1);
    let listed = stage.pieme(&["log", "long", "--pages", "--json"]).json();
    let pages = listed["pages"].as_array().cloned().unwrap_or_default();
    assert_eq!(
        (pages.len(), pages.last().map(|page| page["meta"]["status"].as_u64())),
        (20, Some(Some(404))),
        "{listed}"
    );
}

#[test]
fn a_recording_that_is_too_large_is_refused_at_once() {
    let stage = Stage::new();
    let file = stage.path("huge.har");
    std::fs::File::create(&file).and_then(|file| file.set_len(300 << 20)).expect("a file of nothing");
    let said = stage.pieme(&["har2robot", file.to_str().expect("a plain path")]);
    assert!(said.code == 2 && said.stderr.contains("larger than 200 MB"), "{}", said.stderr);
}

#[test]
fn a_copied_command_becomes_a_folder_that_runs_and_is_never_written_over() {
    let stage = Stage::new();
    let folder = stage.path("tasks/found");
    let folder = folder.to_str().expect("a plain path");
    let command = format!(
        "curl '{}' \\\n -H 'accept: text/html' -H 'X-Api-Key: v3ry-s3cret' --compressed",
        stage.url("/search?q=kitchen")
    );
    let said = typed(&stage, &["curl2robot", "-o", folder], &command);
    assert_eq!(said.code, 0, "{}", said.stderr);
    let store =
        format!("pieme secret set site_x_api_key --task found --origin {}", stage.url("/").trim_end_matches('/'));
    assert!(said.stderr.contains(&store), "{}", said.stderr);
    let written =
        stage.read("tasks/found/robot.toml") + &stage.read("tasks/found/task.toml") + &said.stdout + &said.stderr;
    assert!(!written.contains("v3ry"), "{written}");
    assert_eq!(stage.pieme(&["validate", "found"]).code, 78, "the secret is not granted yet");
    let words: Vec<&str> = store.split(' ').skip(1).collect();
    let stored = typed(&stage, &words, "v3ry-s3cret");
    assert_eq!(stored.code, 0, "{}", stored.stderr);
    assert_eq!(stage.pieme(&["validate", "found"]).code, 0, "{}", stage.pieme(&["validate", "found"]).stdout);
    let all = lines(&stage.pieme(&["step", "found", "--json"]));
    assert_eq!(all.last().map(|line| line["rows"].as_u64()), Some(Some(8)), "{all:?}");
    let again = typed(&stage, &["curl2robot", "-o", folder], &command);
    assert!(again.code == 2 && again.stderr.contains("nothing is overwritten"), "{}", again.stderr);
    let words = stage.pieme(&["curl2robot", "--json", "--", "curl", "https://a.test/", "-u", "anna:hush"]).json();
    assert_eq!(words["secrets"][0]["name"], "a_password", "{words}");
    assert_eq!(typed(&stage, &["curl2robot"], "nothing of the kind").code, 2);
}

/// The HAR file that a browser would record of a visit to the orders.
fn recorded(stage: &Stage) -> Value {
    let jar = stage.path("jar");
    let fetch = |path: &str, more: &[&str]| {
        let done = Command::new("curl")
            .args(["-sS", "-L", "-b"])
            .arg(&jar)
            .arg("-c")
            .arg(&jar)
            .args(more)
            .arg(stage.url(path))
            .output();
        String::from_utf8(done.expect("curl is installed").stdout).expect("the practice site speaks UTF-8")
    };
    let entry = |method: &str, path: &str, text: &str| {
        serde_json::json!({
            "_resourceType": "document",
            "request": { "method": method, "url": stage.url(path), "headers": [] },
            "response": { "status": 200, "content": { "mimeType": "text/html", "text": text }, "redirectURL": "" },
        })
    };
    let door = fetch("/login", &[]);
    let token = door
        .split("name=\"csrf_token\" value=\"")
        .nth(1)
        .and_then(|it| it.split('"').next())
        .expect("a token")
        .to_owned();
    let password: String = pieme::practice::PASSWORD.to_owned();
    let fields = format!("csrf_token={token}&user=demo&password={password}");
    let inside = fetch("/login", &["--data-raw", &fields]);
    let mut login = entry("POST", "/login", "");
    login["request"]["postData"] =
        serde_json::json!({ "mimeType": "application/x-www-form-urlencoded", "text": fields });
    login["response"]["status"] = 303.into();
    login["response"]["redirectURL"] = "/orders".into();
    let (second, third) = (fetch("/orders?page=2", &[]), fetch("/orders?page=3", &[]));
    let entries = [
        entry("GET", "/login", &door),
        login,
        entry("GET", "/orders", &inside),
        entry("GET", "/orders?page=2", &second),
        entry("GET", "/orders?page=3", &third),
    ];
    serde_json::json!({ "log": { "entries": entries } })
}

#[test]
fn a_recorded_visit_becomes_a_task_that_brings_all_rows() {
    let stage = Stage::new();
    stage.write("visit.har", &recorded(&stage).to_string());
    let (file, folder) = (stage.path("visit.har"), stage.path("tasks/orders"));
    let words = ["har2robot", file.to_str().expect("a plain path"), "-o", folder.to_str().expect("a plain path")];
    let said = stage.pieme(&words);
    assert_eq!(said.code, 0, "{}", said.stderr);
    let robot = stage.read("tasks/orders/robot.toml");
    assert!(!robot.contains(pieme::practice::PASSWORD), "{robot}");
    stage.write("secrets/site_password", pieme::practice::PASSWORD);
    std::fs::set_permissions(stage.path("secrets/site_password"), std::os::unix::fs::PermissionsExt::from_mode(0o600))
        .expect("our own file");
    stage.grant("site_password", &stage.url("/"));
    let all = lines(&stage.pieme(&["step", "orders", "--json"]));
    let verbs: Vec<&str> = all.iter().filter_map(|line| line["verb"].as_str()).collect();
    assert_eq!(verbs, ["login", "paginate"], "{robot}");
    assert_eq!(all[1]["rows"].as_u64(), Some(30), "{robot}\n{}", all[1]);
    assert_eq!(stage.pieme(&["har2robot", "no-such.har"]).code, 2);
}
