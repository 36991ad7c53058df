//! Types, splits and joins of task.toml, from the page to the database and back.

use serde_json::json;

use crate::stage::Stage;

/// The task `plain`, of one line, with the first list accepted unchanged.
fn labelled() -> Stage {
    let stage = Stage::new();
    stage.write_task("plain", "/products", "");
    assert_eq!(stage.pieme(&["run", "plain"]).code, 3);
    assert_eq!(stage.pieme(&["label", "plain", "--yes"]).code, 0);
    stage
}

#[test]
fn a_typed_and_a_cut_column_are_in_the_rows_and_gone_when_they_are_undone() {
    let stage = Stage::new();
    stage.drop_folder("practice-shop");
    let file = "tasks/practice-shop/task.toml";
    let plain = stage.read(file);
    let typed = plain
        .replace("name = \"price\"", "name = \"price\"\ntype = \"money\"")
        .replace("name = \"link\"", "name = \"link\"\ntype = \"url\"")
        .replace("name = \"badge\"", "name = \"badge\"\ntype = \"int\"\ndefault = \"none\"")
        .replace("name = \"name\"", "name = \"name\"\npattern = '(?<wood>\\S+) (?<name>.+)'");
    stage.write(file, &typed);
    let said = stage.pieme(&["run", "practice-shop"]);
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);

    let rows = stage.pieme(&["records", "practice-shop", "--json"]).json();
    assert_eq!(rows["types"], json!({ "link": "url", "badge": "int", "price": "money" }));
    let columns: Vec<&str> = rows["columns"].as_array().expect("columns").iter().filter_map(|it| it.as_str()).collect();
    assert_eq!(columns[..6], ["link", "image", "badge", "name", "wood", "price"]);
    let (record, value) = (&rows["records"][0], &rows["values"][0]);
    let text = record["price"].as_str().expect("a price");
    let amount: f64 = text.trim_start_matches("€ ").replace(',', "").parse().expect("an amount");
    assert_eq!(
        (value["price"]["amount"].as_f64(), &value["price"]["currency"]),
        (Some(amount), &"EUR".into()),
        "{text}"
    );
    let link = value["link"].as_str().expect("a link");
    assert!(
        link.starts_with("http://127.0.0.1:") && link.ends_with(record["link"].as_str().expect("a path")),
        "{link}"
    );
    assert_eq!(rows["unread"][0]["why"], "the text has no number", "{}", rows["unread"][0]);
    let shown = stage.pieme(&["records", "practice-shop", "--values", "--limit", "1"]).stdout;
    assert!(shown.contains(&format!("{amount:?} EUR")) && shown.contains("? none"), "{shown}");
    assert!(shown.contains("? badge: the text has no number: “none”"), "{shown}");
    let explained = stage.pieme(&["explain", "practice-shop"]).stdout;
    assert!(explained.contains("money"), "{explained}");
    let without = rows["unread"].as_array().expect("texts without a value").len();
    let reason = format!("UNREAD badge: the text has no number: “none” ({without} texts)");
    assert!(explained.contains(&reason), "{explained}");
    let unread = &stage.pieme(&["explain", "practice-shop", "--json"]).json()["unread"];
    assert_eq!(unread[0]["texts"], without, "{unread}");

    stage.write(file, &plain);
    assert_eq!(stage.pieme(&["run", "practice-shop"]).code, 0);
    let rows = stage.pieme(&["records", "practice-shop", "--json"]).json();
    assert_eq!((&rows["columns"][4], rows.get("types")), (&"price".into(), None), "{}", rows["columns"]);
}

#[test]
fn a_label_writes_the_types_of_new_columns_and_keeps_what_a_person_says() {
    let stage = Stage::new();
    stage.write_task("plain", "/products", "");
    assert_eq!(stage.pieme(&["run", "plain"]).code, 3, "learned, waits for a person");
    assert_eq!(stage.pieme(&["label", "plain", "--yes"]).code, 0);
    let file = "tasks/plain/task.toml";
    let written = stage.read(file);
    assert!(written.contains("type = \"money\""), "{written}");
    let types = &stage.pieme(&["records", "plain", "--json"]).json()["types"];
    assert!(types.as_object().is_some_and(|it| it.values().any(|kind| kind == "money")), "{types}");
    stage.write(file, &written.replace("type = \"money\"", "type = \"text\""));
    assert_eq!(stage.pieme(&["label", "plain", "--yes"]).code, 0);
    assert!(!stage.read(file).contains("type = \"money\""), "{}", stage.read(file));
    assert_eq!(stage.pieme(&["test", "plain"]).code, 0);
}

#[test]
fn a_sample_of_a_cut_column_is_read_the_same_and_a_label_keeps_the_cut() {
    let stage = labelled();
    let file = "tasks/plain/task.toml";
    let name = "name = \"title\"";
    let cut =
        stage.read(file).replace(name, &format!("{name}\nsplit = {{ at = \" \", into = [\"wood\", \"thing\"] }}"));
    assert!(cut.contains("into"), "{cut}");
    stage.write(file, &cut);
    assert_eq!(stage.pieme(&["test", "plain"]).code, 1, "the sample was made before");
    assert_eq!(stage.pieme(&["run", "plain"]).code, 0);
    let said = stage.pieme(&["label", "plain", "--yes"]);
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    assert!(stage.read(file).contains("into = [\"wood\", \"thing\"]"), "{}", stage.read(file));
    let said = stage.pieme(&["test", "plain"]);
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
}

/// The columns of the published rows after a run.
fn columns_now(stage: &Stage) -> String {
    assert_eq!(stage.pieme(&["run", "plain"]).code, 0);
    stage.pieme(&["records", "plain", "--json"]).json()["columns"].to_string()
}

#[test]
fn what_task_toml_says_of_a_column_is_undone_by_removing_it() {
    let stage = labelled();
    let (file, name) = ("tasks/plain/task.toml", "name = \"title\"");
    let (plain, before) = (stage.read(file), columns_now(&stage));
    for (more, wanted) in [
        ("split = { at = \" \", into = [\"wood\", \"thing\"] }", "wood"),
        ("[[column]]\nname = \"both\"\njoin = [\"title\", \"price\"]", "both"),
    ] {
        stage.write(file, &plain.replace(name, &format!("{name}\n{more}")));
        let now = columns_now(&stage);
        assert!(now.contains(wanted), "{more}: {now}");
        stage.write(file, &plain);
        assert_eq!(columns_now(&stage), before, "{more}");
    }
}

#[test]
fn a_cut_that_a_label_made_goes_with_rollback() {
    let stage = labelled();
    let (plain, before) = (stage.read("tasks/plain/task.toml"), columns_now(&stage));
    let said = stage.pieme(&["label", "plain", "--yes", "--split", "title"]);
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    assert!(columns_now(&stage).contains("title.1"), "{}", stage.read("tasks/plain/task.toml"));
    assert_eq!(stage.pieme(&["rollback", "plain"]).code, 0);
    assert_eq!(stage.read("tasks/plain/task.toml"), plain);
    assert_eq!(columns_now(&stage), before);
}
