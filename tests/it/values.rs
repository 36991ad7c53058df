//! Values of real pages, and what they mean.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use pieme::model::ColumnType;
use pieme::normalise::{Hints, infer, order_of, read};
use url::Url;

/// The table must have at least this many spellings.
const AT_LEAST: usize = 120;

fn moment() -> DateTime<Utc> {
    "2026-11-16T18:30:00Z".parse().expect("a moment")
}

/// Parses a value as a run does: an unambiguous date of digits overrides the page's language.
fn value(kind: ColumnType, page: &str, text: &str) -> String {
    let (lang, host) = page.split_once(' ').expect("lang and host");
    let base = Url::parse(&format!("http://{host}")).expect("a host");
    let mut hints = Hints::new(Tz::Europe__Berlin, moment(), Some(&base), Some(lang).filter(|&it| it != "-"));
    hints.order = order_of(text).unwrap_or(hints.order);
    match read(kind, text, &hints) {
        Ok(found) => found.value.to_string(),
        Err(why) => format!("!{why}"),
    }
}

#[test]
fn spellings_of_real_pages_have_their_values() {
    let table = include_str!("../values/spellings.tsv");
    let lines: Vec<&str> = table.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(lines.len() >= AT_LEAST, "{} spellings", lines.len());
    let mut wrong = Vec::new();
    for line in lines {
        let cells: Vec<&str> = line.split('\t').collect();
        let [kind, page, text, expected] = cells[..] else { panic!("four cells: {line}") };
        let kind: ColumnType = serde_json::from_value(kind.into()).expect("a type");
        let found = value(kind, page, text);
        if found != expected {
            wrong.push(format!("{line}\n    is {found}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// The columns of the corpus by inferred type; a failure lists all of them.
#[test]
fn columns_of_the_corpus_get_the_types_that_a_reader_would_give_them() {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let corpus = std::env::var_os("PIEME_CORPUS").map_or(default, PathBuf::from).join("corpus");
    let Ok(sites) = std::fs::read_dir(&corpus) else {
        eprintln!("left out: no corpus (set PIEME_CORPUS to the folder that holds corpus/)");
        return;
    };
    let mut found: BTreeMap<&str, usize> = BTreeMap::new();
    let mut lines = Vec::new();
    for site in sites.flatten() {
        let Ok(text) = std::fs::read_to_string(site.path().join("truth.json")) else { continue };
        let truth: serde_json::Value = serde_json::from_str(&text).expect("truth");
        let base = Url::parse("http://site.example/list").expect("an address");
        let hints = Hints::new(Tz::UTC, moment(), Some(&base), None);
        for field in truth["main_list"]["fields"].as_array().into_iter().flatten() {
            let name = field["name"].as_str().unwrap_or_default();
            let values: Vec<&str> =
                field["values"].as_array().into_iter().flatten().filter_map(|it| it.as_str()).collect();
            let is_shown = !name.ends_with("href") && !name.ends_with("src") && !name.ends_with("link");
            let kind = infer::column(values.iter().copied(), is_shown, &hints);
            *found.entry(kind.word()).or_default() += 1;
            let first = values.first().copied().unwrap_or_default();
            lines.push(format!("{} {} {name}: {first}", kind.word(), site.file_name().to_string_lossy()));
        }
    }
    lines.sort_unstable();
    let counts: Vec<String> = found.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
    let expected = "date 22, email 1, int 32, money 18, number 2, text 215, url 92";
    assert_eq!(counts.join(", "), expected, "{}", lines.join("\n"));
}
