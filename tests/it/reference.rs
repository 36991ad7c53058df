//! The reference pages in docs/reference/ and the parser know the same keys.
//!
//! The parser itself is the source: given a key that does not exist, it names the keys that do. Each of these is then
//! tried as a table, and so on, until the whole file is known. No list of keys stands here.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use pieme::config::Config;
use pieme::model::{Script, SplitInto, Task};
use serde::de::DeserializeOwned;

/// No file has such a key, and none has one that is spelled nearly so.
const UNKNOWN: &str = "qqqqqq";

/// The rows below this one are about keys.
const HEADER: &str = "| key | type | default | meaning |";

/// The keys of each table, by the path of the table; the empty path is the top level.
type Tables = BTreeMap<String, BTreeSet<String>>;

type Parser<'p> = &'p dyn Fn(&str) -> Answer;

/// What the parser answers to a text.
enum Answer {
    /// It reads the text, or only misses a key.
    Accepted,
    /// It does not know [`UNKNOWN`], but these: the keys of a table, or the words of an enum.
    Known(Vec<String>),
    /// An untagged enum: its error does not name the keys.
    Untold,
    /// Anything else: no table stands here.
    Refused,
}

/// One key of a path, and whether it holds a list of tables.
#[derive(Clone)]
struct Place {
    key: String,
    is_list: bool,
}

/// The tables that a parser knows, found by asking it.
struct Survey<'p> {
    parser: Parser<'p>,
    /// Where its top level stands in the file.
    root: &'p str,
    tables: Tables,
}

/// One row of a reference page.
struct ReferenceRow {
    table: String,
    key: String,
    default: String,
}

fn survey(root: &str, parser: Parser<'_>) -> Tables {
    let Answer::Known(keys) = parser(&format!("{UNKNOWN} = 1")) else {
        panic!("the parser does not name its keys when it is given an unknown one");
    };
    let mut survey = Survey { parser, root, tables: Tables::new() };
    survey.enter(&[], &[], &keys);
    survey.tables
}

impl Survey<'_> {
    /// Notes a table and all tables inside it. `around` has the keys of the tables that it stands in: steps hold steps.
    fn enter(&mut self, path: &[Place], around: &[&[String]], keys: &[String]) {
        self.tables.insert(self.name(path), keys.iter().cloned().collect());
        let around = [around, &[keys]].concat();
        for key in keys {
            // A table of tables whose names a person chooses, as `[secret.NAME]`.
            let place = |key: &str| Place { key: key.to_owned(), is_list: false };
            let named = [path, &[place(key), place("NAME")]].concat();
            if let Answer::Known(words) = self.ask(&named, &format!("{{ {UNKNOWN} = 1 }}"))
                && matches!(self.ask(&named[..named.len() - 1], "{}"), Answer::Accepted)
                && matches!(self.ask(&named[..named.len() - 1], &format!("{{ {UNKNOWN} = 1 }}")), Answer::Refused)
            {
                self.enter(&named, &around, &words);
                continue;
            }
            for is_list in [false, true] {
                let inside = [path, &[Place { key: key.clone(), is_list }]].concat();
                match self.ask(&inside, &format!("{{ {UNKNOWN} = 1 }}")) {
                    Answer::Known(words) => {
                        let is_known = around.contains(&words.as_slice());
                        if !is_known && !self.is_word(&inside, &words) {
                            self.enter(&inside, &around, &words);
                        }
                        break;
                    }
                    Answer::Untold => {
                        let tables = untold(&self.name(&inside));
                        self.tables.extend(tables);
                        break;
                    }
                    Answer::Accepted | Answer::Refused => {}
                }
            }
        }
    }

    /// Is this an enum of plain words? Those are values and not keys.
    fn is_word(&self, path: &[Place], words: &[String]) -> bool {
        let ask = |word: &str| self.ask(path, &format!("\"{word}\""));
        let is_enum = matches!(ask(UNKNOWN), Answer::Known(_));
        is_enum && words.first().is_some_and(|word| matches!(ask(word), Answer::Accepted))
    }

    fn ask(&self, path: &[Place], value: &str) -> Answer {
        (self.parser)(&written(path, value))
    }

    fn name(&self, path: &[Place]) -> String {
        let keys = path.iter().map(|place| place.key.as_str());
        let whole: Vec<&str> = [self.root].into_iter().filter(|root| !root.is_empty()).chain(keys).collect();
        whole.join(".")
    }
}

/// The tables of untagged enums, asked through the type that stands behind them.
fn untold(name: &str) -> Tables {
    match name {
        "column.split" => survey(name, &ask::<SplitInto>),
        _ => panic!("`{name}` is an untagged enum, whose error names no keys: add the type of its table here"),
    }
}

/// The path `a`, `b` with `a` a list: `a = [{ b = VALUE }]`.
fn written(path: &[Place], value: &str) -> String {
    let mut text = value.to_owned();
    for (depth, place) in path.iter().enumerate().rev() {
        let inner = if place.is_list { format!("[{text}]") } else { text };
        let entry = format!("{} = {inner}", place.key);
        text = if depth == 0 { entry } else { format!("{{ {entry} }}") };
    }
    text
}

/// Files of a task: serde names the keys itself.
fn ask<T: DeserializeOwned>(text: &str) -> Answer {
    let Err(error) = toml::from_str::<T>(text) else { return Answer::Accepted };
    let message = error.message();
    let unknown = ["field", "variant"].map(|what| format!("unknown {what} `{UNKNOWN}`"));
    if unknown.iter().any(|beginning| message.starts_with(beginning.as_str())) {
        // unknown field `qqqqqq`, expected one of `a`, `b`
        Answer::Known(message.split('`').skip(3).step_by(2).map(str::to_owned).collect())
    } else if message.starts_with("missing field") {
        Answer::Accepted
    } else if message.contains("untagged enum") {
        Answer::Untold
    } else {
        Answer::Refused
    }
}

/// config.toml is read into a private type: the hint for a person lists the keys, behind a colon.
fn ask_config(folder: &Path, text: &str) -> Answer {
    let file = folder.join("config.toml");
    fs::write(&file, text).expect("a scratch file");
    let Err(problem) = Config::load(&file) else { return Answer::Accepted };
    match problem.hint.as_deref().and_then(|hint| hint.rsplit_once(": ")) {
        Some((_, list)) if problem.message.contains(UNKNOWN) => {
            let words = list.trim_end_matches([')', '.']).split(", ").map(|word| word.trim_matches('`').to_owned());
            Answer::Known(words.filter(|word| !word.is_empty()).collect())
        }
        _ => Answer::Refused,
    }
}

/// Each page with what the parser knows of its file.
fn every_page() -> [(&'static str, Tables); 3] {
    let folder = tempfile::tempdir().expect("a scratch folder");
    [
        ("task.md", survey("", &ask::<Task>)),
        ("robot.md", survey("", &ask::<Script>)),
        ("config.md", survey("", &|text: &str| ask_config(folder.path(), text))),
    ]
}

fn project() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn text_of(page: &str) -> String {
    let file = project().join("docs/reference").join(page);
    fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// The tables that a heading names in its code spans, as `[schedule]` or `get`; one without any is about the top level.
fn named_in(heading: &str, known: &Tables) -> Result<Vec<String>, String> {
    let mut named = Vec::new();
    for span in heading.split('`').skip(1).step_by(2) {
        let span = span.trim_matches(['[', ']']);
        let inner = format!(".{span}");
        let found: Vec<String> =
            known.keys().filter(|name| name.as_str() == span || name.ends_with(&inner)).cloned().collect();
        if found.is_empty() {
            return Err(format!("the parser knows no table `{span}`"));
        }
        named.extend(found);
    }
    if named.is_empty() {
        named.push(String::new());
    }
    Ok(named)
}

/// The rows of a page; what cannot be read is noted.
fn rows_of(page: &str, known: &Tables, wrong: &mut Vec<String>) -> Vec<ReferenceRow> {
    let mut rows = Vec::new();
    let mut tables = Vec::new();
    let (mut is_code, mut is_about_keys) = (false, false);
    for line in page.lines() {
        is_code ^= line.starts_with("```");
        is_about_keys = line == HEADER || is_about_keys && line.starts_with('|');
        if line.starts_with('#') && !is_code {
            tables = named_in(line, known).unwrap_or_else(|why| {
                wrong.push(format!("{line}: {why}"));
                Vec::new()
            });
        }
        if !is_about_keys || line == HEADER || line.starts_with("|---") {
            continue;
        }
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [key, kind, default, meaning] = cells[..] else {
            wrong.push(format!("not four cells: {line}"));
            continue;
        };
        let Some(key) = key.strip_prefix('`').and_then(|key| key.strip_suffix('`')) else {
            wrong.push(format!("not a key: {line}"));
            continue;
        };
        if [kind, default, meaning].contains(&"") {
            wrong.push(format!("an empty cell: {line}"));
        }
        for table in &tables {
            rows.push(ReferenceRow { table: table.clone(), key: key.to_owned(), default: default.to_owned() });
        }
    }
    rows
}

/// Everything on which a page and the parser do not agree.
fn differences(page: &str, known: &Tables) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut documented: BTreeSet<(String, String)> = BTreeSet::new();
    for row in rows_of(page, known, &mut wrong) {
        if !known.get(&row.table).is_some_and(|keys| keys.contains(&row.key)) {
            wrong.push(format!("the parser does not know `{}` in [{}]", row.key, row.table));
        }
        let place = (row.table, row.key);
        if documented.contains(&place) {
            wrong.push(format!("`{}` of [{}] is described twice", place.1, place.0));
        }
        documented.insert(place);
    }
    for (table, keys) in known {
        let missing = keys.iter().filter(|key| !documented.contains(&(table.clone(), (*key).clone())));
        wrong.extend(missing.map(|key| format!("`{key}` of [{table}] is not described")));
    }
    wrong
}

#[test]
fn the_reference_describes_every_key_that_the_parser_knows_and_no_other() {
    let mut wrong = Vec::new();
    for (page, known) in every_page() {
        assert!(known.len() >= 8, "{page}: the parser has named its tables: {known:?}");
        wrong.extend(differences(&text_of(page), &known).into_iter().map(|it| format!("docs/reference/{page}: {it}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_key_more_and_a_key_less_in_the_parser_are_found() {
    for (page, known) in every_page() {
        let text = text_of(page);
        for table in known.keys() {
            let mut more = known.clone();
            more.entry(table.clone()).or_default().insert("brand_new".to_owned());
            assert_eq!(differences(&text, &more), [format!("`brand_new` of [{table}] is not described")], "{page}");
            let mut fewer = known.clone();
            let Some(gone) = fewer.get_mut(table).and_then(BTreeSet::pop_first) else { continue };
            let expected = format!("the parser does not know `{gone}` in [{table}]");
            assert_eq!(differences(&text, &fewer), [expected], "{page}");
        }
    }
}

/// The default of a key, where the file with all defaults has one.
fn default_of<'v>(file: &'v toml::Table, row: &ReferenceRow) -> Option<&'v toml::Value> {
    let mut table = file;
    for key in row.table.split('.').filter(|key| !key.is_empty()) {
        table = table.get(key)?.as_table()?;
    }
    table.get(&row.key).filter(|value| !value.is_table())
}

/// A cell that is nothing but a value: `"6h"`.
fn value_of(cell: &str) -> Option<toml::Value> {
    let code = cell.strip_prefix('`')?.strip_suffix('`')?;
    let mut table: toml::Table = toml::from_str(&format!("it = {code}")).ok()?;
    table.remove("it")
}

#[test]
fn the_defaults_in_the_reference_are_those_of_the_parser() {
    let task: Task = toml::from_str("").expect("every key has a default");
    let task = toml::Table::try_from(&task).expect("plain data");
    // That this file has the parser's defaults is a test of the configuration itself.
    let config = fs::read_to_string(project().join("config.toml")).expect("config.toml");
    let config: toml::Table = toml::from_str(&config).expect("our own file");
    for (page, known) in every_page() {
        let defaults = match page {
            "task.md" => &task,
            "config.md" => &config,
            _ => continue, // every step says what it does not default
        };
        let (mut wrong, mut compared) = (Vec::new(), 0);
        for row in rows_of(&text_of(page), &known, &mut Vec::new()) {
            let Some(default) = default_of(defaults, &row) else { continue };
            compared += 1;
            if value_of(&row.default).as_ref() != Some(default) {
                wrong.push(format!("{page}: `{}` of [{}] is {default} by default", row.key, row.table));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        assert!(compared > 20, "{page}: the defaults were found: {compared}");
    }
}

fn examples(page: &str) -> Vec<String> {
    let text = text_of(page);
    let found = text.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).map(str::to_owned);
    let found: Vec<String> = found.collect();
    assert!(found.len() > 5, "{page} has examples");
    found
}

#[test]
fn every_example_in_the_reference_is_accepted() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let dir = folder.path().join("hotels");
    fs::create_dir(&dir).expect("a scratch folder");
    for example in examples("task.md") {
        let url = if example.starts_with("url = ") { "" } else { "url = \"https://example.org/list\"\n" };
        fs::write(dir.join("task.toml"), format!("{url}{example}")).expect("a scratch file");
        pieme::tasks::read(&dir).unwrap_or_else(|problem| panic!("{problem}\n{example}"));
    }
    let task = "url = 'https://example.org/'\nfetch.engine = 'browser'";
    let task: Task = toml::from_str(task).expect("a task");
    for example in examples("robot.md") {
        let script: Script = toml::from_str(&example).unwrap_or_else(|error| panic!("{error}\n{example}"));
        assert_eq!(pieme::tasks::check_script(&task, &script), [], "{example}");
    }
    let file = folder.path().join("config.toml");
    for example in examples("config.md") {
        fs::write(&file, &example).expect("a scratch file");
        Config::load(&file).unwrap_or_else(|problem| panic!("{problem}\n{example}"));
    }
}
