//! Typed values of rows: as JSON, as cells for a terminal, and the reasons why a text has no value.

use serde::Serialize;
use serde_json::{Map, Value as Json, json};

use crate::model::{ColumnType, Facet, Table, TaskName, ValueColumn};
use crate::normalise::{self, Hints};
use crate::store::Rows;

/// Rows as a JSON document: the records as found, and typed values where columns have types.
pub fn document(task: &TaskName, rows: &Rows) -> Json {
    let mut document = json!({
        "task": task,
        "run": rows.run,
        "columns": rows.table.columns,
        "records": records(&rows.table),
    });
    if !rows.values.is_empty() {
        document["types"] = types(rows);
        document["values"] = values(rows);
        document["unread"] = json!(unparsed(rows));
    }
    document
}

/// The records; empty cells are left out. A column without any value is null in each record, so that every column of
/// the table is there.
fn records(table: &Table) -> Json {
    let is_empty = |at: &usize| table.rows.iter().all(|row| row.cells.get(*at).is_none_or(Option::is_none));
    let empty: Vec<&String> = (0..table.columns.len()).filter(is_empty).map(|at| &table.columns[at]).collect();
    let mut records = json!(table.records());
    for record in records.as_array_mut().into_iter().flatten().filter_map(Json::as_object_mut) {
        record.extend(empty.iter().map(|name| ((*name).clone(), Json::Null)));
    }
    records
}

/// The type of each column that has one.
fn types(rows: &Rows) -> Json {
    let main = rows.values.iter().filter(|it| it.facet == Facet::Value);
    let entry = |it: &ValueColumn| (rows.table.columns[it.of].clone(), Json::from(it.kind.word()));
    Json::Object(main.map(entry).collect())
}

/// The values of the typed columns of each record. Null where the text has no value; money is an object.
fn values(rows: &Rows) -> Json {
    rows.cells.iter().map(|cells| Json::Object(record(rows, cells))).collect()
}

/// A text that has no value of its column's type.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct UnparsedText<'r> {
    /// Counted from 0.
    pub record: usize,
    pub column: &'r str,
    pub text: &'r str,
    pub why: String,
}

/// Texts that have no value, each with the reason.
pub fn unparsed(rows: &Rows) -> Vec<UnparsedText<'_>> {
    let main: Vec<(usize, &ValueColumn)> =
        rows.values.iter().enumerate().filter(|(_, it)| it.facet == Facet::Value).collect();
    let hints = Hints::new(chrono_tz::Tz::UTC, rows.last_seen, None, None);
    let mut found = Vec::new();
    for (record, (row, cells)) in rows.table.rows.iter().zip(&rows.cells).enumerate() {
        for &(at, column) in &main {
            let text = row.cells[column.of].as_deref().filter(|text| !text.trim().is_empty());
            let Some(text) = text.filter(|_| cells[at].is_null()) else { continue };
            // The language and address of the page are not stored. Without them the text may parse after all.
            let why = normalise::read(column.kind, text, &hints).err();
            let why = why.map_or("it had no value on its page".to_owned(), |why| why.to_string());
            found.push(UnparsedText { record, column: &rows.table.columns[column.of], text, why });
        }
    }
    found
}

/// Why texts of a column have no value.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct UnparsedReason<'r> {
    pub column: &'r str,
    pub why: String,
    pub texts: usize,
    /// The first such text.
    pub first: &'r str,
}

/// All reasons, in the order of their first occurrence.
pub fn reasons(rows: &Rows) -> Vec<UnparsedReason<'_>> {
    let mut reasons: Vec<UnparsedReason<'_>> = Vec::new();
    for UnparsedText { column, text, why, .. } in unparsed(rows) {
        match reasons.iter_mut().find(|it| it.column == column && it.why == why) {
            Some(known) => known.texts += 1,
            None => reasons.push(UnparsedReason { column, why, texts: 1, first: text }),
        }
    }
    reasons
}

impl UnparsedReason<'_> {
    /// One line for a person.
    pub fn line(&self) -> String {
        let UnparsedReason { column, why, texts, first } = self;
        let more = if *texts > 1 { format!(" ({texts} texts)") } else { String::new() };
        format!("{column}: {why}: “{first}”{more}")
    }
}

fn record(rows: &Rows, cells: &[Json]) -> Map<String, Json> {
    let main = rows.values.iter().filter(|it| it.facet == Facet::Value);
    let value = |it: &ValueColumn| {
        let value = match it.kind {
            ColumnType::Money => money(rows, cells, it.of),
            ColumnType::Bool => {
                cell(rows, cells, it.of, Facet::Value).as_i64().map_or(Json::Null, |it| (it != 0).into())
            }
            _ => cell(rows, cells, it.of, Facet::Value).clone(),
        };
        (rows.table.columns[it.of].clone(), value)
    };
    main.map(value).collect()
}

fn money(rows: &Rows, cells: &[Json], of: usize) -> Json {
    let amount = cell(rows, cells, of, Facet::Value);
    if amount.is_null() {
        return Json::Null;
    }
    let named = [("amount", Facet::Value), ("to", Facet::To), ("currency", Facet::Currency)];
    let all = named.into_iter().map(|(name, facet)| (name.to_owned(), cell(rows, cells, of, facet).clone()));
    Json::Object(all.filter(|(_, value)| !value.is_null()).collect())
}

fn cell<'r>(rows: &Rows, cells: &'r [Json], of: usize, facet: Facet) -> &'r Json {
    let at = rows.values.iter().position(|it| it.of == of && it.facet == facet);
    at.and_then(|at| cells.get(at)).unwrap_or(&Json::Null)
}

/// A row with typed values instead of texts; `?` marks a text without a value.
pub fn display_cells(rows: &Rows, row: usize) -> Vec<String> {
    let (Some(texts), cells) = (rows.table.rows.get(row), rows.cells.get(row)) else { return Vec::new() };
    let plain = |cell: &Json| cell.as_str().map_or_else(|| cell.to_string(), str::to_owned);
    let one = |(of, text): (usize, &Option<String>)| {
        let text = text.as_deref().unwrap_or("");
        let Some(cells) = cells.filter(|_| rows.values.iter().any(|it| it.of == of)) else { return text.to_owned() };
        let part = |facet: Facet| Some(cell(rows, cells, of, facet)).filter(|it| !it.is_null()).map(plain);
        match part(Facet::Value) {
            None if text.is_empty() => String::new(),
            None => format!("? {text}"),
            Some(value) => {
                let to = part(Facet::To).map(|to| format!("–{to}")).unwrap_or_default();
                let currency = part(Facet::Currency).map(|it| format!(" {it}")).unwrap_or_default();
                format!("{value}{to}{currency}")
            }
        }
    };
    texts.cells.iter().enumerate().map(one).collect()
}
