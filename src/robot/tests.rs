//! What a hostile site tries over the wire. Here and not in tests/, since only here a name can be made to look public.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::*;
use crate::model::Failure;

/// A server that gives every request the same answer and reports what it was asked.
async fn serve(answer: String) -> (SocketAddr, mpsc::UnboundedReceiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has a free port");
    let address = listener.local_addr().expect("it is bound");
    let (heard, hears) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut asked = vec![0; 16 << 10];
            let len = stream.read(&mut asked).await.unwrap_or(0);
            // Nobody listens any more when the test is over, and then nobody minds.
            let _ = heard.send(String::from_utf8_lossy(&asked[..len]).into_owned());
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    (address, hears)
}

fn redirect(to: &str) -> String {
    format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
}

const PAGE: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";

/// A session that takes `public.test` for a public host.
fn session(task: &str, public: SocketAddr) -> Session {
    let task: Task = toml::from_str(task).expect("a task of the test");
    let mut guard = Guard::new(&task, &Script::default());
    guard.pretend.insert("public.test".to_owned(), public);
    guard.pretend.insert("other.test".to_owned(), public);
    Session::new(&task, guard, Jar::default(), Instant::now() + Duration::from_secs(60)).expect("a session")
}

fn url(address: SocketAddr, host: &str) -> Url {
    Url::parse(&format!("http://{host}:{}/", address.port())).expect("a URL")
}

#[tokio::test]
async fn a_redirect_to_a_private_address_opens_no_connection() {
    let (canary, mut canary_hears) = serve(PAGE.to_owned()).await;
    for host in ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]"] {
        let (public, mut public_hears) = serve(redirect(&format!("http://{host}:{}/", canary.port()))).await;
        let hosts = "['public.test', '127.0.0.1', 'localhost', '[::ffff:7f00:1]']";
        let mut session = session(&format!("fetch.delay = '0s'\nfetch.allow_hosts = {hosts}"), public);
        let error = session.send(Request::get(url(public, "public.test"))).await.expect_err("refused");
        assert_eq!(error.cause(), Failure::Network, "{host}: {error}");
        assert!(error.to_string().contains("fetch.allow_private"), "{host}: {error}");
        assert!(public_hears.recv().await.is_some(), "the public host was asked");
    }
    assert!(canary_hears.try_recv().is_err(), "and the private one was not");
}

#[tokio::test]
async fn a_secret_header_is_not_sent_to_where_a_redirect_leads() {
    let (there, mut there_hears) = serve(PAGE.to_owned()).await;
    let (public, mut public_hears) = serve(redirect(&format!("http://public.test:{}/", there.port()))).await;
    let mut session = session("url = 'http://public.test/'\nfetch.delay = '0s'", public);
    let mut request = Request::get(url(public, "public.test"));
    request.headers.push(("X-Api-Key".to_owned(), "hush".to_owned()));
    session.send(request).await.expect("the same host on another port may be followed");
    assert!(public_hears.recv().await.is_some_and(|asked| asked.contains("hush")), "it goes where it was meant for");
    assert!(there_hears.recv().await.is_some_and(|asked| !asked.contains("hush")), "and not to another origin");
}

#[tokio::test]
async fn a_redirect_to_a_foreign_host_or_scheme_is_refused_and_says_which_key_allows_it() {
    for (to, sentence) in [
        ("http://other.test/", "`fetch.allow_hosts`"),
        ("file:///etc/passwd", "`file:` addresses are never fetched"),
        ("ftp://public.test/", "`ftp:` addresses are never fetched"),
        ("data:text/html,x", "`data:` addresses are never fetched"),
    ] {
        let (public, _hears) = serve(redirect(to)).await;
        let mut session = session("url = 'http://public.test/'\nfetch.delay = '0s'", public);
        let error = session.send(Request::get(url(public, "public.test"))).await.expect_err("refused");
        assert_eq!(error.cause(), Failure::Network, "{to}: {error}");
        assert!(error.to_string().contains(sentence), "{to}: {error}");
    }
}

#[tokio::test]
async fn a_session_cookie_is_not_among_what_is_kept_of_a_page() {
    let answer = "HTTP/1.1 200 OK\r\nSet-Cookie: sid=hush\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
    let (public, _hears) = serve(answer.to_owned()).await;
    let mut session = session("url = 'http://public.test/'\nfetch.delay = '0s'", public);
    let page = session.send(Request::get(url(public, "public.test"))).await.expect("a page");
    assert_eq!(page.meta.header("set-cookie"), None);
    assert!(session.cookies().is_some_and(|cookies| cookies.contains("hush")), "it is in the jar");
}

#[tokio::test]
async fn broken_answers_are_named_and_never_a_panic() {
    let long = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(4 << 20));
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "A: b\r\n".repeat(20_000));
    for answer in [
        "nonsense".to_owned(),
        String::new(),
        long,
        many,
        "HTTP/1.1 200 OK\r\nSet-Cookie: a\x01b=c\r\nContent-Length: 0\r\n\r\n".to_owned(),
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\nConnection: close\r\n\r\nplain".to_owned(),
    ] {
        let shown: String = answer.chars().take(60).collect();
        let (public, _hears) = serve(answer).await;
        let mut session = session("url = 'http://public.test/'\nfetch.delay = '0s'", public);
        let error = session.send(Request::get(url(public, "public.test"))).await.expect_err("no page");
        assert_eq!(error.cause(), Failure::Network, "{shown:?}: {error}");
    }
}
