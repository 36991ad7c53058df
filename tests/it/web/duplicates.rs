//! Duplicates are shown, and never merged.

use super::super::monitor::{NAMES, labelled, table};
use super::{Browser, copy_task, logged_in, open};

/// One line per group: `same Adler, may be A. Hof`.
const GROUPS: &str = "[...document.querySelectorAll('.hits > li')].map(it => [...it.querySelectorAll('li')].map(it =>
     `${it.querySelector('.how').textContent} ${it.querySelector('a').textContent.match(/Hotel [^·]+/i)[0].trim()}\
     ${it.querySelector('.faint')?.textContent ?? ''}`).join(', '))";

fn groups(browser: &mut Browser) -> Vec<String> {
    let found = browser.eval(GROUPS);
    found.as_array().into_iter().flatten().map(|it| it.as_str().unwrap_or_default().to_owned()).collect()
}

fn look(browser: &mut Browser, by: &str, across: bool) {
    browser.eval(&format!(
        "window.isOld = true; document.querySelector('#by').value = {by:?};
         document.querySelector('[name=across]').checked = {across}; document.querySelector('.choices button').click()"
    ));
    browser.wait_for_load("the groups");
}

#[test]
fn records_of_the_same_thing_are_shown_within_a_task_and_across_tasks() {
    let (mut stage, page) = labelled();
    let mut names = NAMES.to_vec();
    names.extend(["adler", "Grand Ambassador", "G. Ambassador"]);
    page.say(&table(&names));
    stage.pieme(&["run", "hotels"]);
    copy_task(&stage, "hotels", "inns");
    page.say(&table(&NAMES));
    stage.pieme(&["run", "inns"]);
    let url = open(&mut stage);
    let mut browser = logged_in(&url);
    browser.goto(&format!("{url}task/hotels"));
    browser.eval(
        "window.isOld = true; [...document.querySelectorAll('.sides a')]\
         .find(it => it.textContent === 'Duplicates').click()",
    );
    browser.wait_for_load("the duplicates");
    assert!(browser.text_of("#groups-found").starts_with("0 groups among 15 records"), "at once: {}", browser.text());

    look(&mut browser, "hotel", false);
    let found = groups(&mut browser);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found.contains(&"same Hotel Adler, same Hotel adler".to_owned()), "{found:?}");
    assert!(found.iter().any(|it| it.contains("may be Hotel G. Ambassador")), "{found:?}");
    assert_eq!(browser.eval("document.querySelector('#by').value"), "hotel", "what was asked for is still there");

    look(&mut browser, "hotel", true);
    let found = groups(&mut browser);
    assert!(found.contains(&"same Hotel Linde in hotels, same Hotel Linde in inns".to_owned()), "{found:?}");
    assert_eq!(found.len(), 13, "each of the other's, and the two of its own: {found:?}");
    browser.eval("window.isOld = true; document.querySelector('.hits a').click()");
    browser.wait_for_load("a record");
    assert!(browser.text().contains("First seen"), "{}", browser.text());

    // An unknown column compares nothing, and the page says so.
    browser.goto(&format!("{url}task/hotels/duplicates?look=true&by=nothing"));
    assert!(browser.text_of("#groups-found").contains("among 0 records"), "{}", browser.text());
}
