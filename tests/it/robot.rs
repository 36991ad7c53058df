//! The robot against the practice site, on loopback.

use std::collections::{BTreeMap, HashSet};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use pieme::model::script::secret_origins;
use pieme::model::{AddressGrants, Failure, GrantedSecret, Origin, Page, Script, Task, TraceLine};
use pieme::page::{Selector, Tree};
use pieme::practice::ways::CODE_KEY;
use pieme::practice::{PASSWORD, Site};
use pieme::robot::{self, Arrival, LinksError, Observer, PageRows, RecordLink, WalkError, WalkInput, WalkOutcome};
use url::Url;

mod ways;

const LOOPBACK: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
/// A deadline far beyond what these walks need, so that none fails on a busy machine.
const PLENTY: Duration = Duration::from_secs(60);

/// An observer that counts rows by their text, as a template would, and records everything else.
#[derive(Default)]
struct Notes {
    pages: Vec<String>,
    rows: HashSet<String>,
    trace: Vec<String>,
    /// The columns that the rows of each page get from `for_each`.
    with: Vec<String>,
    /// Links of the last page, as if they were a column.
    links: Vec<RecordLink>,
    details: Vec<String>,
    saved: Vec<String>,
}

impl Observer for Notes {
    fn page(&mut self, page: &Page, tree: &Tree, with: &[(String, String)], _arrival: Arrival) -> PageRows {
        self.with.extend(with.iter().map(|(column, value)| format!("{column}={value}")));
        self.pages.push(page.meta.url.to_string());
        if let Ok(json) = serde_json::from_slice::<serde_json::Value>(&page.body) {
            let items = ["items", "data"].iter().find_map(|key| json[key].as_array()).cloned().unwrap_or_default();
            let new = items.iter().filter(|item| self.rows.insert(item["name"].to_string())).count();
            return PageRows { all: items.len(), new };
        }
        self.links = link_column(page, tree);
        let rows = Selector::parse(".products li, .orders tbody tr, .tile, .purchase, main li, body > ul > li")
            .expect("a selector");
        let rows = rows.all(tree, tree.root());
        let new = rows.iter().filter(|&&row| self.rows.insert(tree.text(row))).count();
        PageRows { all: rows.len(), new }
    }

    fn links(&mut self, _column: Option<&str>) -> Result<Vec<RecordLink>, LinksError> {
        Ok(std::mem::take(&mut self.links))
    }

    fn detail(&mut self, record: usize, page: &Page, _tree: &Tree) {
        self.details.push(format!("{record} {}", page.meta.url.path()));
    }

    fn save(&mut self, page: &Page, name: &str) {
        self.saved.push(format!("{name}: {}", page.meta.url.path()));
    }

    fn trace(&mut self, line: TraceLine) {
        self.trace.push(format!("{} {}: {}", line.step, line.verb, line.text));
    }
}

/// The first link of each row.
fn link_column(page: &Page, tree: &Tree) -> Vec<RecordLink> {
    let links = Selector::parse(".products li a").expect("a selector").all(tree, tree.root());
    let urls = links.into_iter().filter_map(|link| page.meta.url.join(tree.attribute(link, "href")?).ok());
    urls.enumerate().map(|(record, url)| RecordLink { record, url }).collect()
}

struct Walked {
    notes: Notes,
    walk: WalkOutcome,
}

impl Walked {
    fn trouble(&self) -> &WalkError {
        self.walk.result.as_ref().expect_err("the walk was to fail")
    }

    fn fails(&self, cause: Failure, sentence: &str) {
        let trouble = self.trouble();
        assert_eq!(trouble.cause, cause, "{}", trouble.sentence);
        assert!(trouble.sentence.contains(sentence), "“{}” has no “{sentence}”", trouble.sentence);
    }

    fn succeeds(&self) {
        if let Err(trouble) = &self.walk.result {
            panic!("{}: {}\n{}", trouble.cause, trouble.sentence, self.notes.trace.join("\n"));
        }
    }

    fn traced(&self, part: &str) {
        assert!(
            self.notes.trace.iter().any(|line| line.contains(part)),
            "no “{part}” in\n{}",
            self.notes.trace.join("\n")
        );
    }
}

/// A task on the practice site; `more` are further lines of its task.toml.
fn task(site: &Site, path: &str, more: &str) -> Task {
    let url = site.url().join(path).expect("a path of the practice site");
    toml::from_str(&format!("url = '{url}'\nfetch.delay = '0s'\nfetch.retries = 0\n{more}"))
        .expect("a task of the test")
}

/// Grants all hosts that the task and the script name.
fn grants(task: &Task, script: &str) -> AddressGrants {
    let script: Script = toml::from_str(script).expect("a script of the test");
    let named = script.addresses().into_iter().filter_map(|text| Url::parse(&text).ok());
    let urls = task.url.iter().cloned().chain(named);
    let entry = |url: Url| format!("{}:{}", url.host_str()?, url.port_or_known_default()?).parse().ok();
    AddressGrants { granted: urls.filter_map(entry).collect(), ..AddressGrants::default() }
}

async fn walk_with(task: &Task, script: &str, password: &str, cookies: Option<&str>, time: Duration) -> Walked {
    walk_granted(task, script, &grants(task, script), password, cookies, time).await
}

async fn walk_granted(
    task: &Task,
    script: &str,
    addresses: &AddressGrants,
    password: &str,
    cookies: Option<&str>,
    time: Duration,
) -> Walked {
    let script: Script = toml::from_str(script).expect("a script of the test");
    let secrets = [("practice_password", password), ("codes", CODE_KEY)];
    let named = secret_origins(&script, task.url.as_ref()).into_values().flatten();
    let origins: Vec<Origin> = task.url.as_ref().and_then(Origin::of).into_iter().chain(named).collect();
    let granted = |value: &str| GrantedSecret { value: value.to_owned(), origins: origins.clone() };
    let secrets = secrets.map(|(name, value)| (name.to_owned(), granted(value))).into();
    let mut notes = Notes::default();
    let files = BTreeMap::from([("towns.csv".to_owned(), "town,zip\nHalifax,B3H\nTruro,B2N\n".to_owned())]);
    let deadline = Instant::now() + time;
    let order = WalkInput {
        task,
        script: &script,
        addresses,
        secrets: &secrets,
        files: &files,
        cookies,
        deadline,
        browser: None,
    };
    let walk = robot::walk(order, &mut notes).await;
    Walked { notes, walk }
}

async fn walk(task: &Task, script: &str) -> Walked {
    walk_with(task, script, PASSWORD, None, PLENTY).await
}

async fn site() -> Site {
    Site::start(LOOPBACK).await.expect("loopback has a free port")
}

const LOGIN: &str = r#"
    [[step]]
    get = "/login"
    [[step]]
    submit = { form = "login", fields = { user = "demo", password = "${secret:practice_password}" } }
    [[step]]
    expect = { text = "Welcome back", cause = "login" }
"#;

#[tokio::test]
async fn a_task_without_script_reads_all_pages_of_the_list() {
    let site = site().await;
    let walked = walk(&task(&site, "/products", ""), "").await;
    walked.succeeds();
    assert_eq!((walked.notes.pages.len(), walked.notes.rows.len()), (4, 48));
    walked.traced("no next page was found");
    assert_eq!(u64::from(walked.walk.requests), site.requests());
}

#[tokio::test]
async fn the_redesigned_list_is_paged_through_as_well() {
    let site = site().await;
    site.set_redesign(true);
    let walked = walk(&task(&site, "/products", ""), "").await;
    walked.succeeds();
    assert_eq!((walked.notes.pages.len(), walked.notes.rows.len()), (4, 48));
}

#[tokio::test]
async fn orders_behind_the_log_in_are_reached_through_the_form_with_its_token() {
    let site = site().await;
    let script = format!("{LOGIN}\n[[step]]\nfollow = {{ text = 'Orders' }}\n[[step]]\npaginate = {{}}\n");
    let walked = walk(&task(&site, "/", ""), &script).await;
    walked.succeeds();
    assert_eq!((walked.notes.pages.len(), walked.notes.rows.len()), (3, 30));
}

#[tokio::test]
async fn a_wrong_password_ends_as_login_and_is_never_shown() {
    let site = site().await;
    let task = task(&site, "/", "");
    let walked = walk_with(&task, LOGIN, "not&the word", None, PLENTY).await;
    walked.fails(Failure::Login, "step 3 (expect): the text “Welcome back” is not on http://127.0.0.1");
    let page = walked.trouble().page.as_ref().expect("the page it stood on");
    assert!(String::from_utf8_lossy(&page.body).contains("Wrong user or password."));
}

#[tokio::test]
async fn no_secret_stands_in_a_trace_a_sentence_or_a_page() {
    let site = site().await;
    let secret = "k&y wörd";
    // The search page repeats the secret in its URL and its heading.
    let script = r#"
        [[step]]
        set = { key = "${secret:practice_password}" }
        [[step]]
        get = { url = "/search", query = { q = "${key}" }, headers = { x-key = "${key}" } }
        [[step]]
        expect = { text = "no such text as ${key}" }
    "#;
    let walked = walk_with(&task(&site, "/", ""), script, secret, None, PLENTY).await;
    walked.fails(Failure::Robot, "the text “no such text as ***” is not on");
    let page = walked.trouble().page.as_ref().expect("the page it stood on");
    let shown = format!("{:?} {} {}", walked.notes.trace, walked.trouble().sentence, page.meta.url);
    let body = String::from_utf8_lossy(&page.body);
    for spelling in [secret, "k%26y", "k&amp;y"] {
        assert!(!shown.contains(spelling) && !body.contains(spelling), "{spelling} in {shown}");
    }
}

#[tokio::test]
async fn a_kept_cookie_keeps_one_logged_in() {
    let site = site().await;
    let task = task(&site, "/", "");
    let first = walk(&task, LOGIN).await;
    first.succeeds();
    let script = "[[step]]\nget = '/orders'\n[[step]]\nexpect = { url = '/orders', cause = 'login' }\n";
    walk_with(&task, script, "", first.walk.cookies.as_deref(), PLENTY).await.succeeds();
    walk_with(&task, script, "", None, PLENTY).await.fails(Failure::Login, "the page is http://127.0.0.1");
}

#[tokio::test]
async fn a_script_without_extract_extracts_its_last_page_once() {
    let site = site().await;
    let script = "[[step]]\nget = '/'\n[[step]]\nsubmit = { form = 'search', fields = { q = 'kitchen' } }\n";
    let walked = walk(&task(&site, "/", ""), script).await;
    walked.succeeds();
    assert_eq!(walked.notes.pages, [site.url().join("/search?q=kitchen").expect("its address").to_string()]);
    assert_eq!(walked.notes.rows.len(), 8);
}

#[tokio::test]
async fn what_a_page_does_not_have_is_answered_with_what_it_has() {
    let site = site().await;
    let task = task(&site, "/login", "");
    let fails = async |step: &str, sentence: &str| {
        walk(&task, &format!("[[step]]\nget = '/login'\n[[step]]\n{step}\n")).await.fails(Failure::Robot, sentence);
    };
    fails(
        "submit = { form = 'signup' }",
        "step 2 (submit): the page has no form named “signup”; it has: search, login",
    )
    .await;
    fails(
        "submit = { form = 'login', fields = { pin = '1' } }",
        "has no field “pin”; it has: user, password, remember",
    )
    .await;
    fails(
        "follow = { text = 'Basket' }",
        "step 2 (follow): the page has no link with text “Basket”; it has: Practice shop, Products",
    )
    .await;
    fails("expect = { css = 'table.orders' }", "step 2 (expect): nothing on http://").await;
}

#[tokio::test]
async fn paging_stops_for_the_reason_that_it_says() {
    let site = site().await;
    for (path, more, script, pages, reason) in [
        ("/bad/endless", "limits.max_pages = 3", "", 3, "stopped after 3 pages (limits.max_pages)"),
        ("/bad/endless", "", "step = [{ get = '/bad/endless' }, { paginate = { max_pages = 2 } }]", 2, "`max_pages`"),
        ("/bad/nolist", "", "", 1, "no new rows"),
        ("/products?page=4", "", "", 1, "no next page was found"),
        (
            "/products",
            "",
            "step = [{ get = '/products' }, { paginate = { next = { text = 'Products' } } }]",
            1,
            "seen before",
        ),
        (
            "/products",
            "",
            "step = [{ get = '/products' }, { paginate = { next = { css = '.pager a' } } }]",
            2,
            "seen before",
        ),
    ] {
        let walked = walk(&task(&site, path, more), script).await;
        walked.succeeds();
        assert_eq!(walked.notes.pages.len(), pages, "{path} {script}\n{}", walked.notes.trace.join("\n"));
        walked.traced(reason);
    }
}

#[tokio::test]
async fn bad_pages_end_in_their_named_cause() {
    let site = site().await;
    for (path, more, cause, sentence) in [
        ("/bad/404", "", Failure::Http, "/bad/404 answered with status 404 Not Found"),
        ("/bad/500", "", Failure::Http, "answered with status 500 Internal Server Error"),
        ("/bad/captcha", "", Failure::Blocked, "answered with status 403 Forbidden"),
        ("/bad/pdf", "", Failure::Http, "is a PDF file, not a web page"),
        ("/bad/cut", "", Failure::Network, "the connection to http://"),
        ("/bad/loop", "", Failure::Http, "redirected more than 10 times"),
        (
            "/bad/huge",
            "limits.max_page_bytes = '1M'",
            Failure::Limit,
            "is larger than 1M; raise `limits.max_page_bytes`",
        ),
        ("/bad/gzip-bomb", "limits.max_page_bytes = '1M'", Failure::Limit, "is larger than 1M"),
        (
            "/bad/endless",
            "limits.max_requests = 3",
            Failure::Limit,
            "limit of requests (3); raise `limits.max_requests`",
        ),
        ("/bad/redirect?to=http://localhost:1/", "", Failure::Network, "localhost is not allowed for this task"),
        ("/bad/redirect?to=file:///etc/passwd", "", Failure::Network, "`file:` addresses are never fetched"),
    ] {
        walk(&task(&site, path, more), "").await.fails(cause, sentence);
    }
}

#[tokio::test]
async fn a_site_that_never_answers_ends_with_the_runs_time() {
    let site = site().await;
    for path in ["/bad/hang", "/bad/slow"] {
        let started = Instant::now();
        let walked = walk_with(&task(&site, path, ""), "", "", None, Duration::from_millis(300)).await;
        walked.fails(Failure::Timeout, "the run reached its time limit while fetching http://127.0.0.1");
        assert!(started.elapsed() < PLENTY / 2, "{path} took {:?}", started.elapsed());
    }
}

#[tokio::test]
async fn odd_pages_are_still_pages() {
    let site = site().await;
    for path in ["/bad/empty", "/bad/nolist"] {
        walk(&task(&site, path, ""), "").await.succeeds();
    }
    let walked = walk(&task(&site, "/bad/latin1", ""), "").await;
    walked.succeeds();
    assert!(walked.notes.rows.contains("Crème brûlée"), "{:?}", walked.notes.rows);
}

#[tokio::test]
async fn a_bad_status_is_no_failure_when_the_script_asks_for_it() {
    let site = site().await;
    let script = "[[step]]\nget = '/bad/404'\n[[step]]\nexpect = { status = 404 }\n";
    walk(&task(&site, "/", ""), script).await.succeeds();
    let other = "[[step]]\nget = '/bad/404'\n[[step]]\nexpect = { status = 200, cause = 'blocked' }\n";
    walk(&task(&site, "/", ""), other).await.fails(Failure::Blocked, "answered with status 404, not 200");
}

#[tokio::test]
async fn private_addresses_are_refused_unless_config_toml_grants_them() {
    let site = site().await;
    let port = site.url().port().expect("the practice site has one");
    for host in ["127.0.0.1", "localhost", "127.1", "2130706433", "[::ffff:127.0.0.1]"] {
        let task: Task = toml::from_str(&format!("url = 'http://{host}:{port}/products'")).expect("a task of the test");
        let nothing = AddressGrants::default();
        let walked = walk_granted(&task, "", &nothing, PASSWORD, None, PLENTY).await;
        walked.fails(Failure::Network, "under [private] in config.toml");
        let one = robot::fetch(&task, task.url.as_ref().expect("it has one"), &nothing).await;
        assert_eq!(one.expect_err("refused as well").cause, Failure::Network);
    }
    assert_eq!(site.requests(), 0, "nothing was asked");
}

#[tokio::test]
async fn nobody_there_is_a_network_failure() {
    // Nothing listens at port 1; a port that was free a moment ago may be another test's by now.
    let toml = "url = 'http://127.0.0.1:1/'\nfetch.retries = 0";
    let task: Task = toml::from_str(toml).expect("a task of the test");
    walk(&task, "").await.fails(Failure::Network, "refused");
}

#[tokio::test]
async fn a_server_that_speaks_no_tls_is_a_tls_failure() {
    let site = site().await;
    let url = site.url().as_str().replace("http:", "https:");
    let task: Task = toml::from_str(&format!("url = '{url}'")).expect("a task of the test");
    walk(&task, "").await.fails(Failure::Tls, "the TLS connection to https://");
}

#[tokio::test]
async fn a_form_is_not_sent_on_to_another_origin() {
    let site = site().await;
    let other = Site::start(LOOPBACK).await.expect("loopback has a free port");
    let there = other.url().join("/login").expect("its address");
    // A page whose login form posts to a URL that redirects with 307 to another port.
    let trap = format!("/bad/redirect?to={there}");
    let walked = walk(&task(&site, "/", ""), &LOGIN.replace("\"/login\"", &format!("\"/bad/form?to={trap}\""))).await;
    walked.fails(Failure::Network, "redirected the form to http://127.0.0.1");
    let walked = walk(&task(&site, "/", ""), &LOGIN.replace("\"/login\"", &format!("\"/bad/form?to={there}\""))).await;
    walked.fails(Failure::Network, "would send a secret to http://127.0.0.1");
    assert_eq!(other.requests(), 0, "the other origin heard nothing");
}

#[tokio::test]
async fn one_page_is_fetched_for_who_adds_a_task() {
    let site = site().await;
    let task = task(&site, "/products", "");
    let granted = grants(&task, "");
    let page = robot::fetch(&task, task.url.as_ref().expect("it has one"), &granted).await.expect("a page");
    assert!(String::from_utf8_lossy(&page.body).contains("class=\"products\""));
    let gone = robot::fetch(&task, &site.url().join("/bad/404").expect("its address"), &granted).await;
    assert_eq!(gone.expect_err("not found").cause, Failure::Http);
}

#[tokio::test]
async fn the_practice_tasks_have_no_mistakes_and_lead_to_their_rows() {
    let site = site().await;
    for (name, rows) in [("practice-shop", 48), ("practice-orders", 30)] {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tasks").join(name);
        let here = |text: String| text.replace("http://127.0.0.1:8643/", site.url().as_str());
        let read = |file: &str| std::fs::read_to_string(folder.join(file)).map(here);
        let task: Task = toml::from_str(&read("task.toml").expect("every task has one")).expect("a good task");
        let script = read("robot.toml").unwrap_or_default();
        assert_eq!(pieme::tasks::check_script(&task, &toml::from_str(&script).expect("a good script")), []);
        let walked = walk(&task, &script).await;
        walked.succeeds();
        assert_eq!(walked.notes.rows.len(), rows, "{name}");
    }
}

#[tokio::test]
async fn a_redesign_shows_the_same_data_and_the_prices_move_when_told() {
    let site = site().await;
    let task = task(&site, "/products", "");
    let products = async || walk(&task, "").await.notes.rows;
    let before = products().await;
    assert_eq!(before, products().await, "the data stand still");
    let switch = "[[step]]\nget = '/switch'\n[[step]]\nsubmit = { form = 'form[action=\"/switch/prices\"]' }\n";
    walk(&task, switch).await.succeeds();
    let after = products().await;
    let moved = before.difference(&after).count();
    assert!((3..=6).contains(&moved), "{moved} of 48 changed");
    site.set_redesign(true);
    let redesigned = products().await;
    assert_eq!(redesigned.len(), 48);
    assert!(redesigned.is_disjoint(&after), "and looks different");
}

#[tokio::test]
async fn a_host_is_asked_again_only_after_the_delay() {
    let site = site().await;
    let toml = format!("url = '{}products'\nfetch.delay = '30ms'", site.url());
    let started = Instant::now();
    walk(&toml::from_str(&toml).expect("a task of the test"), "").await.succeeds();
    assert!(started.elapsed() >= 3 * Duration::from_millis(30), "four pages, three pauses: {:?}", started.elapsed());
}

#[tokio::test]
async fn the_practice_site_stops_when_it_is_dropped() {
    let site = site().await;
    let address = site.url().socket_addrs(|| None).expect("it is an address")[0];
    drop(site);
    let refused = async {
        while tokio::net::TcpStream::connect(address).await.is_ok() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PLENTY, refused).await.expect("nobody answers any more");
}
