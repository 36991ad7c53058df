//! A foreign page in the labelling frame reaches neither the dashboard, nor the network, nor the page around it. The
//! control is the same page without the sandbox: there it reaches everything that it tries.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use super::super::stage::Stage;
use super::{logged_in, open};

const TASK: &str = "evil";

/// A hostile site that records the requests it receives.
struct Evil {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
    /// The policy that `/caged` is served with: that of the dashboard's frame.
    policy: Arc<Mutex<String>>,
}

impl Evil {
    fn start() -> Evil {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port of loopback is free");
        let port = listener.local_addr().expect("an address").port();
        let evil = Evil { port, asked: Arc::default(), policy: Arc::default() };
        let (asked, policy) = (Arc::clone(&evil.asked), Arc::clone(&evil.policy));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (asked, policy) = (Arc::clone(&asked), Arc::clone(&policy));
                std::thread::spawn(move || answer(&stream, port, &asked, &policy));
            }
        });
        evil
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// The paths below /beacon/ that were requested, each once.
    fn reached(&self) -> BTreeSet<String> {
        let asked = self.asked.lock().expect("nobody panics here");
        asked.iter().filter_map(|path| path.strip_prefix("/beacon/")).map(str::to_owned).collect()
    }
}

fn answer(mut stream: &TcpStream, port: u16, asked: &Mutex<Vec<String>>, policy: &Mutex<String>) {
    let mut reader = BufReader::new(stream);
    let (mut line, mut length, mut is_browser) = (String::new(), 0, false);
    if reader.read_line(&mut line).is_err() {
        return;
    }
    let path = line.split(' ').nth(1).unwrap_or("/").to_owned();
    loop {
        let mut header = String::new();
        if reader.read_line(&mut header).is_err() || header.trim().is_empty() {
            break;
        }
        is_browser |= header.contains("Chrome/");
        if let Some(value) = header.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let _ = std::io::copy(&mut reader.take(length), &mut std::io::sink());
    asked.lock().expect("nobody panics here").push(path.clone());
    let mut headers = "content-type: text/html; charset=utf-8".to_owned();
    let body = match path.as_str() {
        // A run would follow it to where it leads.
        "/list" if !is_browser => page(port).replace("http-equiv=refresh", ""),
        "/list" => page(port),
        "/caged" => {
            headers = format!("{headers}\r\ncontent-security-policy: {}", policy.lock().expect("nobody panics here"));
            page(port)
        }
        // As the dashboard frames it, and with the dashboard's own policy; what it reaches for is at another address.
        "/around" => {
            headers = format!(
                "{headers}\r\ncontent-security-policy: default-src 'none'; script-src 'self'; frame-src 'self'"
            );
            "<title>calm</title><iframe sandbox=allow-scripts src=/caged></iframe>".to_owned()
        }
        "/open" => "<title>calm</title><iframe src=/list></iframe>".to_owned(),
        "/robots.txt" => "User-agent: *\nAllow: /\n".to_owned(),
        _ => String::new(),
    };
    let head = format!("HTTP/1.1 200 OK\r\n{headers}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
}

/// A list, and every way in which a page can try to escape from its frame.
fn page(port: u16) -> String {
    let at = format!("http://127.0.0.1:{port}/beacon");
    let rows: String = (1..=8)
        .map(|i| {
            format!(
                "<li class=row><a href='{at}/link' ping='{at}/ping' onclick='fetch(\"{at}/click\")'>\
                 Item number {i}</a> <b>EUR {i}9.00</b> <i>{i} left</i></li>"
            )
        })
        .collect();
    format!(
        "<!doctype html><html><head><title>Evil</title><base href='{at}/base/'>
         <link rel=stylesheet href='{at}/sheet'><link rel=prefetch href='{at}/prefetch'><link rel=preload as=image \
         href='{at}/preload'>
         <link rel=icon href='{at}/icon'><link rel=modulepreload href='{at}/module'>
         <style>@import url('{at}/import'); body {{ background: url('{at}/css') }} @font-face {{ font-family: x; \
         src: url('{at}/font') }} li {{ font-family: x }}</style>
         <script>
           fetch('{at}/script', {{ mode: 'no-cors' }}); new Image().src = '{at}/image'; \
           navigator.sendBeacon('{at}/sent');
           try {{ parent.document.title = 'taken over'; fetch('{at}/parent', {{ mode: 'no-cors' }}) }} catch {{}}
           parent.postMessage({{ pieme: 'block', first: 1, last: 2, text: '' }}, '*');
           setTimeout(() => {{ try {{ top.location = '{at}/top' }} catch {{}} }}, 1500);
           setTimeout(() => {{ location = '{at}/self' }}, 2500);
         </script></head>
         <body onload=\"fetch('{at}/onload', {{ mode: 'no-cors' }})\">
         <h1>List</h1><ul>{rows}</ul>
         <img src='{at}/img' onerror=\"fetch('{at}/onerror', {{ mode: 'no-cors' }})\">\
         <iframe src='{at}/frame'></iframe><iframe srcdoc=\"<script>fetch('{at}/srcdoc',{{mode:'no-cors'}})</script>\">\
         </iframe>
         <object data='{at}/object'></object><embed src='{at}/embed'><video src='{at}/video' poster='{at}/poster' \
         autoplay></video>
         <svg><image href='{at}/svg'/><style>@import '{at}/svg-import'</style>\
         <script>fetch('{at}/svg-script', {{ mode: 'no-cors' }})</script></svg>
         <math><mtext><table><mglyph><style><!--</style><img title=\"--&gt;&lt;img src='{at}/mxss'&gt;\">
         </table></mtext></math>
         <noscript><img src='{at}/noscript'></noscript><template><img src='{at}/template'></template>
         <form id=f action='{at}/form' method=post target=_self>\
         <input autofocus onfocus=\"fetch('{at}/focus', {{ mode: 'no-cors' }})\">\
         <button formaction='{at}/button'>x</button></form>
         <script>setTimeout(() => f.submit(), 2000)</script>
         <meta http-equiv=refresh content='3;url={at}/refresh'></body></html>"
    )
}

/// Long enough for all attempts above: the page's last timer fires after three seconds.
const ALL_TRIED: &str = "new Promise(done => setTimeout(() => done(1), 4500))";

#[test]
fn a_hostile_page_reaches_everything_without_the_cage_and_nothing_within() {
    let evil = Evil::start();
    let mut stage = Stage::new();
    let task = format!("url = \"{}\"\n[fetch]\ndelay = \"0s\"\n", evil.url("/list"));
    stage.grant_private(&evil.url("/list"));
    stage.write(&format!("tasks/{TASK}/task.toml"), &task);
    let url = open(&mut stage);
    stage.wait_for("its first run", || !stage.status(TASK)["last_run"].is_null());
    assert_eq!(evil.reached(), BTreeSet::new(), "the run itself has no business there");
    let mut browser = logged_in(&url);

    browser.goto(&format!("{url}label/{TASK}"));
    browser.wait_for("lists and outlines", "document.querySelector('#bench')?.dataset.outlined");
    assert_eq!(browser.eval("document.querySelector('#bench').dataset.outlined"), "8");
    browser.in_frame(|frame| {
        assert_eq!(frame.eval("origin"), "null", "it is nobody's");
        assert_eq!(
            frame.eval(
                "document.querySelectorAll('script, link, iframe, form, img, svg, [href], [src], \
                 [onclick]').length"
            ),
            1,
            "our own script"
        );
        for (what, tried) in [
            ("the page around it", "parent.document.title"),
            ("what is kept for the dashboard", "localStorage.length"),
            ("cookies", "document.cookie"),
        ] {
            assert_eq!(
                frame.eval(&format!(
                    "(() => {{ try {{ {tried}; return 'reached' }} \
                     catch {{ return 'refused' }} }})()"
                )),
                "refused",
                "{what}"
            );
        }
        let place = frame.eval(
            "(() => { const box = document.querySelector('li a').getBoundingClientRect(); \
             return [box.x + 5, box.y + 5] })()",
        );
        let at = (place[0].as_f64().expect("a place"), place[1].as_f64().expect("a place"));
        frame.drag(at, at);
    });
    browser.wait_for("the question", "document.querySelector('#value').open");
    browser.eval(ALL_TRIED);
    assert_eq!(evil.reached(), BTreeSet::new(), "not even by a click on its links");
    assert_eq!(browser.eval("location.pathname"), format!("/label/{TASK}"));
    assert_ne!(browser.eval("document.title"), "taken over");

    // Messages from other windows are ignored.
    let shown = browser.eval("document.querySelector('#bench').dataset.ready");
    browser.eval(
        "document.querySelector('#value').close(); postMessage({ pieme: 'block', first: 4, last: 5, \
                  text: 'List' }, '*');
                  dispatchEvent(new MessageEvent('message', { data: { pieme: 'value', n: 1, text: 'x' }, \
                  origin: 'null', source: window })); 1",
    );
    browser.eval("new Promise(done => setTimeout(() => done(1), 300))");
    assert_eq!(browser.eval("document.querySelector('#bench').dataset.ready"), shown);
    assert_eq!(browser.eval("document.querySelector('#value').open"), false);

    // Opened by itself, the page is in the same sandbox: the response's policy sets it.
    browser.goto(&format!("{url}label/{TASK}/page"));
    assert_eq!(browser.eval("origin"), "null");
    let policy = browser.eval(&format!(
        "fetch('{url}label/{TASK}/page').then(it => it.headers.get('content-security-policy')).catch(() => null)"
    ));
    assert!(policy.is_null(), "nor can it fetch itself");

    // The policy alone suffices, even without the sanitiser: the unchanged page, served with it.
    browser.goto(&url);
    let policy =
        browser.eval(&format!("fetch('/label/{TASK}/page').then(it => it.headers.get('content-security-policy'))"));
    *evil.policy.lock().expect("nobody panics here") =
        policy.as_str().expect("a policy").replace("frame-ancestors 'self'", "frame-ancestors *");
    browser.goto(&evil.url("/around").replace("127.0.0.1", "localhost"));
    browser.eval(ALL_TRIED);
    assert_eq!(evil.reached(), BTreeSet::new(), "nothing gets out of the policy");
    assert_eq!(browser.eval("document.title"), "calm");

    // The control: without the sandbox all attempts succeed.
    browser.goto(&evil.url("/open"));
    browser.wait_for("everything to be tried", "document.readyState === 'complete'");
    let wanted =
        ["script", "image", "sent", "parent", "sheet", "css", "img", "frame", "srcdoc", "svg", "onload", "top"];
    stage.wait_for("the page to reach out", || {
        let reached = evil.reached();
        wanted.iter().all(|it| reached.contains(*it))
    });
}
