//! Large pages: long, wide and deep tables of any size, streamed.

use axum::body::{Body, Bytes};
use axum::extract::Query;
use axum::http::header;
use axum::response::{Html, IntoResponse, Response};
use futures_util::{Stream, StreamExt, stream};
use serde::Deserialize;

/// Limits of the parameters, so that a request ends.
const MAX_CELLS: usize = 20_000_000;
const MAX_COLUMNS: usize = 100_000;
const MAX_LEVELS: usize = 200_000;
const MAX_ATTRIBUTES: usize = 100_000;
/// Rows per chunk of the stream.
const ROWS_PER_CHUNK: usize = 500;
/// The list on a deep page and on a page with many attributes.
const SHORT_TABLE: TableSize = TableSize { rows: 30, columns: 4, gaps: false };

/// Rows and columns of a table.
#[derive(Clone, Copy, Deserialize)]
#[serde(default)]
pub struct TableSize {
    rows: usize,
    columns: usize,
    /// Some cells are empty, different ones in each row.
    gaps: bool,
}

impl Default for TableSize {
    fn default() -> TableSize {
        TableSize { rows: 20_000, columns: 15, gaps: false }
    }
}

impl TableSize {
    fn bounded(self) -> TableSize {
        let columns = self.columns.clamp(1, MAX_COLUMNS);
        TableSize { columns, rows: self.rows.min(MAX_CELLS / columns), ..self }
    }

    /// The cells of a row, counted from 1. All rows differ.
    fn cells(self, row: usize) -> impl Iterator<Item = Option<String>> {
        let gap = move |column: usize| self.gaps && column > 1 && (row * 7 + column * column).is_multiple_of(11);
        (1..=self.columns).map(move |column| (!gap(column)).then(|| cell(row, column)))
    }
}

/// A name for each column: “Article A”, “Price A”, …, “Article B”, …
fn title(column: usize) -> String {
    let mut letters = String::new();
    let mut group = (column - 1) / 5 + 1;
    while group > 0 {
        letters.insert(0, char::from(b'A' + ((group - 1) % 26) as u8));
        group = (group - 1) / 26;
    }
    format!("{} {letters}", ["Code", "Article", "Price", "Date", "Stock"][column % 5])
}

fn cell(row: usize, column: usize) -> String {
    match column % 5 {
        1 => format!("Alba Kettle {row}-{column}"),
        2 => format!("€ {}.{:02}", 10 + row * column % 990, row % 100),
        3 => format!("20{:02}-{:02}-{:02}", row % 30, 1 + row % 12, 1 + (row + column) % 28),
        4 => format!("{} in stock", row * column % 5_000),
        _ => format!("AB-{:05}-{column}", row % 100_000),
    }
}

/// `/bad/table?rows=20000&columns=15`
pub async fn table(Query(size): Query<TableSize>) -> Response {
    let size = size.bounded();
    let titles: String = (1..=size.columns).map(|column| format!("<th>{}</th>", title(column))).collect();
    let head = format!("<!DOCTYPE html><title>{} rows</title><table>\n<tr>{titles}</tr>\n", size.rows);
    html_stream(table_chunks(size, head, "</table>\n", move |row| {
        let cells = size.cells(row).map(|cell| format!("<td>{}</td>", cell.unwrap_or_default()));
        format!("<tr>{}</tr>\n", cells.collect::<String>())
    }))
}

/// `/bad/json?rows=100000&columns=3`
pub async fn json(Query(size): Query<TableSize>) -> Response {
    let size = size.bounded();
    let body = table_chunks(size, "{\"items\":[".to_owned(), "]}", move |row| {
        let cells = size.cells(row).enumerate();
        let pair = |(at, cell): (usize, Option<String>)| {
            let value = cell.map_or("null".to_owned(), |cell| format!("\"{cell}\""));
            format!("\"column{}\":{value}", at + 1)
        };
        let comma = if row == size.rows { "" } else { "," };
        format!("{{{}}}{comma}\n", cells.map(pair).collect::<Vec<_>>().join(","))
    });
    let mut response = html_stream(body);
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    response
}

fn table_chunks(
    size: TableSize,
    head: String,
    tail: &'static str,
    write: impl Fn(usize) -> String + Send + 'static,
) -> impl Stream<Item = Bytes> + Send + 'static {
    let rows = (0..size.rows).step_by(ROWS_PER_CHUNK).map(move |from| {
        let to = (from + ROWS_PER_CHUNK).min(size.rows);
        Bytes::from((from + 1..=to).map(&write).collect::<String>())
    });
    let all =
        std::iter::once(Bytes::from(head)).chain(rows).chain(std::iter::once(Bytes::from_static(tail.as_bytes())));
    stream::iter(all)
}

#[derive(Deserialize)]
pub struct DeepQuery {
    levels: Option<usize>,
}

/// `/bad/deep`: nested elements only; `/bad/deep?levels=600`: a short list inside 600 levels.
pub async fn deep(Query(DeepQuery { levels }): Query<DeepQuery>) -> Html<String> {
    match levels.map(|levels| levels.min(MAX_LEVELS)) {
        None => Html("<div>x".repeat(MAX_LEVELS / 2)),
        Some(levels) => {
            Html(format!("<!DOCTYPE html>{}{}{}", "<div>".repeat(levels), short_table(), "</div>".repeat(levels)))
        }
    }
}

#[derive(Deserialize)]
pub struct AttributesQuery {
    count: usize,
}

/// `/bad/attributes?count=300`: a tag with 300 attributes, and a short list.
pub async fn attributes(Query(AttributesQuery { count }): Query<AttributesQuery>) -> Response {
    let attributes: String = (0..count.min(MAX_ATTRIBUTES)).map(|n| format!(" data-a{n}=\"{n}\"")).collect();
    Html(format!("<!DOCTYPE html><p{attributes}>Much is said of this.</p>{}", short_table())).into_response()
}

fn short_table() -> String {
    let row = |row: usize| {
        let cells = SHORT_TABLE.cells(row).flatten().map(|cell| format!("<td>{cell}</td>"));
        format!("<tr>{}</tr>\n", cells.collect::<String>())
    };
    format!("<table>{}</table>", (1..=SHORT_TABLE.rows).map(row).collect::<String>())
}

/// A page that is sent in chunks.
pub(super) fn html_stream(chunks: impl Stream<Item = Bytes> + Send + 'static) -> Response {
    let body = Body::from_stream(chunks.map(Ok::<Bytes, std::convert::Infallible>));
    ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], body).into_response()
}
