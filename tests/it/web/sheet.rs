//! Columns are split and joined in the spreadsheet, and that can be undone before and after the list is accepted.

use super::label::Desk;

/// Expression that presses a button of a column's heading: `Split`, `Join →`.
fn tool(column: &str, word: &str) -> String {
    format!(
        "[...[...document.querySelectorAll('#sheet th')].find(it => it.querySelector('input').value === {column:?})
           .querySelectorAll('.tools button')].find(it => it.textContent === {word:?}).click()"
    )
}

fn split(desk: &mut Desk) {
    desk.browser.eval(&tool("stock", "Split"));
    desk.browser.wait_for("the question", "document.querySelector('#split').open");
    desk.browser.call("Input.insertText", serde_json::json!({ "text": " in " }));
    let said = desk.changes(|it| it.press("Enter", 13));
    assert!(said.starts_with("Split."), "{said}");
    let names = desk.names();
    assert!(names.contains(&"stock.1".to_owned()) && !names.contains(&"stock".to_owned()), "{names:?}");
}

fn join(desk: &mut Desk) {
    let said = desk.changes(|it| drop(it.eval(&tool("rating", "Join →"))));
    assert!(said.starts_with("Joined."), "{said}");
    let names = desk.names();
    assert!(names.contains(&"rating reviews".to_owned()) && !names.contains(&"rating".to_owned()), "{names:?}");
}

fn undo(desk: &mut Desk) {
    let said = desk.changes(|it| it.press("u", 85));
    assert!(said.starts_with("Undone."), "{said}");
}

#[test]
fn columns_are_split_and_joined_and_that_is_undone_step_by_step_or_with_the_label() {
    let mut desk = Desk::redesigned();
    desk.go("label/shop");
    let (names, columns) = (desk.names(), desk.columns());
    let folder = |desk: &Desk| {
        ["task.toml", "template.json", "labels.toml"].map(|it| desk.stage.read(&format!("tasks/shop/{it}")))
    };
    let before = folder(&desk);
    split(&mut desk);
    join(&mut desk);
    undo(&mut desk);
    assert!(desk.names().contains(&"rating".to_owned()) && desk.names().contains(&"stock.1".to_owned()));
    undo(&mut desk);
    assert_eq!(desk.names(), names, "as if nothing had been said");

    split(&mut desk);
    join(&mut desk);
    desk.take();
    let first = desk.stage.pieme(&["records", "shop", "--json"]).json()["records"][0].clone();
    assert_eq!(first["rating reviews"], "2.8 73", "{first}");
    assert_eq!(first["stock.1"], "26", "{first}");
    let [task, _, labels] = folder(&desk);
    assert!(task.contains("name = \"stock.1\"") && task.contains("name = \"rating reviews\""), "{task}");
    assert!(labels.contains("split") && labels.contains("join"), "it stands with what was said: {labels}");

    // Undone later, on the task's page.
    desk.browser.goto(&format!("{}task/shop", desk.url));
    desk.browser.click(".more summary");
    desk.browser.click("form[action$='/rollback'] button");
    desk.stage.wait_for("the columns of before", || desk.columns() == columns);
    desk.stage.wait_for("the folder of before", || folder(&desk) == before);
}

#[test]
fn columns_of_a_list_that_is_well_are_cut_and_joined_too() {
    let mut desk = Desk::well();
    desk.go("label/shop");
    let names = desk.names();
    split(&mut desk);
    join(&mut desk);
    let kept = desk.names();
    let others: Vec<&String> =
        names.iter().filter(|it| !["stock", "rating", "reviews"].contains(&it.as_str())).collect();
    assert!(others.iter().all(|it| kept.contains(it)), "the others keep their names: {kept:?}");
    desk.take();
    let first = desk.stage.pieme(&["records", "shop", "--json"]).json()["records"][0].clone();
    assert_eq!((&first["stock.1"], &first["stock"]), (&"26".into(), &serde_json::Value::Null), "{first}");
    assert!(first["rating reviews"].is_string() && first["name"].is_string(), "{first}");
}
