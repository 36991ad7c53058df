//! What a person does with the dashboard, in a real browser.

use super::super::monitor::{NAMES, labelled, table};
use super::super::stage::Stage;
use super::{Browser, log_in, logged_in, open};

const SHOP: &str = "practice-shop";

#[test]
fn the_status_page_lives_filters_runs_and_pauses() {
    let mut stage = Stage::new();
    let url = open(&mut stage);
    let mut browser = logged_in(&url);
    assert!(browser.text().contains("No tasks yet"), "{}", browser.text());
    browser.eval("window.isSame = true");
    browser.wait_for("news to be heard", "document.documentElement.dataset.live === 'yes'");
    stage.drop_folder(SHOP);
    stage.write_task("flats", "/products", "enabled = false\ntitle = 'Flats in Ulm'");
    browser.wait_for("both tasks", "document.querySelectorAll('#tasks tr').length === 2");
    browser.wait_for("the run's end", "document.querySelector('#task-practice-shop .state')?.textContent === 'ok'");
    assert_eq!(browser.eval("window.isSame"), true, "without a new page");

    browser.fill("#q", "ulm");
    browser.wait_for("one task", "document.querySelectorAll('#tasks tr').length === 1");
    assert_eq!(browser.text_of("#tasks tr a"), "flats");
    assert_eq!(browser.eval("location.search"), "?q=ulm");
    browser.fill("#q", "nothing of that name");
    browser.wait_for("none", "document.body.innerText.includes('No task matches the filter')");
    browser.fill("#q", "shop");
    browser.wait_for("the shop", "document.querySelector('#task-practice-shop')");

    browser.click("#task-practice-shop form[action$='/pause'] button");
    browser.wait_for("the pause", "document.querySelector('#task-practice-shop .state')?.textContent === 'paused'");
    browser.click("#task-practice-shop form[action$='/resume'] button");
    browser.wait_for("its end", "document.querySelector('#task-practice-shop .state')?.textContent !== 'paused'");
    let runs = stage.pieme(&["log", SHOP, "--json"]).json()["runs"].as_array().map_or(0, Vec::len);
    browser.click("#task-practice-shop form[action$='/run'] button");
    stage.wait_for("a run", || {
        stage.pieme(&["log", SHOP, "--json", "--last", "9"]).json()["runs"].as_array().map_or(0, Vec::len) > runs
    });
    assert_eq!(browser.eval("window.isSame"), true, "all of it without a new page");
}

#[test]
fn rows_are_sorted_filtered_and_paged_by_the_server() {
    let mut stage = Stage::new();
    stage.drop_folder(SHOP);
    let url = open(&mut stage);
    stage.wait_for_state(SHOP, "ok");
    let all = stage.pieme(&["records", SHOP, "--json"]).json();
    let names: Vec<String> = all["records"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|it| it["name"].as_str().unwrap_or("").to_owned())
        .collect();
    let mut browser = logged_in(&url);
    browser.goto(&format!("{url}task/{SHOP}"));
    assert_eq!(browser.eval("document.querySelectorAll('#sheet tbody tr').length"), 48);
    browser.eval(
        "window.isOld = true; [...document.querySelectorAll('#sheet a.sort')]\
         .find(it => it.textContent === 'name').click()",
    );
    browser.wait_for_load("the rows by name");
    let at = browser.eval(
        "[...document.querySelectorAll('#sheet th .sort')].findIndex(it => it.textContent.startsWith('name')) + 1",
    );
    let cells = browser
        .eval(&format!("[...document.querySelectorAll('#sheet tbody tr')].map(it => it.cells[{at}].textContent)"));
    let shown: Vec<String> =
        cells.as_array().into_iter().flatten().map(|it| it.as_str().unwrap_or("").to_owned()).collect();
    let mut sorted = names.clone();
    sorted.sort_by_key(|it| it.to_lowercase());
    assert_eq!(shown, sorted);
    let wanted = names.iter().filter(|it| it.to_lowercase().contains("lamp")).count();
    browser.fill("#q", "lamp");
    let count = "document.querySelectorAll('#sheet tbody tr').length";
    browser.wait_for("the rows with it", &format!("location.search.includes('q=lamp') && {count} < 48"));
    assert!(browser.eval(count).as_u64().unwrap_or(0) as usize >= wanted, "{}", browser.text());
}

#[test]
fn a_run_shows_its_numbers_its_steps_and_its_pages_as_text() {
    let mut stage = Stage::new();
    stage.drop_folder(SHOP);
    let url = open(&mut stage);
    stage.wait_for_state(SHOP, "ok");
    stage.post("/switch/redesign");
    stage.pieme(&["run", SHOP]);
    stage.wait_for_state(SHOP, "quarantined");
    let mut browser = logged_in(&url);
    browser.goto(&format!("{url}task/{SHOP}/runs"));
    assert!(browser.text_of("#run-list tr:first-child").contains("quarantined (layout)"));
    assert_eq!(browser.eval("document.querySelectorAll('.chart svg').length"), 2);
    browser.eval("window.isOld = true; document.querySelector('#run-list a').click()");
    browser.wait_for_load("the run");
    let text = browser.text();
    for part in ["Similarity", "off:", "new rows", "Page 1"] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    browser.eval(
        "window.isOld = true; [...document.querySelectorAll('a')].find(it => it.textContent === 'Page 1').click()",
    );
    browser.wait_for_load("the page");
    let source = browser.eval("document.querySelector('iframe.source').src");
    let text = browser.eval(&format!(
        "fetch({source}).then(it => it.text().then(text => [text, \
         it.headers.get('content-type'), it.headers.get('content-security-policy')]))"
    ));
    assert!(text[0].as_str().is_some_and(|it| it.contains("<html") || it.contains("<!")), "{text}");
    assert!(
        text[1].as_str().is_some_and(|it| it.starts_with("text/plain"))
            && text[2].as_str().is_some_and(|it| it.contains("sandbox")),
        "{text}"
    );
}

#[test]
fn rows_that_were_kept_aside_are_looked_at_and_dropped_or_published() {
    let (mut stage, page) = labelled();
    page.say(&table(&NAMES[..5]));
    stage.pieme(&["run", "hotels"]);
    let url = open(&mut stage);
    let mut browser = logged_in(&url);
    let rows = "document.querySelectorAll('#sheet tbody tr').length";
    browser.goto(&format!("{url}task/hotels/aside"));
    assert_eq!(browser.eval(rows), 5, "{}", browser.text());
    browser.click("form[action$='/drop'] button");
    browser.wait_for("them to be gone", "document.body.innerText.includes('No rows of this task are kept back')");
    assert_eq!(stage.pieme(&["records", "hotels", "--quarantined"]).code, 1);
    browser.click("#facts form[action$='/run'] button");
    browser.wait_for("them to be there again", &format!("{rows} === 5"));
    browser.click("form[action$='/accept'] button");
    browser.wait_for("them to be published", "document.body.innerText.includes('No rows of this task are kept back')");
    browser.goto(&format!("{url}task/hotels"));
    assert_eq!(browser.eval(rows), 5, "{}", browser.text());
    browser.click(".more summary");
    browser.click("form[action$='/rollback'] button");
    browser.wait_for("the rows before", &format!("{rows} === 12"));
    let refused = stage.pieme(&["run", "hotels", "--json"]).json();
    assert_eq!(refused["cause"], "rows", "the rows that were rolled back wait for a person: {refused}");
    browser.goto(&format!("{url}task/hotels"));
    assert_eq!(browser.eval(rows), 12, "{}", browser.text());
    browser.click(".more summary");
    browser.click("form[action$='/rollback'] button");
    browser.wait_for("a refusal", "document.body.innerText.includes('was rolled back already')");
}

#[test]
fn files_are_checked_while_they_are_typed_and_saved_only_when_they_are_good() {
    let mut stage = Stage::new();
    stage.write_task("flats", "/products", "enabled = false");
    let url = open(&mut stage);
    stage.wait_for_state("flats", "paused");
    let before = stage.read("tasks/flats/task.toml");
    let mut browser = logged_in(&url);
    browser.goto(&format!("{url}task/flats/files"));
    browser.fill("#task", &before.replace("enabled", "enabeld"));
    browser.wait_for("the mistake", "document.querySelector('#problem').innerText.includes('did you mean `enabled`?')");
    assert!(browser.text_of("#problem pre").contains("^^^^^^^"), "{}", browser.text());
    browser.click("#editor button.main");
    browser.wait_for("the refusal", "document.querySelector('#said').textContent.includes('Nothing was saved')");
    assert_eq!(stage.read("tasks/flats/task.toml"), before);
    browser.fill("#task", &format!("title = \"Flats in Ulm\"\n{before}"));
    browser.wait_for("no mistake", "document.querySelector('#problem').innerText === ''");
    browser.eval("window.isOld = true");
    browser.click("#editor button.main");
    browser.wait_for_load("the saved files");
    assert_eq!(stage.read("tasks/flats/task.toml"), format!("title = \"Flats in Ulm\"\n{before}"));
    stage.wait_for("the new title", || stage.status("flats")["title"] == "Flats in Ulm");
    // Somebody edits the file while it stands in the browser.
    stage.write("tasks/flats/task.toml", &before);
    browser.fill("#task", &format!("title = \"Flats\"\n{before}"));
    browser.click("#editor button.main");
    browser.wait_for("the refusal", "document.querySelector('#said').textContent.includes('changed meanwhile')");
    assert_eq!(stage.read("tasks/flats/task.toml"), before);
}

#[test]
fn search_finds_published_rows_within_the_dashboard_and_alone() {
    let mut stage = Stage::new();
    let config = stage.read("config.toml");
    stage.write("config.toml", &format!("{config}search = \"127.0.0.1:0\"\n"));
    stage.drop_folder(SHOP);
    let url = open(&mut stage);
    stage.wait_for_state(SHOP, "ok");
    let name =
        stage.pieme(&["records", SHOP, "--json"]).json()["records"][3]["name"].as_str().expect("a name").to_owned();
    stage.wait_for("the search page", || !stage.read("state/search-url").is_empty());
    let alone = stage.read("state/search-url").trim().to_owned();
    let mut browser = Browser::start();
    browser.goto(&alone);
    browser.fill("#q", &name);
    browser.wait_for("it to be found", &format!("document.querySelector('.hits')?.innerText.includes({name:?})"));
    browser.goto(&format!("{alone}task/{SHOP}"));
    assert!(browser.text().contains("no such page"), "nothing else is there: {}", browser.text());
    log_in(&mut browser, &url);
    browser.goto(&format!("{url}search?q={}", name.replace(' ', "+")));
    assert!(browser.text_of(".hits").contains(&name), "{}", browser.text());
}
