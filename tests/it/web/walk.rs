//! Stepping through a robot in the browser.

use super::super::stage::Stage;
use super::{keep_pictures, logged_in, open, press_step};

#[test]
fn a_robot_is_walked_through_forward_and_back() {
    let mut stage = Stage::new();
    stage.drop_folder("practice-orders");
    let url = open(&mut stage);
    stage.wait_for_state("practice-orders", "ok");
    let mut browser = logged_in(&url);
    browser.goto(&format!("{url}task/practice-orders/step"));
    press_step(&mut browser, "");
    let steps = browser.eval("document.querySelectorAll('.steps li').length").as_u64().unwrap_or(0);
    let done = "document.querySelectorAll('.steps li.done').length";
    assert!(steps > 1, "{}", browser.text());
    // Each step has its text from robot.toml, with the names of secrets; the next step is unfolded and marked.
    let texts =
        browser.eval("[...document.querySelectorAll('.steps li pre')].map(it => it.textContent).join('\\n\\n')");
    let robot = stage.read("tasks/practice-orders/robot.toml");
    let written = robot.split_once("\n\n").map(|(_, steps)| steps.trim().to_owned());
    assert_eq!(texts.as_str(), written.as_deref());
    assert!(robot.contains("${secret:practice_password}"));
    let next = "document.querySelector('.steps li[aria-current] details[open] summary')?.innerText";
    assert_eq!(browser.eval(next), "1 login next");
    for step in 1..=steps {
        press_step(&mut browser, "/next");
        assert_eq!(browser.eval(done), step, "{}", browser.text());
    }
    let text = browser.text();
    assert_eq!(browser.eval(next), serde_json::Value::Null, "none is next");
    assert!(
        text.contains("30 so far") && text.contains("Address") && !text.contains(pieme::practice::PASSWORD),
        "{text}"
    );
    let source = browser.eval("document.querySelector('iframe.source').src");
    let source = browser.eval(&format!("fetch({source}).then(it => it.text())"));
    assert!(source.as_str().is_some_and(|it| it.contains("<html")), "{source}");
    press_step(&mut browser, "/back");
    press_step(&mut browser, "/back");
    assert_eq!(browser.eval(done), steps - 2, "{}", browser.text());
    press_step(&mut browser, "/end");
    assert!(browser.text().contains("Execute the robot one step at a time"), "{}", browser.text());
    stage.wait_for("its process to end", || stage.children_of(stage.daemon_pid()).is_empty());
}

#[test]
fn what_a_task_without_a_robot_does_is_said_in_words() {
    let mut stage = Stage::new();
    stage.write_task("flats", "/products", "enabled = false");
    let url = open(&mut stage);
    stage.wait_for_state("flats", "paused");
    let mut browser = logged_in(&url);
    browser.goto(&format!("{url}task/flats/step"));
    press_step(&mut browser, "");
    let steps = browser.eval("[...document.querySelectorAll('.steps li')].map(it => it.textContent)");
    assert!(steps[0].as_str().is_some_and(|it| it.contains("fetches the `url` of task.toml")), "{steps}");
    assert!(
        steps[1].as_str().is_some_and(|it| it.contains("extracts the rows of this page and follows the next links")),
        "{steps}"
    );
    assert_eq!(browser.eval("document.querySelectorAll('.steps pre').length"), 0);
}

#[test]
fn a_walk_that_waits_for_its_person_holds_no_site() {
    let mut stage = Stage::new();
    stage.write_task("flats", "/products", "enabled = false");
    stage.write_task("other", "/products", "enabled = false\n[limits]\ntimeout = \"30s\"\n");
    let url = open(&mut stage);
    stage.wait_for_state("flats", "paused");
    let mut browser = logged_in(&url);
    browser.goto(&format!("{url}task/flats/step"));
    press_step(&mut browser, "");
    press_step(&mut browser, "/next");
    assert_eq!(browser.eval("document.querySelectorAll('.steps li.done').length"), 1, "{}", browser.text());
    let said = stage.pieme(&["run", "other", "--json"]);
    assert_eq!(said.json()["rows"], 48, "{}{}", said.stdout, said.stderr);
    keep_pictures(&mut browser, "step-one");
    // The session continues.
    press_step(&mut browser, "/next");
    assert!(browser.text().contains("48 so far"), "{}", browser.text());
}
