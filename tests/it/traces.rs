//! The trace of a run: every line has its time, and tokens are redacted.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use super::stage::Stage;
use super::web::step_pages;

/// Tokens in a hidden field, in one without a telling name, in the page's head, a script, a cookie and a redirect.
const TOKENS: [&str; 6] = [
    "Zm9ybS10b2tlbi0wMQ==7f3a9c55",
    "b41d8e02c7aa4f6f9e63d1c05a2290ff",
    "head-9c1185ff0a7e4d21",
    "script.41aa77c2e9f30b56",
    "cookie-77e1d2a9c4b05f38",
    "session-5d3f0c91ab77e824",
];

/// A shop that requires its tokens back, and records the requests.
struct Shop {
    port: u16,
    heard: Arc<Mutex<String>>,
}

impl Shop {
    fn start() -> Shop {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port of loopback is free");
        let shop = Shop { port: listener.local_addr().expect("it is bound").port(), heard: Arc::default() };
        let heard = Arc::clone(&shop.heard);
        std::thread::spawn(move || listener.incoming().flatten().for_each(|stream| answer(&stream, &heard)));
        shop
    }

    fn heard(&self) -> String {
        self.heard.lock().expect("nobody panics here").clone()
    }
}

fn answer(mut stream: &TcpStream, heard: &Mutex<String>) {
    let mut reader = BufReader::new(stream);
    let (mut head, mut line) = (String::new(), String::new());
    while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
        head.push_str(&std::mem::take(&mut line));
    }
    let length = head.lines().find_map(|it| it.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = Vec::new();
    let _ = reader.take(length.unwrap_or(0)).read_to_end(&mut body);
    let path = head.split(' ').nth(1).unwrap_or("/").to_owned();
    let mut heard = heard.lock().expect("nobody panics here");
    let is_first = !heard.contains("GET /busy");
    heard.push_str(&format!("{head}\n{}\n", String::from_utf8_lossy(&body)));
    drop(heard);
    let [form, odd, meta, script, cookie, session] = TOKENS;
    let (status, more, page) = match path.split('?').next().unwrap_or_default() {
        "/busy" if is_first => ("503 Service Unavailable", String::new(), String::new()),
        "/robots.txt" => ("200 OK", String::new(), String::new()),
        "/form" => (
            "200 OK",
            format!("set-cookie: XSRF-TOKEN={cookie}; path=/\r\n"),
            format!(
                "<html><head><title>Find</title><meta name=csrf-token content='{meta}'></head><body>
                 <script>var formNonce = \"{script}\";</script>
                 <form name=find method=post action=/find><input type=hidden name=csrf_token value='{form}'>
                 <input type=hidden name=k value='{odd}'><input name=q><button>Go</button></form></body></html>"
            ),
        ),
        "/find" => (
            "303 See Other",
            format!("location: /list?sid={session}\r\nset-cookie: id={session}; path=/\r\n"),
            String::new(),
        ),
        _ => {
            let rows: String =
                (1..=9).map(|n| format!("<li><a href=/p/{n}>Thing {n}</a> <b>EUR {n}.90</b></li>")).collect();
            ("200 OK", String::new(), format!("<html><body><h1>Things</h1><ul class=things>{rows}</ul></body></html>"))
        }
    };
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/html\r\n{more}content-length: {}\r\nconnection: close\r\n\r\n",
        page.len()
    );
    let _ = stream.write_all(format!("{head}{page}").as_bytes());
}

const ROBOT: &str = r#"
[[step]]
get = "/form"

[[step]]
match = { css = "meta[name=csrf-token]", attribute = "content", into = "stamp" }

[[step]]
match = { regex = 'formNonce = "([^"]+)"', into = "found" }

[[step]]
post = { url = "/check", headers = { X-CSRF-Token = "${stamp}" }, json = { nonce = "${found}", q = "red chairs" } }

[[step]]
get = { url = "/form", query = { authenticity_token = "${found}", page = "2" } }

[[step]]
submit = { form = "find", fields = { q = "red chairs" } }

[[step]]
extract = {}
"#;

fn drop_things(stage: &Stage, shop: &Shop) {
    let fetch = "[fetch]\ndelay = \"0s\"\nretries = 0\n";
    stage.grant_private(&format!("127.0.0.1:{}", shop.port));
    stage.write("tasks/things/task.toml", &format!("url = \"http://127.0.0.1:{}/form\"\n{fetch}", shop.port));
    stage.write("tasks/things/robot.toml", ROBOT);
}

#[test]
fn no_token_stands_in_a_trace_wherever_it_is_read() {
    let (mut stage, shop) = (Stage::new(), Shop::start());
    drop_things(&stage, &shop);
    let (url, pages) = step_pages(&mut stage, "things", 7);
    assert_eq!(stage.status("things")["last_run"]["rows"], 9, "{}", stage.pieme(&["log", "things"]).stdout);
    let heard = shop.heard();
    for token in &TOKENS[..5] {
        let spelled = token.replace('=', "%3D");
        assert!(heard.contains(token) || heard.contains(&spelled), "{token} was really sent:\n{heard}");
    }
    let run = stage.sql("SELECT id FROM _runs WHERE task = 'things' LIMIT 1");
    let places = [
        ("pieme run", {
            let said = stage.pieme(&["run", "things"]);
            said.stdout + &said.stderr
        }),
        ("pieme log", stage.pieme(&["log", "things"]).stdout),
        ("pieme log --json", stage.pieme(&["log", "things", "--json"]).stdout),
        ("pieme log --pages", stage.pieme(&["log", "things", "--pages"]).stdout),
        ("pieme step --json", stage.pieme(&["step", "things", "--json"]).stdout),
        ("pieme step", super::step::typed(&stage, &["step", "things"], "\n\n\n\n\nf\nl\nv\np\n\n\nq\n").stdout),
        ("the store", stage.sql(".dump")),
        ("the daemon's log", stage.read("log")),
        ("the walk in the dashboard", pages),
        ("the run in the dashboard", super::web::page_text(&url, &format!("task/things/run/{run}"))),
    ];
    for (place, text) in &places {
        assert!(
            text.contains("red chairs") || !place.starts_with("pieme log --j"),
            "what is no token is shown in {place}:\n{text}"
        );
        for token in TOKENS {
            for spelled in [token.to_owned(), token.replace('=', "%3D"), token[..14].to_owned()] {
                assert!(!text.contains(&spelled), "{spelled} stands in {place}:\n{text}");
            }
        }
    }
    let log = &places[1].1;
    for part in ["csrf_token=***", "k=***", "stamp = ***", "found = ***", "authenticity_token=***&page=2"] {
        assert!(log.contains(part), "{part} is not in\n{log}");
    }
}

/// The time of each line in milliseconds since the start of the run, and its text.
fn times(run: &serde_json::Value) -> Vec<(u64, String)> {
    let lines = run["trace"].as_array().cloned().unwrap_or_default();
    let time = |line: &serde_json::Value| line["since_start_ms"].as_u64().unwrap_or_else(|| panic!("no time: {line}"));
    lines.iter().map(|line| (time(line), line["text"].as_str().unwrap_or_default().to_owned())).collect()
}

#[test]
fn every_line_of_a_trace_has_its_time_so_that_waits_can_be_seen() {
    let (mut stage, shop) = (Stage::new(), Shop::start());
    let fetch = "[fetch]\ndelay = \"0s\"\nretries = 1\n";
    stage.grant_private(&format!("127.0.0.1:{}", shop.port));
    stage.write("tasks/slow/task.toml", &format!("url = \"http://127.0.0.1:{}/list\"\n{fetch}", shop.port));
    let robot = "[[step]]\nget = '/list'\n[[step]]\nextract = {}\n[[step]]\nwait = '1500ms'\n[[step]]\nget = '/busy'\n";
    stage.write("tasks/slow/robot.toml", robot);
    stage.pieme(&["run", "slow"]);
    let log = stage.pieme(&["log", "slow", "--json"]).json();
    let all = times(&log["runs"][0]);
    assert!(all.windows(2).all(|pair| pair[0].0 <= pair[1].0), "in the order of time: {all:?}");
    let at = |part: &str| {
        all.iter().position(|(_, text)| text.contains(part)).unwrap_or_else(|| panic!("no {part}: {all:?}"))
    };
    let (waits, again) = (at("waits 1s500ms"), at("; retry 1 of "));
    assert!(all[waits + 1].0 - all[waits].0 >= 1_500, "the wait is seen: {all:?}");
    assert!(all[again + 1].0 - all[again].0 >= 500, "and the one before the second try: {all:?}");
    let whole = format!("{:.3}s", all[waits + 1].0 as f64 / 1_000.0);
    let text = stage.pieme(&["log", "slow"]).stdout;
    assert!(text.lines().any(|line| line.trim_start().starts_with(&format!("+{whole}"))), "{whole}\n{text}");

    let run = log["runs"][0]["run"].as_str().expect("its id").to_owned();
    let url = super::web::open(&mut stage);
    let page = super::web::page_text(&url, &format!("task/slow/run/{run}"));
    assert!(page.contains(&format!("+{whole}")), "{whole}\n{page}");
    let api = super::web::gate::Guest::log_in(&url).json(&format!("tasks/slow/runs/{run}"));
    assert_eq!(times(&api), all, "for programs as well");
    let step = stage.pieme(&["step", "slow", "--json", "--until", "2"]).stdout;
    let step: serde_json::Value = serde_json::from_str(&step).expect("a line of JSON");
    assert!(step["trace"][0]["since_step_ms"].is_u64(), "{step}");
}
