//! Inputs 33 to 36: endless lists, next links to wrong places, and text with control characters.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc;
use std::time::Duration;

use super::server::{Server, ServerAction};
use super::{PLAIN, PUBLIC, WalkReport, guard, task, walk, walk_with};
use crate::model::{Page, Script, TraceLine};
use crate::page::Tree;
use crate::robot::{Arrival, LinksError, Observer, PageRows, RecordLink};

/// A list page whose next link is this.
fn list(n: usize, next: &str) -> ServerAction {
    ServerAction::page(&format!("<ul><li>Thing {n}</li></ul><a rel=next href=\"{next}\">Next</a>"))
}

async fn paged(server: &Server, more: &str) -> WalkReport {
    let plain = PLAIN.replace("http://public.test/", server.url("public.test", "/").as_str()).replace("'1M'", "'4M'");
    walk(&task(&format!("{plain}{more}")), "").await
}

/// Checks how many pages were read, and why paging stopped.
async fn ends(server: Server, more: &str, pages: usize, why: &str) {
    let walked = paged(&server, more).await;
    walked.result.unwrap_or_else(|trouble| panic!("{}", trouble.sentence));
    assert_eq!(walked.recorder.pages, pages, "{}", walked.recorder.trace);
    assert!(walked.recorder.trace.contains(why), "no “{why}” in {}", walked.recorder.trace);
    assert_eq!(server.heard().len(), pages.max(1));
}

/// The run succeeds, with a remark in its sentence that there are more pages.
#[tokio::test]
async fn input_33_a_list_without_end_stops_at_max_pages() {
    let server = Server::start(|_, n| list(n, &format!("/?page={}", n + 2))).await;
    let walked = paged(&server, "limits.max_pages = 5").await;
    assert!(walked.result.is_ok() && walked.recorder.pages == 5, "{}", walked.recorder.trace);
    assert!(walked.remark.is_some_and(|remark| remark.contains("stopped after 5 pages")));
}

#[tokio::test]
async fn input_34_a_circle_of_pages_is_walked_once() {
    let server = Server::start(|asked, n| list(n, if asked.starts_with("GET /b") { "/" } else { "/b" })).await;
    ends(server, "", 2, "seen before").await;
}

#[tokio::test]
async fn input_34_the_same_page_under_ever_new_addresses_is_read_once() {
    let server = Server::start(|_, n| list(0, &format!("/?page={}&token={n}", n + 2))).await;
    let walked = paged(&server, "").await;
    assert!(walked.result.is_ok());
    assert_eq!(walked.recorder.pages, 1, "{}", walked.recorder.trace);
    assert!(walked.recorder.trace.contains("has the same content as an earlier one"), "{}", walked.recorder.trace);
}

#[tokio::test]
async fn input_35_a_next_link_that_leads_astray_is_not_followed() {
    for (next, why) in [
        ("http://elsewhere.test/?page=2".to_owned(), ""),
        ("javascript:next(2)".to_owned(), "no next page was found"),
        ("file:///etc/passwd?page=2".to_owned(), ""),
        (format!("/?page=2&x={}", "x".repeat(1 << 20)), "no next page was found"),
    ] {
        let shown: String = next.chars().take(40).collect();
        let server = Server::start(move |_, n| list(n, &next)).await;
        let walked = paged(&server, "").await;
        assert!(walked.result.is_ok(), "{shown}: {}", walked.result.expect_err("looked at").sentence);
        assert_eq!((walked.recorder.pages, server.heard().len()), (1, 1), "{shown}: {}", walked.recorder.trace);
        assert!(walked.recorder.trace.contains(why), "{shown}: {}", walked.recorder.trace);
        assert!(walked.recorder.trace.len() < 20_000, "{shown}: and the trace stays short");
    }
}

#[tokio::test]
async fn input_36_what_a_terminal_would_obey_stays_out_of_sentences_and_traces() {
    let title = "\x1b]0;owned\x07\x1b[2J\r\nRUN OK\u{202e}txt.exe";
    let page = format!("<title>{title}</title><p class=error>{title}</p><form><input type=password name=p></form>");
    let server = Server::start(move |_, _| ServerAction::page(&page)).await;
    let url = server.url("public.test", "/");
    let script = format!(
        "[[step]]\nget = '{url}'\n[[step]]\nmatch = {{ css = 'title', into = 'title' }}\n\
         [[step]]\nexpect = {{ text = '${{title}}!' }}\n"
    );
    let walked = walk(&task(PLAIN), &script).await;
    let said = walked.result.expect_err("no such text").sentence;
    assert!(said.contains("RUN OK") && walked.recorder.trace.contains("RUN OK"), "{said}");
    for text in [said.as_str()].into_iter().chain(walked.recorder.trace.lines()) {
        assert!(!text.contains(|c: char| c.is_control() || c == '\u{202e}'), "{text:?}");
    }
}

/// Waits on the second page until the third is requested: on the first there is no open connection yet.
struct PrefetchObserver {
    asked: mpsc::Receiver<String>,
    was_asked_ahead: Option<bool>,
}

impl Observer for PrefetchObserver {
    fn page(&mut self, page: &Page, _tree: &Tree, _with: &[(String, String)], _arrival: Arrival) -> PageRows {
        if page.meta.url.query() == Some("page=2") {
            let third = |asked: &String| asked.contains("page=3");
            let patience = Duration::from_secs(10);
            let heard = std::iter::from_fn(|| self.asked.recv_timeout(patience).ok()).find(third);
            self.was_asked_ahead = Some(heard.is_some());
        }
        PageRows { all: 1, new: 1 }
    }

    fn links(&mut self, _column: Option<&str>) -> Result<Vec<RecordLink>, LinksError> {
        Ok(Vec::new())
    }

    fn detail(&mut self, _record: usize, _page: &Page, _tree: &Tree) {}

    fn save(&mut self, _page: &Page, _name: &str) {}

    fn trace(&mut self, _line: TraceLine) {}
}

/// A list of three pages over one kept-alive connection; reports what is requested.
fn three_pages() -> (SocketAddr, mpsc::Receiver<String>) {
    let listener = TcpListener::bind((PUBLIC, 0)).expect("loopback has a free port");
    let address = listener.local_addr().expect("it is bound");
    let (say, asked) = mpsc::channel();
    std::thread::spawn(move || {
        let Ok((stream, _)) = listener.accept() else { return };
        let mut lines = BufReader::new(&stream).lines();
        for n in 1..=3 {
            let Some(Ok(first)) = lines.next() else { return };
            lines.by_ref().find(|line| line.as_ref().map_or(true, String::is_empty));
            let next = if n < 3 { format!("<a rel=next href='/?page={}'>Next</a>", n + 1) } else { String::new() };
            let body = format!("<ul><li>Thing {n}</li></ul>{next}");
            let head = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n", body.len());
            let _ = say.send(first);
            let _ = (&stream).write_all((head + &body).as_bytes());
        }
    });
    (address, asked)
}

#[tokio::test]
async fn the_next_page_is_asked_for_before_the_rows_are_read() {
    let (address, asked) = three_pages();
    let plain = PLAIN.replace("http://public.test/", &format!("http://public.test:{}/?page=1", address.port()));
    let mut patient = PrefetchObserver { asked, was_asked_ahead: None };
    let task = task(&plain);
    walk_with(&task, "", guard(&task, &Script::default()), &mut patient).await.0.expect("three pages");
    assert_eq!(patient.was_asked_ahead, Some(true));
}
