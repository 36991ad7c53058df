//! Changed rows are marked in the table.

use super::super::monitor::{NAMES, labelled, table};
use super::{Browser, logged_in, open};

/// Number and texts of the marked cells, as a screen reader reads them: `7 new`,
/// `EUR 95.00 (changed, before: EUR 82.00)`.
const MARKED: &str =
    "[...document.querySelectorAll('#sheet td.changed')].map(it => it.textContent.trim().replace(/\\s+/g, ' '))";

fn marked(browser: &mut Browser) -> Vec<String> {
    let found = browser.eval(MARKED);
    found.as_array().into_iter().flatten().map(|it| it.as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn what_the_last_change_has_changed_is_marked_in_the_rows() {
    let (mut stage, page) = labelled();
    let task = stage.read("tasks/hotels/task.toml");
    stage.write("tasks/hotels/task.toml", &format!("{task}\n[data]\nkey = [\"hotel\"]\n"));
    page.say(&table(&NAMES[..11]));
    stage.pieme(&["run", "hotels"]);
    let url = open(&mut stage);
    let mut browser = logged_in(&url);
    let rows = format!("{url}task/hotels");
    browser.goto(&rows);
    assert_eq!(marked(&mut browser), [""; 0], "{}", browser.text());
    assert!(browser.text_of("#marked").contains("0 added, 0 changed, 1 removed"), "{}", browser.text());

    // A new price, a text instead of a price, and a new hotel.
    let text = table(&NAMES).replace("EUR 82.00", "EUR 95.00").replace("EUR 83.00", "on request");
    page.say(&text);
    stage.pieme(&["run", "hotels"]);
    let wanted = ["EUR 95.00 (changed, before: EUR 82.00)", "on request (changed, before: EUR 83.00)", "12 new"];
    browser.wait_for("the marks", "document.querySelectorAll('#sheet td.changed').length === 3");
    assert_eq!(marked(&mut browser), wanted, "by itself, without a new page");
    let title = browser.eval("document.querySelector('#sheet td.changed').title");
    assert!(title.as_str().is_some_and(|it| it.ends_with("before: EUR 82.00")), "{title}");
    assert!(browser.text_of("#marked").contains("1 added, 2 changed, 0 removed"), "{}", browser.text());

    // The mark belongs to the row, wherever it is sorted to.
    browser.goto(&format!("{rows}?q=central"));
    assert_eq!(marked(&mut browser), wanted[..1]);
    // The row's number links to its history, the line above the table to all changes.
    browser.eval("window.isOld = true; document.querySelector('#sheet td.number a').click()");
    browser.wait_for_load("the record");
    assert!(browser.text().contains("EUR 82.00"), "{}", browser.text());
    browser.goto(&rows);
    browser.eval("window.isOld = true; document.querySelector('#marked a').click()");
    browser.wait_for_load("the changes");
    assert_eq!(browser.eval("location.pathname"), "/task/hotels/changes");

    // A run with the same rows is no change: the marks stay, with their time.
    stage.pieme(&["run", "hotels"]);
    browser.goto(&rows);
    assert_eq!(marked(&mut browser), wanted);
}
