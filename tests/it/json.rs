//! JSON documents as pages: an array of objects is a list, and the keys are the paths of the values.

use std::path::{Path, PathBuf};
use std::process::Command;

use pieme::learn::apply::{Extraction, extract};
use pieme::learn::{Candidate, LearnOptions, learn};
use pieme::model::Table;
use pieme::page::Tree;

use crate::stage::Said;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pages/json").join(name)
}

fn page(name: &str) -> Tree {
    Tree::parse(&std::fs::read_to_string(fixture(name)).expect("the fixture is there"))
}

fn best(json: &str) -> Candidate {
    learn(&[Tree::parse(json)], &LearnOptions::default())
        .into_iter()
        .next()
        .unwrap_or_else(|| panic!("no list in {json}"))
}

/// Asserts that each row, in order, has all these values.
fn has(table: &Table, rows: &[&[&str]]) {
    assert_eq!(table.rows.len(), rows.len(), "{table:?}");
    for (row, wanted) in table.rows.iter().zip(rows) {
        for value in *wanted {
            assert!(row.cells.iter().flatten().any(|cell| cell == value), "{value} in {row:?}");
        }
    }
}

/// Index of the column in which the first rows have these values.
fn column(table: &Table, values: &[Option<&str>]) -> usize {
    let holds =
        |&place: &usize| values.iter().zip(&table.rows).all(|(value, row)| row.cells[place].as_deref() == *value);
    (0..table.columns.len()).find(holds).unwrap_or_else(|| panic!("no column with {values:?}: {table:?}"))
}

const SHOP: &[&[&str]] = &[
    &["101", "Oak chair", "95.50", "EUR", "3", "false", "https://shop.example/p/101"],
    &["102", "Pine desk <large>", "240.00", "EUR", "0", "true", "https://shop.example/p/102"],
    &["103", "Lamp", "31.00", "EUR", "false", "last ones"],
    &["104", "Shelf", "120.25", "USD", "12"],
    &["105", "Stool", "44.00", "EUR", "7"],
];

#[test]
fn the_main_array_comes_first_and_values_are_as_written() {
    let best = learn(&[page("shop.json")], &LearnOptions::default()).remove(0);
    has(&best.table, SHOP);
    column(&best.table, &[Some("3"), Some("0"), None, Some("12"), Some("7")]);
    column(&best.table, &[Some("95.50"), Some("240.00"), Some("31.00"), Some("120.25"), Some("44.00")]);
}

#[test]
fn other_rows_in_another_order_of_keys_with_some_missing_are_read_by_the_same_template() {
    let learned = learn(&[page("shop.json")], &LearnOptions::default()).remove(0);
    let next: Extraction = extract(&learned.template, &page("shop-next.json"));
    assert!(next.similarity >= 0.7, "{}", next.similarity);
    has(
        &next.table,
        &[
            &["201", "Wardrobe", "310.00", "EUR", "1", "true", "https://shop.example/p/201"],
            &["202", "Bench", "2", "two left", "https://shop.example/p/202"],
            &["203", "Mirror", "59.90", "GBP", "5", "false"],
        ],
    );
    let same = |old: &[Option<&str>], new: &[Option<&str>]| {
        assert_eq!(column(&learned.table, old), column(&next.table, new), "{old:?}");
    };
    same(&[Some("101"), Some("102"), Some("103")], &[Some("201"), Some("202"), Some("203")]);
    same(&[Some("95.50"), Some("240.00"), Some("31.00")], &[Some("310.00"), None, Some("59.90")]);
    same(&[Some("3"), Some("0"), None], &[Some("1"), Some("2"), Some("5")]);
    same(&[Some("false"), Some("true"), Some("false")], &[Some("true"), None, Some("false")]);
}

#[test]
fn an_array_of_one_is_still_read_and_another_document_is_refused() {
    let template = learn(&[page("shop.json")], &LearnOptions::default()).remove(0).template;
    let one = r#"{"products":[{"id":301,"name":"Chest","price":{"amount":80.00,"currency":"EUR"},"stock":1,"sale":false,
                  "tags":["oak"],"url":"https://shop.example/p/301"}],"status":"ok"}"#;
    has(&extract(&template, &Tree::parse(one)).table, &[&["301", "Chest", "80.00"]]);
    let other = extract(&template, &page("stations.geojson"));
    assert!(other.similarity < 0.7, "{}", other.similarity);
    let none = extract(&template, &Tree::parse(r#"{"products":[],"status":"ok"}"#));
    assert_eq!(none.table.rows.len(), 0);
}

#[test]
fn features_of_a_map_are_rows() {
    let best = learn(&[page("stations.geojson")], &LearnOptions::default()).remove(0);
    has(
        &best.table,
        &[
            &["s1", "Harbour", "10.1234", "54.30", "4", "1998-04-01"],
            &["s2", "Moor", "9.8871", "54.05", "12", "2003-11-15"],
            &["s3", "Castle", "10.6021", "53.90", "31"],
            &["s4", "Dyke", "8.9003", "54.48", "1", "2011-06-30"],
        ],
    );
}

#[test]
fn rows_without_keys_are_rows() {
    let json = r#"{"columns":["day","high","low"],"rows":[["Mon",21,12],["Tue",19,11],["Wed",23,null],["Thu",20,9]]}"#;
    let best = best(json);
    has(&best.table, &[&["Mon", "21", "12"], &["Tue", "19", "11"], &["Wed", "23"], &["Thu", "20", "9"]]);
    let next =
        extract(&best.template, &Tree::parse(r#"{"columns":["day","high","low"],"rows":[["Fri",18,7],["Sat",17,8]]}"#));
    has(&next.table, &[&["Fri", "18", "7"], &["Sat", "17", "8"]]);
}

#[test]
fn an_array_at_the_top_and_json_lines_give_the_same_rows() {
    let rows = [
        r#"{"name":"Ann","age":41}"#,
        r#"{"name":"Bo","age":7}"#,
        r#"{"age":19,"name":"Cem"}"#,
        r#"{"name":"Dora","age":63}"#,
    ];
    let wanted: &[&[&str]] = &[&["Ann", "41"], &["Bo", "7"], &["Cem", "19"], &["Dora", "63"]];
    let (array, lines) = (best(&format!("[{}]", rows.join(","))), best(&rows.join("\n")));
    has(&array.table, wanted);
    assert_eq!(array.table, lines.table);
    let next =
        extract(&array.template, &Tree::parse("{\"name\":\"Eve\",\"age\":30}\r\n{\"name\":\"Fay\",\"age\":31}\r\n"));
    has(&next.table, &[&["Eve", "30"], &["Fay", "31"]]);
}

#[test]
fn a_list_in_each_record_does_not_part_it() {
    let order = |id: u32, lines: &str| {
        let (day, city) = (id % 28, ["Kiel", "Ulm", "Bonn", "Jena"][id as usize % 4]);
        format!(
            r#"{{"order":{id},"customer":"C{id}","city":"{city}","day":"2024-05-{day}","lines":[{lines}],"total":{}}}"#,
            id * 3
        )
    };
    let line = |sku: &str, n: u32| format!(r#"{{"sku":"{sku}","n":{n}}}"#);
    let json = format!(
        "{{\"orders\":[{},{},{},{}]}}",
        order(11, &[line("A", 1), line("B", 2)].join(",")),
        order(12, &line("C", 1)),
        order(13, ""),
        order(14, &[line("A", 4), line("D", 5), line("E", 6)].join(",")),
    );
    let best = best(&json);
    has(&best.table, &[&["11", "C11", "33"], &["12", "C12", "36"], &["13", "C13", "39"], &["14", "C14", "42"]]);
}

#[test]
fn keys_that_html_reads_in_its_own_way_lose_nothing() {
    let row = |i: u32| {
        format!(
            r#"{{"style":"s{i}","template":"t{i}","head":"h{i}","pre":"p{i} q","b":"b{i}","i":"i{i}","select":"x{i}"}}"#
        )
    };
    let json = format!("[{}]", (1..=4).map(row).collect::<Vec<_>>().join(","));
    let best = best(&json);
    has(&best.table, &[&["s1", "t1", "h1", "p1 q", "b1", "i1", "x1"], &["s2"], &["s3"], &["s4", "t4", "x4"]]);
}

#[test]
fn cut_off_json_is_plain_text_as_before() {
    let tree = Tree::parse(r#"[{"a": 1}, {"a": 2}, {"a"#);
    assert_eq!((tree.elements("json").count(), tree.elements("pre").count()), (0, 1));
}

fn pieme(words: &[&str]) -> Said {
    Command::new(env!("CARGO_BIN_EXE_pieme")).args(words).output().expect("pieme starts").into()
}

#[test]
fn a_json_file_is_learned_and_read_on_the_command_line() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let template = folder.path().join("template.json");
    let (first, next) = (fixture("shop.json"), fixture("shop-next.json"));
    let path = |path: &Path| path.to_str().expect("a plain path").to_owned();
    let said = pieme(&["learn", &path(&first), "--pick", "1", "-o", &path(&template), "--json"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert_eq!(said.json()["candidates"][0]["rows"], 5, "{}", said.stdout);
    let said = pieme(&["extract", "--template", &path(&template), &path(&next), "--json"]);
    assert_eq!((said.code, said.json()["rows"].as_u64()), (0, Some(3)), "{}{}", said.stdout, said.stderr);
    let said = pieme(&["learn", &path(&first), "--label", "name=Oak chair", "--label", "price=95.50", "--json"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    let records = &said.json()["candidates"][0]["records"];
    assert_eq!(
        (records[1]["name"].as_str(), records[1]["price"].as_str()),
        (Some("Pine desk <large>"), Some("240.00")),
        "{records}"
    );
}
