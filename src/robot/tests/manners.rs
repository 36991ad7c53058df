//! Retries, robots.txt, conditional requests and meta refresh. Input 23.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use url::Url;

use super::server::{Server, ServerAction};
use super::{PLAIN, get, session, session_for, task, walk};
use crate::model::{CachedPage, Failure, RobotsTxt};
use crate::robot::Session;
use crate::robot::page_problem::page_problem;
use crate::robot::request::{PageRequest, RequestBody};
use crate::robot::run_host::{HostFuture, RunHost, StandaloneHost};

fn patient() -> crate::model::Task {
    task(&PLAIN.replace("fetch.retries = 0", "fetch.retries = 3"))
}

#[tokio::test]
async fn what_fails_in_passing_is_tried_again_and_each_try_is_traced() {
    for (what, first) in [
        ("429", "HTTP/1.1 429 Slow\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"),
        ("502", "HTTP/1.1 502 Bad\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"),
        ("503", "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"),
        ("504", "HTTP/1.1 504 Late\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"),
        ("closed", ""),
        ("cut", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nConnection: close\r\n\r\n<p>"),
    ] {
        let act = move |n| if n < 2 { ServerAction::Say(first.as_bytes().to_vec()) } else { ServerAction::page("ok") };
        let server = Server::start(move |_, n| act(n)).await;
        let mut session = session_for(&patient());
        let page = get(&mut session, &server).await.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!((page.body.as_slice(), session.requests), (&b"ok"[..], 3), "{what}");
        let tried: Vec<_> = session.log.iter().filter(|line| line.text.contains("; retry ")).collect();
        assert_eq!(tried.len(), 2, "{what}: {:?}", session.log);
        assert!(tried[1].text.contains("; retry 2 of 3 in "), "{what}: {tried:?}");
    }
}

#[tokio::test]
async fn what_will_stay_the_same_is_asked_once() {
    for answer in ["401 No", "403 No", "404 No", "500 Broken"] {
        let server = Server::start(move |_, _| ServerAction::with(answer, "", "")).await;
        get(&mut session_for(&patient()), &server).await.expect("a page, though a bad one");
        assert_eq!(server.heard().len(), 1, "{answer}");
    }
}

#[tokio::test]
async fn the_tries_are_counted() {
    let server = Server::start(|_, _| ServerAction::with("503 Busy", "", "busy")).await;
    let page = get(&mut session_for(&patient()), &server).await.expect("the last answer");
    assert_eq!((page.meta.status, server.heard().len()), (503, 4));
}

#[tokio::test]
async fn a_form_is_not_sent_twice_unless_it_never_left() {
    let server = Server::start(|_, _| ServerAction::Say(Vec::new())).await;
    let mut session = session_for(&patient());
    let mut request = PageRequest::get(server.url("public.test", "/"));
    request.post = true;
    request.body = Some(RequestBody { content_type: "text/plain".to_owned(), bytes: b"order".to_vec() });
    session.send(request.clone()).await.expect_err("the connection was closed");
    assert_eq!(server.heard().len(), 1, "it may have been taken");
    request.url = closed_port().await;
    session.send(request.clone()).await.expect_err("nobody there");
    assert_eq!(session.log.iter().filter(|line| line.text.contains("; retry ")).count(), 3, "{:?}", session.log);
    session.no_retries = true;
    session.log.clear();
    session.send(request).await.expect_err("nobody there");
    assert!(session.log.is_empty(), "a login is never retried");
}

async fn closed_port() -> Url {
    let gone = tokio::net::TcpListener::bind((super::PUBLIC, 0)).await.expect("a free port");
    let port = gone.local_addr().expect("it is bound").port();
    Url::parse(&format!("http://public.test:{port}/")).expect("a URL")
}

#[tokio::test]
async fn input_23_absurd_wishes_end_the_run_with_a_sentence_and_not_later() {
    for (wish, tries, words) in [
        ("99999999999", 1, "asks for a pause of 7d"),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 1, "asks for a pause of 7d"),
        ("3600", 1, "asks for a pause of 1h"),
        ("-1", 4, "429"),
        ("0", 4, "429"),
        ("\x7f", 4, "429"),
    ] {
        let server =
            Server::start(move |_, _| ServerAction::with("429 Slow", &format!("Retry-After: {wish}\r\n"), "")).await;
        let mut session = session_for(&patient());
        let started = Instant::now();
        match get(&mut session, &server).await {
            Ok(page) => {
                let (cause, sentence) = page_problem(&page).expect("it is no good page");
                assert_eq!(cause, Failure::Blocked);
                assert!(sentence.contains(words), "{wish}: {sentence}");
            }
            // A control byte in a header makes the whole response invalid.
            Err(error) => assert_eq!((wish, error.cause()), ("\x7f", Failure::Network), "{error}"),
        }
        assert!(server.heard().len() <= tries, "{wish}: {} tries", server.heard().len());
        assert!(started.elapsed() < Duration::from_secs(20), "{wish}");
    }
}

#[tokio::test]
async fn a_wish_that_fits_is_waited_for_and_then_the_page_comes() {
    let server = Server::start(|_, n| match n {
        0 => ServerAction::with("503 Busy", "Retry-After: 1\r\n", ""),
        _ => ServerAction::page("ok"),
    })
    .await;
    let started = Instant::now();
    get(&mut session_for(&patient()), &server).await.expect("a page");
    assert!(started.elapsed() >= Duration::from_secs(1), "{:?}", started.elapsed());
}

/// A run host with a fixed wait at every host and a page cache in memory.
#[derive(Default)]
struct CachingHost {
    alone: StandaloneHost,
    wait: Duration,
    kept: Option<CachedPage>,
    shared: Rc<RefCell<CachingHostState>>,
}

#[derive(Default)]
struct CachingHostState {
    bodies: HashMap<String, Vec<u8>>,
    kept: Vec<CachedPage>,
    robots: Vec<RobotsTxt>,
    pauses: Vec<Duration>,
}

/// A session whose host caches pages, and what the host has.
fn caching(task: &crate::model::Task) -> (Session, Rc<RefCell<CachingHostState>>) {
    let (mut session, shared) = (session_for(task), Rc::new(RefCell::new(CachingHostState::default())));
    session.run_host = Box::new(CachingHost { shared: Rc::clone(&shared), ..CachingHost::default() });
    (session, shared)
}

impl RunHost for CachingHost {
    fn acquire_turn<'h>(&'h mut self, host: &'h str, delay: Duration) -> HostFuture<'h, Duration> {
        let wait = self.wait;
        let turn = self.alone.acquire_turn(host, delay);
        Box::pin(async move { turn.await.max(wait) })
    }

    fn finish_turn(&mut self, pause: Duration) {
        self.alone.finish_turn(Duration::ZERO);
        self.shared.borrow_mut().pauses.push(pause);
    }

    fn cached_page(&self, url: &Url) -> Option<&CachedPage> {
        self.kept.as_ref().filter(|page| page.url == *url)
    }

    fn cached_body<'h>(&'h mut self, url: &'h Url, _most: u64) -> HostFuture<'h, Option<Vec<u8>>> {
        let body = self.shared.borrow().bodies.get(url.as_str()).cloned();
        Box::pin(std::future::ready(body))
    }

    fn cache_page(&mut self, page: CachedPage, body: &[u8]) {
        let mut shared = self.shared.borrow_mut();
        shared.bodies.insert(page.url.to_string(), body.to_vec());
        shared.kept.push(page);
    }

    fn evict_page(&mut self, _url: &Url) {
        self.kept = None;
    }

    fn cache_robots_txt(&mut self, robots: RobotsTxt) {
        self.shared.borrow_mut().robots.push(robots);
    }
}

#[tokio::test]
async fn everybody_learns_of_the_peace_a_host_wants() {
    let server = Server::start(|_, _| ServerAction::with("429 Slow", "Retry-After: 7200\r\n", "")).await;
    let (mut session, shared) = caching(&patient());
    get(&mut session, &server).await.expect("a page, though a bad one");
    assert_eq!(shared.borrow().pauses, [Duration::from_secs(7_200)]);
    // A wait beyond the deadline is not begun.
    session.run_host = Box::new(CachingHost { wait: Duration::from_secs(7_200), ..CachingHost::default() });
    let error = get(&mut session, &server).await.expect_err("not now");
    assert_eq!(error.cause(), Failure::Blocked);
    assert!(error.to_string().contains("must not be requested for another 2h"), "{error}");
    assert_eq!(server.heard().len(), 1);
}

fn tagged(asked: &str) -> ServerAction {
    match asked.to_lowercase().contains("if-none-match: \"7\"") {
        true => ServerAction::Say(b"HTTP/1.1 304 Not Modified\r\nETag: \"7\"\r\nConnection: close\r\n\r\n".to_vec()),
        false => ServerAction::with("200 OK", "ETag: \"7\"\r\nContent-Type: text/html\r\n", "<p>seven</p>"),
    }
}

#[tokio::test]
async fn an_unchanged_page_is_not_sent_again_and_reads_the_same() {
    let server = Server::start(|asked, _| tagged(asked)).await;
    let (mut session, shared) = caching(&task(PLAIN));
    let first = get(&mut session, &server).await.expect("a page");
    let kept = Some(shared.borrow().kept[0].clone());
    let with_kept =
        || Box::new(CachingHost { shared: Rc::clone(&shared), kept: kept.clone(), ..CachingHost::default() });
    session.run_host = with_kept();
    let again = get(&mut session, &server).await.expect("the same page");
    assert_eq!((&again.body, again.meta.status), (&first.body, 200));
    assert_eq!(again.meta.header("content-type"), Some("text/html"));
    assert!(session.log.iter().any(|line| line.text.contains("304, unchanged")), "{:?}", session.log);

    // Its body is gone from the cache: it is fetched in full.
    shared.borrow_mut().bodies.clear();
    let full = get(&mut session, &server).await.expect("the page itself");
    assert_eq!(full.body, first.body);
    assert!(!server.heard().last().expect("asked").to_lowercase().contains("if-none-match"));

    // Another cookie, header or login is another cache key.
    let mut request = PageRequest::get(server.url("public.test", "/"));
    request.headers.push(("x-view".to_owned(), "mine".to_owned()));
    session.run_host = with_kept();
    session.send(request.clone()).await.expect("a page");
    request.headers.clear();
    session.authorise(&request.url, "me".to_owned(), "hush".to_owned());
    session.send(request.clone()).await.expect("a page");
    request.post = true;
    session.send(request).await.expect("a page");
    for asked in &server.heard()[server.heard().len() - 3..] {
        assert!(!asked.to_lowercase().contains("if-none-match"), "{asked}");
    }
}

#[tokio::test]
async fn a_304_that_nobody_asked_for_is_no_page() {
    let server =
        Server::start(|_, _| ServerAction::Say(b"HTTP/1.1 304 Not Modified\r\nConnection: close\r\n\r\n".to_vec()))
            .await;
    let page = get(&mut session(), &server).await.expect("an answer");
    assert_eq!(page_problem(&page).map(|it| it.0), Some(Failure::Http));
}

/// A site with this robots.txt, answered with this status.
async fn site(status: &'static str, robots: &'static str) -> Server {
    Server::start(move |asked, n| match asked.starts_with("GET /robots.txt ") {
        true => ServerAction::with(status, "", robots),
        false => ServerAction::page(&format!("<ul><li>{n}</li></ul><a rel=next href=/staff/?page={n}>Next</a>")),
    })
    .await
}

fn heeding(server: &Server, path: &str) -> crate::model::Task {
    let plain = PLAIN.replace("fetch.robots_txt = false", "");
    task(&plain.replace("http://public.test/", server.url("public.test", path).as_str()))
}

#[tokio::test]
async fn robots_txt_is_asked_once_and_decides() {
    let rules = "User-agent: *\nDisallow: /staff/\n";
    for (status, robots, path, cause) in [
        ("200 OK", rules, "/list", None),
        ("200 OK", rules, "/staff/list", Some("“Disallow: /staff/”; set `fetch.robots_txt = false`")),
        ("404 None", "Disallow: /", "/list", None),
        ("403 No", "Disallow: /", "/list", None),
        ("500 Broken", "", "/list", Some("answered with status 500")),
        ("429 Slow", "", "/list", Some("answered with status 429")),
        ("200 OK", "<html>not a robots.txt", "/list", None),
    ] {
        let server = site(status, robots).await;
        let walked = walk(&heeding(&server, path), "").await;
        match (walked.result, cause) {
            (Ok(()), None) => {
                let asked = server.heard();
                let about_robots = asked.iter().filter(|asked| asked.starts_with("GET /robots.txt ")).count();
                assert!(about_robots == 1 && asked[0].starts_with("GET /robots.txt "), "{status}: {asked:?}");
            }
            (Err(trouble), Some(words)) => {
                assert_eq!(trouble.cause, Failure::RobotsTxt, "{}", trouble.sentence);
                assert!(trouble.sentence.contains(words), "{}", trouble.sentence);
                assert_eq!(server.heard().len(), 1, "only robots.txt was asked for");
            }
            (result, _) => panic!("{status} {path}: {:?}", result.map_err(|trouble| trouble.sentence)),
        }
        assert!(walked.recorder.trace.contains("/robots.txt →") || cause.is_some(), "{}", walked.recorder.trace);
    }
}

#[tokio::test]
async fn a_next_link_that_robots_may_not_follow_ends_the_list_and_not_the_run() {
    let server = site("200 OK", "User-agent: *\nDisallow: /staff/\n").await;
    let walked = walk(&heeding(&server, "/list"), "").await;
    assert!(walked.result.is_ok());
    assert!(
        walked.recorder.trace.contains("the next link is not followed: the robots.txt of"),
        "{}",
        walked.recorder.trace
    );
    assert_eq!(server.heard().len(), 2);
}

#[tokio::test]
async fn details_that_are_not_for_robots_are_left_out_however_many() {
    let staff: String = (0..15).map(|n| format!("<li><a class=detail href=/staff/{n}>{n}</a></li>")).collect();
    let list = format!("<ul>{staff}<li><a class=detail href=/shop/1>open</a></li></ul>");
    let server = Server::start(move |asked, _| match asked.starts_with("GET /robots.txt ") {
        true => ServerAction::with("200 OK", "", "User-agent: *\nDisallow: /staff/\n"),
        false => ServerAction::page(&list),
    })
    .await;
    let script = format!(
        "step = [{{ get = '{}' }}, {{ extract = {{}} }}, {{ details = {{}} }}]",
        server.url("public.test", "/")
    );
    let walked = walk(&heeding(&server, "/"), &script).await;
    walked.result.unwrap_or_else(|trouble| panic!("{}", trouble.sentence));
    assert_eq!(walked.recorder.details, [15], "{}", walked.recorder.trace);
    assert_eq!(walked.remark.as_deref(), Some("15 of 16 detail pages could not be fetched"));
    assert_eq!(server.heard().len(), 3, "robots.txt, the list and the one that is open");
}

#[tokio::test]
async fn a_robots_txt_is_kept_and_one_that_says_nothing_too() {
    for (status, text) in [("200 OK", "Disallow: /x\n"), ("404 None", "")] {
        let server = site(status, "Disallow: /x\n").await;
        let (mut session, shared) = caching(&heeding(&server, "/"));
        get(&mut session, &server).await.expect("a page");
        get(&mut session, &server).await.expect("a page");
        let robots: Vec<String> = shared.borrow().robots.iter().map(|it| it.text.clone()).collect();
        assert_eq!(robots, [text]);
        assert_eq!(session.requests, 3, "robots.txt counts, once");
    }
}

#[tokio::test]
async fn a_site_that_asks_for_a_longer_delay_gets_it() {
    let server = site("200 OK", "User-agent: *\nCrawl-delay: 0.3\n").await;
    let mut session = session_for(&heeding(&server, "/"));
    let started = Instant::now();
    get(&mut session, &server).await.expect("a page");
    get(&mut session, &server).await.expect("a page");
    assert!(started.elapsed() >= Duration::from_millis(300), "{:?}", started.elapsed());
}

#[tokio::test]
async fn a_page_that_sends_its_visitor_on_is_followed_like_a_redirect() {
    let server = Server::start(|asked, _| match asked.split(' ').nth(1) {
        Some("/") => ServerAction::page("<meta http-equiv=refresh content='0;url=/list'>"),
        Some("/list") => ServerAction::page("<ul><li>one</li></ul><meta http-equiv=refresh content='3;url=/list'>"),
        Some("/slow") => ServerAction::page("<ul><li>one</li></ul><meta http-equiv=refresh content='60;url=/list'>"),
        Some("/loop") => ServerAction::page("<meta http-equiv=refresh content='0;url=/pool'>"),
        _ => ServerAction::page("<meta http-equiv=refresh content='0;url=/loop'>"),
    })
    .await;
    let plain = |path: &str| task(&PLAIN.replace("http://public.test/", server.url("public.test", path).as_str()));
    for path in ["/", "/slow"] {
        let walked = walk(&plain(path), "").await;
        assert!(walked.result.is_ok() && walked.recorder.pages == 1, "{path}: {}", walked.recorder.trace);
        assert_eq!(walked.recorder.trace.contains("(meta refresh)"), path == "/");
    }
    let before = server.heard().len();
    let trouble = walk(&plain("/loop"), "").await.result.expect_err("it never ends");
    assert_eq!(trouble.cause, Failure::Http, "{}", trouble.sentence);
    assert_eq!(server.heard().len() - before, 11, "hops of both kinds are counted together");
}
