//! Every page, light and dark, wide and on a phone: no serious axe-core violation and no horizontal scrolling. If
//! PIEME_SCREENS names a folder, a screenshot of each is stored there (tests/screens.sh).

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use super::super::monitor::{NAMES, labelled, table};
use super::super::stage::Stage;
use super::{Browser, copy_task, log_in, open, press_step};

const SHOP: &str = "practice-shop";
/// Screenshots of longer pages are cropped.
const MOST_HEIGHT: u32 = 1_600;

/// Tasks in several states, one of them after a redesign.
fn set_the_scene() -> (Stage, String) {
    let (mut stage, page) = labelled();
    let task = stage.read("tasks/hotels/task.toml");
    stage.write("tasks/hotels/task.toml", &format!("{task}\n[data]\nkey = [\"hotel\"]\n"));
    page.say(&table(&NAMES[..11]));
    stage.pieme(&["run", "hotels"]);
    page.say(&table(&NAMES).replace("EUR 82.00", "EUR 95.00").replace("EUR 85.00", "EUR 79.00"));
    stage.pieme(&["run", "hotels"]);
    page.say(&table(&NAMES[..5]));
    stage.pieme(&["run", "hotels"]);
    copy_task(&stage, "hotels", "inns");
    page.say(&table(&NAMES[6..]));
    stage.pieme(&["run", "inns"]);
    stage.drop_folder(SHOP);
    stage.drop_folder("practice-orders");
    stage.write_task("flats", "/products", "enabled = false\ntitle = \"Flats in Ulm\"");
    stage.write("tasks/jobs/task.toml", "url = \"https://jobs.example/\"\nenabeld = true\n");
    let url = open(&mut stage);
    stage.wait_for_state(SHOP, "ok");
    stage.wait_for_state("practice-orders", "ok");
    stage.pieme(&["run", SHOP]);
    stage.post("/switch/redesign");
    stage.pieme(&["run", SHOP]);
    stage.wait_for_state(SHOP, "quarantined");
    (stage, url)
}

fn pages(stage: &Stage) -> Vec<(&'static str, String)> {
    let run = stage.sql(&format!("SELECT id FROM _runs WHERE task = '{SHOP}' ORDER BY started DESC LIMIT 1"));
    let key = stage.sql("SELECT lower(hex(key)) FROM _changed_record WHERE what = 'changed' LIMIT 1");
    let side = |side: &str| format!("task/{SHOP}{side}");
    vec![
        ("status", String::new()),
        ("status-none", "?q=nothing".to_owned()),
        ("rows", side("")),
        ("rows-changed", "task/hotels".to_owned()),
        ("aside", "task/hotels/aside".to_owned()),
        ("changes", "task/hotels/changes".to_owned()),
        ("duplicates", "task/hotels/duplicates?across=true&look=true&by=hotel".to_owned()),
        ("record", format!("task/hotels/record/{key}")),
        ("runs", side("/runs")),
        ("numbers", "task/hotels/runs?column=price".to_owned()),
        ("run", side(&format!("/run/{run}"))),
        ("page", side(&format!("/run/{run}/page/1"))),
        ("files", side("/files")),
        ("files-wrong", "task/jobs/files".to_owned()),
        ("step", "task/practice-orders/step".to_owned()),
        ("queue", "label".to_owned()),
        ("label", format!("label/{SHOP}")),
        ("add", "add".to_owned()),
        ("search", "search?q=lamp".to_owned()),
        ("trouble", "task/nowhere".to_owned()),
    ]
}

fn axe() -> String {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/axe/axe.min.js");
    fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}; tests/all.sh fetches it", file.display()))
}

/// Serious and critical violations that axe-core finds.
fn violations(browser: &mut Browser, axe: &str) -> Vec<String> {
    browser.eval(&format!("{axe}; 1"));
    let found = browser.eval(
        "axe.run(document, { iframes: false }).then(it => \
         it.violations.filter(it => ['serious', 'critical'].includes(it.impact))
           .map(it => `${it.id}: ${it.nodes.map(it => it.html).slice(0, 3).join(' | ')}`))",
    );
    found.as_array().into_iter().flatten().map(|it| it.as_str().unwrap_or_default().to_owned()).collect()
}

/// Elements that reach beyond the right edge and are not inside a scrolling element.
const TOO_WIDE: &str = "(() => { const width = document.documentElement.clientWidth;
     return document.documentElement.scrollWidth <= width ? [] :
       [...document.querySelectorAll('body *')].filter(it => it.getBoundingClientRect().right > width + 1)
         .filter(it => !it.closest('.sheet, .scroller, pre, textarea'))\
         .map(it => it.outerHTML.slice(0, 120)).slice(0, 5) })()";

fn look(browser: &mut Browser, axe: &str, url: &str, (name, path): &(&'static str, String), wrong: &mut Vec<String>) {
    let screens = std::env::var_os("PIEME_SCREENS").map(PathBuf::from);
    for (width, height) in [(1280, 900), (390, 844)] {
        for scheme in ["light", "dark"] {
            browser.size(width, height);
            browser.scheme(scheme);
            browser.goto(&format!("{url}{path}"));
            browser.wait_for(
                "the lists",
                "!document.querySelector('#bench') || document.querySelector('#bench').dataset.outlined",
            );
            let which = format!("{name} {width} {scheme}");
            let wide = browser.eval(TOO_WIDE);
            if wide.as_array().is_some_and(|it| !it.is_empty()) {
                wrong.push(format!("{which}: too wide: {wide}"));
            }
            wrong.extend(violations(browser, axe).into_iter().map(|it| format!("{which}: {it}")));
            if let Some(folder) = &screens {
                let file = folder.join(format!("{name}-{width}-{scheme}.png"));
                fs::create_dir_all(folder)
                    .and_then(|()| fs::write(file, browser.picture(width, MOST_HEIGHT)))
                    .expect("a picture");
            }
        }
    }
}

/// Starts a stepping session of two steps.
fn walk(browser: &mut Browser, url: &str) {
    browser.goto(&format!("{url}task/practice-orders/step"));
    for path in ["", "/next", "/next"] {
        press_step(browser, path);
    }
}

#[test]
fn no_page_has_a_serious_fault_for_a_screen_reader_or_needs_sideways_scrolling() {
    let (stage, url) = set_the_scene();
    let (axe, mut browser, mut wrong) = (axe(), Browser::start(), Vec::new());
    // The control: violations are found.
    browser.goto(&format!("{url}log-in"));
    browser.eval("document.body.insertAdjacentHTML('beforeend', '<hr width=3000><input>')");
    assert_ne!(violations(&mut browser, &axe), Vec::<String>::new());
    assert_ne!(browser.eval(TOO_WIDE), Value::Array(Vec::new()));
    look(&mut browser, &axe, &url, &("log-in", "log-in".to_owned()), &mut wrong);
    log_in(&mut browser, &url);
    walk(&mut browser, &url);
    for page in pages(&stage) {
        look(&mut browser, &axe, &url, &page, &mut wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
