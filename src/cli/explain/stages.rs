//! What each stage of learning makes of a page.

use chrono::Utc;
use chrono_tz::Tz;
use serde_json::{Value, json};

use crate::extract;
use crate::induce::{self, LearnOptions, Template};
use crate::model::Table;
use crate::normalise::{Hints, infer};
use crate::page::encode::{Encoded, Encoding};
use crate::page::{Tokens, Tree};

use super::{Complaint, Stage, exit, out};

/// Rows that a stage shows beside each other, and how wide.
const SHOWN_ROWS: usize = 4;
const CELL_WIDTH: usize = 24;

pub fn explain(stage: Stage, page: Tree, template: Option<Template>) -> Result<(String, Value), Complaint> {
    Ok(match stage {
        Stage::Tokens => tokens(&page),
        Stage::Encodings => encodings(&page),
        Stage::Rows => rows(&page),
        Stage::Alignment => alignment(&read_off(&page, template)?),
        Stage::Template => templates(page, template),
        Stage::Columns => columns(&page, &read_off(&page, template)?),
        Stage::Records => records(&read_off(&page, template)?),
    })
}

/// A page and what the task's template, or else the first that is learned from the page, reads off it.
struct ReadOff {
    template: Template,
    similarity: f64,
    table: Table,
}

fn read_off(page: &Tree, template: Option<Template>) -> Result<ReadOff, Complaint> {
    let learned = || induce::learn(std::slice::from_ref(page), &LearnOptions::default()).into_iter().next();
    let Some(template) = template.or_else(|| learned().map(|it| it.template)) else {
        return Err(Complaint::new(exit::FAILED, "there is no list on this page"));
    };
    let found = extract::extract(&template, page);
    Ok(ReadOff { template, similarity: found.similarity, table: found.table })
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
        ("block-level tags", Encoding::Block),
        ("without special markup", Encoding::NoSpecial),
        ("without physical markup", Encoding::NoPhysical),
        ("without logical markup", Encoding::NoLogical),
        ("all tags", Encoding::Tags),
        ("tags with attributes, texts in chunks", Encoding::Chunks),
    ];
    let mut text = String::new();
    let mut value = serde_json::Map::new();
    for (name, encoding) in all {
        let encoded = Encoded::new(&tokens, encoding);
        let symbols: Vec<String> = encoded.symbols.iter().map(|&it| out::cell(encoded.name(it), CELL_WIDTH)).collect();
        text.push_str(&format!("{name}, {} symbols:\n  {}\n\n", symbols.len(), symbols.join(" ")));
        value.insert(name.to_owned(), json!(symbols));
    }
    (text, json!({ "encodings": value }))
}

fn rows(page: &Tree) -> (String, Value) {
    let sets = induce::explain_rows(page, &LearnOptions::default());
    let mut text = String::new();
    for (place, (head, rows)) in sets.iter().enumerate() {
        text.push_str(&format!("{}. {head}\n", place + 1));
        for row in rows {
            text.push_str(&format!("     {}\n", out::cell(row, 160)));
        }
    }
    let value = sets.into_iter().map(|(head, rows)| json!({ "set": head, "rows": rows })).collect::<Vec<_>>();
    (text, json!({ "row_sets": value }))
}

/// Slots down, rows across: what the aligner put into one column.
fn alignment(read: &ReadOff) -> (String, Value) {
    let variant = &read.template.variants[0];
    let mut lines = Vec::new();
    let mut value = Vec::new();
    for (number, slot) in variant.slots.iter().enumerate() {
        let column = variant.column_of(number);
        let presence = format!("{} of {} rows", slot.count, variant.rows);
        let found = column.map(|column| first_values(&read.table, column)).unwrap_or_default();
        lines.push(vec![slot.words(number), presence, found.join(" · ")]);
        value.push(json!({ "slot": number + 1, "what": slot.words(number), "rows": slot.count, "first": found }));
    }
    (tabulated(&["SLOT", "IN", "FIRST ROWS"], lines), json!({ "slots": value }))
}

fn templates(page: Tree, template: Option<Template>) -> (String, Value) {
    let templates = match template {
        Some(template) => vec![template],
        None => induce::learn(&[page], &LearnOptions::default()).into_iter().map(|it| it.template).collect(),
    };
    let printed: Vec<String> = templates.iter().map(ToString::to_string).collect();
    let numbered = printed.iter().enumerate().map(|(place, text)| format!("{}. {text}\n", place + 1)).collect();
    (numbered, json!({ "templates": printed }))
}

fn columns(page: &Tree, read: &ReadOff) -> (String, Value) {
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
            out::cell(&column.name, CELL_WIDTH),
            shown.to_owned(),
            kind.to_owned(),
            out::cell(&from, 80),
            found.join(" · "),
        ]);
        value.push(json!({ "name": column.name, "hidden": column.hidden, "type": kind, "from": from, "first": found }));
    }
    let told = variant.told();
    let head = told.as_ref().map(|it| format!("{it}\n")).unwrap_or_default();
    let text = head + &tabulated(&["COLUMN", "", "TYPE", "FROM", "FIRST ROWS"], lines);
    (text, json!({ "rows": told, "columns": value }))
}

fn records(read: &ReadOff) -> (String, Value) {
    let value = json!({
        "similarity": read.similarity,
        "rows": read.table.rows.len(),
        "records": read.table.records(),
    });
    (serde_json::to_string_pretty(&value).unwrap_or_default(), value)
}

fn first_values(table: &Table, column: usize) -> Vec<String> {
    let rows = table.rows.iter().take(SHOWN_ROWS);
    rows.map(|row| out::cell(row.cells[column].as_deref().unwrap_or("-"), CELL_WIDTH)).collect()
}

fn tabulated(header: &[&str], lines: Vec<Vec<String>>) -> String {
    let mut table = out::table(header);
    lines.into_iter().for_each(|line| _ = table.add_row(line));
    table.to_string()
}
