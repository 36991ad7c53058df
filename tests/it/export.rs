//! Exported files: their content, read back by other programs than pieme, and that they are complete or absent.

use std::fs;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Command, Stdio};

use pieme::model::{ColumnType, Facet, ValueColumn};
use serde_json::{Value, json};

use crate::kept::{Found, Kept, name, texts};
use crate::stage::apps_python;

const fn value(of: usize, kind: ColumnType, facet: Facet) -> ValueColumn {
    ValueColumn { of, kind, facet }
}

const COLUMNS: &[&str] = &["name", "price", "rooms", "open", "since"];
const VALUES: &[ValueColumn] = &[
    value(1, ColumnType::Money, Facet::Value),
    value(1, ColumnType::Money, Facet::To),
    value(1, ColumnType::Money, Facet::Currency),
    value(2, ColumnType::Int, Facet::Value),
    value(3, ColumnType::Bool, Facet::Value),
    value(4, ColumnType::Date, Facet::Value),
];

/// Three hotels with everything that a value can be, and can fail to be.
fn hotels() -> Kept {
    let mut kept = Kept::new();
    let rows = texts(&[
        &["Adler, \"Zum\"", "ab 95,00 €", "12", "ja", "3. April 2024", "95.00", "", "EUR", "12", "1", "2024-04-03"],
        &["=HYPERLINK(1)", "-5–20 $", "-3", "no", "März 2021", "-5", "20", "USD", "-3", "0", "2021-03"],
        &["日本\nホテル", "ask", "many", "", "heute, 00:30", "", "", "", "", "", "2024-04-03T00:30:00+02:00"],
    ]);
    kept.publish("hotels", &Found { columns: COLUMNS, values: VALUES, key: &["name"], rows });
    kept
}

fn many(rows: usize) -> Kept {
    let mut kept = Kept::new();
    let row = |n: usize| vec![format!("hotel {n:06}"), format!("a long text of number {n} ").repeat(20)];
    let rows = (0..rows).map(row).collect();
    kept.publish("hotels", &Found { columns: &["name", "text"], values: &[], key: &["name"], rows });
    kept
}

fn said(kept: &Kept, words: &[&str]) -> String {
    let said = kept.pieme(words);
    assert_eq!((said.code, said.stderr.as_str()), (0, ""), "{words:?}");
    said.stdout
}

/// The output of Python for one of our programs, with the packages that tests/all.sh installs.
fn python(program: &str, file: &Path) -> Value {
    let python = apps_python();
    let output = Command::new(&python).args(["-c", program]).arg(file).output();
    let output = output.unwrap_or_else(|error| panic!("{}: {error}; tests/all.sh sets it up", python.display()));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn a_spreadsheet_gets_values_texts_and_no_formula_of_a_strangers() {
    let kept = hotels();
    let csv = said(&kept, &["export", "hotels"]);
    let path = kept.path("hotels.csv");
    fs::write(&path, &csv).expect("a file");
    let rows = python("import csv,json,sys; print(json.dumps(list(csv.reader(open(sys.argv[1],newline='')))))", &path);
    let header = ["name", "price", "_to_price", "_currency_price", "_text_price", "rooms", "_text_rooms", "open"];
    assert_eq!(rows[0].as_array().expect("a header")[..8], header.map(Value::from));
    assert_eq!(
        rows[0].as_array().expect("a header")[11..],
        ["_run", "_first_seen", "_last_seen", "_page"].map(Value::from)
    );
    let cells = |row: usize| rows[row].as_array().expect("cells")[..11].to_vec();
    assert_eq!(
        json!(cells(1)),
        json!([
            "Adler, \"Zum\"",
            "95",
            "",
            "EUR",
            "ab 95,00 €",
            "12",
            "12",
            "true",
            "ja",
            "2024-04-03",
            "3. April 2024"
        ])
    );
    // A number may be negative; a text that looks like one stays a text.
    assert_eq!(
        json!(cells(2)),
        json!(["'=HYPERLINK(1)", "-5", "20", "USD", "'-5–20 $", "-3", "'-3", "false", "no", "2021-03", "März 2021"])
    );
    assert_eq!(json!(cells(3)[..5]), json!(["日本\nホテル", "", "", "", "ask"]));
    assert!(csv.ends_with("\r\n") && csv.contains("\"Adler, \"\"Zum\"\"\","), "{csv}");
    assert!(said(&kept, &["export", "hotels", "--raw"]).contains("\r\n=HYPERLINK(1),"));
    assert!(said(&kept, &["export", "hotels", "--texts"]).starts_with("name,price,rooms,open,since,_run"));
}

#[test]
fn json_has_jsons_own_types_and_every_name_in_every_record() {
    let kept = hotels();
    let array: Value = serde_json::from_str(&said(&kept, &["export", "hotels", "--format", "json"])).expect("JSON");
    let lines = said(&kept, &["export", "hotels", "--format", "jsonl"]);
    let by_line: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(array, json!(by_line));
    let of = |row: usize, names: [&str; 5]| names.map(|name| array[row][name].clone());
    let names = ["price", "_to_price", "rooms", "open", "since"];
    assert_eq!(of(1, names), [json!(-5.0), json!(20.0), json!(-3), json!(false), json!("2021-03")]);
    assert_eq!(of(2, names), [json!(null), json!(null), json!(null), json!(null), json!("2024-04-03T00:30:00+02:00")]);
    assert_eq!(array[2].as_object().map(|it| it.len()), array[0].as_object().map(|it| it.len()));
    assert!(
        array[0].get("_task").is_none() && array[0]["_first_seen"].as_str().is_some_and(|it| it.ends_with("00.000Z"))
    );
}

#[test]
fn another_programs_parquet_reader_finds_the_types_and_the_rows() {
    let kept = hotels();
    assert_eq!(kept.pieme(&["export", "hotels", "-o", "hotels.parquet"]).code, 0);
    let program = "
import duckdb, json, sys
ask = lambda sql: duckdb.connect().execute(sql, [sys.argv[1]]).fetchall()
types = {it[0]: it[1] for it in ask('describe select * from read_parquet(?)')}
rows = ask('select * exclude (_time_since, _first_seen, _last_seen), epoch_ms(_time_since) from read_parquet(?)')
print(json.dumps({'types': types, 'rows': rows}, default=str))";
    let read = python(program, &kept.path("hotels.parquet"));
    for (name, kind) in
        [("name", "VARCHAR"), ("price", "DOUBLE"), ("rooms", "BIGINT"), ("open", "BOOLEAN"), ("since", "DATE")]
    {
        assert_eq!(read["types"][name], kind, "{name}");
    }
    assert_eq!(read["types"]["_time_since"], "TIMESTAMP WITH TIME ZONE");
    assert_eq!(read["types"]["_first_seen"], "TIMESTAMP WITH TIME ZONE");
    let row = |n: usize| json!(read["rows"][n].as_array().expect("a row")[..10].to_vec());
    assert_eq!(row(0), json!(["Adler, \"Zum\"", 95.0, null, "EUR", "ab 95,00 €", 12, "12", true, "ja", "2024-04-03"]));
    assert_eq!(row(1), json!(["=HYPERLINK(1)", -5.0, 20.0, "USD", "-5–20 $", -3, "-3", false, "no", "2021-03-01"]));
    assert_eq!(row(2), json!(["日本\nホテル", null, null, null, "ask", null, "many", null, null, "2024-04-03"]));
    let instants = [0, 2].map(|row| read["rows"][row].as_array().and_then(|row| row.last()).cloned());
    assert_eq!(instants, [Some(json!(null)), Some(json!(1_712_097_000_000_i64))], "half past midnight, two hours east");
}

#[test]
fn parquet_of_more_rows_than_a_group_has_them_all() {
    let kept = many(40_000);
    assert_eq!(kept.pieme(&["export", "hotels", "-o", "h.parquet"]).code, 0);
    let program = "
import duckdb, json, sys
ask = lambda sql: duckdb.connect().execute(sql, [sys.argv[1]]).fetchall()
rows = ask('select count(*), count(distinct name), min(name), max(name) from read_parquet(?)')[0]
print(json.dumps([*rows, ask('select count(distinct row_group_id) from parquet_metadata(?)')[0][0]]))";
    let read = python(program, &kept.path("h.parquet"));
    assert_eq!(json!(read.as_array().expect("figures")[..4]), json!([40_000, 40_000, "hotel 000000", "hotel 039999"]));
    assert!(read[4].as_u64() > Some(1), "several groups: {read}");
}

#[test]
fn an_sqlite_file_has_a_plain_typed_table_named_as_the_task() {
    let mut kept = hotels();
    kept.publish_texts("old-flats", &["where"], &[&["Halifax"]]);
    assert_eq!(kept.pieme(&["export", "hotels", "old-flats", "-o", "both.db"]).code, 0);
    let ask = |sql: &str| {
        let output = Command::new("sqlite3").arg(kept.path("both.db")).arg(sql).output().expect("sqlite3 is installed");
        String::from_utf8(output.stdout).expect("text").trim_end().to_owned()
    };
    assert_eq!(
        ask("SELECT typeof(price), price, typeof(rooms), open, since, _text_price FROM hotels LIMIT 1"),
        "real|95.0|integer|1|2024-04-03|ab 95,00 €"
    );
    assert_eq!(ask("SELECT \"where\", _page FROM \"old-flats\""), "Halifax|0");
    assert_eq!(ask("SELECT count(*) FROM sqlite_schema; PRAGMA integrity_check"), "2\nok");
}

#[test]
fn several_tasks_go_into_one_file_that_can_hold_them_or_into_a_folder() {
    let mut kept = hotels();
    kept.publish_texts("flats", &["where"], &[&["Halifax"]]);
    let lines = said(&kept, &["export", "flats", "hotels", "flats", "--format", "jsonl"]);
    let tasks: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON")["_task"].clone()).collect();
    assert_eq!(tasks, ["flats", "hotels", "hotels", "hotels"]);
    let refused = kept.pieme(&["export", "flats", "hotels"]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("give a folder with -o, or use jsonl"), "{}", refused.stderr);
    fs::create_dir(kept.path("backup")).expect("a folder");
    let told = kept.pieme(&["export", "flats", "hotels", "--format", "csv", "-o", "backup", "--json"]).json();
    assert_eq!(told["files"][1]["tasks"][0], json!({ "task": "hotels", "rows": 3 }));
    assert!(kept.path("backup/flats.csv").is_file() && kept.path("backup/hotels.csv").is_file());
}

#[test]
fn what_cannot_be_exported_is_said_before_anything_is_written() {
    let kept = hotels();
    for (words, code, sentence) in [
        (&["export", "hotels", "-o", "h.txt"][..], 2, "has no known extension: add --format csv"),
        (&["export", "hotels", "--format", "sqlite"], 2, "give a file with -o FILE"),
        (&["export", "hotels", "--format", "xls"], 2, "the formats are csv, json, jsonl, parquet, sqlite, rss, atom"),
        (&["export", "flats", "-o", "f.csv"], 2, "there is no task `flats`"),
        (&["export", "hotels", "-o", "no/such/folder/h.csv"], 1, "cannot write no/such/folder/h.csv"),
        (&["export", "No Task"], 2, ""),
    ] {
        let said = kept.pieme(words);
        assert_eq!((said.code, said.stdout.as_str()), (code, ""), "{words:?}");
        assert!(said.stderr.contains(sentence), "{words:?}: {}", said.stderr);
    }
    assert!(!kept.path("f.csv").exists() && !kept.path("h.txt").exists());
}

#[test]
fn a_device_is_written_to_and_never_replaced_and_a_full_disk_is_a_sentence() {
    let kept = many(3_000);
    let full = kept.path("full.csv");
    std::os::unix::fs::symlink("/dev/full", &full).expect("a link");
    for format in ["csv", "json", "jsonl", "parquet"] {
        let said = kept.pieme(&["export", "hotels", "--format", format, "-o", "full.csv"]);
        assert_eq!(said.code, 1, "{format}: {}", said.stderr);
        assert!(said.stderr.contains("the disk is full"), "{format}: {}", said.stderr);
    }
    assert!(full.is_symlink() && Path::new("/dev/full").exists());
}

#[test]
fn a_file_that_is_there_stays_until_the_new_one_is_whole() {
    let kept = many(3_000);
    fs::write(kept.path("h.csv"), "as it was").expect("a file");
    // A limit on the file size simulates a full disk: it is reached in the middle.
    let program =
        format!("ulimit -f 4; trap '' XFSZ; exec \"$0\" \"$@\" --config '{}'", kept.path("config.toml").display());
    for file in ["h.csv", "h.db", "h.parquet"] {
        let said = Command::new("bash")
            .args(["-c", &program, env!("CARGO_BIN_EXE_pieme"), "export", "hotels", "-o", file])
            .current_dir(kept.folder.path())
            .output()
            .expect("bash is there");
        assert!(!said.status.success(), "{file}");
        assert!(String::from_utf8_lossy(&said.stderr).contains(file), "{}", String::from_utf8_lossy(&said.stderr));
    }
    assert_eq!(fs::read_to_string(kept.path("h.csv")).expect("a file"), "as it was");
    let mut left: Vec<String> = fs::read_dir(kept.folder.path())
        .expect("a folder")
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    left.sort();
    assert_eq!(left, ["config.toml", "h.csv", "state", "tasks"], "nothing half is left behind");
    assert_eq!(kept.pieme(&["export", "hotels", "-o", "h.csv"]).code, 0);
    assert_eq!(fs::read_to_string(kept.path("h.csv")).expect("a file").lines().count(), 3_001);
}

#[test]
fn a_reader_who_leaves_early_is_no_error() {
    let kept = many(3_000);
    for format in ["csv", "json", "jsonl", "parquet"] {
        let mut child = kept
            .command(&["export", "hotels", "--format", format])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("pieme starts");
        let mut some = [0; 100];
        child.stdout.take().expect("a pipe").read_exact(&mut some).expect("its beginning");
        let ended = child.wait_with_output().expect("it ends");
        assert_eq!((ended.status.code(), ended.stderr.as_slice()), (Some(0), &[][..]), "{format}");
    }
}

#[test]
fn rows_are_gone_through_in_parts_of_one_moment_while_others_are_published() {
    let mut kept = many(6_000);
    let reader = pieme::store::Store::open_reader(&kept.path("state/pieme.db")).expect("a reader");
    let (mut parts, mut seen) = (0, Vec::new());
    let found = reader.each_published(&name("hotels"), &mut |part| {
        parts += 1;
        if parts == 2 {
            kept.publish_texts("hotels", &["name", "text"], &[&["another", "x"]]);
        }
        assert_eq!((part.total, part.table.columns.len()), (6_000, 2));
        seen.extend(part.table.rows.iter().filter_map(|row| row.cells[0].clone()));
        ControlFlow::Continue(())
    });
    assert!(found.expect("rows") && parts > 3);
    assert!(seen.iter().enumerate().all(|(n, name)| *name == format!("hotel {n:06}")) && seen.len() == 6_000);
    let mut parts = 0;
    reader
        .each_published(&name("hotels"), &mut |_| {
            parts += 1;
            ControlFlow::Break(())
        })
        .expect("rows");
    assert_eq!(parts, 1, "nobody is told more than they want to hear");
    assert!(!reader.each_published(&name("flats"), &mut |_| ControlFlow::Continue(())).expect("an answer"));
}

#[test]
fn feeds_have_what_changed_under_ids_that_stay_and_are_sound_xml() {
    let mut kept = Kept::new();
    let columns = &["name", "price", "link"];
    let feed = |kept: &Kept, format: &str| {
        let path = kept.path(&format!("feed.{format}"));
        assert_eq!(kept.pieme(&["export", "t", "-o", &path.to_string_lossy()]).code, 0);
        let program = "
import json, sys, xml.etree.ElementTree as tree
root = tree.parse(sys.argv[1]).getroot()
name = lambda it: it.tag.rsplit('}')[-1]
items = [it for it in root.iter() if name(it) in ('item', 'entry')]
print(json.dumps([{name(part): part.text or part.get('href') for part in it} for it in items]))";
        python(program, &path)
    };
    kept.publish_texts("t", columns, &[&["a", "1", "/a"], &["b <b>&\u{1b}\u{2}", "1", "https://example.org/b?x=1&y"]]);
    assert_eq!(feed(&kept, "rss"), json!([]), "what was there at first is no news");
    kept.publish_texts("t", columns, &[&["a", "2", "/a"], &["c", "1", "https://example.org/c"]]);
    let rss = feed(&kept, "rss");
    let titles: Vec<&str> = rss.as_array().expect("items").iter().filter_map(|it| it["title"].as_str()).collect();
    assert_eq!(titles, ["added: c", "changed: a", "removed: b <b>&"]);
    assert_eq!((&rss[0]["link"], &rss[1]["description"]), (&json!("https://example.org/c"), &json!("price: 1 → 2")));
    assert!(rss[2]["description"].as_str().is_some_and(|it| it.starts_with("name: b &lt;b&gt;&amp;")), "{}", rss[2]);
    let atom = feed(&kept, "atom");
    assert_eq!(atom[1]["content"], "price: 1 → 2");
    assert_eq!(atom[2]["id"], rss[2]["guid"]);
    kept.publish_texts("t", columns, &[&["a", "3", "/a"], &["c", "1", "https://example.org/c"]]);
    let later = feed(&kept, "atom");
    assert_eq!((later.as_array().map(Vec::len), &later[1]["id"]), (Some(4), &atom[0]["id"]), "the newest first");
    let told = kept.pieme(&["export", "t", "-o", "x.rss", "--limit", "2", "--json"]).json();
    assert_eq!(told["files"][0]["items"], 2);
}
