//! Error-tolerant parsing of a TOML file: an invalid part is noted and removed, and the rest is parsed again. So every
//! error is reported, not only the first.

use std::collections::BTreeSet;
use std::ops::Range;

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue, Deserializer};

use super::problem::Problem;
use super::source::TomlSource;

/// More errors are not reported at once.
const MOST_PROBLEMS: usize = 100;

pub(super) struct PartialToml<T> {
    /// The file without the removed parts, for error positions.
    pub source: TomlSource,
    /// The value without the invalid parts; `None` if nothing can be parsed.
    pub value: Option<T>,
    /// In the order of the lines.
    pub problems: Vec<Problem>,
    skipped: SkippedParts,
}

/// The removed parts.
#[derive(Default)]
struct SkippedParts {
    /// Names and texts in them: other problems about these words are consequences.
    words: BTreeSet<String>,
    /// The spans of tables from which something was removed.
    tables: Vec<Range<usize>>,
}

impl<T: DeserializeOwned> PartialToml<T> {
    pub fn of(source: &TomlSource) -> PartialToml<T> {
        let mut reading =
            PartialToml { source: source.clone(), value: None, problems: Vec::new(), skipped: SkippedParts::default() };
        match toml::from_str(source.text()) {
            Ok(value) => reading.value = Some(value),
            Err(error) => reading.read_in_pieces(source, &error),
        }
        reading
    }

    fn read_in_pieces(&mut self, source: &TomlSource, first: &toml::de::Error) {
        let Ok(mut root) = DeTable::parse(source.text()) else {
            // After a syntax error the rest cannot be interpreted.
            self.problems.push(source.explain(first.message(), first.span()));
            return;
        };
        while self.problems.len() < MOST_PROBLEMS {
            let error = match T::deserialize(Deserializer::from(root.clone())) {
                Ok(value) => {
                    self.value = Some(value);
                    break;
                }
                Err(error) => error,
            };
            if !self.is_consequence(error.message(), error.span()) {
                let place = error.span().map(|place| pointed_at(root.get_ref(), error.message(), place));
                self.problems.push(source.explain(error.message(), place));
            }
            let mut path = Vec::new();
            let own = root.span();
            let is_taken = error.span().is_some_and(|place| self.skip_at(root.get_mut(), &own, &place, &mut path));
            if !is_taken {
                break;
            }
        }
        self.problems.sort_by_key(|problem| (problem.line, problem.column));
    }
}

impl<T> PartialToml<T> {
    /// The value of a missing file.
    pub fn absent(source: &TomlSource, value: T) -> PartialToml<T> {
        PartialToml {
            source: source.clone(),
            value: Some(value),
            problems: Vec::new(),
            skipped: SkippedParts::default(),
        }
    }

    pub fn is_complete(&self) -> bool {
        self.problems.is_empty()
    }

    /// Whether something of this name was removed.
    pub(super) fn has_skipped(&self, word: &str) -> bool {
        self.skipped.words.contains(word)
    }

    /// Whether a message is only a consequence of the removed parts.
    pub fn explains(&self, message: &str) -> bool {
        message.split('`').skip(1).step_by(2).any(|word| self.has_skipped(word))
    }

    /// Whether a key is missing only because it was invalid or misspelt, and so removed.
    fn is_consequence(&self, message: &str, place: Option<Range<usize>>) -> bool {
        message.starts_with("missing field") && place.is_some_and(|place| self.skipped.tables.contains(&place))
    }

    /// Removes the innermost table key or array element at a span.
    fn skip_at(
        &mut self,
        table: &mut DeTable<'_>,
        own: &Range<usize>,
        place: &Range<usize>,
        path: &mut Vec<String>,
    ) -> bool {
        for (key, value) in table.iter_mut() {
            path.push(key.get_ref().to_string());
            if self.skip_in_value(value, place, path) {
                return true;
            }
            path.pop();
        }
        let is_there = |(key, value): &(&Spanned<_>, &Spanned<_>)| key.span() == *place || value.span() == *place;
        let found = table.iter().find(is_there).map(|(key, _)| key.get_ref().to_string());
        let Some(key) = found else { return false };
        if let Some(value) = table.remove(key.as_str()) {
            self.skipped.note(value.get_ref());
        }
        self.skipped.words.insert(key);
        self.skipped.tables.push(own.clone());
        true
    }

    fn skip_in_value(
        &mut self,
        value: &mut Spanned<DeValue<'_>>,
        place: &Range<usize>,
        path: &mut Vec<String>,
    ) -> bool {
        let own = value.span();
        match value.get_mut() {
            DeValue::Table(table) => self.skip_at(table, &own, place, path),
            DeValue::Array(items) => self.skip_element(items, place, path),
            _ => false,
        }
    }

    fn skip_element(&mut self, items: &mut DeArray<'_>, place: &Range<usize>, path: &mut Vec<String>) -> bool {
        for at in 0..items.len() {
            let Some(item) = items.get_mut(at) else { return false };
            let depth = path.len() + 1;
            path.push(at.to_string());
            let is_touched = self.skip_in_value(item, place, path);
            // On success it leads to the removed part.
            path.truncate(depth);
            // A step whose only key was removed is removed as well.
            let is_empty = is_touched && matches!(item.get_ref(), DeValue::Table(table) if table.is_empty());
            if is_empty || !is_touched && item.span() == *place {
                self.skipped.note(item.get_ref());
                self.source.skip(path);
                let kept = items.iter().enumerate().filter(|(other, _)| *other != at);
                *items = kept.map(|(_, item)| item.clone()).collect();
                return true;
            }
            if is_touched {
                return true;
            }
            path.pop();
        }
        false
    }
}

/// The span of a step's only value, where the parser reports the whole step.
fn pointed_at(root: &DeTable<'_>, message: &str, place: Range<usize>) -> Range<usize> {
    let is_about_keys = message.starts_with("missing field") || message.starts_with("wanted exactly");
    let found = || root.values().find_map(|value| only_value(value, &place));
    if is_about_keys { place } else { found().unwrap_or(place) }
}

fn only_value(value: &Spanned<DeValue<'_>>, place: &Range<usize>) -> Option<Range<usize>> {
    let one_of = |table: &DeTable<'_>| (table.len() == 1).then(|| table.values().next().map(Spanned::span)).flatten();
    match value.get_ref() {
        DeValue::Table(table) if value.span() == *place => one_of(table),
        DeValue::Table(table) => table.values().find_map(|value| only_value(value, place)),
        DeValue::Array(items) => items.iter().find_map(|item| only_value(item, place)),
        _ => None,
    }
}

impl SkippedParts {
    fn note(&mut self, value: &DeValue<'_>) {
        match value {
            DeValue::String(text) => {
                let words = text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-')));
                self.words.extend(words.filter(|word| !word.is_empty()).map(str::to_owned));
            }
            DeValue::Array(items) => items.iter().for_each(|item| self.note(item.get_ref())),
            DeValue::Table(table) => table.iter().for_each(|(key, value)| {
                self.words.insert(key.get_ref().to_string());
                self.note(value.get_ref());
            }),
            DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_) | DeValue::Datetime(_) => {}
        }
    }
}
