//! Nothing leaks over many requests: every verb of the CLI and every page of the dashboard, repeatedly.

use std::os::unix::net::UnixStream;
use std::time::Duration;

use chrono::Utc;
use pieme::daemon::http::control::{ControlRequest, call_blocking};
use pieme::model::TaskName;
use pieme::store::ReviewAction;
use pieme::web::routes;
use reqwest::Client;
use tokio::runtime::Runtime;

use super::p20_leaks::leaks_over;
use super::vitals::Vitals;
use super::{report, times};
use crate::stage::Stage;
use crate::web::gate::Guest;
use crate::web::open;

const SHOP: &str = "practice-shop";
/// A task that never runs by itself, to be paused and resumed.
const IDLE: &str = "idle";
const PATIENCE: Duration = Duration::from_secs(60);
/// Kilobytes. Each of four connections to the store has a cache, and the allocator keeps what it had.
const MOST_GROWTH: u64 = 8 << 10;
/// How much less often the program itself is started than its requests are made.
const A_START_EVERY: usize = 50;

/// Every verb that asks the daemon or reads its store, as it is typed.
const VERBS: &[&[&str]] = &[
    &["status"],
    &["status", SHOP],
    &["status", "--json"],
    &["status", "--check"],
    &["run", SHOP],
    &["pause", IDLE],
    &["resume", IDLE],
    &["rollback", IDLE],
    &["test", SHOP],
    &["label", SHOP, "--json"],
    &["records", SHOP],
    &["export", SHOP, "--format", "csv"],
    &["diff", SHOP],
    &["history", SHOP],
    &["duplicates", SHOP],
    &["search", "kettle"],
    &["log", SHOP],
    &["alert", "list"],
    &["secret", "list"],
    &["validate"],
    &["doctor"],
    &["gc", "--dry-run"],
    &["explain", SHOP],
];

/// Verbs that start a daemon or a site themselves, work on files and addresses, or are covered by the requests of
/// others.
const ELSEWHERE: &[&str] = &[
    "demo",
    "add",
    "step",
    "migrate-store",
    "learn",
    "extract",
    "replay",
    "repair",
    "pager",
    "forms",
    "curl2robot",
    "har2robot",
    "web",
    "completions",
    "help",
];

#[test]
fn promise_20_no_verb_and_no_page_leaks() {
    let (warm_up, rounds) = (times(2, 200), times(6, 10_000));
    let mut stage = Stage::new();
    stage.drop_folder(SHOP);
    stage.write_task(IDLE, "/products", "enabled = false");
    let url = open(&mut stage);
    let daemon = stage.daemon_pid();
    stage.wait_for_state(SHOP, "ok");
    assert_eq!(stage.pieme(&["pause", SHOP]).code, 0, "its schedule keeps out of this");
    assert_eq!(uncovered_verbs(&stage), Vec::<String>::new(), "a new verb belongs into VERBS or ELSEWHERE");
    let visitor = Visitor::new(&stage, &url);
    let round = |number: usize| {
        visitor.look_at_all_pages();
        make_all_requests(&stage);
        if number.is_multiple_of(times(1, A_START_EVERY)) {
            type_all_verbs(&stage);
        }
        stage.wait_for("the run's process to be gone", || stage.children_of(daemon).is_empty());
        Vitals::of(daemon)
    };
    for number in 0..warm_up {
        round(number);
    }
    let seen: Vec<Vitals> = (0..rounds).map(round).collect();
    let counted = format!(
        "{rounds} times each of {} pages of the dashboard by new and by kept connections \
         and of {} requests of the CLI, {} times \
         each of {} command lines: growth of memory over 8 MB, of files, of threads",
        visitor.paths.len(),
        REQUESTS,
        rounds / times(1, A_START_EVERY),
        VERBS.len(),
    );
    report(20, &counted, leaks_over(&seen, MOST_GROWTH), leaks_over(&leaking(rounds.min(MOST_FORGOTTEN)), MOST_GROWTH));
}

/// Rounds of the control: a process may hold only so many descriptors.
const MOST_FORGOTTEN: usize = 1_000;

/// The control: this process, leaking a connection each time.
fn leaking(rounds: usize) -> Vec<Vitals> {
    let mut forgotten = Vec::new();
    let round = |_| {
        forgotten.extend(UnixStream::pair());
        forgotten.extend(UnixStream::pair());
        Vitals::of(std::process::id())
    };
    (0..rounds.min(100)).map(round).collect()
}

fn uncovered_verbs(stage: &Stage) -> Vec<String> {
    let help = stage.pieme(&["--help"]).stdout;
    let commands = help.lines().skip_while(|line| !line.starts_with("Commands:")).skip(1);
    let verbs: Vec<String> = commands
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next().map(str::to_owned))
        .filter(|verb| !verb.is_empty())
        .collect();
    assert!(verbs.len() > 20, "the verbs were found: {help}");
    let is_known = |verb: &String| VERBS.iter().any(|words| words[0] == verb) || ELSEWHERE.contains(&verb.as_str());
    verbs.into_iter().filter(|verb| !is_known(verb)).collect()
}

fn type_all_verbs(stage: &Stage) {
    for words in VERBS {
        let said = stage.pieme(words);
        assert!(said.code >= 0, "{words:?} was killed: {}", said.stderr);
    }
}

/// Requests that [`make_all_requests`] makes.
const REQUESTS: usize = 8;

/// Makes all requests of the CLI with its own client; runs are requested by the program.
fn make_all_requests(stage: &Stage) {
    let (socket, idle) = (stage.path("state/control.sock"), TaskName::new(IDLE).expect("a name"));
    let nobody = TaskName::new("nobody").expect("a name");
    let requests = [
        ControlRequest::Progress,
        ControlRequest::Tasks { undelivered_since: Utc::now() },
        ControlRequest::Pause { task: idle.clone() },
        ControlRequest::Resume { task: idle.clone() },
        ControlRequest::Resort { task: idle, what: ReviewAction::Drop },
        ControlRequest::Collect { dry_run: true },
        ControlRequest::Run { task: nobody },
    ];
    assert_eq!(requests.len() + 1, REQUESTS);
    for request in requests {
        let mut answers = 0;
        call_blocking(&socket, &request, PATIENCE, |_| answers += 1).expect("the daemon answers, and hangs up");
        assert!(answers > 0, "{request:?}");
    }
    // A client that connects and leaves.
    drop(UnixStream::connect(&socket).expect("the daemon listens"));
}

/// A browser that opens every page of the router.
struct Visitor {
    url: String,
    session: String,
    paths: Vec<String>,
    runtime: Runtime,
    /// With and without keep-alive.
    clients: [Client; 2],
}

impl Visitor {
    fn new(stage: &Stage, url: &str) -> Visitor {
        let run = stage.sql("SELECT id FROM _runs WHERE outcome = 'published' LIMIT 1");
        let filled = |path: &str| {
            let path =
                path.replace("{name}", SHOP).replace("{run}", &run).replace("{number}", "1").replace("{version}", "0");
            path.trim_start_matches('/').replace("{id}", "0").replace("{key}", "0").replace("{file}", "style.css")
        };
        let paths: Vec<String> =
            routes().iter().filter(|route| route.method == "GET").map(|route| filled(route.path)).collect();
        let unfilled: Vec<&String> = paths.iter().filter(|path| path.contains('{')).collect();
        assert!(unfilled.is_empty(), "a page with a part of a new kind: {unfilled:?}");
        // reqwest wants a provider also for plain http; another test may have installed it.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let kept = Client::builder().redirect(reqwest::redirect::Policy::none());
        let new = Client::builder().redirect(reqwest::redirect::Policy::none()).pool_max_idle_per_host(0);
        Visitor {
            url: url.to_owned(),
            session: Guest::log_in(url).session().to_owned(),
            paths,
            runtime: tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime"),
            clients: [kept, new].map(|client| client.build().expect("a client")),
        }
    }

    fn look_at_all_pages(&self) {
        for client in &self.clients {
            for path in &self.paths {
                self.runtime.block_on(self.look_at(client, path));
            }
        }
    }

    async fn look_at(&self, client: &Client, path: &str) {
        let request = client.get(format!("{}{path}", self.url)).header("cookie", &self.session).timeout(PATIENCE);
        let answer = request.send().await.unwrap_or_else(|error| panic!("{path}: {error}"));
        assert!(answer.status().as_u16() < 500, "{path}: {}", answer.status());
        // The event stream never ends: leaves after the first event.
        if path != "events" {
            answer.bytes().await.unwrap_or_else(|error| panic!("{path}: {error}"));
        }
    }
}
