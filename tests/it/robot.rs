//! The robot against the practice site, on loopback.

use std::collections::{BTreeMap, HashSet};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use pieme::model::{Failure, Page, Script, Task, TraceLine};
use pieme::page::{Selector, Tree};
use pieme::practice::{PASSWORD, Site};
use pieme::robot::{self, Observer, Order, Trouble, Walk};

const LOOPBACK: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
/// Far more than any of these walks needs, so that a busy machine fails none.
const PLENTY: Duration = Duration::from_secs(60);

/// Counts the list's rows by their text, as a template would; remembers the rest.
#[derive(Default)]
struct Notes {
    pages: Vec<String>,
    rows: HashSet<String>,
    trace: Vec<String>,
}

impl Observer for Notes {
    fn page(&mut self, page: &Page, tree: &Tree) -> usize {
        self.pages.push(page.meta.url.to_string());
        let rows = Selector::parse(".products li, .orders tbody tr, .tile, .purchase, main li, body > ul > li")
            .expect("a selector");
        rows.all(tree, tree.root()).into_iter().filter(|&row| self.rows.insert(tree.text(row))).count()
    }

    fn trace(&mut self, line: TraceLine) {
        self.trace.push(format!("{} {}: {}", line.step, line.verb, line.text));
    }
}

struct Walked {
    notes: Notes,
    walk: Walk,
}

impl Walked {
    fn trouble(&self) -> &Trouble {
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
    toml::from_str(&format!("url = '{url}'\nfetch.allow_private = true\nfetch.delay = '0s'\n{more}"))
        .expect("a task of the test")
}

async fn walk_with(task: &Task, script: &str, password: &str, cookies: Option<&str>, time: Duration) -> Walked {
    let script: Script = toml::from_str(script).expect("a script of the test");
    let secrets = BTreeMap::from([("practice_password".to_owned(), password.to_owned())]);
    let mut notes = Notes::default();
    let order = Order { task, script: &script, secrets: &secrets, cookies, deadline: Instant::now() + time };
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
    walked.traced("no next link");
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
