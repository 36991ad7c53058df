//! Attacks by a hostile site over the network. Here and not in tests/, since only here a host name can be made public.
//!
//! The numbers in the names are those of the inputs in docs/design/safety.md 6: input 13 is 6.13 there. Causes: silence
//! is `timeout`; a cut or malformed response, another scheme or a private address is `network`; too large is `limit`; a
//! bad certificate is `tls`.

pub(super) mod server;
mod answers;
mod addresses;
mod secrets;
mod safe_connections;
mod paging;
mod manners;
mod private_addresses;
mod hooks;

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use super::*;
use crate::model::PageMeta;
use server::{Server, ServerAction};

/// The address of hostile servers; it counts as public.
const PUBLIC: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
/// A private address that no request may reach.
pub(super) const PRIVATE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A guard for which `public.test`, `sub.public.test` and `other.test` are public hosts.
fn guard(task: &Task, script: &Script) -> Guard {
    let mut guard = Guard::new(task, script, &AddressGrants::default());
    guard.test_overrides.public.insert(PUBLIC);
    for name in ["public.test", "sub.public.test", "other.test"] {
        guard.test_overrides.resolve_to(name, &[&[PUBLIC]]);
    }
    guard
}

fn task(toml: &str) -> Task {
    let mut task: Task = toml::from_str(toml).expect("a task of the test");
    task.fetch.delay = crate::model::TimeSpan::default();
    task
}

/// No robots.txt and no retries, unless the test is about them.
const PLAIN: &str =
    "url = 'http://public.test/'\nfetch.robots_txt = false\nfetch.retries = 0\nlimits.max_page_bytes = '1M'\n";

fn session_for(task: &Task) -> Session {
    session_with(task, guard(task, &Script::default()))
}

fn session_with(task: &Task, guard: Guard) -> Session {
    session_with_secrets(task, &BTreeMap::new(), guard)
}

fn session_with_secrets(task: &Task, secrets: &BTreeMap<String, GrantedSecret>, guard: Guard) -> Session {
    let mut session = new_session(task, secrets, guard, CookieJar::default(), Duration::from_secs(60));
    session.transport.timeouts.first_retry_delay = Duration::from_millis(1);
    session
}

pub(super) fn new_session(
    task: &Task,
    secrets: &BTreeMap<String, GrantedSecret>,
    guard: Guard,
    jar: CookieJar,
    time: Duration,
) -> Session {
    Session::new(task, secrets, guard, jar, Box::new(StandaloneHost::default()), Instant::now() + time)
        .unwrap_or_else(|error| panic!("{error}"))
}

pub(super) fn meta(url: &str, status: u16, headers: &[(&str, &str)]) -> PageMeta {
    PageMeta {
        url: url.parse().expect("a URL of the test"),
        status,
        headers: headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        fetched_at: Utc::now(),
        elapsed_ms: 0,
        saved_as: None,
    }
}

fn session() -> Session {
    session_for(&task(PLAIN))
}

/// Fetches the server's front page as `public.test`.
async fn get(session: &mut Session, server: &Server) -> Result<Page, error::SessionError> {
    session.send(PageRequest::get(server.url("public.test", "/"))).await
}

/// Records the pages and the trace of a walk.
#[derive(Default)]
struct WalkRecorder {
    pages: usize,
    trace: String,
    /// The links of class `detail`, as if they were a column.
    links: Vec<RecordLink>,
    details: Vec<usize>,
}

impl Observer for WalkRecorder {
    fn page(&mut self, page: &Page, tree: &Tree, _with: &[(String, String)], _arrival: Arrival) -> PageRows {
        self.pages += 1;
        let links = tree.elements("a").filter(|link| tree.class(*link) == Some("detail"));
        let addresses = links.filter_map(|link| page.meta.url.join(tree.attribute(link, "href")?).ok());
        self.links.extend(addresses.enumerate().map(|(record, url)| RecordLink { record, url }));
        let rows = tree.elements("li").count();
        PageRows { all: rows, new: rows }
    }

    fn count_new_rows(&mut self, tree: &Tree, _with: &[(String, String)]) -> usize {
        tree.elements("li").count()
    }

    fn links(&mut self, _column: Option<&str>) -> Result<Vec<RecordLink>, LinksError> {
        Ok(std::mem::take(&mut self.links))
    }

    fn detail(&mut self, record: usize, _page: &Page, _tree: &Tree) {
        self.details.push(record);
    }

    fn save(&mut self, _page: &Page, _name: &str) {}

    fn trace(&mut self, line: TraceLine) {
        self.trace.push_str(&line.text);
        self.trace.push('\n');
    }
}

struct WalkReport {
    result: Result<(), WalkError>,
    recorder: WalkRecorder,
    remark: Option<String>,
}

/// A secret that is granted for these addresses.
fn granted(value: &str, urls: &[&str]) -> GrantedSecret {
    let origin = |url: &&str| crate::model::Origin::of(&Url::parse(url).expect("a URL")).expect("an origin");
    GrantedSecret { value: value.to_owned(), origins: urls.iter().map(origin).collect() }
}

/// Walks as a run does, with a secret `key` of value `hush-hush`, granted for every address of `public.test` that the
/// script names.
async fn walk_with(
    task: &Task,
    script: &str,
    guard: Guard,
    observer: &mut dyn Observer,
) -> (Result<(), WalkError>, Option<String>) {
    let named: Vec<&str> = script.split('\'').filter(|it| it.contains("://public.test")).collect();
    let script: Script = toml::from_str(script).expect("a script of the test");
    let secrets = BTreeMap::from([("key".to_owned(), granted("hush-hush", &named))]);
    let (files, deadline) = (BTreeMap::new(), Instant::now() + Duration::from_secs(60));
    let order = WalkInput {
        task,
        script: &script,
        addresses: &AddressGrants::default(),
        secrets: &secrets,
        files: &files,
        cookies: None,
        deadline,
        browser: None,
    };
    let today = Utc::now().date_naive();
    let mut walker = Walker::new(&order, session_with_secrets(task, &secrets, guard), observer, today);
    let result = steps::run_script(&mut walker, &script.steps).await;
    (result, walker.remark.take())
}

async fn walk_as(task: &Task, script: &str, guard: Guard) -> WalkReport {
    let mut seen = WalkRecorder::default();
    let (result, remark) = walk_with(task, script, guard, &mut seen).await;
    WalkReport { result, recorder: seen, remark }
}

async fn walk(task: &Task, script: &str) -> WalkReport {
    walk_as(task, script, guard(task, &toml::from_str(script).expect("a script of the test"))).await
}

#[tokio::test]
async fn a_good_page_comes_through() {
    let server = Server::start(|_, _| ServerAction::page("<p>ok</p>")).await;
    let page = get(&mut session(), &server).await.expect("a page");
    assert_eq!(page.body, b"<p>ok</p>");
}
