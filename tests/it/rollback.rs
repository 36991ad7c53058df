//! Rollback, a later key, and the runs after a label, through the real programs: what a person has undone or approved
//! is what the next runs are judged by.

use serde_json::Value;

use super::monitor::{BROKEN, NAMES, Page, cards, labelled, labelled_on, rows, run, table};
use super::stage::{Said, Stage};
use super::terminal::typed;

const LABELS: &str = "tasks/hotels/labels.toml";

/// Every price is another one.
fn wrong(names: &[&str]) -> String {
    table(names).replace("EUR ", "EUR 9")
}

fn done(stage: &Stage, words: &[&str]) -> Said {
    let said = stage.pieme(words);
    assert_eq!(said.code, 0, "{words:?}: {}{}", said.stdout, said.stderr);
    said
}

fn last_sentence(stage: &Stage) -> String {
    stage.status("hotels")["last_run"]["sentence"].as_str().unwrap_or_default().to_owned()
}

/// All names, and one more.
fn and_one_more(name: &str) -> Vec<&str> {
    NAMES.iter().copied().chain([name]).collect()
}

#[test]
fn refused_rows_are_not_published_again_until_a_person_says_so() {
    not_published_again(Stage::new());
}

#[test]
fn refused_rows_are_not_published_again_until_a_person_says_so_on_postgresql() {
    not_published_again(Stage::on_postgres());
}

fn not_published_again(stage: Stage) {
    let (stage, page) = labelled_on(stage);
    let (before, labels) = (rows(&stage), stage.read(LABELS));
    page.say(&wrong(&NAMES));
    assert_eq!(run(&stage), "published changed");
    let said = done(&stage, &["rollback", "hotels"]);
    assert!(said.stdout.contains("did not make the rows") && said.stdout.contains("--accept"), "{}", said.stdout);
    assert_eq!((rows(&stage), stage.read(LABELS)), (before.clone(), labels), "rows are back, the label stays");

    let refused = "quarantined rows";
    assert_eq!(run(&stage), refused, "the same rows");
    let sentence = last_sentence(&stage);
    assert!(sentence.contains("rolled back") && sentence.contains("pieme label hotels --accept"), "{sentence}");
    assert_eq!(rows(&stage), before);
    page.say(&table(&NAMES));
    assert_eq!(run(&stage), "published unchanged", "the rows that were restored");
    page.say(&wrong(&and_one_more("Mohren")));
    assert_eq!(run(&stage), refused, "nearly the same rows, after an unchanged run");
    let said = stage.pieme(&["rollback", "hotels"]);
    assert_eq!((said.code, said.stderr.contains("was rolled back already")), (1, true), "{}", said.stderr);
    assert_eq!(rows(&stage), before, "a second rollback brings nothing back");
    page.say(&wrong(&NAMES));
    assert_eq!(run(&stage), refused);

    done(&stage, &["label", "hotels", "--accept"]);
    let accepted = rows(&stage);
    assert_ne!(accepted, before);
    assert_eq!(run(&stage), "published unchanged", "accepted is accepted");
    done(&stage, &["rollback", "hotels"]);
    assert_eq!((rows(&stage), run(&stage).as_str()), (before.clone(), refused), "and refused again");
    done(&stage, &["label", "hotels", "--yes"]);
    assert_ne!(rows(&stage), before, "a newer label ends it");
    page.say(&table(&and_one_more("Nord")));
    assert_eq!(run(&stage), "published changed", "other rows");
    page.say(&wrong(&NAMES));
    assert_eq!(run(&stage), "published changed", "are no rows of a rollback");
}

#[test]
fn a_label_that_made_the_rows_goes_with_them() {
    let (stage, page) = labelled();
    let (before, labels) = (rows(&stage), stage.read(LABELS));
    page.say(&cards(&NAMES).replace("EUR ", "EUR 9"));
    assert_eq!(run(&stage), "quarantined layout");
    done(&stage, &["label", "hotels", "--yes"]);
    assert_ne!((rows(&stage), stage.read(LABELS)), (before.clone(), labels.clone()));
    let said = done(&stage, &["rollback", "hotels"]);
    assert!(said.stdout.contains("the last label, which made the rolled-back rows"), "{}", said.stdout);
    assert_eq!((rows(&stage), stage.read(LABELS)), (before, labels));
    assert_eq!(run(&stage), "quarantined layout");
}

#[test]
fn a_key_that_comes_later_keeps_first_seen_and_shows_a_changed_cell() {
    a_later_key(Stage::new());
}

#[test]
fn a_key_that_comes_later_keeps_first_seen_and_shows_a_changed_cell_on_postgresql() {
    a_later_key(Stage::on_postgres());
}

fn a_later_key(stage: Stage) {
    let (stage, page) = labelled_on(stage);
    let shown = rows(&stage);
    let column = |text: &str| {
        let found = shown[0].as_object().and_then(|row| row.iter().find(|(_, cell)| cell.as_str() == Some(text)));
        found.map(|(name, _)| name.clone()).unwrap_or_else(|| panic!("{text}: {}", shown[0]))
    };
    let (key, price) = (column("Hotel Adler"), column("EUR 80.00"));
    let seen = || stage.sql("SELECT count(*), min(_first_seen), max(_first_seen) FROM hotels");
    let first = seen();
    let mut task: toml_edit::DocumentMut = stage.read("tasks/hotels/task.toml").parse().expect("a task.toml");
    task["data"]["key"] = toml_edit::value(toml_edit::Array::from_iter([key.as_str()]));
    stage.write("tasks/hotels/task.toml", &task.to_string());
    page.say(&table(&NAMES).replace("EUR 83.00", "EUR 120.00"));
    assert_eq!(run(&stage), "published changed");
    assert_eq!(seen(), first, "the records are as old as they were");
    let change = done(&stage, &["diff", "hotels", "--json"]).json()["changes"][0].clone();
    assert_eq!(change["counts"], serde_json::json!({ "added": 0, "changed": 1, "removed": 0 }), "{change}");
    let cells = change["records"][0]["cells"].as_array().cloned().unwrap_or_default();
    let names: Vec<&Value> = cells.iter().map(|cell| &cell["column"]).collect();
    assert_eq!(names, [&Value::from(price)], "{change}");
}

#[test]
fn the_newest_page_with_the_list_is_labelled_and_its_age_is_said() {
    let (stage, page) = labelled();
    page.say(&table(&and_one_more("Mohren")).replace("</table>", "</table><a rel=next href=/broken>Next</a>"));
    assert_eq!(run(&stage), "failed http", "in mid-walk");
    let label = || done(&stage, &["label", "hotels", "--json"]).json();
    let shown = label();
    assert!(shown["candidates"].to_string().contains("Hotel Mohren"), "the page of now: {shown}");
    assert_eq!((shown["fetched_at"].is_string(), &shown["note"]), (true, &Value::Null), "it is of the last run");
    page.say(BROKEN);
    assert_eq!(run(&stage), "failed http", "before it reached a list");
    let shown = label();
    assert!(shown["candidates"].to_string().contains("Hotel Mohren"), "{shown}");
    assert!(shown["note"].as_str().is_some_and(|it| it.contains("failed (http)")), "{}", shown["note"]);
    let shown = typed(&stage, &["label", "hotels"], &[("> ", "q")]);
    assert!(shown.contains("(fetched ") && shown.contains("failed (http)"), "{shown}");
}

/// A redesign that was labelled, but not run.
fn approved() -> (Stage, Page) {
    let (stage, page) = labelled();
    page.say(&cards(&NAMES));
    assert_eq!(run(&stage), "quarantined layout");
    done(&stage, &["label", "hotels", "--yes", "--no-run"]);
    (stage, page)
}

#[test]
fn the_run_after_a_label_is_compared_with_what_was_approved() {
    let (stage, page) = approved();
    let before = rows(&stage);
    page.say(&cards(&NAMES[..5]));
    assert_eq!(run(&stage), "quarantined rows", "more than half of the approved rows are gone");
    assert!(done(&stage, &["explain", "hotels"]).stdout.contains("12"), "the approved rows");
    let without_price = |body: String, i: usize| body.replace(&format!("EUR {}.00", 80 + i), "on request");
    page.say(&(0..NAMES.len()).fold(cards(&NAMES), without_price));
    assert_eq!(run(&stage), "quarantined columns", "the prices are gone");
    assert_eq!(rows(&stage), before);
    page.say(&cards(&NAMES));
    let ended = run(&stage);
    assert!(ended.starts_with("published"), "the page that was labelled: {ended}: {}", last_sentence(&stage));
}

#[test]
fn a_label_without_a_sample_is_no_measure() {
    let (stage, page) = approved();
    std::fs::remove_dir_all(stage.path("tasks/hotels/samples")).expect("the samples");
    page.say(&cards(&NAMES[..5]));
    assert_eq!(run(&stage), "published changed");
}
