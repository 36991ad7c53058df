//! Bad input: each case ends with a named outcome and one clear sentence; nothing is lost, and nothing panics.

use std::fs;

use crate::stage::Stage;

/// Limits small enough for a test to reach them.
const TIGHT: &str = "[limits]\ntimeout = \"6s\"\nmax_page_bytes = \"2M\"\n";

fn check(path: &str, more: &str, outcome: &str, cause: &str, words: &[&str]) {
    let stage = Stage::new();
    stage.write_task("bad", path, more);
    check_on(&stage, outcome, cause, words);
}

fn check_on(stage: &Stage, outcome: &str, cause: &str, words: &[&str]) {
    let run = stage.pieme(&["run", "bad", "--json"]);
    let verdict = run.json();
    assert_eq!((verdict["outcome"].as_str(), verdict["cause"].as_str()), (Some(outcome), Some(cause)), "{verdict}");
    let sentence = verdict["sentence"].as_str().unwrap_or_default();
    for word in words {
        assert!(sentence.contains(word), "`{word}` is not in: {sentence}");
    }
    assert!(!sentence.contains('\n') && !sentence.contains("panicked"), "one clear sentence: {sentence}");
    assert_ne!(run.code, 0);
    let table = stage.pieme(&["status"]);
    assert!(table.stdout.contains("pieme log bad"), "the table says what to type: {}", table.stdout);
}

#[test]
fn a_page_that_is_not_there_is_http() {
    check("/bad/404", "", "failed", "http", &["404"]);
}

#[test]
fn a_server_error_is_http() {
    check("/bad/500", "", "failed", "http", &["500"]);
}

#[test]
fn an_empty_page_is_empty_not_a_success() {
    check("/bad/empty", "", "empty", "unexpected", &["no list"]);
}

#[test]
fn a_page_without_a_list_is_empty_not_a_success() {
    check("/bad/nolist", "", "empty", "unexpected", &["no list"]);
}

#[test]
fn a_page_of_200_mb_stops_at_the_limit() {
    check("/bad/huge", TIGHT, "failed", "limit", &["max_page_bytes"]);
}

#[test]
fn a_server_that_never_answers_is_a_timeout() {
    check("/bad/hang", TIGHT, "failed", "timeout", &["/bad/hang"]);
}

#[test]
fn a_server_that_drips_is_a_timeout() {
    check("/bad/slow", TIGHT, "failed", "timeout", &[]);
}

#[test]
fn a_body_that_is_cut_short_is_network() {
    check("/bad/cut", "", "failed", "network", &[]);
}

#[test]
fn a_redirect_loop_ends() {
    let stage = Stage::new();
    stage.write_task("bad", "/bad/loop", "");
    let verdict = stage.pieme(&["run", "bad", "--json"]).json();
    assert_eq!(verdict["outcome"], "failed", "{verdict}");
}

#[test]
fn an_unreachable_host_is_network() {
    let stage = Stage::new();
    // Nobody listens at port 1; one that was free a moment ago may be another test's by now.
    let task = "url = \"http://127.0.0.1:1/\"\n[fetch]\nretries = 0\n";
    stage.grant_private("127.0.0.1:1");
    stage.write("tasks/bad/task.toml", task);
    check_on(&stage, "failed", "network", &["127.0.0.1:1"]);
}

#[test]
fn a_private_address_is_refused_unless_it_is_granted() {
    let stage = Stage::new();
    stage.revoke_private();
    stage.write("tasks/bad/task.toml", &format!("url = \"{}\"\n", stage.url("/products")));
    let said = stage.pieme(&["run", "bad"]);
    assert_eq!(said.code, 78, "{}", said.stderr);
    assert!(said.stdout.contains("[private]") && said.stdout.contains("task.toml:1"), "{}", said.stdout);
    assert_eq!(stage.site.requests(), 0, "nothing was sent");
}

#[test]
fn an_allocation_storm_is_memory() {
    check(
        "/bad/huge",
        "[limits]\nmemory = \"48M\"\nmax_page_bytes = \"190M\"\n",
        "failed",
        "memory",
        &["limits.memory"],
    );
}

#[test]
fn a_missing_secret_is_config_and_says_where_to_put_it() {
    let stage = Stage::new();
    stage.write_task("bad", "/login", "");
    let robot = "[[step]]\nget = \"/login\"\n[[step]]\nsubmit = { form = \"login\", fields = { user = \"demo\", \
                 password = \"${secret:nowhere}\" } }\n";
    stage.write("tasks/bad/robot.toml", robot);
    stage.grant("nowhere", &stage.url("/"));
    let verdict = stage.pieme(&["run", "bad", "--json"]).json();
    assert_eq!(verdict["cause"], "config", "{verdict}");
    assert!(verdict["sentence"].as_str().is_some_and(|it| it.contains("secrets/nowhere")), "{verdict}");
}

#[test]
fn broken_folders_are_named_with_file_line_and_hint() {
    let mut stage = Stage::new();
    fs::create_dir(stage.path("tasks/no-file")).expect("a folder");
    stage.write("tasks/bad-toml/task.toml", "url = \"https://example.org\n");
    stage.write("tasks/unknown-key/task.toml", "url = \"https://example.org\"\n[shedule]\nevery = \"1h\"\n");
    stage.write("tasks/bad-cron/task.toml", "url = \"https://example.org\"\n[schedule]\ncron = \"61 * * * *\"\n");
    stage.write("tasks/bad-step/task.toml", "url = \"https://example.org\"\n");
    stage.write("tasks/bad-step/robot.toml", "[[step]]\nget = \"/\"\n[[step]]\nfollow = { css = \"a[\" }\n");
    stage.write("tasks/bad-template/task.toml", "url = \"https://example.org\"\n");
    stage.write("tasks/bad-template/template.json", "{\"version\": 99}");
    let expected = [
        ("no-file", "task.toml"),
        ("bad-toml", "task.toml:1"),
        ("unknown-key", "did you mean `schedule`"),
        ("bad-cron", "task.toml:3"),
        ("bad-step", "robot.toml:4"),
        ("bad-template", "template.json"),
    ];
    for (task, words) in expected {
        let said = stage.pieme(&["validate", task]);
        assert_eq!(said.code, 78, "{task}: {}{}", said.stdout, said.stderr);
        assert!(said.stdout.contains(words), "{task}: `{words}` is not in:\n{}", said.stdout);
        assert_eq!(stage.state(task), "config", "{task}, with the daemon down");
    }
    let all = stage.pieme(&["validate", "--json"]).json();
    assert_eq!(all["ok"], false);
    stage.start_daemon();
    for (task, _) in expected {
        stage.wait_for_state(task, "config");
        assert_eq!(stage.status(task)["do"], format!("pieme validate {task}"));
    }
}

#[test]
fn a_broken_configuration_is_one_sentence() {
    let stage = Stage::new();
    stage.write("config.toml", "tasks = 3\n");
    let said = stage.pieme(&["status"]);
    assert_eq!(said.code, 78);
    assert!(said.stderr.contains("config.toml:1"), "{}", said.stderr);
}

#[test]
fn a_damaged_database_is_reported_and_never_made_anew() {
    let stage = Stage::new();
    stage.drop_folder("practice-shop");
    stage.write("state/pieme.db", "this is not a database, but somebody's only copy of something");
    let said = stage.pieme(&["run", "practice-shop"]);
    assert_eq!(said.code, 1, "{}", said.stderr);
    assert!(said.stderr.contains("pieme.db"), "{}", said.stderr);
    assert!(stage.read("state/pieme.db").starts_with("this is not"), "it was left alone");
}

/// A sandboxed run can read the certificate authorities, so it is this certificate that fails.
#[test]
fn a_certificate_that_nobody_vouches_for_is_tls() {
    use tokio_rustls::rustls::pki_types::PrivateKeyDer;
    use tokio_rustls::rustls::{ServerConfig, ServerConnection, crypto};

    let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let key = PrivateKeyDer::try_from(own.signing_key.serialize_der()).expect("a key");
    let config = ServerConfig::builder_with_provider(std::sync::Arc::new(crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|it| it.with_no_client_auth().with_single_cert(vec![own.cert.der().clone()], key));
    let config = std::sync::Arc::new(config.expect("a server of its own"));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("it is bound").port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut connection = ServerConnection::new(std::sync::Arc::clone(&config)).expect("a connection");
            // The client aborts the handshake, as the test expects.
            let _ = connection.complete_io(&mut stream);
        }
    });
    let stage = Stage::new();
    let fetch = "[fetch]\nretries = 0\nrobots_txt = false\n";
    stage.grant_private(&format!("localhost:{port}"));
    stage.write("tasks/unsafe/task.toml", &format!("url = \"https://localhost:{port}/\"\n{fetch}"));
    let said = stage.pieme(&["run", "unsafe"]);
    assert!(said.stdout.contains("failed (tls)"), "{}{}", said.stdout, said.stderr);
    assert!(said.stdout.contains("invalid peer certificate"), "{}", said.stdout);
}
