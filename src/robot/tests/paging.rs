//! Inputs 33 to 36: lists without end, links that lead astray, and text that would like to be obeyed.

use super::server::{Act, Server};
use super::{PLAIN, Walked, task, walk};

/// A list page whose next link is this.
fn list(n: usize, next: &str) -> Act {
    Act::page(&format!("<ul><li>Thing {n}</li></ul><a rel=next href=\"{next}\">Next</a>"))
}

async fn paged(server: &Server, more: &str) -> Walked {
    let plain = PLAIN.replace("http://public.test/", server.url("public.test", "/").as_str()).replace("'1M'", "'4M'");
    walk(&task(&format!("{plain}{more}")), "").await
}

/// How many pages were read, and why no more.
async fn ends(server: Server, more: &str, pages: usize, why: &str) {
    let walked = paged(&server, more).await;
    walked.result.unwrap_or_else(|trouble| panic!("{}", trouble.sentence));
    assert_eq!(walked.seen.pages, pages, "{}", walked.seen.trace);
    assert!(walked.seen.trace.contains(why), "no “{why}” in {}", walked.seen.trace);
    assert_eq!(server.heard().len(), pages.max(1));
}

/// safety.md calls this `truncated(paging)`: ours is a walk that went well, with a remark in the run's sentence.
#[tokio::test]
async fn input_33_a_list_without_end_stops_at_max_pages() {
    let server = Server::start(|_, n| list(n, &format!("/?page={}", n + 2))).await;
    let walked = paged(&server, "limits.max_pages = 5").await;
    assert!(walked.result.is_ok() && walked.seen.pages == 5, "{}", walked.seen.trace);
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
    assert_eq!(walked.seen.pages, 1, "{}", walked.seen.trace);
    assert!(walked.seen.trace.contains("says the same as an earlier one"), "{}", walked.seen.trace);
}

#[tokio::test]
async fn input_35_a_next_link_that_leads_astray_is_not_followed() {
    for (next, why) in [
        ("http://elsewhere.test/?page=2".to_owned(), ""),
        ("javascript:next(2)".to_owned(), "nothing leads on"),
        ("file:///etc/passwd?page=2".to_owned(), ""),
        (format!("/?page=2&x={}", "x".repeat(1 << 20)), "nothing leads on"),
    ] {
        let shown: String = next.chars().take(40).collect();
        let server = Server::start(move |_, n| list(n, &next)).await;
        let walked = paged(&server, "").await;
        assert!(walked.result.is_ok(), "{shown}: {}", walked.result.expect_err("looked at").sentence);
        assert_eq!((walked.seen.pages, server.heard().len()), (1, 1), "{shown}: {}", walked.seen.trace);
        assert!(walked.seen.trace.contains(why), "{shown}: {}", walked.seen.trace);
        assert!(walked.seen.trace.len() < 20_000, "{shown}: and the trace stays short");
    }
}

#[tokio::test]
async fn input_36_what_a_terminal_would_obey_stays_out_of_sentences_and_traces() {
    let title = "\x1b]0;owned\x07\x1b[2J\r\nRUN OK\u{202e}txt.exe";
    let page = format!("<title>{title}</title><p class=error>{title}</p><form><input type=password name=p></form>");
    let server = Server::start(move |_, _| Act::page(&page)).await;
    let url = server.url("public.test", "/");
    let script = format!(
        "[[step]]\nget = '{url}'\n[[step]]\nmatch = {{ css = 'title', into = 'title' }}\n\
         [[step]]\nexpect = {{ text = '${{title}}!' }}\n"
    );
    let walked = walk(&task(PLAIN), &script).await;
    let said = walked.result.expect_err("no such text").sentence;
    assert!(said.contains("RUN OK") && walked.seen.trace.contains("RUN OK"), "{said}");
    for text in [said.as_str()].into_iter().chain(walked.seen.trace.lines()) {
        assert!(!text.contains(|c: char| c.is_control() || c == '\u{202e}'), "{text:?}");
    }
}
