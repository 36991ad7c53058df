//! Adding a task in the browser, without editing a file.

use super::super::files::{Files, books};
use super::super::stage::Stage;
use super::{Browser, logged_in, open};

fn fill(browser: &mut Browser, url: &str, address: &str) {
    browser.goto(&format!("{url}add"));
    browser.fill("#url", address);
}

#[test]
fn an_address_becomes_a_task_with_rows() {
    let mut stage = Stage::new();
    let url = open(&mut stage);
    let mut browser = logged_in(&url);
    browser.click("a[href='/add'].button");
    browser.wait_for(
        "the form",
        "location.pathname === '/add' && document.querySelector('#url') === document.activeElement",
    );
    fill(&mut browser, &url, &stage.url("/products"));
    browser.fill("#name", "shop");
    browser.eval("document.querySelector('#every').value = '30m'; 1");
    browser.click("form.add button.main");
    browser.wait_for("the lists", "document.querySelector('#bench')?.dataset.outlined");
    assert!(!stage.path("tasks/shop").exists(), "nobody sees it yet");
    let lists = browser.eval("document.querySelectorAll('#lists button').length").as_u64().unwrap_or(0);
    assert!((1..=5).contains(&lists), "{lists}");
    browser.fill("#sheet th input", "address");
    browser.press("Enter", 13);
    browser.eval("window.isOld = true");
    browser.press("Enter", 13);
    browser.wait_for("the task's page", "location.pathname === '/task/shop'");
    stage.wait_for_state("shop", "ok");
    browser.wait_for("its rows", "document.querySelectorAll('#sheet tbody tr').length > 0");
    let task = stage.read("tasks/shop/task.toml");
    assert!(task.contains("every = \"30m\"") && task.contains("name = \"address\""), "{task}");
    assert!(stage.path("tasks/shop/template.json").is_file() && stage.path("tasks/shop/labels.toml").is_file());
    let entries = std::fs::read_dir(stage.path("tasks")).expect("the tasks folder").flatten();
    assert_eq!(entries.map(|it| it.file_name()).collect::<Vec<_>>(), ["shop"], "nothing else is left");
}

#[test]
fn what_cannot_be_added_is_refused_with_what_to_do() {
    let mut stage = Stage::new();
    stage.write_task("taken", "/products", "enabled = false");
    let url = open(&mut stage);
    let mut browser = logged_in(&url);
    let products = stage.url("/products");
    for (address, name, wanted) in [
        ("ftp://example.org/", "", "it must begin with http:// or https://"),
        (
            "http://127.0.0.1:1/x",
            "",
            "add `\"127-0-0-1-x\" = [\"127.0.0.1:1\"]` under [private] in config.toml, or type `pieme add \
             http://127.0.0.1:1/x --name 127-0-0-1-x --allow-private`",
        ),
        (products.as_str(), "taken", "There is a task `taken` already"),
    ] {
        fill(&mut browser, &url, address);
        browser.fill("#name", name);
        browser.click("form.add button.main");
        browser.wait_for(wanted, &format!("document.querySelector('#said').textContent.includes({wanted:?})"));
    }
    for (path, wanted) in
        [("/bad/404", "404"), ("/bad/nolist", "the page has no list"), ("/staff/x", "tick “Ignore its robots.txt”")]
    {
        fill(&mut browser, &url, &stage.url(path));
        browser.click("form.add button.main");
        browser.wait_for("the end", "document.querySelector('#refused')");
        let said = browser.text_of("#refused");
        assert!(said.contains(wanted) && said.starts_with("No task was made"), "{path}: {said}");
    }
    let entries = std::fs::read_dir(stage.path("tasks")).expect("the tasks folder").flatten();
    assert_eq!(entries.map(|it| it.file_name()).collect::<Vec<_>>(), ["taken"], "nothing is left behind");
}

#[test]
fn a_second_page_that_is_not_there_is_said_and_can_be_left_out() {
    let site = Files::serve([("/index.html", books(1, Some("page-2.html")))]);
    let mut stage = Stage::new();
    let url = open(&mut stage);
    let mut browser = logged_in(&url);
    stage.grant_private(&site.url(""));
    fill(&mut browser, &url, &site.url("/index.html"));
    browser.fill("#name", "books");
    browser.click("form.add button.main");
    browser.wait_for("the lists", "document.querySelector('#bench')?.dataset.outlined");
    let said = browser.text_of("#shortfall");
    assert!(said.contains("page-2.html answered with status 404"), "{said}");
    browser.click("form[action$='/first-page'] button");
    browser.wait_for("the answer", "document.querySelector('#shortfall')?.textContent === 'Runs read page 1 only.'");
    browser.wait_for("the lists", "document.querySelector('#bench')?.dataset.outlined");
    browser.press("Enter", 13);
    browser.wait_for("the task's page", "location.pathname === '/task/books'");
    stage.wait_for_state("books", "ok");
    assert!(stage.read("tasks/books/task.toml").contains("max_pages = 1"));
}

#[test]
fn the_form_writes_how_many_pages_are_read_and_that_robots_txt_is_ignored() {
    let site = Files::serve([
        ("/robots.txt", "User-agent: *\nDisallow: /\n".to_owned()),
        ("/index.html", books(1, Some("page-2.html"))),
    ]);
    let mut stage = Stage::new();
    let url = open(&mut stage);
    let mut browser = logged_in(&url);
    stage.grant_private(&site.url(""));
    fill(&mut browser, &url, &site.url("/index.html"));
    browser.fill("#name", "books");
    browser.fill("#max_pages", "1");
    browser.click("input[name=ignore_robots]");
    browser.click("form.add button.main");
    browser.wait_for("the lists", "document.querySelector('#bench')?.dataset.outlined");
    assert_eq!(browser.eval("document.querySelector('#shortfall')"), serde_json::Value::Null);
    browser.press("Enter", 13);
    browser.wait_for("the task's page", "location.pathname === '/task/books'");
    stage.wait_for_state("books", "ok");
    let task = stage.read("tasks/books/task.toml");
    assert!(task.contains("max_pages = 1") && task.contains("robots_txt = false"), "{task}");
}
