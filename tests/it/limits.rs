//! Very large pages and lists: all rows are published, or none, with a sentence that says why.

use serde_json::Value;

use super::stage::Stage;

fn run(stage: &Stage, task: &str, path: &str) -> Value {
    stage.write_task(task, path, "");
    stage.pieme(&["run", task, "--json"]).json()
}

fn fails_at_a_limit(stage: &Stage, path: &str, words: &[&str]) {
    let said = run(stage, "too-much", path);
    assert_eq!((&said["outcome"], &said["cause"]), (&"failed".into(), &"limit".into()), "{path}: {said}");
    let sentence = said["sentence"].as_str().unwrap_or_default();
    words.iter().for_each(|word| assert!(sentence.contains(word), "{path}: no “{word}” in: {sentence}"));
}

/// Runs a new task and confirms the learned list.
fn publish(stage: &Stage, task: &str, path: &str) {
    let said = run(stage, task, path);
    assert!(said["rows"].as_u64() > Some(0), "{path}: {said}");
    let label = stage.pieme(&["label", task, "--yes"]);
    assert_eq!(label.code, 0, "{path}: {}{}", label.stdout, label.stderr);
}

#[test]
fn a_table_of_twenty_thousand_rows_is_published_to_its_last() {
    let stage = Stage::new();
    publish(&stage, "long", "/bad/table?rows=20000&columns=15");
    assert_eq!(stage.sql("SELECT count(*), count(DISTINCT article_a) FROM long"), "20000|20000");
    let last = "SELECT code_c FROM long WHERE article_a = 'Alba Kettle 20000-1'";
    assert_eq!(stage.sql(last), "AB-20000-15");
}

#[test]
fn a_long_list_in_json_is_published_to_its_last() {
    let stage = Stage::new();
    publish(&stage, "json", "/bad/json?rows=60000&columns=4");
    assert_eq!(stage.sql("SELECT count(*), count(DISTINCT column1) FROM json"), "60000|60000");
    assert_eq!(stage.sql("SELECT column4 FROM json WHERE column1 = 'Alba Kettle 60000-1'"), "0 in stock");
}

#[test]
fn all_columns_of_a_wide_table_are_read() {
    let stage = Stage::new();
    publish(&stage, "wide", "/bad/table?rows=30&columns=300");
    let records = stage.pieme(&["records", "wide", "--json"]).json();
    let records = records["records"].as_array().expect("rows are published");
    let names =
        |record: &Value| record.as_object().map_or(0, |it| it.keys().filter(|name| !name.starts_with('_')).count());
    assert_eq!((records.len(), names(&records[0])), (30, 300));
    let last = (records[29]["article_bh"].as_str(), records[29]["code_bh"].as_str());
    assert_eq!(last, (Some("Alba Kettle 30-296"), Some("AB-00030-300")));
}

#[test]
fn more_columns_than_a_table_takes_end_in_a_limit() {
    let stage = Stage::new();
    let words = ["600 columns", "can have 500", "SQLite allows 2,000", "PostgreSQL 1,600", "--names"];
    fails_at_a_limit(&stage, "/bad/table?rows=10&columns=600", &words);
    fails_at_a_limit(&stage, "/bad/table?rows=10&columns=1500", &["more than 600 columns", "--row-css"]);
}

#[test]
fn typed_columns_and_their_values_count_too() {
    let stage = Stage::new();
    let typed: String = (1..=450).map(|n| format!("[[column]]\nname = \"c{n}\"\ntype = \"money\"\n")).collect();
    stage.write_task("typed", "/bad/table?rows=10&columns=450", &typed);
    let said = stage.pieme(&["run", "typed", "--json"]).json();
    assert_eq!((&said["outcome"], &said["cause"]), (&"failed".into(), &"limit".into()), "{said}");
}

#[test]
fn a_page_that_is_not_read_whole_leaves_the_published_rows_alone() {
    let stage = Stage::new();
    publish(&stage, "too-much", "/bad/deep?levels=100");
    let before = stage.sql("SELECT * FROM \"too-much\"");
    assert_eq!(before.lines().count(), 30);
    for (path, words) in [
        (
            "/bad/deep?levels=600",
            ["/bad/deep?levels=600 (10 kB) nests elements more than 512 levels", "use another page"],
        ),
        ("/bad/deep", ["nests elements more than 512 levels", "use another page"]),
        ("/bad/attributes?count=300", ["a tag with more than 256 attributes", "use another page"]),
    ] {
        fails_at_a_limit(&stage, path, &words);
        assert_eq!(stage.sql("SELECT * FROM \"too-much\""), before, "{path}");
    }
    assert_eq!(stage.state("too-much"), "failed");
    // A task that was never read completely has no list to choose from.
    run(&stage, "never-whole", "/bad/attributes?count=300");
    let label = stage.pieme(&["label", "never-whole", "--json"]);
    assert_eq!(label.code, 1, "{}", label.stderr);
    assert!(label.stderr.contains("pieme log never-whole"), "{}", label.stderr);
}

#[test]
fn commands_on_files_say_what_is_missing() {
    let stage = Stage::new();
    let row = |n: usize| format!("<tr><td>Kettle {n}<td>{n} EUR<td>in stock since {n}</tr>");
    let table = format!("<table>{}</table>", (0..30).map(row).collect::<String>());
    stage.write("good.html", &table);
    stage.write("deep.html", &format!("{table}{}", "<div>".repeat(600)));
    let path = |name: &str| stage.path(name).to_string_lossy().into_owned();
    let (good, deep, template) = (path("good.html"), path("deep.html"), path("template.json"));
    assert_eq!(stage.pieme(&["learn", &good, "--pick", "1", "-o", &template]).code, 0);

    let learned = stage.pieme(&["learn", &deep, "--json"]);
    assert!(learned.stderr.contains("nests elements more than 512 levels"), "{}", learned.stderr);
    assert!(learned.json()["limit"].as_str().is_some_and(|it| it.contains("nests elements more than 512 levels")));
    let read = stage.pieme(&["extract", "--template", &template, &deep, "--json"]);
    assert_eq!((read.code, read.json()["limit"].is_string()), (1, true), "{}", read.stdout);
    let whole = stage.pieme(&["extract", "--template", &template, &good, "--json"]);
    assert_eq!((whole.code, &whole.json()["limit"]), (0, &Value::Null));
    let replayed = stage.pieme(&["replay", "--template", &template, "--json", &good, &deep]);
    let lines: Vec<Value> = replayed.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!((replayed.code, lines.len()), (1, 2), "{}", replayed.stdout);
    assert_eq!((&lines[0]["outcome"], &lines[1]["cause"]), (&"published".into(), &"limit".into()));
}

#[test]
fn a_host_name_that_is_too_long_ends_a_run_with_a_sentence_and_not_at_its_time_limit() {
    let stage = Stage::new();
    let host = [&"a".repeat(60)[..]; 5].join(".");
    stage.write("tasks/long/task.toml", &format!("url = \"http://{host}/list\"\n[limits]\ntimeout = \"20s\"\n"));
    let said = stage.pieme(&["run", "long"]);
    assert_eq!(said.code, 75, "{}{}", said.stdout, said.stderr);
    assert!(said.stdout.contains("the host name has 304 bytes; a name can have 255"), "{}", said.stdout);
}
