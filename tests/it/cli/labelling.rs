//! A person's help on the command line: labels, enclosed blocks, rows and columns.

use crate::stage::Stage;

#[test]
fn a_label_can_be_given_on_the_command_line_and_a_wrong_one_changes_nothing() {
    let stage = Stage::new();
    stage.write_task("plain", "/products", "");
    assert_eq!(stage.pieme(&["run", "plain"]).code, 3, "learned, waits for a person");
    let offered = stage.pieme(&["label", "plain", "--json"]).json();
    let columns = offered["candidates"][0]["columns"].as_array().expect("columns").len();
    let before = stage.read("tasks/plain/template.json");
    for words in [&["--pick", "9"][..], &["--pick", "0"], &["--names", "a,b"], &["--names", "-"]] {
        let said = stage.pieme(&[&["label", "plain"][..], words].concat());
        assert_eq!(said.code, 2, "{words:?}: {}", said.stderr);
    }
    assert_eq!(stage.pieme(&["label", "plain"]).code, 2, "there is no terminal to ask at");
    assert_eq!(stage.read("tasks/plain/template.json"), before);
    let mut names = vec!["-".to_owned(); columns];
    names[0] = "first".to_owned();
    let said = stage.pieme(&["label", "plain", "--names", &names.join(",")]);
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    let records = stage.pieme(&["records", "plain", "--json"]).json();
    assert_eq!(records["columns"], serde_json::json!(["first"]));
}

#[test]
fn an_error_page_is_never_offered_as_the_list() {
    let stage = Stage::new();
    stage.drop_folder("practice-shop");
    assert_eq!(stage.pieme(&["run", "practice-shop"]).code, 0);
    let good = stage.read("tasks/practice-shop/task.toml");
    stage.write("tasks/practice-shop/task.toml", &good.replace("/products", "/bad/404"));
    assert_eq!(stage.pieme(&["run", "practice-shop"]).code, 1);
    let offered = stage.pieme(&["label", "practice-shop", "--json"]).json();
    assert!(offered["url"].as_str().is_some_and(|it| it.ends_with("/products")), "{}", offered["url"]);
    assert_eq!(offered["candidates"][0]["rows"], 12);
}

#[test]
fn an_enclosed_block_is_enough_and_is_remembered_after_the_redesign() {
    let stage = Stage::new();
    stage.write_task("plain", "/products", "");
    assert_eq!(stage.pieme(&["run", "plain"]).code, 3, "learned, waits for a person");
    let wrong = stage.pieme(&["label", "plain", "--enclose", "no such thing", "--yes"]);
    assert_eq!(wrong.code, 2, "{}", wrong.stderr);
    assert!(wrong.stderr.contains("“no such thing” is not on the page"), "{}", wrong.stderr);
    let offered = stage.pieme(&["label", "plain", "--json"]).json();
    let record = offered["candidates"][0]["records"][2].as_object().cloned().expect("a third record");
    let is_name = |it: &&str| it.starts_with(char::is_alphabetic) && it.ends_with(char::is_numeric);
    let name = record.values().filter_map(|it| it.as_str()).find(is_name);
    let name = name.expect("products have a number in their name");
    let said = stage.pieme(&["label", "plain", "--enclose", name, "--yes"]);
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    let published = stage.pieme(&["records", "plain", "--json"]).json();
    assert_eq!(published["records"].as_array().map(Vec::len), Some(48), "{}", said.stdout);
    let labels = stage.read("tasks/plain/labels.toml");
    assert!(labels.contains("kind = \"enclose\"") && labels.contains(name), "{labels}");
    stage.post("/switch/redesign");
    assert_ne!(stage.pieme(&["run", "plain"]).code, 0, "the redesign is noticed");
    let offered = stage.pieme(&["label", "plain", "--json"]).json();
    let first = &offered["candidates"][0];
    assert!(first["records"].to_string().contains(name), "the block's list comes first again: {first}");
    assert_eq!(stage.pieme(&["label", "plain", "--yes"]).code, 0);
    assert_eq!(stage.read("tasks/plain/labels.toml").matches("[label.said]").count(), 2, "and is said again");
}

#[test]
fn labelled_values_become_the_columns() {
    let stage = Stage::new();
    stage.write(
        "shop.html",
        "<ul><li><b>Oak chair</b> <i>95</i> <u>new</u><li><b>Elm desk</b> <i>240</i><li><b>Ash bed</b> <i>700</i></ul>",
    );
    let page = stage.path("shop.html").display().to_string();
    let template = stage.path("template.json").display().to_string();
    let labels = ["--label", "name=Elm desk", "--label", "price=240"];
    let said = stage.pieme(&[&["learn", &page, "--json", "--pick", "1", "-o", &template][..], &labels].concat()).json();
    assert_eq!(said["candidates"][0]["records"][2]["price"], "700", "{said}");
    let rows = stage.pieme(&["extract", "--template", &template, &page, "--json"]).json();
    assert_eq!(rows["rows"], 3);
    assert_eq!(
        (&rows["records"][0]["name"], &rows["records"][0]["price"]),
        (&"Oak chair".into(), &"95".into()),
        "{rows}"
    );
    let wrong = stage.pieme(&["learn", &page, "--label", "price=999"]);
    assert_eq!((wrong.code, wrong.stderr.lines().count()), (2, 1), "{}", wrong.stderr);
    assert_eq!(stage.pieme(&["learn", &page, "--label", "price"]).code, 2);
    assert_eq!(stage.pieme(&["learn", &page, "--enclose-css", "li["]).code, 2);
}

#[test]
fn rows_and_columns_can_be_told_and_are_said_again_when_learning_anew() {
    let stage = Stage::new();
    stage.write_task("plain", "/products", "");
    assert_eq!(stage.pieme(&["run", "plain"]).code, 3, "learned, waits for a person");
    let told = ["--row-css", "li", "--column", "name=a", "--column-xpath", "link=.//a/@href", "--yes"];
    let said = stage.pieme(&[&["label", "plain"][..], &told].concat());
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    let records = stage.pieme(&["records", "plain", "--json"]).json();
    assert_eq!(records["columns"], serde_json::json!(["name", "link"]), "{records}");
    let labels = stage.read("tasks/plain/labels.toml");
    assert!(labels.contains("kind = \"tell\"") && labels.contains("css = \"li\""), "{labels}");
    let again = stage.pieme(&["label", "plain", "--json"]).json();
    assert_eq!(again["candidates"][0]["method"], "told", "{again}");
    for (words, sentence) in [
        (["--row-css", "li["], "is not a CSS selector"),
        (["--row-xpath", "//li/.."], "the part `..` of the XPath `//li/..` is not supported"),
        (["--row-regex", "(x{9999}){9999}"], "is not a usable regular expression"),
        (["--column", "name=table.nowhere"], "nothing in the rows matches `table.nowhere`"),
        (["--theta", "7"], "a number from 0 to 1"),
    ] {
        let said = stage.pieme(&[&["label", "plain", "--yes"][..], &words].concat());
        assert_eq!(said.code, 2, "{words:?}: {}", said.stderr);
        assert!(said.stderr.contains(sentence), "{words:?}: {}", said.stderr);
    }
}

#[test]
fn a_candidate_is_touched_up_on_the_command_line_and_the_template_keeps_it() {
    let stage = Stage::new();
    let row = |(name, price): (&str, &str)| {
        format!("<dt><b>{name}</b></dt><dd>{price}, used</dd><dd><i>delivered by {name}</i></dd>")
    };
    let rows = [("Oak chair", "95"), ("Elm desk", "240"), ("Ash bed", "70"), ("Yew stool", "30")].map(row).concat();
    stage.write("shop.html", &format!("<dl>{rows}</dl>"));
    let page = stage.path("shop.html").display().to_string();
    let template = stage.path("template.json").display().to_string();
    let offered = stage.pieme(&["learn", &page, "--json"]).json();
    let offered = offered["candidates"].as_array().expect("candidates");
    let is_whole = |it: &serde_json::Value| it["rows"] == 4 && it["records"][0]["c3"].is_string();
    let place = offered.iter().position(is_whole).expect("three siblings a record");
    let pick = (place + 1).to_string();
    let touch =
        ["--pick", &pick, "--narrow=last", "--split", "c2=,", "--join", "c1,c2.1=both", "-o", &template, "--json"];
    let said = stage.pieme(&[&["learn", &page][..], &touch].concat());
    assert_eq!(said.code, 0, "{}", said.stderr);
    let touched = &said.json()["candidates"][place];
    let both = &touched["records"][1]["both"];
    assert_eq!((&touched["method"], both), (&"adjusted".into(), &"Elm desk 240".into()), "{touched}");
    let read = stage.pieme(&["extract", "--template", &template, &page, "--json"]).json();
    assert_eq!((&read["rows"], &read["records"][3]["both"]), (&4.into(), &"Yew stool 30".into()), "{read}");
    let wrong = stage.pieme(&["learn", &page, "--split", "c99"]);
    assert_eq!((wrong.code, wrong.stderr.contains("there is no column `c99`")), (2, true), "{}", wrong.stderr);
}

#[test]
fn one_name_given_to_two_columns_makes_one_column_of_both() {
    let stage = Stage::new();
    stage.write_task("plain", "/products", "");
    assert_eq!(stage.pieme(&["run", "plain"]).code, 3, "learned, waits for a person");
    let offered = stage.pieme(&["label", "plain", "--json"]).json();
    let columns = offered["candidates"][0]["columns"].as_array().expect("columns").len();
    let mut names = vec!["-"; columns];
    names[..3].copy_from_slice(&["one", "two", "one"]);
    let said = stage.pieme(&["label", "plain", "--names", &names.join(",")]);
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    let records = stage.pieme(&["records", "plain", "--json"]).json();
    assert_eq!(records["columns"], serde_json::json!(["two", "one"]));
    let first = offered["candidates"][0]["columns"][0].as_str().expect("a column has a name");
    assert_eq!(records["records"][0]["one"], offered["candidates"][0]["records"][0][first]);
}
