//! Private addresses are granted in config.toml, with their port; some are never reached.

use std::net::{IpAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use super::super::files::{Files, books};
use super::super::stage::{Said, Stage};

/// A stage that grants nothing, with a task for this address.
fn ungranted(url: &str) -> Stage {
    let stage = Stage::new();
    stage.revoke_private();
    write_task(&stage, url);
    stage
}

fn write_task(stage: &Stage, url: &str) {
    stage.write("tasks/shop/task.toml", &format!("url = \"{url}\"\n[fetch]\nretries = 0\nrobots_txt = false\n"));
}

fn grant(stage: &Stage, glob: &str, entry: &str) {
    let config = stage.read("config.toml");
    stage.write("config.toml", &format!("{config}\n[private]\n\"{glob}\" = [\"{entry}\"]\n"));
}

fn run(stage: &Stage) -> Said {
    stage.pieme(&["run", "shop"])
}

fn list() -> Files {
    Files::serve([("/index.html", books(1, None))])
}

#[test]
fn a_folder_without_a_grant_ends_as_config_with_the_line_to_add_and_works_with_it() {
    let site = list();
    let stage = ungranted(&site.url("/index.html"));
    let host = site.url("").trim_start_matches("http://").trim_end_matches('/').to_owned();
    let line = format!("add `\"shop\" = [\"{host}\"]` under [private] in config.toml");
    let said = run(&stage);
    assert_eq!(said.code, 78, "{}{}", said.stdout, said.stderr);
    assert!(said.stdout.contains("failed (config)") && said.stdout.contains(&line), "{}", said.stdout);
    let said = stage.pieme(&["validate", "shop"]);
    assert_eq!(said.code, 78, "{}", said.stdout);
    assert!(said.stdout.contains("task.toml:1:8") && said.stdout.contains(&line), "{}", said.stdout);
    grant(&stage, "other", &host);
    assert_eq!(run(&stage).code, 78, "another task's grant");
    let other_port = host.replace(':', ":1");
    stage.write("config.toml", &stage.read("config.toml").replace("\"other\"", "\"sh*\"").replace(&host, &other_port));
    assert_eq!(run(&stage).code, 78, "another port: {other_port}");
    stage.write("config.toml", &stage.read("config.toml").replace(&other_port, &host));
    let said = run(&stage);
    assert_eq!(said.code, 3, "it waits for a label: {}{}", said.stdout, said.stderr);
    assert_eq!(stage.pieme(&["validate", "shop"]).code, 0);
}

#[test]
fn a_folder_that_grants_itself_is_an_error_with_the_lines() {
    let stage = ungranted("http://127.0.0.1:8643/products");
    let task = stage.read("tasks/shop/task.toml").replace("[fetch]\n", "[fetch]\nallow_private = true\n");
    stage.write("tasks/shop/task.toml", &task);
    let said = stage.pieme(&["validate", "shop"]);
    assert_eq!(said.code, 78, "{}", said.stdout);
    for part in [
        "task.toml:3:17: `fetch.allow_private` is not a key of task.toml any more",
        "remove this line, and add `\"shop\" = [\"127.0.0.1:8643\"]` under [private] in config.toml",
    ] {
        assert!(said.stdout.contains(part), "{part}: {}", said.stdout);
    }
    let said = run(&stage);
    assert_eq!(said.code, 78, "{}{}", said.stdout, said.stderr);
}

/// The first address of this machine that is not loopback; 0.0.0.0 where there is none.
fn own_address() -> IpAddr {
    let all = nix::ifaddrs::getifaddrs().expect("the interfaces can be listed");
    let v4 = all.filter_map(|it| it.address?.as_sockaddr_in().map(|it| it.ip()));
    v4.filter(|it| !it.is_loopback()).map(IpAddr::V4).next().unwrap_or(IpAddr::from([0, 0, 0, 0]))
}

/// Nothing is listening at most of these addresses, so the sentence shows what the guard did.
#[test]
fn what_is_never_reached_is_refused_although_it_is_granted() {
    let canary = TcpListener::bind("0.0.0.0:0").expect("a free port");
    canary.set_nonblocking(true).expect("a socket of ours");
    let port = canary.local_addr().expect("it is bound").port();
    for (host, part) in [
        ("169.254.169.254".to_owned(), "a cloud metadata address"),
        ("[::ffff:169.254.169.254]".to_owned(), "a cloud metadata address"),
        ("[fd00:ec2::254]".to_owned(), "a cloud metadata address"),
        ("0.0.0.0".to_owned(), "an address of this machine itself"),
        (own_address().to_string(), "an address of this machine itself"),
    ] {
        let stage = ungranted(&format!("http://{host}:{port}/"));
        grant(&stage, "*", &format!("{host}:{port}"));
        let said = run(&stage);
        assert!(said.code != 0 && said.stdout.contains(part), "{host}: {}{}", said.stdout, said.stderr);
    }
    assert!(canary.accept().is_err(), "nobody came");
}

#[test]
fn the_daemons_own_ports_are_refused_although_they_are_granted() {
    let mut stage = ungranted("http://127.0.0.1:1/");
    let metrics = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr()).expect("a free port").port();
    stage.write("config.toml", &format!("metrics = \"127.0.0.1:{metrics}\"\n{}", stage.read("config.toml")));
    stage.start_daemon();
    stage.wait_for("the dashboard", || !stage.read("state/web-url").is_empty());
    let dashboard = stage.read("state/web-url").trim().to_owned();
    let web = dashboard.trim_start_matches("http://127.0.0.1:").trim_end_matches('/').to_owned();
    let config = stage.read("config.toml");
    for port in [web, metrics.to_string()] {
        stage.write("config.toml", &format!("{config}[private]\n\"*\" = [\"127.0.0.1:{port}\"]\n"));
        write_task(&stage, &format!("http://127.0.0.1:{port}/healthz"));
        let part = format!("127.0.0.1:{port} is a port of pieme's own daemon");
        stage.wait_for(&part, || run(&stage).stdout.contains(&part));
    }
}

/// Webhooks have a setting of their own for private addresses; it does not open what is never reached.
#[test]
fn a_webhook_reaches_neither_the_daemon_nor_cloud_metadata() {
    let (stage, canary) = (Stage::new(), TcpListener::bind("127.0.0.1:0").expect("a free port"));
    canary.set_nonblocking(true).expect("a socket of ours");
    let port = canary.local_addr().expect("it is bound").port();
    let config = format!("search = \"127.0.0.1:{port}\"\n{}", stage.read("config.toml"));
    stage.write("config.toml", &format!("{config}\n[alert]\nallow_private = true\n"));
    for (url, part) in [
        (format!("http://127.0.0.1:{port}/hook"), "is a port of pieme's own daemon"),
        (format!("http://localhost:{port}/hook"), "is a port of pieme's own daemon"),
        ("http://169.254.169.254/hook".to_owned(), "a cloud metadata address"),
    ] {
        let said = stage.pieme(&["alert", "test", "--url", &url]);
        assert_eq!(said.code, 1, "{}{}", said.stdout, said.stderr);
        assert!(said.stdout.contains(part), "{url}: {}", said.stdout);
    }
    assert!(canary.accept().is_err(), "nobody came");
    let said = stage.pieme(&["alert", "test", "--url", &stage.url("/switch/redesign")]);
    assert!(!said.stdout.contains("is a port of"), "another port of loopback is reached: {}", said.stdout);
    assert!(stage.site.requests() > 0, "{}", said.stdout);
}

#[test]
fn add_with_allow_private_writes_the_grant_and_keeps_the_rest_of_the_file() {
    let site = list();
    let stage = ungranted("http://127.0.0.1:1/");
    std::fs::remove_dir_all(stage.path("tasks/shop")).expect("a folder of ours");
    stage.write("config.toml", &format!("# mine\n{}", stage.read("config.toml")));
    let mode = std::fs::Permissions::from_mode(0o640);
    std::fs::set_permissions(stage.path("config.toml"), mode).expect("a file of ours");
    let (url, before) = (site.url("/index.html"), stage.read("config.toml"));
    let host = site.url("").trim_start_matches("http://").trim_end_matches('/').to_owned();

    let refused = stage.pieme(&["add", &url, "--name", "books", "--yes"]);
    assert_eq!(refused.code, 78, "{}", refused.stderr);
    let command = format!("pieme add {url} --name books --allow-private");
    for part in [format!("`books = [\"{host}\"]`").replace("books", "\"books\""), command] {
        assert!(refused.stderr.contains(&part), "{part}: {}", refused.stderr);
    }
    assert_eq!(stage.read("config.toml"), before, "nothing is granted without the option");

    let said = stage.pieme(&["add", &url, "--name", "books", "--yes", "--allow-private"]);
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    let config = stage.read("config.toml");
    assert!(config.starts_with(&before), "{config}");
    assert!(config.contains(&format!("[private]\nbooks = [\"{host}\"]\n")), "{config}");
    let mode = std::fs::metadata(stage.path("config.toml")).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    assert!(!stage.read("tasks/books/task.toml").contains("private"));
    assert_eq!(stage.pieme(&["run", "books"]).code, 0, "and the next run");
}

#[test]
fn a_grant_for_a_task_that_could_not_be_added_is_taken_back() {
    let site = Files::serve([("/index.html", "<p>nothing to list</p>".to_owned())]);
    let stage = Stage::new();
    stage.revoke_private();
    let (url, plain) = (site.url("/index.html"), stage.read("config.toml"));
    for config in [plain.clone(), format!("{plain}\n[private]\n\"other\" = [\"127.0.0.1:1\"] # mine\n")] {
        stage.write("config.toml", &config);
        let said = stage.pieme(&["add", &url, "--name", "books", "--yes", "--allow-private"]);
        assert_eq!(said.code, 1, "{}{}", said.stdout, said.stderr);
        assert!(said.stderr.contains("no task was made"), "{}", said.stderr);
        assert!(said.stderr.contains("is no longer granted"), "{}", said.stderr);
        assert_eq!(stage.read("config.toml"), config);
    }
    // A grant from before stays.
    let host = site.url("").trim_start_matches("http://").trim_end_matches('/').to_owned();
    let granted = format!("{plain}\n[private]\nbooks = [\"{host}\"]\n");
    stage.write("config.toml", &granted);
    let said = stage.pieme(&["add", &url, "--name", "books", "--yes", "--allow-private"]);
    assert_eq!((said.code, stage.read("config.toml")), (1, granted), "{}", said.stderr);
}

/// Runs the task by the daemon, whatever the state of its own config.toml.
fn run_by_daemon(stage: &Stage) -> Said {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pieme"));
    command.arg("--config").arg(stage.path("other.toml")).args(["run", "shop"]);
    command.output().expect("pieme starts").into()
}

/// The daemon reads the grants again when config.toml has changed; a broken file changes nothing.
#[test]
fn a_grant_takes_effect_without_a_restart() {
    let site = list();
    let mut stage = ungranted(&site.url("/index.html"));
    let before = stage.read("config.toml");
    stage.write("other.toml", &before);
    stage.start_daemon();
    stage.wait_for("the first run", || !stage.status("shop")["last_run"].is_null());
    assert_eq!(run_by_daemon(&stage).code, 78);
    let host = site.url("").trim_start_matches("http://").trim_end_matches('/').to_owned();
    grant(&stage, "shop", &host);
    let said = run_by_daemon(&stage);
    assert_eq!(said.code, 3, "granted: {}{}", said.stdout, said.stderr);
    stage.write("config.toml", &stage.read("config.toml").replace(&host, "127.0.0.1"));
    let said = run_by_daemon(&stage);
    assert_eq!(said.code, 3, "the grant stays in force: {}{}", said.stdout, said.stderr);
    let log = stage.read("log");
    assert!(log.contains("the grants before stay in force") && log.contains("`127.0.0.1` names no port"), "{log}");
    stage.write("config.toml", &before);
    let said = run_by_daemon(&stage);
    assert_eq!(said.code, 78, "taken back: {}{}", said.stdout, said.stderr);
}
