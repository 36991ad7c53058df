//! A TOML file's text and path, for errors that point at the place.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use toml_edit::{Document, Item, Key};

use super::problem::Problem;

/// The maximum edit distance between a word and its suggestion.
fn edits_allowed(word: &str) -> usize {
    1 + word.chars().count() / 3
}

#[derive(Clone, Debug)]
pub struct TomlSource {
    file: PathBuf,
    text: String,
    /// Paths of removed array elements, which are not counted.
    skipped: BTreeSet<Vec<String>>,
}

impl TomlSource {
    pub fn new(file: PathBuf, bytes: Vec<u8>) -> Result<TomlSource, Problem> {
        match String::from_utf8(bytes) {
            // Editors on Windows write a byte-order mark; it is not part of the text.
            Ok(text) => {
                let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
                Ok(TomlSource { text, file, skipped: BTreeSet::new() })
            }
            Err(error) => {
                let good = error.utf8_error().valid_up_to();
                let text = String::from_utf8_lossy(error.as_bytes());
                Err(Problem::at(&file, &text, good..good, "this file is not UTF-8 text from here on"))
            }
        }
    }

    pub fn file(&self) -> &Path {
        &self.file
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// Parses the file. Errors are reworded, with a suggestion if a known word is near.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        toml::from_str(&self.text).map_err(|error| self.explain(error.message(), error.span()))
    }

    pub(super) fn problem_at(&self, span: Range<usize>, message: impl Into<String>) -> Problem {
        Problem::at(&self.file, &self.text, span, message)
    }

    /// A problem at the value of a key, such as `["schedule", "cron"]` or `["column", "2", "pattern"]`; if the file
    /// does not have the whole path, at the longest part of it that exists.
    pub fn problem_at_key(&self, path: &[&str], message: impl Into<String>) -> Problem {
        match self.span_of(path) {
            Some(span) => self.problem_at(span, message),
            None => Problem::new(&self.file, message),
        }
    }

    /// Marks an array element as removed; the path is in terms of the remaining elements.
    pub(super) fn skip(&mut self, path: &[String]) {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        self.skipped.insert(self.file_path(&path));
    }

    /// Converts a path from indices of the remaining elements to indices in the file.
    fn file_path(&self, path: &[&str]) -> Vec<String> {
        let mut whole: Vec<String> = Vec::new();
        for &step in path {
            let is_left_out = |number: &usize| self.skipped.contains(&[&whole[..], &[number.to_string()]].concat());
            let number = step.parse().ok().and_then(|number| (0..).filter(|it| !is_left_out(it)).nth(number));
            whole.push(number.map_or_else(|| step.to_owned(), |number: usize| number.to_string()));
        }
        whole
    }

    fn span_of(&self, path: &[&str]) -> Option<Range<usize>> {
        let document = Document::parse(self.text.as_str()).ok()?;
        let mut item = document.as_item();
        let mut found = None;
        for step in &self.file_path(path) {
            let (next, key) = step_into(item, step)?;
            found = next.span().or_else(|| key.and_then(Key::span)).or(found);
            item = next;
        }
        found
    }

    pub(super) fn explain(&self, message: &str, span: Option<Range<usize>>) -> Problem {
        let problem = |text: String| match span.clone() {
            Some(span) => self.problem_at(span, text),
            None => Problem::new(&self.file, text),
        };
        if let Some(zone) = quoted(message.strip_prefix("failed to parse timezone: ").unwrap_or_default(), '\'').next()
        {
            let zones = chrono_tz::TZ_VARIANTS.iter().map(|zone| zone.name());
            let hint =
                did_you_mean(zone, zones).unwrap_or("write a name such as \"Europe/Berlin\" or \"UTC\"".to_owned());
            return problem(format!("`{zone}` is not a time zone")).hint(hint);
        }
        if let Some(rest) = message.strip_prefix("relative URL without a base: ") {
            let address = rest.trim_matches('"');
            return problem(format!("`{address}` is not a complete address"))
                .hint(format!("write \"https://{address}\""));
        }
        let unknown = [("unknown field ", "unknown key"), ("unknown variant ", "unknown word")]
            .into_iter()
            .find_map(|(prefix, ours)| message.strip_prefix(prefix).map(|rest| (ours, rest)));
        let Some((ours, rest)) = unknown else {
            return problem(message.trim_end().replace('\n', "; "));
        };
        let mut words = quoted(rest, '`');
        let word = words.next().unwrap_or_default();
        let known: Vec<&str> = words.collect();
        problem(format!("{ours} `{word}`")).hint(hint_for(word, &known))
    }
}

/// Descends into a table by key or into an array by index.
fn step_into<'a>(item: &'a Item, step: &str) -> Option<(&'a Item, Option<&'a Key>)> {
    if let Some(table) = item.as_table_like() {
        return table.get_key_value(step).map(|(key, item)| (item, Some(key)));
    }
    let index: usize = step.parse().ok()?;
    item.get(index).map(|item| (item, None))
}

/// A suggestion for an unknown word, and the list of known ones.
fn hint_for(word: &str, known: &[&str]) -> String {
    let list = format!("known here: {}", known.join(", "));
    let near = did_you_mean(word, known.iter().copied()).or_else(|| misplaced_key(word));
    match near {
        Some(near) if known.is_empty() => near,
        Some(near) => format!("{near} ({list})"),
        None => list,
    }
}

/// The nearest of the known words, if it is near.
pub(super) fn did_you_mean<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    let lower = word.to_lowercase();
    known
        .map(|candidate| (strsim::damerau_levenshtein(&lower, &candidate.to_lowercase()), candidate))
        .filter(|(edits, _)| *edits <= edits_allowed(word))
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, candidate)| format!("did you mean `{candidate}`?"))
}

/// A hint for a key in the wrong table: `cron` at the top belongs under `[schedule]`.
fn misplaced_key(word: &str) -> Option<String> {
    const HOMES: &[(&str, &[&str])] = &[
        ("schedule", &["cron", "every", "timezone", "jitter", "overlap", "catch_up"]),
        ("limits", &["timeout", "memory", "max_pages", "max_requests", "max_page_bytes"]),
        ("fetch", &["engine", "robots_txt", "delay", "retries", "allow_hosts", "user_agent", "proxy", "charset"]),
        ("data", &["key", "history"]),
        ("expect", &["similarity", "min_rows", "max_row_drop", "allow_empty", "auto_accept"]),
        ("alert", &["urls", "after", "on"]),
    ];
    let (table, _) = HOMES.iter().find(|(_, keys)| keys.contains(&word))?;
    Some(format!("`{word}` belongs under [{table}]"))
}

/// The parts of a text between quotes.
fn quoted(text: &str, quote: char) -> impl Iterator<Item = &str> {
    text.split(quote).skip(1).step_by(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Task;

    #[test]
    fn the_homes_of_keys_are_where_task_toml_really_has_them() {
        let task: Task = toml::from_str("url = \"https://example.org/\"").expect("the smallest task");
        let json = serde_json::to_value(&task).expect("a task is plain data");
        for (table, object) in json.as_object().expect("a table") {
            for key in object.as_object().into_iter().flatten().map(|(key, _)| key) {
                assert_eq!(misplaced_key(key), Some(format!("`{key}` belongs under [{table}]")));
            }
        }
    }
}
