//! Shows a page at each stage of learning, from tokens to records.

use chrono::Utc;
use chrono_tz::Tz;
use serde_json::{Value, json};

use crate::learn;
use crate::learn::{LearnOptions, Template, apply};
use crate::model::{Table, counted};
use crate::normalise::{Hints, infer};
use crate::page::encode::{EncodedPage, TagEncoding};
use crate::page::{Tokens, Tree};

use super::{CliError, LearnStage, output};

/// Rows that a stage shows, and the width of their cells.
const SHOWN_ROWS: usize = 4;
const CELL_WIDTH: usize = 24;

pub(crate) fn explain(stage: LearnStage, page: Tree, template: Option<Template>) -> Result<(String, Value), CliError> {
    Ok(match stage {
        LearnStage::Tokens => tokens(&page),
        LearnStage::Encodings => encodings(&page),
        LearnStage::Rows => rows(&page),
        LearnStage::Alignment => alignment(&read_page(&page, template)?),
        LearnStage::Template => templates(page, template),
        LearnStage::Columns => columns(&page, &read_page(&page, template)?),
        LearnStage::Records => records(&read_page(&page, template)?),
    })
}

/// The records of a page under the task's template, or under the best template learned from the page.
struct PageReading {
    template: Template,
    similarity: f64,
    table: Table,
}

fn read_page(page: &Tree, template: Option<Template>) -> Result<PageReading, CliError> {
    let learned = || learn::learn(std::slice::from_ref(page), &LearnOptions::default()).into_iter().next();
    let Some(template) = template.or_else(|| learned().map(|it| it.template)) else {
        return Err(CliError::failed("no list was found on this page"));
    };
    let found = apply::extract(&template, page);
    Ok(PageReading { template, similarity: found.similarity, table: found.table })
}

fn tokens(page: &Tree) -> (String, Value) {
    let outline = Tokens::new(page).outline();
    let lines: Vec<&str> = outline.lines().collect();
    let value = json!({ "tokens": lines });
    (outline, value)
}

fn encodings(page: &Tree) -> (String, Value) {
    let tokens = Tokens::new(page);
    let all = [
        ("block-level tags", TagEncoding::Block),
        ("without special markup", TagEncoding::NoSpecial),
        ("without physical markup", TagEncoding::NoPhysical),
        ("without logical markup", TagEncoding::NoLogical),
        ("all tags", TagEncoding::Tags),
        ("tags with attributes, texts in chunks", TagEncoding::Chunks),
    ];
    let mut text = String::new();
    let mut value = serde_json::Map::new();
    for (name, encoding) in all {
        let encoded = EncodedPage::new(&tokens, encoding);
        let symbols: Vec<String> =
            encoded.symbols.iter().map(|&it| output::cell(encoded.name(it), CELL_WIDTH)).collect();
        text.push_str(&format!("{name}, {} symbols:\n  {}\n\n", symbols.len(), symbols.join(" ")));
        value.insert(name.to_owned(), json!(symbols));
    }
    (text, json!({ "encodings": value }))
}

fn rows(page: &Tree) -> (String, Value) {
    let sets = learn::explain_rows(page, &LearnOptions::default());
    let mut text = String::new();
    for (place, (head, rows)) in sets.iter().enumerate() {
        text.push_str(&format!("{}. {head}\n", place + 1));
        for row in rows {
            text.push_str(&format!("     {}\n", output::cell(row, 160)));
        }
    }
    let value = sets.into_iter().map(|(head, rows)| json!({ "set": head, "rows": rows })).collect::<Vec<_>>();
    (text, json!({ "row_sets": value }))
}

/// One line per slot, with its texts in the first rows.
fn alignment(read: &PageReading) -> (String, Value) {
    let variant = &read.template.variants[0];
    let mut lines = Vec::new();
    let mut value = Vec::new();
    for (number, slot) in variant.slots.iter().enumerate() {
        let column = variant.column_of(number);
        let presence = format!("{} of {}", slot.count, counted(variant.rows, "row"));
        let found = column.map(|column| first_values(&read.table, column)).unwrap_or_default();
        lines.push(vec![slot.describe(number), presence, found.join(" · ")]);
        value.push(json!({ "slot": number + 1, "what": slot.describe(number), "rows": slot.count, "first": found }));
    }
    (output::table(&["SLOT", "IN", "FIRST ROWS"], lines).to_string(), json!({ "slots": value }))
}

fn templates(page: Tree, template: Option<Template>) -> (String, Value) {
    let templates = match template {
        Some(template) => vec![template],
        None => learn::learn(&[page], &LearnOptions::default()).into_iter().map(|it| it.template).collect(),
    };
    let printed: Vec<String> = templates.iter().map(ToString::to_string).collect();
    let numbered = printed.iter().enumerate().map(|(place, text)| format!("{}. {text}\n", place + 1)).collect();
    (numbered, json!({ "templates": printed }))
}

fn columns(page: &Tree, read: &PageReading) -> (String, Value) {
    let variant = &read.template.variants[0];
    let lang = page.elements("html").next().and_then(|html| page.attribute(html, "lang"));
    let hints = Hints::new(Tz::UTC, Utc::now(), None, lang);
    let mut lines = Vec::new();
    let mut value = Vec::new();
    for (place, column) in read.template.columns().iter().enumerate() {
        let from = variant.origin(place);
        let found = first_values(&read.table, place);
        let shown = if column.hidden { "hidden" } else { "shown" };
        let values = read.table.rows.iter().filter_map(|row| row.cells.get(place)?.as_deref());
        let kind = infer::column(values, variant.reads_text(place), &hints).word();
        lines.push(vec![
            output::cell(&column.name, CELL_WIDTH),
            shown.to_owned(),
            kind.to_owned(),
            output::cell(&from, 80),
            found.join(" · "),
        ]);
        value.push(json!({ "name": column.name, "hidden": column.hidden, "type": kind, "from": from, "first": found }));
    }
    let told = variant.describe_rule();
    let head = told.as_ref().map(|it| format!("{it}\n")).unwrap_or_default();
    let table = output::table(&["COLUMN", "", "TYPE", "FROM", "FIRST ROWS"], lines);
    (format!("{head}{table}"), json!({ "rows": told, "columns": value }))
}

fn records(read: &PageReading) -> (String, Value) {
    let value = json!({
        "similarity": read.similarity,
        "rows": read.table.rows.len(),
        "records": read.table.records(),
    });
    (serde_json::to_string_pretty(&value).unwrap_or_default(), value)
}

fn first_values(table: &Table, column: usize) -> Vec<String> {
    let rows = table.rows.iter().take(SHOWN_ROWS);
    rows.map(|row| output::cell(row.cells[column].as_deref().unwrap_or("-"), CELL_WIDTH)).collect()
}
