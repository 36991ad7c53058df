//! House rules of the text: unique and meaningful type names, and a maximum line width.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use regex::Regex;

use super::sources;
use crate::citations::{files, read};

/// Types that are written with their module: `cli::run::Args`.
const NAMED_WITH_THEIR_MODULE: &[&str] = &["Args", "Error"];

/// The two folders that implement the same concerns; a type of one may have a namesake in the other.
const BOTH_STORES: [&str; 2] = ["store/sqlite", "store/postgres"];

/// Irregular participles, pronouns and adverbs: alone they do not name a concept.
const NO_NAMES: &[&str] = &[
    "Again", "Alone", "Already", "Around", "Away", "Back", "Before", "Begun", "Beside", "Brief", "Built", "By", "Cut",
    "Done", "Else", "Few", "Found", "Given", "Gone", "Heard", "Held", "Here", "Hidden", "It", "Its", "Kept", "Known",
    "Led", "Left", "Lost", "Made", "Many", "Meant", "Met", "More", "Most", "Now", "Other", "Others", "Ours", "Own",
    "Put", "Rest", "Said", "Same", "Seen", "Sent", "Shown", "Soon", "Still", "Such", "Taken", "Them", "Then", "There",
    "They", "Thing", "Things", "Thought", "Told", "Waiting", "Way", "What", "Where", "Which", "Who", "Whole", "Whose",
    "Why", "Worth", "Written", "Yet",
];

/// Nouns that end like a participle.
const NOUNS_IN_ED: &[&str] = &["Bed", "Breed", "Feed", "Need", "Seed", "Speed"];

/// Where each type is defined: structs, enums and traits, except those of tests.
fn types() -> BTreeMap<String, Vec<String>> {
    let definition = r"(?m)^\s*(?:pub(?:\([^)]*\))? )?(?:struct|enum|trait)\s+([A-Z]\w*)";
    let definition = Regex::new(definition).expect("a pattern of ours");
    let mut types: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for source in sources() {
        // The whole text, because a module may have test code before its first type.
        let text = fs::read_to_string(&source.path).expect("a source file");
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        for found in definition.captures_iter(code) {
            types.entry(found[1].to_owned()).or_default().push(source.path.display().to_string());
        }
    }
    assert!(types.len() > 300, "the types were found: {}", types.len());
    types
}

/// True for one definition in each of the two stores.
fn is_pair_of_stores(places: &[String]) -> bool {
    places.len() == 2 && BOTH_STORES.iter().all(|folder| places.iter().any(|place| place.contains(folder)))
}

fn is_no_name(name: &str) -> bool {
    let is_one_word = name.chars().filter(|c| c.is_uppercase()).count() == 1;
    let is_regular = is_one_word && name.ends_with("ed") && !NOUNS_IN_ED.contains(&name);
    is_regular || NO_NAMES.contains(&name)
}

#[test]
fn every_type_has_a_name_of_its_own() {
    let shared: Vec<String> = types()
        .into_iter()
        .filter(|(name, places)| places.len() > 1 && !NAMED_WITH_THEIR_MODULE.contains(&name.as_str()))
        .filter(|(_, places)| !is_pair_of_stores(places))
        .map(|(name, places)| format!("{name}: {}", places.join(", ")))
        .collect();
    assert!(shared.is_empty(), "types that share their name:\n{}", shared.join("\n"));
}

#[test]
fn a_name_in_both_stores_is_one_concern_and_a_third_is_too_many() {
    let places = |places: &[&str]| places.iter().map(|&it| it.to_owned()).collect::<Vec<String>>();
    assert!(is_pair_of_stores(&places(&["src/store/sqlite/rows.rs", "src/store/postgres/rows.rs"])));
    assert!(!is_pair_of_stores(&places(&["src/store/sqlite/rows.rs", "src/store/sqlite/gc.rs"])));
    assert!(!is_pair_of_stores(&places(&["src/store/sqlite/a.rs", "src/store/postgres/a.rs", "src/store/a.rs"])));
}

#[test]
fn no_type_is_named_by_a_bare_participle_pronoun_or_adverb() {
    let odd: Vec<String> = types()
        .into_iter()
        .filter(|(name, _)| is_no_name(name))
        .map(|(name, places)| format!("{name}: {}", places.join(", ")))
        .collect();
    assert!(odd.is_empty(), "names that do not say what the thing is:\n{}", odd.join("\n"));
    for (name, expected) in [
        ("Wanted", true),
        ("Seen", true),
        ("What", true),
        ("Feed", false),
        ("StagedRows", false),
        ("RunFailed", false),
        ("Task", false),
    ] {
        assert_eq!(is_no_name(name), expected, "{name}");
    }
}

/// Maximum columns of a line in this file.
fn widest(file: &Path) -> usize {
    if file.extension().is_some_and(|ending| ending == "rs") { 120 } else { 100 }
}

/// Lines that cannot be wrapped: rows of a Markdown table, images, and addresses.
fn cannot_be_wrapped(line: &str) -> bool {
    let text = line.trim_start();
    let is_address = text.split_whitespace().next().is_some_and(|word| word.contains("://"));
    is_address || ["|", "<img", "!["].iter().any(|start| text.starts_with(start))
}

/// The supervision of a task folder, and the fixtures of older versions: data that nobody wraps.
fn is_written_by_pieme(file: &Path) -> bool {
    file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("labels"))
        && file.extension().is_some_and(|ending| ending == "toml")
}

#[test]
fn no_line_is_wider_than_a_screen() {
    let mut wide = Vec::new();
    for file in files(&[".rs", ".md", ".toml", ".sh"]).into_iter().filter(|file| !is_written_by_pieme(file)) {
        let most = widest(&file);
        for (index, line) in read(&file).lines().enumerate() {
            let columns = line.chars().count();
            if columns > most && !cannot_be_wrapped(line) {
                wide.push(format!("{}:{}: {columns} columns, at most {most}", file.display(), index + 1));
            }
        }
    }
    assert!(wide.is_empty(), "{} lines are too wide:\n{}", wide.len(), wide.join("\n"));
}

#[test]
fn only_files_that_pieme_writes_may_be_wide() {
    assert!(is_written_by_pieme(Path::new("tasks/practice-shop/labels.toml")));
    for file in ["tasks/practice-shop/task.toml", "src/labels.rs", "docs/labels.md", "Cargo.toml"] {
        assert!(!is_written_by_pieme(Path::new(file)), "{file}");
    }
}

#[test]
fn a_row_a_picture_and_an_address_may_be_wide() {
    for line in ["| a | b |", "  ![it](x.png)", "<img src=x>", "https://example.org/a", "<https://example.org/>"] {
        assert!(cannot_be_wrapped(line), "{line}");
    }
    for line in ["prose with https://example.org/ in it", "let a = b | c;", ""] {
        assert!(!cannot_be_wrapped(line), "{line}");
    }
}
