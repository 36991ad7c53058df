//! What comments and documents cite is there: files of the repository, and numbered sections of docs/design/.

use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

/// Folders without texts of ours.
const NOT_OURS: &[&str] = &["target", ".git", "node_modules"];

/// Names that are cited and are no files of the repository, each with what they are.
const ELSEWHERE: &[(&str, &str)] = &[
    ("task.toml", "a file of every task folder"),
    ("robot.toml", "a file of a task folder"),
    ("labels.toml", "a file of a task folder"),
    ("config.toml", "the administrator's; the one in the repository is an example"),
    ("why.md", "a file of every folder in tests/pages"),
    ("evaluate.py", "the scorer, which lies beside the labelled pages"),
];

/// Stands for a name that the reader chooses, as in `src/store/NAME.rs`.
const PLACEHOLDER: &str = "NAME";

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The project's files with one of these endings, relative to the project's folder.
pub fn files(endings: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of the project") {
            let entry = entry.expect("an entry of a folder");
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if !NOT_OURS.contains(&name.as_str()) {
                    folders.push(entry.path());
                }
            } else if endings.iter().any(|ending| name.ends_with(ending)) {
                let path = entry.path();
                found.push(path.strip_prefix(root()).expect("a path below the project").to_owned());
            }
        }
    }
    found.sort();
    assert!(found.len() > 10, "the files were found: {}", found.len());
    found
}

pub fn read(file: &Path) -> String {
    fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

fn is_prose(file: &Path) -> bool {
    file.extension().is_some_and(|ending| ending == "md")
}

/// Each line that may cite something, with its file and number: prose as it is, of Rust the comments.
fn citing_lines() -> Vec<(PathBuf, usize, String)> {
    let mut lines = Vec::new();
    for file in files(&[".rs", ".md"]) {
        if !is_prose(&file) && !["src", "tests", "benches"].iter().any(|top| file.starts_with(top)) {
            continue;
        }
        for (index, line) in read(&file).lines().enumerate() {
            let cites = if is_prose(&file) { line } else { comment(line) };
            if !cites.is_empty() {
                lines.push((file.clone(), index + 1, cites.to_owned()));
            }
        }
    }
    lines
}

/// The comment of a line of Rust; empty where there is none. An address in a string is not one.
fn comment(line: &str) -> &str {
    let text = line.trim_start();
    if text.starts_with("//") {
        return text;
    }
    line.find(" // ").map_or("", |at| &line[at..])
}

/// Paths in a text; absolute ones are of the machine that pieme is installed on.
fn cited_in<'t>(text: &'t str, path: &Regex) -> Vec<&'t str> {
    let is_part_of_more = |end: usize| {
        let next = text[end..].chars().next();
        next.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '/' | '-'))
    };
    let found = path.find_iter(text).filter(|found| !is_part_of_more(found.end()));
    found.map(|found| found.as_str()).filter(|path| !path.starts_with('/') && !path.contains(PLACEHOLDER)).collect()
}

fn path_pattern() -> Regex {
    Regex::new(r"[\w/.-]+\.(?:md|rs|toml|sh|py)").expect("a pattern of ours")
}

/// Is there such a file: below the project, docs/ or src/, the folder of whoever cites it or one around that, or, for a
/// module, the folder with its parts?
fn exists(citing: &Path, cited: &str) -> bool {
    let around = citing.parent().unwrap_or(Path::new("")).ancestors().map(Path::to_owned);
    let mut near = around.chain([citing.with_extension(""), PathBuf::from("docs"), PathBuf::from("src")]);
    near.any(|folder| root().join(folder).join(cited).is_file())
}

fn is_elsewhere(cited: &str) -> bool {
    let name = Path::new(cited).file_name().unwrap_or_default();
    ELSEWHERE.iter().any(|(known, _)| name == *known)
}

#[test]
fn every_file_that_is_cited_exists() {
    let path = path_pattern();
    let sources = files(&[".rs"]);
    // Prose may give only the end of a path where the folder is clear.
    let is_end_of_source = |cited: &str| sources.iter().any(|source| source.ends_with(cited));
    let (mut missing, mut looked_at) = (Vec::new(), 0);
    for (file, number, line) in citing_lines() {
        for cited in cited_in(&line, &path) {
            looked_at += 1;
            let is_there = exists(&file, cited) || is_prose(&file) && is_end_of_source(cited);
            if !is_there && !is_elsewhere(cited) {
                missing.push(format!("{}:{number}: there is no {cited}", file.display()));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
    assert!(looked_at > 300, "the citations were found: {looked_at}");
}

/// A section has a heading with its number, or a row of a table.
fn has_section(page: &str, number: &str) -> bool {
    let starts_with_it = |line: &str| line.trim_start_matches(['#', '|']).split_whitespace().next() == Some(number);
    page.lines().filter(|line| line.starts_with(['#', '|'])).any(starts_with_it)
}

#[test]
fn every_section_of_the_design_documents_that_is_cited_exists() {
    let numbers = r"\d+(?:\.\d+)?";
    let pattern = format!(r"docs/design/(\w+)\.md ({numbers}(?:(?:, | and ){numbers})*)");
    let pattern = Regex::new(&pattern).expect("a pattern of ours");
    let (mut missing, mut looked_at) = (Vec::new(), 0);
    for (file, line_number, line) in citing_lines() {
        for cited in pattern.captures_iter(&line) {
            let page = Path::new("docs/design").join(format!("{}.md", &cited[1]));
            let text = fs::read_to_string(root().join(&page)).unwrap_or_default();
            for number in cited[2].split(", ").flat_map(|part| part.split(" and ")) {
                looked_at += 1;
                if !has_section(&text, number) {
                    let place = format!("{}:{line_number}", file.display());
                    missing.push(format!("{place}: {} has no section {number}", page.display()));
                }
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
    assert!(looked_at > 30, "the citations were found: {looked_at}");
}

#[test]
fn a_citation_is_told_from_what_only_looks_like_one() {
    let path = path_pattern();
    for (text, expected) in [
        ("see docs/safety.md, and `page/tree.rs`.", &["docs/safety.md", "page/tree.rs"][..]),
        ("[it](../Cargo.toml#features)", &["../Cargo.toml"]),
        ("/etc/pieme/config.toml, ntfy://ntfy.sh/topic, *.rs, src/store/NAME.rs", &[]),
        ("bash tests/all.sh; a.rss, x.mdx", &["tests/all.sh"]),
    ] {
        assert_eq!(cited_in(text, &path), expected, "{text}");
    }
    assert_eq!(comment("    /// a comment"), "/// a comment");
    assert_eq!(comment("let x = 1; // why"), " // why");
    assert_eq!(comment("let url = \"https://example.org/a.md\";"), "");
    assert!(exists(Path::new("tests/it/citations.rs"), "main.rs"));
    assert!(exists(Path::new("README.md"), "design/safety.md"));
    assert!(!exists(Path::new("README.md"), "design/no-such-page.md"));
    assert!(has_section("# Title\n## 2 Second\n| 2.4 | row |", "2.4"));
    assert!(!has_section("## 2 Second\n2.4 not here", "2.4"));
}
