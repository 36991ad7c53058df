//! The items of a `for_each`: the lines of a text, the rows of a CSV file, the objects of a JSONL file. Pure.

use std::collections::BTreeMap;

use serde_json::Value;

/// More than any task needs: a larger file is a mistake and reported as one.
const MAX_ITEMS: usize = 100_000;

/// Why the items of a file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ItemsError {
    #[error("{file} has {count} items; one run handles at most {MAX_ITEMS}")]
    TooMany { file: String, count: usize },
    #[error("{file}: {reason}")]
    Csv { file: String, reason: String },
    #[error("{file}:{line}: {reason}")]
    Json { file: String, line: usize, reason: String },
}

/// An item: variables by name. `${town}` is the item, `${town.column}` its columns.
pub type Item = BTreeMap<String, String>;

/// One item a line; empty lines are skipped.
pub fn lines(name: &str, text: &str) -> Vec<Item> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(|line| Item::from([(name.to_owned(), line.to_owned())])).collect()
}

/// Reads a file of the task's folder in the format of its extension.
pub fn read(name: &str, file: &str, text: &str) -> Result<Vec<Item>, ItemsError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let items = match file.rsplit_once('.').map(|(_, ending)| ending) {
        Some("csv") => csv(name, file, text)?,
        Some("jsonl") => jsonl(name, file, text)?,
        _ => lines(name, text),
    };
    match items.len() {
        count if count > MAX_ITEMS => Err(ItemsError::TooMany { file: file.to_owned(), count }),
        _ => Ok(items),
    }
}

fn csv(name: &str, file: &str, text: &str) -> Result<Vec<Item>, ItemsError> {
    let delimiter =
        if text.lines().next().is_some_and(|line| !line.contains(',') && line.contains(';')) { b';' } else { b',' };
    let mut reader = csv::ReaderBuilder::new().delimiter(delimiter).flexible(false).from_reader(text.as_bytes());
    let malformed = |error: csv::Error| ItemsError::Csv { file: file.to_owned(), reason: error.to_string() };
    let columns = reader.headers().map_err(malformed)?.clone();
    let mut items = Vec::new();
    for row in reader.records() {
        let row = row.map_err(malformed)?;
        let mut item: Item = columns
            .iter()
            .zip(row.iter())
            .map(|(column, cell)| (format!("{name}.{}", column.trim()), cell.trim().to_owned()))
            .collect();
        item.insert(name.to_owned(), row.get(0).unwrap_or_default().trim().to_owned());
        items.push(item);
    }
    Ok(items)
}

fn jsonl(name: &str, file: &str, text: &str) -> Result<Vec<Item>, ItemsError> {
    let mut items = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let value: Value = serde_json::from_str(line).map_err(|error| ItemsError::Json {
            file: file.to_owned(),
            line: index + 1,
            reason: error.to_string(),
        })?;
        let mut item = Item::new();
        match &value {
            Value::Object(map) => {
                item.insert(name.to_owned(), map.values().next().map(text_of).unwrap_or_default());
                item.extend(map.iter().map(|(key, value)| (format!("{name}.{key}"), text_of(value))));
            }
            other => {
                item.insert(name.to_owned(), text_of(other));
            }
        }
        items.push(item);
    }
    Ok(items)
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(items: Result<Vec<Item>, ItemsError>) -> String {
        match items {
            Ok(items) => items
                .iter()
                .map(|item| item.iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>().join(" "))
                .collect::<Vec<_>>()
                .join(" | "),
            Err(why) => format!("error: {why}"),
        }
    }

    #[test]
    fn a_file_with_too_many_items_is_refused_and_not_cut() {
        let most = read("t", "a.txt", &"x\n".repeat(MAX_ITEMS)).expect("as many as there may be");
        assert_eq!(most.len(), MAX_ITEMS);
        let said = read("t", "a.txt", &"x\n".repeat(MAX_ITEMS + 1)).expect_err("one more");
        assert_eq!(said.to_string(), "a.txt has 100001 items; one run handles at most 100000");
    }

    #[test]
    fn files_are_read_by_their_ending() {
        for (file, text, expected) in [
            ("a.txt", "Halifax\n\n  Truro \r\n", "t=Halifax | t=Truro"),
            (
                "a.csv",
                "city,zip\nHalifax,B3H\n\"St. John's, NL\",A1A\n",
                "t=Halifax t.city=Halifax t.zip=B3H | t=St. John's, NL t.city=St. John's, NL t.zip=A1A",
            ),
            ("a.csv", "\u{feff}city;zip\nHalifax;B3H\n", "t=Halifax t.city=Halifax t.zip=B3H"),
            (
                "a.csv",
                "city,zip\nHalifax\n",
                "error: a.csv: CSV error: record 1 (line: 2, byte: 9): found record with 1 fields, but the previous \
                 record has 2 fields",
            ),
            ("a.jsonl", "{\"city\":\"Halifax\",\"n\":2}\n\"Truro\"\n", "t=Halifax t.city=Halifax t.n=2 | t=Truro"),
            ("a.jsonl", "\"a\"\n{", "error: a.jsonl:2: EOF while parsing an object at line 1 column 1"),
        ] {
            assert_eq!(shown(read("t", file, text)), expected, "{file} {text:?}");
        }
    }
}
