//! A hostile site harms only its own run: the daemon does not grow, and another task runs meanwhile.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use super::vitals::Vitals;
use super::{again, report, role};
use crate::stage::Stage;

const NAME: &str = "promises::p16_hostile_site::promise_16_a_hostile_site_hurts_only_its_own_run";
/// What the daemon may grow by while it runs all of them.
const MOST_GROWTH: u64 = 5 << 10;
const URL: &str = "PIEME_PROMISE_URL";

/// What each path sends, and how its run must end.
const KINDS: [(&str, &str); 6] = [
    ("silent", "timeout"),
    ("endless", "limit"),
    ("drip", "timeout"),
    ("headers", "network"),
    ("deep", "limit"),
    ("redirects", "http"),
];

#[test]
fn promise_16_a_hostile_site_hurts_only_its_own_run() {
    if role().is_some() {
        fetches_itself();
        return;
    }
    let server = TcpListener::bind("0.0.0.0:0").expect("a free port");
    let port = server.local_addr().expect("it is bound").port();
    // Each has a host of its own: at one host runs take turns.
    let url = |kind: &str| {
        let place = KINDS.iter().position(|(it, _)| *it == kind).expect("one of them");
        format!("http://127.0.0.{}:{port}/{kind}", place + 2)
    };
    std::thread::spawn(move || {
        for stream in server.incoming().flatten() {
            // A client that hangs up early has hit its limit.
            std::thread::spawn(move || drop(answer(stream)));
        }
    });
    let mut stage = Stage::new();
    stage.drop_folder("practice-shop");
    let daemon = stage.start_daemon();
    stage.wait_for_state("practice-shop", "ok");
    for _ in 0..3 {
        stage.pieme(&["run", "practice-shop"]);
    }
    let before = Vitals::of(daemon);
    for (kind, _) in KINDS {
        let rest = "[limits]\ntimeout = \"6s\"\nmax_page_bytes = \"8M\"\n[fetch]\n\
                    robots_txt = false\nretries = 0\ndelay = \"0s\"\n";
        stage.grant_private(&url(kind));
        stage.write(&format!("tasks/{kind}/task.toml"), &format!("url = \"{}\"\n{rest}", url(kind)));
    }
    let mut wrong = 0;
    stage.wait_for("a hostile run", || !stage.children_of(daemon).is_empty());
    // Its own schedule may be running it just now.
    stage.wait_for("a good run meanwhile", || {
        stage.pieme(&["run", "practice-shop", "--json"]).stdout.contains("published")
    });
    for (kind, cause) in KINDS {
        let ended = format!("SELECT cause FROM _runs WHERE task = '{kind}' AND ended IS NOT NULL");
        stage.wait_for(&format!("the end of {kind}"), || !stage.sql(&ended).is_empty());
        let found = stage.sql(&ended);
        if found != cause {
            println!("{kind} ended as {found}, not as {cause}");
            wrong += 1;
        }
    }
    let grown = Vitals::of(daemon).kilobytes.saturating_sub(before.kilobytes);
    let control = again(NAME, "control").env(URL, url("endless")).status().expect("this program");
    let counted = format!(
        "{} hostile sites beside a good one, daemon +{grown} kB: wrong ends, a good run hindered, or more than 5 MB",
        KINDS.len()
    );
    report(16, &counted, wrong + usize::from(grown > MOST_GROWTH), usize::from(!control.success()));
}

fn answer(mut stream: TcpStream) -> std::io::Result<()> {
    let mut request = [0; 1024];
    let length = stream.read(&mut request)?;
    let request = String::from_utf8_lossy(&request[..length]).into_owned();
    let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n";
    match request.split(' ').nth(1).unwrap_or_default() {
        "/endless" => {
            stream.write_all(head)?;
            (0..64).try_for_each(|_| stream.write_all(&[b'x'; 1 << 20]))
        }
        "/drip" => {
            stream.write_all(head)?;
            (0..600).try_for_each(|_| {
                std::thread::park_timeout(std::time::Duration::from_millis(100));
                stream.write_all(b"x")
            })
        }
        "/headers" => {
            stream.write_all(b"HTTP/1.1 200 OK\r\n")?;
            (0..20_000).try_for_each(|i| stream.write_all(format!("x-{i}: y\r\n").as_bytes()))
        }
        "/deep" => {
            stream.write_all(head)?;
            stream.write_all("<div>".repeat(200_000).as_bytes())
        }
        path if path.starts_with("/redirects") => stream.write_all(
            format!("HTTP/1.1 302 Found\r\nLocation: {path}x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                .as_bytes(),
        ),
        // Never answers, until the client gives up.
        _ => stream.read(&mut [0; 1]).map(drop),
    }
}

/// The control: reads the page in its own process.
fn fetches_itself() {
    let url = std::env::var(URL).expect("it is told");
    let (host, path) = url.trim_start_matches("http://").split_once('/').expect("an address");
    let before = Vitals::of(std::process::id());
    let mut stream = TcpStream::connect(host).expect("the server is there");
    write!(stream, "GET /{path} HTTP/1.1\r\n\r\n").expect("it listens");
    let mut page = Vec::new();
    stream.read_to_end(&mut page).expect("all of it");
    let grown = Vitals::of(std::process::id()).kilobytes.saturating_sub(before.kilobytes);
    assert!(grown <= MOST_GROWTH, "grown by {grown} kB for {} bytes", page.len());
}
