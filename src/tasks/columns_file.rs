//! Edits task.toml in place: `[[column]]` tables and single keys. A person's comments, order and other keys are kept.

use std::path::Path;

use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, Value, value};

use super::folder::{Folder, PUBLIC_FILE};
use super::{MAX_TOML_BYTES, Problem, TASK_FILE, TomlSource};
use crate::model::{Column, ColumnType, Split, Task};

/// Replaces the columns of task.toml, and its key where one is given. A column that keeps its name keeps its table,
/// with comments and order of keys. The file is written only if the result still parses as a task.
pub fn write_columns(dir: &Path, columns: &[Column], key: Option<&[String]>) -> Result<(), Problem> {
    rewrite(dir, |document| {
        edit(document, columns);
        key.into_iter().for_each(|key| edit_key(document, key));
    })
}

/// Sets `expect.allow_empty` to true, after a person said that the list may be empty.
pub fn allow_empty(dir: &Path) -> Result<(), Problem> {
    set_key(dir, "expect", "allow_empty", value(true))
}

/// Sets `expect.auto_accept` to false, after a person undid a repair that was accepted without one.
pub fn ask_before_accepting(dir: &Path) -> Result<(), Problem> {
    set_key(dir, "expect", "auto_accept", value(false))
}

/// Sets `limits.max_pages`.
pub fn set_max_pages(dir: &Path, pages: u32) -> Result<(), Problem> {
    set_key(dir, "limits", "max_pages", value(i64::from(pages)))
}

fn set_key(dir: &Path, table: &str, key: &str, to: Item) -> Result<(), Problem> {
    rewrite(dir, |document| {
        let table = document.entry(table).or_insert_with(toml_edit::table);
        if let Some(table) = table.as_table_like_mut() {
            table.insert(key, to);
        }
    })
}

fn rewrite(dir: &Path, edit: impl FnOnce(&mut DocumentMut)) -> Result<(), Problem> {
    let folder = Folder::open(dir)?;
    let file = dir.join(TASK_FILE);
    let bytes = folder.read(TASK_FILE, MAX_TOML_BYTES)?.unwrap_or_default();
    let source = TomlSource::new(file.clone(), bytes)?;
    let mut document: DocumentMut = source
        .text()
        .parse()
        .map_err(|error: toml_edit::TomlError| source.problem_at(error.span().unwrap_or(0..0), error.message()))?;

    edit(&mut document);
    let text = document.to_string();
    let written = TomlSource::new(file.clone(), text.clone().into_bytes())?;
    written.parse::<Task>()?;
    if text.len() as u64 > MAX_TOML_BYTES {
        return Err(Problem::new(&file, "task.toml would be larger than 64 kB"));
    }
    folder.replace(TASK_FILE, text.as_bytes(), PUBLIC_FILE)?;
    Ok(())
}

fn edit(document: &mut DocumentMut, columns: &[Column]) {
    let old = document.remove("column").and_then(|item| item.into_array_of_tables().ok()).unwrap_or_default();
    // All tables are placed where the first one was, so that the new order of columns is the file's order.
    let position = old.iter().find_map(Table::position);
    let mut old: Vec<Table> = old.into_iter().collect();
    let mut tables = ArrayOfTables::new();
    for column in columns {
        let same_name = |table: &Table| table.get("name").and_then(Item::as_str) == Some(&column.name);
        let mut table = match old.iter().position(same_name) {
            Some(index) => old.remove(index),
            None => Table::new(),
        };
        fill(&mut table, column);
        table.set_position(position);
        tables.push(table);
    }
    if !tables.is_empty() {
        document.insert("column", Item::ArrayOfTables(tables));
    }
}

/// Sets or removes `data.key`.
fn edit_key(document: &mut DocumentMut, key: &[String]) {
    if key.is_empty() && !document.contains_key("data") {
        return;
    }
    let data = document.entry("data").or_insert_with(toml_edit::table);
    let Some(data) = data.as_table_like_mut() else { return };
    if key.is_empty() {
        data.remove("key");
    } else {
        let new = value(key.iter().collect::<Array>());
        let plain = |item: &Item| item.as_value().map(|it| it.clone().decorated("", "").to_string());
        if data.get("key").and_then(plain) != plain(&new) {
            data.insert("key", new);
        }
    }
    if data.is_empty() {
        document.remove("data");
    }
}

fn fill(table: &mut Table, column: &Column) {
    let kind = (column.kind != ColumnType::Text || table.contains_key("type")).then(|| value(column.kind.word()));
    set(table, "name", Some(value(&column.name)));
    set(table, "type", kind);
    set(table, "required", (column.required || table.contains_key("required")).then(|| value(column.required)));
    set(table, "pattern", column.pattern.as_ref().map(value));
    set(table, "split", column.split.as_ref().map(split_value));
    set(table, "join", column.join.as_ref().map(|names| value(names.iter().collect::<Array>())));
    set(table, "default", column.default.as_ref().map(value));
}

fn split_value(split: &Split) -> Item {
    match split {
        Split::At(at) => value(at),
        Split::Into(split) => {
            let mut table = InlineTable::new();
            table.insert("at", split.at.as_str().into());
            table.insert("into", split.into.iter().collect::<Array>().into());
            value(table)
        }
    }
}

/// Sets or removes a key. A value that is unchanged keeps its comment.
fn set(table: &mut Table, key: &str, new: Option<Item>) {
    let Some(new) = new else {
        table.remove(key);
        return;
    };
    let plain = |item: &Item| item.as_value().map(|value| value.clone().decorated("", "").to_string());
    match table.get_mut(key) {
        Some(old) if plain(old) == plain(&new) => {}
        Some(Item::Value(old)) => {
            let decor = old.decor().clone();
            if let Item::Value(new) = new {
                *old = with_decor(new, decor);
            }
        }
        _ => _ = table.insert(key, new),
    }
}

fn with_decor(mut value: Value, decor: toml_edit::Decor) -> Value {
    *value.decor_mut() = decor;
    value
}
