//! Rate limit, page cache and robots.txt of the whole program: over several runs, and over several tasks at one host.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::stage::Stage;

/// A server on loopback that records the time of each request, and answers the n-th one with `page(n)`.
fn serve(page: impl Fn(usize) -> String + Send + 'static) -> (u16, Arc<Mutex<Vec<Instant>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let port = listener.local_addr().expect("it is bound").port();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let mut request = [0; 8 << 10];
            let _ = stream.read(&mut request);
            let number = {
                let mut notes = notes.lock().expect("no test panics with it");
                notes.push(Instant::now());
                notes.len() - 1
            };
            let page = page(number);
            let head = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n", page.len());
            let _ = stream.write_all(format!("{head}Connection: close\r\n\r\n{page}").as_bytes());
        }
    });
    (port, asked)
}

fn write_task(stage: &Stage, name: &str, port: u16, fetch: &str) {
    let task = format!("url = \"http://127.0.0.1:{port}/\"\n[fetch]\nrobots_txt = false\n{fetch}\n");
    stage.grant_private(&format!("127.0.0.1:{port}"));
    stage.write(&format!("tasks/{name}/task.toml"), &task);
}

#[test]
fn tasks_at_one_host_keep_its_delay_between_them() {
    const DELAY: Duration = Duration::from_millis(700);
    let (port, asked) = serve(|_| "<p>nothing to see</p>".to_owned());
    let mut stage = Stage::new();
    for name in ["a", "b", "c"] {
        write_task(&stage, name, port, "delay = \"700ms\"");
    }
    stage.start_daemon();
    stage.wait_for("three requests", || asked.lock().expect("no test panics with it").len() >= 3);
    let asked = asked.lock().expect("no test panics with it");
    for pair in asked.windows(2) {
        // On a busy machine a request may be late for its turn; without the rate limit all would come at once.
        assert!(pair[1] - pair[0] >= DELAY / 2, "{:?} apart", pair[1] - pair[0]);
    }
}

#[test]
fn an_unchanged_list_is_not_sent_again_and_its_rows_are_the_same() {
    let stage = Stage::new();
    stage.write_task("shop", "/products", "");
    let first = stage.pieme(&["run", "shop", "--json"]).json();
    assert_eq!((stage.site.requests(), stage.site.not_modified_count()), (5, 0), "robots.txt and four pages: {first}");
    let second = stage.pieme(&["run", "shop", "--json"]).json();
    assert_eq!((stage.site.requests(), stage.site.not_modified_count()), (9, 4), "robots.txt was remembered: {second}");
    assert_eq!((&first["rows"], &second["rows"]), (&48.into(), &48.into()));
    assert_eq!((second["outcome"].as_str(), second["cause"].as_str()), (Some("published"), Some("unchanged")));
    let trace = stage.pieme(&["log", "shop"]).stdout;
    assert!(trace.contains("304, unchanged"), "{trace}");
    for (file, mode) in [("", 0o700), ("pages.json", 0o600), ("page-00.zst", 0o600), ("robots.json", 0o600)] {
        let path = stage.path("tasks/shop/.state").join(file);
        let found = std::fs::metadata(&path).expect("it was kept").permissions().mode() & 0o777;
        assert_eq!(found, mode, "{}", path.display());
    }
    stage.post("/switch/prices");
    let third = stage.pieme(&["run", "shop", "--json"]).json();
    assert_eq!(third["cause"], "changed", "{third}");
    // A cached page that is missing or damaged is fetched in full.
    std::fs::remove_file(stage.path("tasks/shop/.state/page-00.zst")).expect("it was kept");
    stage.write("tasks/shop/.state/page-01.zst", "damaged");
    let fourth = stage.pieme(&["run", "shop", "--json"]).json();
    assert_eq!((fourth["rows"].as_u64(), fourth["cause"].as_str()), (Some(48), Some("unchanged")), "{fourth}");
}

#[test]
fn input_24_a_log_in_page_or_a_captcha_in_place_of_the_list_replaces_nothing() {
    let list: String = (1..=12).map(|n| format!("<li><a href=/p/{n}>Thing {n}</a> <b>€ {n}.90</b></li>")).collect();
    for intruder in [
        "<form method=post><input name=user><input type=password name=password><button>Log in</button></form>",
        "<h1>Just a moment…</h1><p>Please verify you are human: solve this captcha.</p>",
    ] {
        let list = format!("<h1>Things</h1><ul class=things>{list}</ul>");
        let (port, _) = serve(move |n| if n == 0 { list.clone() } else { intruder.to_owned() });
        let stage = Stage::new();
        write_task(&stage, "things", port, "delay = \"0s\"");
        let first = stage.pieme(&["run", "things", "--json"]).json();
        assert_eq!((first["outcome"].as_str(), first["rows"].as_u64()), (Some("published"), Some(12)), "{first}");
        let second = stage.pieme(&["run", "things", "--json"]).json();
        assert_ne!(second["outcome"], "published", "{second}");
        assert_eq!(stage.sql("SELECT count(*) FROM things"), "12", "the old rows stay");
    }
}

#[test]
fn what_is_not_for_robots_ends_with_the_rule_and_the_way_to_switch_it_off() {
    let stage = Stage::new();
    stage.write_task("staff", "/staff/list", "");
    let said = stage.pieme(&["run", "staff", "--json"]).json();
    assert_eq!((said["outcome"].as_str(), said["cause"].as_str()), (Some("failed"), Some("robots-txt")), "{said}");
    let sentence = said["sentence"].as_str().unwrap_or_default();
    assert!(sentence.contains("“Disallow: /staff/”") && sentence.contains("fetch.robots_txt = false"), "{sentence}");
    assert_eq!(stage.site.requests(), 1, "only robots.txt was asked for");
}
