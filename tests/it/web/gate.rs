//! Access control of every route. The test reads the router's own table, so a new route is tried automatically.

#![allow(clippy::print_stdout, reason = "what was not refused is printed beside the line of the promise")]

use std::process::Command;

use pieme::web::{Access, routes};

use super::super::promises::report;
use super::super::stage::{Said, Stage};
use super::{PASSWORD, open};

const SHOP: &str = "practice-shop";

struct Answer {
    code: u16,
    head: String,
    body: String,
}

fn ask(url: &str, more: &[&str]) -> Answer {
    let said: Said = Command::new("curl")
        .args(["-sS", "-i", "--max-time", "30"])
        .args(more)
        .arg(url)
        .output()
        .expect("curl is installed")
        .into();
    let (head, body) = said.stdout.split_once("\r\n\r\n").unwrap_or((&said.stdout, ""));
    let code = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
    Answer { code, head: head.to_lowercase(), body: body.to_owned() }
}

fn between(text: &str, before: &str, after: &str) -> String {
    let rest = text.split_once(before).unwrap_or_else(|| panic!("no {before} in {text}")).1;
    rest.split(after).next().unwrap_or_default().to_owned()
}

/// Logs in without a browser; returns the cookie and the CSRF token.
fn log_in(url: &str) -> (String, String) {
    let form = ask(&format!("{url}log-in"), &[]);
    let door = between(&form.head, "set-cookie: ", ";");
    let token = between(&form.body, "name=\"token\" value=\"", "\"");
    let origin = format!("Origin: {}", url.trim_end_matches('/'));
    let fields = format!("token={token}&password={}", PASSWORD.replace(' ', "+"));
    let done = ask(&format!("{url}log-in"), &["-b", &door, "-H", &origin, "-d", &fields]);
    assert_eq!(done.code, 303, "{}", done.body);
    let set = between(&done.head, "set-cookie: ", "\r\n");
    assert!(set.contains("samesite=strict; httponly"), "{set}");
    let session = set.split(';').next().unwrap_or_default().to_owned();
    let page = ask(url, &["-b", &session]);
    (session, between(&page.body, "name=\"pieme-token\" content=\"", "\""))
}

/// A logged-in client without a browser.
pub struct Guest {
    url: String,
    session: String,
    token: String,
}

impl Guest {
    pub fn log_in(url: &str) -> Guest {
        let (session, token) = log_in(url);
        Guest { url: url.to_owned(), session, token }
    }

    /// The session cookie.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// Sends a form without fields; returns the status.
    pub fn post(&self, path: &str) -> u16 {
        let origin = format!("Origin: {}", self.url.trim_end_matches('/'));
        let token = format!("token={}", self.token);
        ask(&format!("{}{path}", self.url), &["-b", &self.session, "-H", &origin, "-d", &token]).code
    }

    /// The answer of `/api/…`.
    pub fn json(&self, path: &str) -> serde_json::Value {
        let answer = ask(&format!("{}api/{path}", self.url), &["-b", &self.session]);
        serde_json::from_str(&answer.body).expect("JSON")
    }
}

fn filled(path: &str) -> String {
    path.trim_start_matches('/')
        .replace("{name}", SHOP)
        .replace("{number}", "1")
        .replace("{version}", "0")
        .replace("{run}", "0198a000-0000-7000-8000-000000000000")
}

#[test]
fn promise_25_every_route_refuses_strangers_and_what_does_not_come_from_our_own_pages() {
    let mut stage = Stage::new();
    stage.drop_folder(SHOP);
    let url = open(&mut stage);
    let (session, token) = log_in(&url);
    let origin = format!("Origin: {}", url.trim_end_matches('/'));
    let with_token = format!("token={token}");
    let with_header = format!("X-Pieme-Token: {token}");
    let (mut tried, mut refusals, mut violations, mut control) = (0, 0, 0, 0);
    for route in routes() {
        let at = format!("{url}{}", filled(route.path));
        let what = format!("{} {}", route.method, route.path);
        let is_foreign = ask(&at, &["-X", route.method.as_str(), "-b", &session, "-H", "Host: evil.test"]);
        assert_eq!(is_foreign.code, 403, "{what}: a foreign name");
        assert!(is_foreign.head.contains("content-security-policy: default-src 'none'; script-src 'self';"), "{what}");
        if route.method == "GET" {
            let stranger = ask(&at, &[]);
            match route.access {
                Access::LoggedIn => assert!([303, 401].contains(&stranger.code), "{what}: {}", stranger.code),
                Access::Public => assert!(![401, 403].contains(&stranger.code), "{what}: {}", stranger.code),
            }
            continue;
        }
        tried += 1;
        let all = ["-X", "POST", "-b", &session, "-H", &origin, "-d", &with_token];
        let without = |part: usize| -> Vec<&str> { [&all[..part], &all[part + 2..]].concat() };
        let other = |part: usize, value: &'static str| -> Vec<&str> {
            let mut words = all.to_vec();
            words[part + 1] = value;
            words
        };
        for (why, words) in [
            ("no session", without(2)),
            ("a session that there is not", other(2, "pieme_session=0123")),
            ("no origin", without(4)),
            ("a foreign origin", other(4, "Origin: http://evil.test")),
            ("another port", other(4, "Origin: http://127.0.0.1:1")),
            ("no origin that is one", other(4, "Origin: null")),
            ("no token", without(6)),
            ("an empty token", other(6, "token=")),
            ("another token", other(6, "token=00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff")),
        ] {
            let code = ask(&at, &words).code;
            refusals += 1;
            if ![401, 403].contains(&code) {
                println!("{what} with {why}: {code}");
                violations += 1;
            }
        }
        if route.path != "/log-out" && route.path != "/log-in" {
            // The control: a correct request passes the middleware, whatever the page then answers.
            for words in [all.to_vec(), vec!["-X", "POST", "-b", &session, "-H", &origin, "-H", &with_header, "-d", ""]]
            {
                let code = ask(&at, &words).code;
                assert!(![401, 403].contains(&code), "{what} with everything right: {code}");
                control += 1;
            }
        }
    }
    assert!(tried > 12, "there are routes that change something: {tried}");
    let counted = format!(
        "{tried} routes that change something, {refusals} requests without session, origin or token, or with others; \
         not refused"
    );
    report(25, &counted, violations, control);
    let done = ask(&format!("{url}log-out"), &["-b", &session, "-H", &origin, "-d", &with_token]);
    assert_eq!(done.code, 303);
    assert_eq!(ask(&url, &["-b", &session]).code, 303, "who has logged out is out");
}

#[test]
fn without_a_password_the_dashboard_shows_how_to_set_one_and_nothing_else() {
    let mut stage = Stage::new();
    stage.drop_folder(SHOP);
    stage.start_daemon();
    stage.wait_for("the dashboard", || !stage.read("state/web-url").is_empty());
    let url = stage.read("state/web-url").trim().to_owned();
    let page = ask(&format!("{url}log-in"), &[]);
    assert!(page.body.contains("web password") && !page.body.contains("<form"), "{}", page.body);
    assert_eq!(ask(&url, &[]).code, 303);
    assert_eq!(ask(&format!("{url}api/status"), &[]).code, 401);
    super::set_password(&stage);
    let mode = std::os::unix::fs::MetadataExt::mode(&stage.path("state/web-password").metadata().expect("it is there"));
    assert_eq!(mode & 0o777, 0o600);
    log_in(&url);
}

#[test]
fn a_new_password_logs_everybody_out_and_wrong_ones_are_slowed_down() {
    let mut stage = Stage::new();
    let url = open(&mut stage);
    let (session, _) = log_in(&url);
    assert_eq!(ask(&url, &["-b", &session]).code, 200);
    super::set_password(&stage);
    assert_eq!(ask(&url, &["-b", &session]).code, 303, "a new salt is a new password");
    let form = ask(&format!("{url}log-in"), &[]);
    let door = between(&form.head, "set-cookie: ", ";");
    let token = between(&form.body, "name=\"token\" value=\"", "\"");
    let origin = format!("Origin: {}", url.trim_end_matches('/'));
    let fields = format!("token={token}&password=wrong");
    let mut codes = (0..6).map(|_| ask(&format!("{url}log-in"), &["-b", &door, "-H", &origin, "-d", &fields]).code);
    assert_eq!(codes.by_ref().take(5).collect::<Vec<_>>(), [403; 5]);
    assert_eq!(codes.next(), Some(429));
    let refused = stage.pieme(&["web", "password"]);
    assert_eq!((refused.code, refused.stderr.contains("needs 8 to 256 characters")), (2, true), "{}", refused.stderr);
}

#[test]
fn every_route_of_the_api_stands_in_its_document() {
    let document: serde_json::Value =
        serde_json::from_str(include_str!("../../../src/web/openapi.json")).expect("JSON");
    let paths = document["paths"].as_object().expect("paths");
    let mut described: Vec<(String, String)> = paths
        .iter()
        .flat_map(|(path, verbs)| {
            let verbs = verbs.as_object().expect("verbs").keys();
            verbs.map(|verb| (path.clone(), verb.to_uppercase())).collect::<Vec<_>>()
        })
        .collect();
    let ours = routes().into_iter().filter(|route| route.path.starts_with("/api/"));
    let mut ours: Vec<(String, String)> = ours.map(|it| (it.path.to_owned(), it.method.to_string())).collect();
    described.sort();
    ours.sort();
    assert_eq!(ours, described);
}

#[test]
fn the_api_says_what_the_commands_say() {
    let mut stage = Stage::new();
    stage.drop_folder(SHOP);
    let url = open(&mut stage);
    stage.wait_for_state(SHOP, "ok");
    let guest = Guest::log_in(&url);
    let get = |path: &str| guest.json(path);
    assert_eq!(get("status")["tasks"][0]["task"], SHOP);
    assert_eq!(get("tasks/practice-shop")["rows"], 48);
    let rows = get("tasks/practice-shop/records?limit=2&sort=price&desc=true");
    assert_eq!((&rows["total"], rows["records"].as_array().map(Vec::len)), (&48.into(), Some(2)), "{rows}");
    let all = stage.pieme(&["records", SHOP, "--json"]).json();
    assert_eq!(rows["columns"], all["columns"]);
    let run = get("tasks/practice-shop/runs")["runs"][0]["run"].as_str().expect("a run").to_owned();
    assert_eq!(
        get(&format!("tasks/practice-shop/runs/{run}"))["measured"],
        stage.pieme(&["explain", SHOP, "--json"]).json()["measured"]
    );
    assert!(get("tasks/nowhere")["error"].as_str().is_some_and(|it| it.contains("no task `nowhere`")));
    let origin = format!("Origin: {}", url.trim_end_matches('/'));
    let header = format!("X-Pieme-Token: {}", guest.token);
    let press = ["-X", "POST", "-b", &guest.session, "-H", &origin, "-H", &header];
    let said = ask(&format!("{url}api/tasks/practice-shop/pause"), &press);
    assert_eq!((said.code, said.body.trim()), (200, r#"{"answer":"done"}"#));
    stage.wait_for_state(SHOP, "paused");
}
