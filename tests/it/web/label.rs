//! Repairing a redesigned site in the browser: with one key, by keyboard alone, by a click, by enclosing a record.

use serde_json::Value;

use super::super::alerts::listeners::Receiver;
use super::super::stage::Stage;
use super::{Browser, logged_in, open};

const SHOP: &str = "shop";

/// A confirmed shop that has been redesigned, and a logged-in browser.
pub struct Desk {
    pub stage: Stage,
    pub browser: Browser,
    pub url: String,
}

impl Desk {
    pub fn redesigned() -> Desk {
        Desk::of(&[SHOP], "")
    }

    /// The same before the redesign.
    pub fn well() -> Desk {
        let (stage, url) = opened(&[SHOP], "");
        Desk::sit(stage, url)
    }

    fn of(tasks: &[&str], alert: &str) -> Desk {
        let (stage, url) = opened(tasks, alert);
        stage.site.set_redesign(true);
        for task in tasks {
            assert_eq!(stage.pieme(&["run", task, "--json"]).json()["cause"], "layout");
        }
        Desk::sit(stage, url)
    }

    fn sit(stage: Stage, url: String) -> Desk {
        let browser = logged_in(&url);
        Desk { stage, browser, url }
    }

    pub fn go(&mut self, path: &str) {
        self.browser.goto(&format!("{}{path}", self.url));
        self.browser.wait_for("lists and outlines", "document.querySelector('#bench')?.dataset.outlined");
    }

    /// Does something that requests lists, waits until they are shown, and returns the message.
    pub fn changes(&mut self, act: impl FnOnce(&mut Browser)) -> String {
        let count = self.browser.eval("Number(document.querySelector('#bench').dataset.ready)");
        act(&mut self.browser);
        self.browser.wait_for("other lists", &format!("document.querySelector('#bench').dataset.ready > {count}"));
        self.browser.text_of("#said")
    }

    fn key(&mut self, key: &str) {
        let code = match key {
            "Enter" => 13,
            "ArrowLeft" => 37,
            "ArrowRight" => 39,
            letter => letter.chars().next().map_or(0, |it| it.to_ascii_uppercase() as u32),
        };
        self.browser.press(key, code);
    }

    pub fn names(&mut self) -> Vec<String> {
        texts(&self.browser.eval("[...document.querySelectorAll('#sheet th input')].map(it => it.value)"))
    }

    /// Accepts the shown list and waits for the end of the run.
    pub fn take(&mut self) {
        self.key("Enter");
        self.run_ended();
        // The change of the folder may start a second run, which may still be in progress.
        self.stage.wait_for("it to stay so", || ["ok", "changed"].contains(&self.stage.state(SHOP).as_str()));
    }

    /// Waits for the end of the run that accepting the list has started. A good list is `ok` before that run, too: only
    /// the sentence differs.
    pub fn run_ended(&mut self) {
        self.browser.wait_for("the run's end", "document.querySelector('#said').textContent.startsWith('shop: ')");
        // Columns in another order count as a change.
        self.browser.wait_for("ok", "['ok', 'changed'].includes(document.querySelector('#state').textContent)");
    }

    pub fn columns(&self) -> String {
        self.stage.sql("SELECT group_concat(name) FROM pragma_table_info('shop')")
    }

    pub fn records(&self) -> Vec<String> {
        let all = self.stage.pieme(&["records", SHOP, "--json"]).json();
        let mut rows: Vec<String> = all["records"].as_array().into_iter().flatten().map(Value::to_string).collect();
        rows.sort();
        rows
    }
}

/// A dashboard with confirmed shops in state `ok`.
fn opened(tasks: &[&str], alert: &str) -> (Stage, String) {
    let mut stage = Stage::new();
    for task in tasks {
        stage.drop_folder_as("practice-shop", task);
        let file = format!("tasks/{task}/task.toml");
        let text = stage.read(&file);
        stage.write(&file, &format!("{text}\n{alert}"));
    }
    let url = open(&mut stage);
    tasks.iter().for_each(|task| stage.wait_for_state(task, "ok"));
    (stage, url)
}

fn texts(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().map(|it| it.as_str().unwrap_or_default().to_owned()).collect()
}

/// In the frame: scrolls a text of the list to the middle of the view and returns its box.
pub fn place(browser: &mut Browser, text: &str) -> (f64, f64, f64, f64) {
    let found = browser.eval(&format!(
        "(() => {{ const all = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT); let it;
           while (all.nextNode()) if (all.currentNode.data.trim() === {text:?} \
           && all.currentNode.parentElement.closest('main')) it = all.currentNode;
           it.parentElement.scrollIntoView({{ block: 'center' }});
           const range = document.createRange(); range.selectNodeContents(it);
           const box = range.getBoundingClientRect(); return [box.left, box.top, box.right, box.bottom] }})()"
    ));
    let number = |at: usize| found[at].as_f64().expect("a place");
    (number(0), number(1), number(2), number(3))
}

/// In the frame: a point inside the record with this text but beside its values.
const BESIDE_ITS_VALUES: &str = "(() => {
  let row = [...document.querySelectorAll('main [data-n]')].filter(it => it.textContent.includes('26 in stock') \
  && it.textContent.includes('Corvo Seed Tray 243')).pop();
  const box = row.getBoundingClientRect();
  for (let y = box.top + 4; y < box.bottom; y += 5) for (let x = box.left + 4; x < box.right; x += 5) {
    const range = document.createRange();
    const texts = document.createTreeWalker(row, NodeFilter.SHOW_TEXT); const rects = [];
    while (texts.nextNode()) { range.selectNodeContents(texts.currentNode); rects.push(...range.getClientRects()); }
    const isFree = rects.every(it => x < it.left - 5 || x > it.right + 5 || y < it.top - 5 || y > it.bottom + 5);
    if (isFree && row.contains(document.elementFromPoint(x, y))) return [x, y];
  }
})()";

fn click_text(browser: &mut Browser, text: &str) {
    browser.in_frame(|frame| {
        let (left, top, right, bottom) = place(frame, text);
        let middle = ((left + right) / 2.0, (top + bottom) / 2.0);
        frame.drag(middle, middle);
    });
}

#[test]
fn from_the_link_of_the_alert_to_ok_is_one_key() {
    let receiver = Receiver::start();
    let alert = format!("[alert]\nurls = [\"http://127.0.0.1:{}/hook\"]\nafter = 1\n", receiver.port);
    let mut stage = Stage::new();
    let config = stage.read("config.toml");
    let public = "web_url = \"https://pieme.example.org/watch\"\n";
    stage.write("config.toml", &format!("{public}{config}\n[alert]\nallow_private = true\n"));
    stage.drop_folder_as("practice-shop", SHOP);
    let task = stage.read("tasks/shop/task.toml");
    stage.write("tasks/shop/task.toml", &format!("{task}\n{alert}"));
    let url = open(&mut stage);
    stage.wait_for_state(SHOP, "ok");
    let browser = logged_in(&url);
    let mut desk = Desk { stage, browser, url };
    let (before, columns) = (desk.records(), desk.columns());
    desk.stage.site.set_redesign(true);
    assert_eq!(desk.stage.pieme(&["run", SHOP, "--json"]).json()["cause"], "layout");
    desk.stage.wait_for("the alert", || !receiver.taken().is_empty());
    let link = receiver.taken()[0].json()["link"].as_str().expect("a link").to_owned();
    let path = link.strip_prefix("https://pieme.example.org/watch/").expect("the dashboard's address").to_owned();
    assert_eq!(path, "label/shop");

    desk.go(&path);
    assert!(desk.browser.text_of("#why").contains("no longer looks like its template"));
    assert_eq!(desk.browser.eval("document.querySelectorAll('#good tbody tr').length"), 12, "the last good rows");
    assert_eq!(desk.browser.eval("document.querySelector('#bench').dataset.outlined"), "12", "and the rows of now");
    assert_eq!(desk.names(), ["link", "image", "badge", "name", "price", "stock", "rating", "reviews"]);
    desk.browser.eval("window.pressed = 0; addEventListener('keydown', () => pressed++, true)");
    desk.take();
    assert_eq!(desk.browser.eval("window.pressed"), 1, "one key");
    assert_eq!(desk.browser.text_of("#state"), "ok");
    assert_eq!((desk.records(), desk.columns()), (before, columns), "the same rows under the same columns");
    let labels = desk.stage.read("tasks/shop/labels.toml");
    assert!(labels.contains("kind = \"repair\"") && labels.contains("seconds = "), "{labels}");
    desk.stage.wait_for("the good news", || receiver.kinds().contains(&"recovered ok".to_owned()));
    desk.browser.goto(&format!("{}label", desk.url));
    assert!(desk.browser.text().contains("No task waits"));
}

#[test]
fn a_site_is_mended_by_keyboard_alone() {
    let mut desk = Desk::redesigned();
    desk.go("label/shop");
    assert!(desk.changes(|it| it.press("2", 50)).starts_with("List 2 of 5"));
    assert!(desk.changes(|it| it.press("1", 49)).starts_with("List 1 of 5"));
    assert!(desk.changes(|it| it.press("ArrowLeft", 37)).starts_with("Narrower."));
    assert!(desk.changes(|it| it.press("u", 85)).starts_with("Undone."));
    desk.key("ArrowRight");
    desk.browser.wait_for("a refusal", "document.querySelector('#said').textContent.includes('cannot be widened')");
    // A record, found by its text.
    desk.key("t");
    desk.browser.wait_for("the question", "document.querySelector('#record').open");
    desk.browser.call("Input.insertText", serde_json::json!({ "text": "Alba Flask 612" }));
    let said = desk.changes(|it| it.press("Enter", 13));
    assert!(said.contains("12 rows, 8 columns"), "{said}: names are carried over");
    // A name, by keyboard: Enter in the field finishes the name and does not accept the list.
    desk.browser.eval("[...document.querySelectorAll('#sheet th input')].find(it => it.value === 'name').focus()");
    desk.browser.eval("document.activeElement.select()");
    desk.browser.call("Input.insertText", serde_json::json!({ "text": "product" }));
    desk.key("Enter");
    assert_eq!(desk.browser.text_of("#state"), "quarantined", "nothing was taken");
    desk.take();
    assert!(desk.columns().contains("product") && !desk.columns().contains("name"), "{}", desk.columns());
    assert!(desk.stage.read("tasks/shop/labels.toml").contains("Alba Flask 612"), "it can be said again");
}

#[test]
fn a_click_on_a_value_labels_it() {
    let mut desk = Desk::redesigned();
    desk.go("label/shop");
    click_text(&mut desk.browser, "26 in stock");
    desk.browser.wait_for("the question", "document.querySelector('#value').open");
    assert_eq!(desk.browser.text_of("#value q"), "26 in stock");
    let press = "[...document.querySelectorAll('#value .names button')].find(it => it.textContent === 'stock').click()";
    let said = desk.changes(|it| drop(it.eval(press)));
    assert!(said.starts_with("“stock” is labelled.") && said.contains("8 columns"), "{said}");
    let (before, mut now) = (desk.columns(), desk.names());
    now.retain(|name| !before.contains(name.as_str()));
    assert_eq!(now, Vec::<String>::new(), "the other columns keep their names by themselves");
    desk.take();
    assert!(desk.stage.read("tasks/shop/labels.toml").contains("26 in stock"));
    assert_eq!(desk.records().len(), 48);
}

#[test]
fn a_record_is_enclosed_by_dragging_over_it_and_by_a_click_beside_its_values() {
    let mut desk = Desk::redesigned();
    desk.go("label/shop");
    desk.changes(|it| it.press("4", 52));
    let said = desk.changes(|it| {
        it.in_frame(|frame| {
            let (_, _, right, bottom) = place(frame, "Corvo Seed Tray 243");
            let (left, top, ..) = place(frame, "26 in stock");
            frame.drag((left + 2.0, top + 4.0), (right - 2.0, bottom - 4.0));
        });
    });
    assert!(said.starts_with("Everything like the enclosed block is a row.") && said.contains("12 rows"), "{said}");
    assert!(desk.changes(|it| it.press("u", 85)).starts_with("Undone."), "keys are heard at once");
    let said = desk.changes(|it| {
        it.in_frame(|frame| {
            place(frame, "26 in stock");
            let bare = frame.eval(BESIDE_ITS_VALUES);
            let beside = (bare[0].as_f64().expect("a place"), bare[1].as_f64().expect("a place"));
            frame.drag(beside, beside);
        });
    });
    assert!(said.contains("12 rows"), "{said}");
    desk.take();
    assert_eq!(desk.records().len(), 48);
}

#[test]
fn the_next_in_the_queue_comes_by_itself_and_the_one_before_can_be_undone() {
    let mut desk = Desk::of(&["annex", SHOP], "");
    desk.browser.goto(&format!("{}label", desk.url));
    assert_eq!(
        texts(&desk.browser.eval("[...document.querySelectorAll('#waiting a')].map(it => it.textContent)")),
        ["annex", SHOP]
    );
    desk.go("label/annex");
    desk.browser.eval("window.isOld = true");
    desk.key("s");
    desk.browser.wait_for_load("the next");
    assert_eq!(desk.browser.eval("location.pathname"), "/label/shop", "skipped");
    desk.go("label/annex");
    desk.browser.eval("window.isOld = true");
    desk.key("Enter");
    desk.browser.wait_for_load("the next");
    desk.browser.wait_for("the next task's lists", "document.querySelector('#bench')?.dataset.outlined");
    assert_eq!(desk.browser.eval("location.pathname"), "/label/shop");
    desk.browser
        .wait_for("the word on the one before", "document.querySelector('#before-this').innerText === 'annex: ok'");
    desk.stage.wait_for_state("annex", "ok");
    assert!(desk.stage.read("tasks/annex/labels.toml").contains("repair"));
    desk.browser.eval("window.isOld = true");
    desk.key("u");
    desk.browser.wait_for_load("the one before");
    assert_eq!(desk.browser.eval("location.pathname"), "/label/annex");
    assert!(!desk.stage.read("tasks/annex/labels.toml").contains("repair"), "undone");
}

#[test]
fn a_list_that_is_rightly_empty_is_said_to_be_so() {
    let mut desk = Desk::redesigned();
    desk.stage.site.set_failure_mode(pieme::practice::FailureMode::NoResults);
    desk.go("label/shop");
    desk.key("x");
    desk.browser.wait_for("the run's end", "document.querySelector('#said').textContent.startsWith('shop: ')");
    assert!(desk.stage.read("tasks/shop/task.toml").contains("allow_empty = true"));
}

#[test]
fn what_cannot_be_meant_is_answered_with_a_sentence_and_changes_nothing() {
    let mut desk = Desk::redesigned();
    desk.go("label/shop");
    let labels = desk.stage.read("tasks/shop/labels.toml");
    let ask = |desk: &mut Desk, path: &str, body: &str| -> i64 {
        let order = format!(
            "fetch({path:?}, {{ method: 'POST', headers: {{ 'content-type': 'application/json',
               'x-pieme-token': document.querySelector('meta[name=pieme-token]').content }}, \
               body: {body} }}).then(it => it.status)"
        );
        desk.browser.eval(&order).as_i64().unwrap_or(0)
    };
    let run = "0198a000-0000-7000-8000-000000000000";
    let choice = "choice: { pick: 0, names: ['a'], seconds: 1 }";
    for (path, body, code) in [
        ("/label/shop/lists", "JSON.stringify({ help: { enclosed: [{ nodes: [1e9, 1e9] }] } })".to_owned(), 409),
        ("/label/shop/lists", "JSON.stringify({ help: { enclosed: [{ nodes: [-1, 2] }] } })".to_owned(), 422),
        (
            "/label/shop/lists",
            "JSON.stringify({ help: { finish: { candidate: 1e9, adjust: ['widen'] } } })".to_owned(),
            409,
        ),
        ("/label/shop/lists", "JSON.stringify({ help: { records: ['nowhere to be seen'] } })".to_owned(), 409),
        ("/label/shop/lists", "JSON.stringify({ help: { oops: 1 } })".to_owned(), 422),
        ("/label/shop/lists", "'{'".to_owned(), 400),
        ("/label/shop/lists", "'x'.repeat(10_000_000)".to_owned(), 413),
        ("/label/nowhere/lists", "JSON.stringify({ help: {} })".to_owned(), 404),
        ("/label/..%2f..%2fetc/lists", "JSON.stringify({ help: {} })".to_owned(), 404),
        ("/label/shop/take", format!("JSON.stringify({{ run: '{run}', help: {{}}, {choice} }})"), 409),
        ("/add/0123/take", format!("JSON.stringify({{ run: '{run}', help: {{}}, {choice} }})"), 409),
    ] {
        assert_eq!(ask(&mut desk, path, &body), code, "{path} {body}");
    }
    assert_eq!(desk.stage.read("tasks/shop/labels.toml"), labels);
    assert_eq!(desk.stage.state(SHOP), "quarantined");
}
