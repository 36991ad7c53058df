//! The editor of a task's files shows whether it saved them, and why not.

use super::super::stage::Stage;
use super::{keep_pictures, logged_in, open};

/// Expression: the element exists, has a text, and is inside the window.
fn is_seen(css: &str) -> String {
    format!(
        "(() => {{ const it = document.querySelector({css:?}); if (!it || !it.textContent.trim()) return false;
           const box = it.getBoundingClientRect(); return box.height > 0 && box.top >= 0 \
           && box.bottom <= innerHeight }})()"
    )
}

#[test]
fn saving_says_that_it_saved_or_what_is_wrong_where_it_can_be_seen() {
    let mut stage = Stage::new();
    stage.write_task("flats", "/products", "enabled = false");
    let url = open(&mut stage);
    stage.wait_for_state("flats", "paused");
    let good = stage.read("tasks/flats/task.toml");
    let mut browser = logged_in(&url);
    for (width, height) in [(1280, 500), (390, 500)] {
        browser.size(width, height);
        browser.goto(&format!("{url}task/flats/files"));
        browser.fill("#task", &format!("# Flats\n\nenabeld = true\n{good}"));
        browser.click("#editor button.main");
        browser.wait_for("the refusal", "document.querySelector('#said').textContent.includes('Nothing was saved')");
        browser.wait_for("it to be in sight", &is_seen("#said"));
        keep_pictures(&mut browser, "files-refused");
        let said = browser.text_of("#said");
        assert!(said.contains("task.toml, line 3") && said.contains("did you mean `enabled`?"), "{said}");
        assert_eq!(stage.read("tasks/flats/task.toml"), good);

        let place = "document.querySelector('#editor button.main').getBoundingClientRect().y + scrollY";
        browser.wait_for("the mistake", "document.querySelector('#problem').innerText.includes('enabeld')");
        let before = browser.eval(place);
        browser.fill("#task", &format!("title = \"Flats at {width}\"\n{good}"));
        browser.wait_for("the mistake to go", "document.querySelector('#problem').innerText === ''");
        assert_eq!(browser.eval(place), before, "the button stays under the pointer");
        browser.click("#editor button.main");
        browser.wait_for("the word", "document.querySelector('#said').textContent.startsWith('Saved')");
        browser.wait_for("it to be in sight", &is_seen("#said"));
        keep_pictures(&mut browser, "files-saved");
        stage.wait_for("the new title", || stage.status("flats")["title"] == format!("Flats at {width}"));
        // After a reload the message is gone.
        browser.goto(&format!("{url}task/flats/files"));
        assert_eq!(browser.text_of("#said"), "");
        stage.write("tasks/flats/task.toml", &good);
    }
}

#[test]
fn mail_without_a_mail_server_is_told_while_it_is_typed_and_is_not_saved() {
    let mut stage = Stage::new();
    stage.write_task("flats", "/products", "enabled = false");
    let url = open(&mut stage);
    stage.wait_for_state("flats", "paused");
    let good = stage.read("tasks/flats/task.toml");
    let mut browser = logged_in(&url);
    browser.goto(&format!("{url}task/flats/files"));
    browser.fill("#task", &format!("{good}[alert]\nurls = [\"mailto:ops@example.org\"]\n"));
    browser.wait_for("the mistake", "document.querySelector('#problem').innerText.includes('names no mail server')");
    assert!(browser.text_of("#problem").contains("[smtp]"), "{}", browser.text_of("#problem"));
    browser.click("#editor button.main");
    browser.wait_for("the refusal", "document.querySelector('#said').textContent.includes('Nothing was saved')");
    assert_eq!(stage.read("tasks/flats/task.toml"), good);
}

/// Saved all the same: who may edit a task may not be who grants.
#[test]
fn what_config_toml_does_not_grant_is_told_with_the_lines_to_add() {
    let mut stage = Stage::new();
    stage.write_task("flats", "/products", "enabled = false");
    let url = open(&mut stage);
    stage.wait_for_state("flats", "paused");
    let mut browser = logged_in(&url);
    browser.goto(&format!("{url}task/flats/files"));
    assert_eq!(browser.eval("document.querySelector('#ungranted')"), serde_json::Value::Null);
    let there = "https://shop.example/list";
    let step = format!("get = {{ url = '{there}', headers = {{ x-key = '${{secret:db}}' }} }}");
    browser.fill("#robot", &format!("[[step]]\n{step}\n"));
    browser.click("#editor button.main");
    browser.wait_for("the word", "document.querySelector('#said').textContent.startsWith('Saved')");
    let told = browser.text_of("#ungranted");
    for line in ["[secret.db]", "tasks = [\"flats\"]", "origins = [\"https://shop.example\"]"] {
        assert!(told.lines().any(|it| it.trim() == line), "{line}: {told}");
    }
    assert!(told.contains("pieme secret set db --task flats --origin https://shop.example"), "{told}");
    keep_pictures(&mut browser, "files-ungranted");

    let granted = stage.read("config.toml");
    stage.revoke_private();
    browser.goto(&format!("{url}task/flats/files"));
    let line = format!("add `\"flats\" = [\"127.0.0.1:{}\"]` under [private]", stage.site.port());
    browser.wait_for("the address", &format!("document.querySelector('#ungranted').innerText.includes({line:?})"));
    stage.write("config.toml", &granted);
    stage.grant("db", there);
    browser.goto(&format!("{url}task/flats/files"));
    browser.wait_for("nothing to add", "!document.querySelector('#ungranted')");
}
