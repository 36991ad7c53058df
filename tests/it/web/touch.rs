//! A redesigned site is repaired on a touch screen.

use serde_json::json;

use super::Browser;
use super::label::{Desk, place};

/// Sends a touch event: `touchStart`, `touchMove`, `touchEnd`.
fn finger(browser: &mut Browser, kind: &str, at: Option<(f64, f64)>) {
    let points: Vec<_> = at.iter().map(|(x, y)| json!({ "x": x, "y": y })).collect();
    browser.call("Input.dispatchTouchEvent", json!({ "type": kind, "touchPoints": points }));
}

/// Position of a text of the framed page in the whole page, once nothing moves any more.
fn place_on_page(browser: &mut Browser, text: &str) -> (f64, f64) {
    browser.eval("document.querySelector('#page').scrollIntoView({ block: 'center', behavior: 'instant' }); 1");
    let mut places = vec![place_now(browser, text)];
    for _ in 0..200 {
        std::thread::park_timeout(std::time::Duration::from_millis(25));
        places.push(place_now(browser, text));
        if places.len() >= 5 && places[places.len() - 5..].windows(2).all(|pair| pair[0] == pair[1]) {
            break;
        }
    }
    places[places.len() - 1]
}

fn place_now(browser: &mut Browser, text: &str) -> (f64, f64) {
    let (left, top, right, bottom) = browser.in_frame(|frame| place(frame, text));
    let frame = browser.eval(
        "(() => { const box = document.querySelector('#page').getBoundingClientRect(); return [box.x, box.y] })()",
    );
    let (x, y) = (frame[0].as_f64().expect("a place"), frame[1].as_f64().expect("a place"));
    (x + (left + right) / 2.0, y + (top + bottom) / 2.0)
}

/// Expression: the message of a long press is shown.
const HELD: &str = "document.querySelector('#said').textContent.startsWith('Lift the finger')";

fn on_a_phone() -> Desk {
    let mut desk = Desk::redesigned();
    desk.browser.size(390, 844);
    desk.browser.call("Emulation.setTouchEmulationEnabled", json!({ "enabled": true, "maxTouchPoints": 1 }));
    desk.go("label/shop");
    desk.changes(|it| drop(it.eval("document.querySelectorAll('#lists button')[3].click()")));
    desk
}

#[test]
fn a_finger_that_rests_on_a_record_encloses_it() {
    let mut desk = on_a_phone();
    let at = place_on_page(&mut desk.browser, "26 in stock");
    let said = desk.changes(|browser| {
        finger(browser, "touchStart", Some(at));
        browser.wait_for("it to be held", HELD);
        finger(browser, "touchEnd", None);
    });
    assert!(said.starts_with("Everything like the enclosed block is a row.") && said.contains("12 rows"), "{said}");
    assert_eq!(desk.browser.eval("document.querySelector('#value').open"), false, "it was no tap");
    desk.changes(|it| drop(it.eval("document.querySelector('#undo').click()")));

    // Moving the finger extends the block to where it is lifted.
    let from = place_on_page(&mut desk.browser, "26 in stock");
    let to = place_on_page(&mut desk.browser, "Corvo Seed Tray 243");
    let said = desk.changes(|browser| {
        finger(browser, "touchStart", Some(from));
        browser.wait_for("it to be held", HELD);
        for part in 1..=4 {
            let share = f64::from(part) / 4.0;
            finger(browser, "touchMove", Some((from.0 + (to.0 - from.0) * share, from.1 + (to.1 - from.1) * share)));
        }
        finger(browser, "touchEnd", None);
    });
    assert!(said.contains("12 rows"), "{said}");
    desk.browser.eval("document.querySelector('#take').click()");
    desk.run_ended();
    assert_eq!(desk.records().len(), 48);
    assert!(desk.stage.read("tasks/shop/labels.toml").contains("Corvo Seed Tray 243"), "it can be said again");
}

#[test]
fn a_tap_labels_a_value_and_a_finger_that_moves_on_scrolls() {
    let mut desk = on_a_phone();
    let at = place_on_page(&mut desk.browser, "26 in stock");
    finger(&mut desk.browser, "touchStart", Some(at));
    finger(&mut desk.browser, "touchEnd", None);
    desk.browser.wait_for("the question", "document.querySelector('#value').open");
    assert_eq!(desk.browser.text_of("#value q"), "26 in stock");
    desk.browser.eval("document.querySelector('#value .leave').click()");

    let (shown, before) = (desk.browser.eval(READY), desk.browser.in_frame(|frame| frame.eval("scrollY")));
    let at = place_on_page(&mut desk.browser, "26 in stock");
    finger(&mut desk.browser, "touchStart", Some(at));
    for step in 1..=12 {
        finger(&mut desk.browser, "touchMove", Some((at.0, at.1 - 15.0 * f64::from(step))));
    }
    finger(&mut desk.browser, "touchEnd", None);
    desk.browser.in_frame(|frame| frame.wait_for("the page to scroll", &format!("scrollY !== {before}")));
    assert_eq!(desk.browser.eval(READY), shown, "nothing was enclosed");
    assert_eq!(desk.browser.eval("document.querySelector('#value').open"), false, "nor labelled");
}

const READY: &str = "document.querySelector('#bench').dataset.ready";
