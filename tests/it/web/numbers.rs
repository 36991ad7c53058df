//! A numeric column over time: the same in the terminal, in the API and as a chart.

use super::super::monitor::{NAMES, labelled, table};
use super::gate::Guest;
use super::{keep_pictures, logged_in, open};

/// Hotels with distances, in three runs that each raise the prices by ten.
#[test]
fn a_column_of_numbers_is_a_curve_over_the_runs() {
    let (mut stage, page) = labelled();
    let task = stage.read("tasks/hotels/task.toml");
    let typed = task.replace("name = \"distance\"\n", "name = \"distance\"\ntype = \"number\"\n");
    assert_ne!(task, typed, "{task}");
    stage.write("tasks/hotels/task.toml", &typed);
    for more in [0, 10, 20] {
        let text = (80..92).rev().fold(table(&NAMES), |text, price| {
            text.replace(&format!("EUR {price}.00"), &format!("EUR {}.50", price + more))
        });
        page.say(&text);
        stage.pieme(&["run", "hotels"]);
    }
    let told = stage.pieme(&["history", "hotels", "--column", "price", "--json"]).json();
    assert_eq!(told["columns"], serde_json::json!(["price", "distance"]));
    let all: Vec<String> = told["series"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|it| format!("{} {} {} {} {}", it["least"], it["median"], it["most"], it["currency"], it["count"]))
        .collect();
    let wanted = ["80.5 86.5 91.5 \"EUR\" 12", "90.5 96.5 101.5 \"EUR\" 12", "100.5 106.5 111.5 \"EUR\" 12"];
    assert_eq!(all[all.len() - 3..], wanted, "{told}");
    let last = stage.pieme(&["history", "hotels", "--column", "price", "--limit", "1"]).stdout;
    assert!(last.contains("106.5") && !last.contains("96.5"), "{last}");
    let said = stage.pieme(&["history", "hotels", "--column", "hotel"]);
    assert_eq!(said.code, 2);
    assert!(said.stderr.contains("no statistics of a column `hotel`; it has price, distance"), "{}", said.stderr);

    let url = open(&mut stage);
    let api = Guest::log_in(&url).json("tasks/hotels/numbers?column=price");
    assert_eq!(api, told, "as the command has it");
    let mut browser = logged_in(&url);
    // The type in a column's heading links to its chart.
    browser.goto(&format!("{url}task/hotels"));
    browser.eval(
        "window.isOld = true; [...document.querySelectorAll('#sheet th')]\
         .find(it => it.textContent.includes('distance')).querySelector('a.type').click()",
    );
    browser.wait_for_load("the curve");
    assert_eq!(browser.text_of("#numbers [aria-current]"), "distance");
    assert_eq!(browser.text_of("#numbers figcaption"), "distance");
    browser.eval(
        "window.isOld = true; [...document.querySelectorAll('#numbers nav a')]\
         .find(it => it.textContent === 'price').click()",
    );
    browser.wait_for_load("the other one");
    assert_eq!(browser.text_of("#numbers figcaption"), "price (EUR)");
    let label = browser.eval("document.querySelector('#numbers svg').getAttribute('aria-label')");
    assert!(label.as_str().is_some_and(|it| it.ends_with("the last 106.50")), "{label}");
    assert_eq!(browser.eval("document.querySelectorAll('#numbers svg .band').length"), 1);
    assert!(browser.text_of("#numbers table tbody tr").contains("111.50"), "{}", browser.text());
}

/// Axis labels that reach beyond their chart, and all labels.
const LABELS: &str = "(() => { const cut = []; const all = [];
  for (const svg of document.querySelectorAll('.chart svg')) {
    const frame = svg.getBoundingClientRect();
    for (const text of svg.querySelectorAll('text')) {
      const box = text.getBoundingClientRect();
      all.push(text.textContent);
      if (box.left < frame.left - .5 || box.right > frame.right + .5) cut.push(text.textContent);
    }
  }
  return { cut, all } })()";

#[test]
fn the_labels_of_an_axis_are_whole_and_readable_however_large_the_numbers() {
    let (mut stage, page) = labelled();
    for more in [0, 1] {
        let text = (80..92).rev().fold(table(&NAMES), |text, price| {
            text.replace(&format!("EUR {price}.00"), &format!("EUR {}.25", 12_345_678 + price + more))
        });
        page.say(&text);
        stage.pieme(&["run", "hotels"]);
        stage.pieme(&["accept", "hotels"]);
    }
    let url = open(&mut stage);
    let mut browser = logged_in(&url);
    for width in [1280, 390] {
        browser.size(width, 900);
        browser.goto(&format!("{url}task/hotels/runs?column=price"));
        let labels = browser.eval(LABELS);
        keep_pictures(&mut browser, "numbers-large");
        assert_eq!(labels["cut"], serde_json::json!([]), "{width}: {labels}");
        let has = |wanted: &str| labels["all"].as_array().into_iter().flatten().any(|it| it == wanted);
        assert!(has("12,345,767.25"), "{labels}");
    }
}
