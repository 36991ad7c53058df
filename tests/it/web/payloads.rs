//! No script of a site runs in the dashboard, whatever field it arrives in. The browser bypasses the dashboard's
//! content security policy, so that the pages themselves are tested.

#![allow(clippy::print_stdout, reason = "what ran is printed beside the line of the promise")]

use chrono::Utc;
use pieme::model::{Failure, NumberStatistics, PageMeta, Row, RunId, TaskName, TraceLine, Verdict};
use pieme::store::{RunStart, Store, Trigger};
use serde_json::json;
use url::Url;

use super::super::promises::{report, times};
use super::super::stage::Stage;
use super::{Browser, log_in, open, press_step};

/// `ran()` reports that a script ran; `data-x` shows that a text became an element.
const PAYLOADS: [&str; 60] = [
    "<script data-x>ran()</script>",
    "\"><script data-x>ran()</script>",
    "'><script data-x>ran()</script>",
    "</script><script data-x>ran()</script>",
    "</title><script data-x>ran()</script>",
    "</textarea><script data-x>ran()</script>",
    "</style><script data-x>ran()</script>",
    "</pre><script data-x>ran()</script>",
    "</code></pre><img data-x src=x onerror=ran()>",
    "</svg><img data-x src=x onerror=ran()>",
    "<img data-x src=x onerror=ran()>",
    "<img data-x src=x onerror=\"ran()\">",
    "\"><img data-x src=x onerror=ran()>",
    "'><img data-x src=x onerror=ran()>",
    "<img/data-x/src=x/onerror=ran()>",
    "<IMG data-x SRC=x ONERROR=ran()>",
    "<img data-x src=`x` onerror=ran()>",
    "<img data-x src=x onerror=ran()//",
    "<svg data-x onload=ran()>",
    "<svg data-x/onload=ran()>",
    "<svg><script data-x>ran()</script></svg>",
    "<svg><animate data-x onbegin=ran() attributeName=x dur=1s>",
    "<svg><a data-x xlink:href=javascript:ran()><text>x</text></a></svg>",
    "<math><a data-x xlink:href=javascript:ran()>x</a></math>",
    "<body data-x onload=ran()>",
    "<iframe data-x src=javascript:ran()></iframe>",
    "<iframe data-x srcdoc='<script>parent.ran()</script>'></iframe>",
    "<object data-x data=javascript:ran()></object>",
    "<embed data-x src=javascript:ran()>",
    "<video data-x><source onerror=ran()></video>",
    "<video data-x src=x onerror=ran()></video>",
    "<audio data-x src=x onerror=ran()></audio>",
    "<details data-x open ontoggle=ran()>x</details>",
    "<input data-x autofocus onfocus=ran()>",
    "<select data-x autofocus onfocus=ran()></select>",
    "<textarea data-x autofocus onfocus=ran()></textarea>",
    "<marquee data-x onstart=ran()>x</marquee>",
    "<form data-x action=javascript:ran()><input type=submit></form>",
    "<form><button data-x formaction=javascript:ran()>x</button></form>",
    "<a data-x href=javascript:ran()>x</a>",
    "<base data-x href=//evil.test/>",
    "<link data-x rel=stylesheet href=//evil.test/x.css>",
    "<meta data-x http-equiv=refresh content='0;url=javascript:ran()'>",
    "<style data-x>@import '//evil.test/x.css';</style>",
    "<template data-x><script>ran()</script></template>",
    "<noscript><p data-x title='</noscript><img src=x onerror=ran()>'>",
    "<!--><img data-x src=x onerror=ran()>-->",
    "<![CDATA[<img data-x src=x onerror=ran()>]]>",
    "<?xml version='1.0'?><img data-x src=x onerror=ran()>",
    "\" onmouseover=ran() data-x=\"",
    "' onmouseover=ran() data-x='",
    "\" autofocus onfocus=ran() data-x \"",
    "` onerror=ran() data-x `",
    "javascript:ran()",
    "JaVaScRiPt:ran()",
    "data:text/html,<script data-x>parent.ran()</script>",
    "&lt;script data-x&gt;ran()&lt;/script&gt;",
    "\u{0}<script data-x>ran()</script>",
    "{{constructor.constructor('ran()')()}}${ran()}",
    "\u{2028}</script><script data-x>ran()</script>\u{2029}",
];

/// A task whose every text is hostile: title, columns, cells, sentence, steps, addresses, headers, page, comments.
fn hostile(stage: &Stage, store: &mut Store, name: &str, text: &str, cells: &[&str]) {
    let title = toml::Value::from(text.replace('\u{0}', "")).to_string();
    stage.write_task(name, "/products", &format!("enabled = false\ntitle = {title}"));
    let file = format!("tasks/{name}/robot.toml");
    stage.write(&file, &format!("[[step]]\nget = \"/products\"\n[[step]]\nset = {{ x = {title} }}\n"));
    let task = TaskName::new(name).expect("a name");
    store.upsert_task(&task, Some(text), Utc::now()).expect("our own store");
    let page = PageMeta {
        url: Url::parse(&format!("http://shop.example/{text}?q={text}#{text}")).expect("an address"),
        status: 200,
        headers: vec![
            ("content-type".to_owned(), format!("text/html; charset={text}")),
            ("x".to_owned(), text.to_owned()),
        ],
        fetched_at: Utc::now(),
        elapsed_ms: 1,
        saved_as: Some(text.to_owned()),
    };
    let columns = [text.to_owned(), format!("{text} link")];
    let row = |cell: &&str, before: &str| Row {
        cells: vec![Some(format!("{before}{cell}")), Some(format!("http://shop.example/{cell}"))],
        page: 1,
    };
    // The second publication changes every row, so that the previous values are shown as well.
    for (outcome, before) in [("published", text), ("published", ""), ("quarantined", ""), ("failed", "")] {
        let run = begin(store, &task);
        let rows: Vec<Row> = cells.iter().map(|cell| row(cell, before)).collect();
        store.stage_rows(run, &task, &columns, &columns[1..], &rows, Utc::now()).expect("rows");
        let line = TraceLine { at: Utc::now(), step: 1, verb: text.to_owned(), text: text.to_owned() };
        store.append_trace(run, &[line]).expect("a line");
        let body = zstd::bulk::compress(text.as_bytes(), 1).expect("it can be packed");
        store.store_page(run, 0, &page, &body).expect("a page");
        let mut verdict = Verdict::failed(Failure::Robot, text);
        if outcome != "failed" {
            let cause = if outcome == "published" { "changed" } else { "layout" };
            verdict.outcome = pieme::model::Outcome::from_words(outcome, cause).expect("an outcome");
            (verdict.rows, verdict.pages, verdict.similarity) = (rows.len() as u64, 1, Some(0.5));
            verdict.statistics.numbers = columns.iter().map(|column| numbers(column, text)).collect();
        }
        store.end_run(run, &verdict, Utc::now()).expect("an end");
    }
}

/// Statistics of a numeric column with a hostile name and a hostile currency.
fn numbers(column: &str, currency: &str) -> NumberStatistics {
    let (column, currency) = (column.to_owned(), Some(currency.to_owned()));
    NumberStatistics { column, currency, count: 1, least: 1.0, lower: 1.0, median: 1.0, upper: 1.0, most: 1.0 }
}

fn begin(store: &mut Store, task: &TaskName) -> RunId {
    let run = RunId::new();
    let start =
        RunStart { run, task: task.clone(), slot: None, trigger: Trigger::Person, started_at: Utc::now(), pid: None };
    store.begin_run(&start).expect("a run");
    run
}

fn all_pages(stage: &Stage, task: &str) -> Vec<String> {
    let mut paths: Vec<String> = ["", "?q=x", "/aside", "/changes", "/duplicates", "/runs", "/files"]
        .iter()
        .map(|side| format!("task/{task}{side}"))
        .collect();
    let key = stage.sql(&format!(
        "SELECT lower(hex(r.key)) FROM _changed_record r JOIN _change c ON c.id = r.change \
         WHERE c.task = '{task}' LIMIT 1"
    ));
    paths.push(format!("task/{task}/record/{key}"));
    let runs = stage.sql(&format!("SELECT id FROM _runs WHERE task = '{task}'"));
    for run in runs.lines() {
        paths.extend(["", "/page/1", "/page/1/source"].map(|more| format!("task/{task}/run/{run}{more}")));
    }
    paths
}

#[test]
fn promise_24_no_payload_in_any_field_runs_on_any_page() {
    let mut stage = Stage::new();
    std::fs::create_dir_all(stage.path("state")).expect("a folder");
    let mut store = Store::open(&stage.path("state/pieme.db")).expect("a new store");
    // All together, in both orders: one payload could swallow the rest.
    let (forward, backward) = (PAYLOADS.join(" "), PAYLOADS.iter().rev().copied().collect::<Vec<_>>().join(" "));
    hostile(&stage, &mut store, "forward", &forward, &PAYLOADS);
    hostile(&stage, &mut store, "backward", &backward, &PAYLOADS);
    for (number, payload) in PAYLOADS.iter().enumerate() {
        hostile(&stage, &mut store, &format!("p{number}"), payload, &[payload]);
    }
    // A mistake in a file is shown with its line.
    stage.write("tasks/broken/task.toml", &format!("url = 'x' # {}\n", PAYLOADS.join(" ").replace('\u{0}', "")));
    drop(store);
    let url = open(&mut stage);
    let mut browser = Browser::start();
    browser.call("Page.setBypassCSP", json!({ "enabled": true }));
    let hear = "window.heard = 0; window.ran = () => { window.heard += 1 };";
    browser.call("Page.addScriptToEvaluateOnNewDocument", json!({ "source": hear }));
    log_in(&mut browser, &url);
    // The control: as markup the payloads run, and are detected.
    let inject = format!("document.body.insertAdjacentHTML('beforeend', {:?})", PAYLOADS[10]);
    browser.eval(&inject);
    browser.wait_for("the control to run", "window.heard > 0");
    let control = harm(&mut browser, "the control");
    assert_eq!(control, 1);

    let mut paths: Vec<String> =
        ["", "?page=2", "?q=script", "search?q=script", "search?q=ran", "task/broken", "task/broken/files"]
            .map(str::to_owned)
            .to_vec();
    let tasks = ["forward", "backward", "p0", "p5", "p49"].map(str::to_owned);
    let every = (0..PAYLOADS.len()).map(|number| format!("p{number}"));
    paths.extend(tasks.into_iter().chain(every.take(times(0, PAYLOADS.len()))).flat_map(|it| all_pages(&stage, &it)));
    let query: String = url::form_urlencoded::byte_serialize(forward.as_bytes()).collect();
    paths.extend(
        [
            "?q=",
            "?state=",
            "search?q=",
            "task/forward?sort=",
            "task/forward/runs?column=",
            "task/forward/duplicates?across=true&look=true&by=",
            "task/",
            "log-in?next=",
        ]
        .map(|it| format!("{it}{query}")),
    );
    browser.goto(&format!("{url}task/forward"));
    assert_ne!(browser.eval("document.querySelectorAll('#sheet td.changed del').length"), 0, "what was is there");
    paths.push("task/forward/duplicates?across=true&look=true".to_owned());
    let (pages, mut violations) = (paths.len(), 0);
    for path in paths {
        browser.goto(&format!("{url}{path}"));
        violations += harm(&mut browser, &path);
        // A refresh inserts untrusted text as well.
        browser.eval(
            "import(document.querySelector('script[src$=\"app.js\"]')?.src \
             ?? 'data:text/javascript,export const refresh=()=>0').then(it => it.refresh())",
        );
        violations += harm(&mut browser, &format!("{path}, refreshed"));
    }
    walk(&mut browser, &stage, &url);
    let counted = format!(
        "{} payloads in every field on {pages} pages, each also refreshed, without the content security policy; \
         a script ran or a text became an element",
        PAYLOADS.len()
    );
    report(24, &counted, violations, control);
}

/// 1 if a payload ran or became an element since the page was opened.
fn harm(browser: &mut Browser, path: &str) -> usize {
    let seen = (browser.eval(FOUND), browser.eval("window.heard"));
    let is_harmed = seen != (json!(0), json!(0));
    if is_harmed {
        println!("{path}: {seen:?}");
    }
    usize::from(is_harmed)
}

/// A stepping session shows the text of robot.toml and the variables.
fn walk(browser: &mut Browser, stage: &Stage, url: &str) {
    // An unknown variable would be refused.
    let text = toml::Value::from(PAYLOADS.join(" ").replace('\u{0}', "").replace("${", "$ {")).to_string();
    let robot = format!("[[step]]\nget = \"/products\"\n[[step]]\nset = {{ x = {text} }}\n");
    stage.write("tasks/forward/robot.toml", &robot);
    stage.wait_for_state("forward", "paused");
    browser.goto(&format!("{url}task/forward/step"));
    for path in ["", "/next", "/next"] {
        press_step(browser, path);
        assert!(browser.text_of(".steps li:nth-child(2) pre").contains("ran()"), "{}", browser.text());
        assert_eq!((browser.eval(FOUND), browser.eval("window.heard")), (json!(0), json!(0)), "step{path}");
    }
}

/// Elements and attributes that only a payload can have made.
const FOUND: &str = "document.querySelectorAll('[data-x], [onerror], [onload], [onfocus], [onmouseover], \
                     [href^=\"javascript\" i], \
                     [src^=\"javascript\" i], [action^=\"javascript\" i], base, object, embed').length";
