//! Sixty spellings of private addresses, in every place that takes a URL: no connection is made
//! (docs/design/safety.md 2.22).

use url::Url;

use super::server::{Server, ServerAction};
use super::{PLAIN, PRIVATE, guard, session_for, task, walk, walk_as};
use crate::guard::Guard;
use crate::guard::tests::SPELLINGS;
use crate::model::{AddressGrants, Failure, Script, Task};
use crate::robot::proxy;
use crate::robot::request::PageRequest;

/// A task with the private host as its own, so that only the guard's check of the address stops it.
fn careless(server: &Server, spelling: &str) -> Task {
    let host = Url::parse(&format!("http://{spelling}/")).expect("a spelling that browsers accept");
    let host = host.host_str().expect("it has a host").to_owned();
    let plain = PLAIN.replace("http://public.test/", server.url("public.test", "/").as_str());
    task(&format!("{plain}fetch.allow_hosts = ['public.test', '{host}']"))
}

/// Each spelling with a server that sends the page made by `page` for the address; all of them lead to the canary's
/// port.
async fn each(page: fn(&str) -> ServerAction, check: impl AsyncFn(&Task, &Server, &str)) {
    let canary = Server::start_at(PRIVATE, |_, _| ServerAction::page("secret")).await;
    for spelling in SPELLINGS {
        let address = format!("http://{spelling}:{}/", canary.address.port());
        let there = address.clone();
        let server = Server::start(move |_, _| page(&there)).await;
        check(&careless(&server, spelling), &server, &address).await;
    }
    assert!(canary.heard().is_empty(), "the canary was reached");
}

fn is_refused(result: Result<(), crate::robot::WalkError>, address: &str) {
    let trouble = result.expect_err("refused");
    assert_eq!(trouble.cause, Failure::Network, "{address}: {}", trouble.sentence);
    let refusals = ["not a public address", "a cloud metadata address", "an address of this machine itself"];
    assert!(refusals.iter().any(|it| trouble.sentence.contains(it)), "{address}: {}", trouble.sentence);
}

#[tokio::test]
async fn no_start_address_reaches_a_private_host() {
    each(
        |_| ServerAction::page(""),
        async |task, _, address| {
            let script = format!("[[step]]\nget = '{address}'\n");
            is_refused(walk(task, &script).await.result, address);
        },
    )
    .await;
}

#[tokio::test]
async fn no_redirect_reaches_a_private_host() {
    each(ServerAction::go, async |task, server, address| {
        is_refused(walk(task, "").await.result, address);
        assert_eq!(server.heard().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn no_form_reaches_a_private_host() {
    each(
        |address| {
            ServerAction::page(&format!("<form id=f action=\"{address}\"><input name=q><button>Go</button></form>"))
        },
        async |task, server, address| {
            let url = server.url("public.test", "/");
            let script =
                format!("[[step]]\nget = '{url}'\n[[step]]\nsubmit = {{ form = '#f', fields = {{ q = 'x' }} }}\n");
            is_refused(walk(task, &script).await.result, address);
        },
    )
    .await;
}

#[tokio::test]
async fn no_next_link_reaches_a_private_host() {
    each(
        |address| ServerAction::page(&format!("<ul><li>one</li></ul><a rel=next href=\"{address}?page=2\">Next</a>")),
        async |task, server, address| {
            let walked = walk(task, "step = [{ get = '/' }, { paginate = { next = { rel = 'next' } } }]").await;
            assert!(walked.result.is_ok(), "{address}: the list ends there, and not the run");
            assert!(
                walked.recorder.trace.contains("the next link is not followed"),
                "{address}: {}",
                walked.recorder.trace
            );
            assert_eq!(server.heard().len(), 1);
        },
    )
    .await;
}

#[tokio::test]
async fn no_page_that_sends_its_visitor_on_reaches_a_private_host() {
    each(
        |address| ServerAction::page(&format!("<meta http-equiv=refresh content=\"0;url={address}\">")),
        async |task, _, address| is_refused(walk(task, "").await.result, address),
    )
    .await;
}

/// A proxy at a private address is refused like any other host.
#[tokio::test]
async fn input_25_no_proxy_is_a_private_host() {
    each(
        |_| ServerAction::page(""),
        async |task, server, address| {
            for scheme in ["http", "https", "socks5", "socks5h"] {
                let text = address.replacen("http", scheme, 1);
                let guard = guard(task, &Script::default());
                match proxy::resolve_setting(&text, &Default::default(), &guard) {
                    Err(error) => {
                        assert!(matches!(error.cause(), Failure::Network | Failure::Config), "{text}: {error}");
                    }
                    // A spelling that only the resolver understands is refused after it is resolved.
                    Ok(_) => {
                        let mut task = task.clone();
                        task.fetch.proxy = Some(text.clone());
                        let mut session = session_for(&task);
                        let came = session.send(PageRequest::get(server.url("public.test", "/"))).await;
                        came.expect_err("no way out");
                    }
                }
            }
        },
    )
    .await;
    let task: Task = toml::from_str("fetch.proxy = 'http://127.0.0.1:3128'").expect("a task");
    for (grant, expected) in [("127.0.0.1:3128", true), ("127.0.0.1:3129", false)] {
        let granted = vec![grant.parse().expect("a grant")];
        let guard = Guard::new(&task, &Script::default(), &AddressGrants { granted, ..AddressGrants::default() });
        let resolved = proxy::resolve_setting("http://127.0.0.1:3128", &Default::default(), &guard);
        assert_eq!(resolved.is_ok(), expected, "{grant}");
    }
}

#[tokio::test]
async fn no_robots_txt_reaches_a_private_host() {
    let canary = Server::start_at(PRIVATE, |_, _| ServerAction::page("secret")).await;
    for spelling in SPELLINGS {
        let address = format!("http://{spelling}:{}/robots.txt", canary.address.port());
        let there = address.clone();
        let server = Server::start(move |asked, _| match asked.starts_with("GET /robots.txt ") {
            true => ServerAction::go(&there),
            false => ServerAction::page("<p>ok"),
        })
        .await;
        let mut task = careless(&server, spelling);
        task.fetch.robots_txt = true;
        let walked = walk(&task, "").await;
        assert!(walked.result.is_ok(), "{address}: a robots.txt that leads astray is as good as none");
        assert_eq!(server.heard().len(), 2, "{address}");
    }
    assert!(canary.heard().is_empty(), "the canary was reached");
}

/// Where a URL can come from: a name for it, the script, and what the site sends.
type Way = (&'static str, fn(&str) -> String, fn(&str) -> ServerAction);

const WAYS: [Way; 7] = [
    ("start URL", |address| format!("step = [{{ get = '{address}' }}]"), |_| ServerAction::page("")),
    ("redirect", |_| String::new(), ServerAction::go),
    (
        "form action",
        |_| "step = [{ get = '/' }, { submit = { form = '#f', fields = { q = 'x' } } }]".to_owned(),
        |address| ServerAction::page(&format!("<form id=f action=\"{address}\"><input name=q></form>")),
    ),
    (
        "next link",
        |_| "step = [{ get = '/' }, { paginate = { next = { rel = 'next' } } }]".to_owned(),
        |address| ServerAction::page(&format!("<ul><li>one</ul><a rel=next href=\"{address}?page=2\">Next</a>")),
    ),
    (
        "meta refresh",
        |_| String::new(),
        |address| ServerAction::page(&format!("<meta http-equiv=refresh content=\"0;url={address}\">")),
    ),
    ("proxy", |_| String::new(), |_| ServerAction::page("")),
    ("robots.txt", |_| String::new(), ServerAction::go),
];

/// Tries every spelling in every way; returns how many walks there were and what the canary heard. With `is_open` the
/// guard takes the canary's address for a public one.
async fn try_all(is_open: bool) -> (usize, usize) {
    let canary = Server::start_at(PRIVATE, |_, _| ServerAction::page("secret")).await;
    let mut walks = 0;
    for (way, script, answer) in WAYS {
        for spelling in SPELLINGS {
            let address = format!("http://{spelling}:{}/", canary.address.port());
            let there = address.clone();
            let server = Server::start(move |_, _| answer(&there)).await;
            let mut task = careless(&server, spelling);
            task.fetch.robots_txt = way == "robots.txt";
            task.fetch.proxy = (way == "proxy").then(|| address.clone());
            let script = script(&address);
            let mut guard = guard(&task, &toml::from_str(&script).expect("a script of the test"));
            if is_open {
                guard.test_overrides.public.insert(PRIVATE);
            }
            // A proxy at a private address is refused before there is a session.
            if way != "proxy" || proxy::resolve_setting(&address, &Default::default(), &guard).is_ok() {
                walk_as(&task, &script, guard).await;
            }
            walks += 1;
        }
    }
    (walks, canary.heard().len())
}

#[tokio::test]
#[allow(clippy::print_stdout, reason = "the line is gathered into docs/promises.md")]
async fn promise_22_no_spelling_in_any_place_reaches_a_private_host() {
    let (walks, reached) = try_all(false).await;
    let (_, control) = try_all(true).await;
    println!(
        "PROMISE 22 | {} spellings of private addresses as {}, {walks} walks; connections at a loopback canary \
         | {reached} | control: {control}",
        SPELLINGS.len(),
        WAYS.map(|(way, ..)| way).join(", ")
    );
    assert_eq!(reached, 0, "the canary was reached");
    assert!(control > WAYS.len(), "the control reaches it in every way: {control}");
}
