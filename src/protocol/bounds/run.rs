//! Bounds of a run's messages.

use super::{
    BATCH_ROWS, BoundedMessage, FIRST_SAVED_INDEX, MAX_COLUMNS, MAX_COOKIES_BYTES, MAX_HEADER_BYTES, MAX_HEADERS,
    MAX_HOST_BYTES, MAX_NAME_BYTES, MAX_ORIGIN_BYTES, MAX_PAGE_BYTES, MAX_REQUESTS, MAX_ROW_BYTES, MAX_ROWS,
    MAX_SAVED_PAGES, MAX_SENTENCE_BYTES, MAX_TIME_MS, MAX_TRACE_TEXT_BYTES, MAX_VALUE_BYTES, MAX_VALUE_COLUMNS,
    MAX_WORD_BYTES, OutOfBounds, at_most, bytes, finite, json, names, optional_text, share, template, text, time, url,
    verbs,
};
use crate::model::{
    CachedPage, ColumnStatistics, KnownRecords, MinHash, NumberStatistics, PageMeta, RobotsTxt, Row, RunStatistics,
    SimilarityParts, TableChanges, TraceLine, ValueColumn, Verdict,
};
use crate::protocol::kinds::FrameKind;
use crate::protocol::messages::{FetchRequest, RunMessage};

impl BoundedMessage for RunMessage {
    fn kinds() -> &'static [FrameKind] {
        &[
            FrameKind::Request,
            FrameKind::Trace,
            FrameKind::Page,
            FrameKind::Rows,
            FrameKind::Progress,
            FrameKind::Cookies,
            FrameKind::Template,
            FrameKind::DetailTemplate,
            FrameKind::CachedPage,
            FrameKind::Robots,
            FrameKind::End,
        ]
    }

    fn check(&self, raw_bytes: usize) -> Result<(), OutOfBounds> {
        let most_raw = match self {
            RunMessage::Page { .. } => MAX_PAGE_BYTES,
            RunMessage::CachePage(_) => CachedPage::MAX_BODY_BYTES,
            _ => 0,
        };
        bytes("raw bytes", raw_bytes, most_raw)?;
        match self {
            RunMessage::Request(request) => check_request(request),
            RunMessage::Trace(line) => check_trace_line(line),
            RunMessage::Page { index, meta } => {
                let last = FIRST_SAVED_INDEX + MAX_SAVED_PAGES - 1;
                at_most("page.index", u64::from(*index), u64::from(last))?;
                check_page_meta(meta)
            }
            RunMessage::Rows { columns, values, rows } => check_rows(columns, values, rows),
            RunMessage::Progress { pages: _, rows } => at_most("progress.rows", *rows, MAX_ROWS),
            RunMessage::Cookies { json } => text("cookies.json", json, MAX_COOKIES_BYTES),
            RunMessage::Learned { template: json } => template("learned.template", json),
            RunMessage::LearnedDetails { template: json } => template("learned_details.template", json),
            RunMessage::CachePage(page) => check_cached_page(page),
            RunMessage::Robots(robots) => check_robots(robots),
            RunMessage::End(verdict) => check_verdict(verdict),
        }
    }
}

pub(super) fn check_request(request: &FetchRequest) -> Result<(), OutOfBounds> {
    match request {
        FetchRequest::Turn { host, delay_ms } => {
            text("turn.host", host, MAX_HOST_BYTES)?;
            at_most("turn.delay_ms", *delay_ms, MAX_TIME_MS)
        }
        FetchRequest::TurnFinished { pause_ms } => at_most("turn_finished.pause_ms", *pause_ms, MAX_TIME_MS),
        FetchRequest::Body { url: of } => url("body.url", of),
        FetchRequest::Connect { question, host, port: _ } => {
            // Each question is a message.
            at_most("connect.question", *question, MAX_REQUESTS as u64)?;
            text("connect.host", host, MAX_HOST_BYTES)
        }
    }
}

fn check_trace_line(line: &TraceLine) -> Result<(), OutOfBounds> {
    time("trace.at", line.at)?;
    verbs("trace.verb", &line.verb)?;
    text("trace.text", &line.text, MAX_TRACE_TEXT_BYTES)
}

fn check_page_meta(meta: &PageMeta) -> Result<(), OutOfBounds> {
    url("page.url", &meta.url)?;
    bytes("page.headers", meta.headers.len(), MAX_HEADERS)?;
    let header_bytes = meta.headers.iter().map(|(name, value)| name.len() + value.len()).sum();
    bytes("page.headers in bytes", header_bytes, MAX_HEADER_BYTES)?;
    time("page.fetched_at", meta.fetched_at)?;
    at_most("page.elapsed_ms", meta.elapsed_ms, MAX_TIME_MS)?;
    optional_text("page.saved_as", meta.saved_as.as_ref(), MAX_NAME_BYTES)
}

fn check_rows(columns: &[String], values: &[ValueColumn], rows: &[Row]) -> Result<(), OutOfBounds> {
    names("rows.columns", columns.iter(), MAX_COLUMNS)?;
    bytes("rows.values", values.len(), MAX_VALUE_COLUMNS)?;
    // A value is of one of the columns.
    values.iter().try_for_each(|value| bytes("rows.values.of", value.of.saturating_add(1), columns.len()))?;
    bytes("rows.rows", rows.len(), BATCH_ROWS)?;
    rows.iter().try_for_each(|row| {
        bytes("rows.cells", row.cells.len(), columns.len() + values.len())?;
        let (texts, values) = row.cells.split_at(columns.len().min(row.cells.len()));
        let length = |cells: &[Option<String>]| cells.iter().flatten().map(String::len).sum();
        bytes("rows.cells in bytes", length(texts), MAX_ROW_BYTES)?;
        bytes("rows.values in bytes", length(values), MAX_VALUE_BYTES)
    })
}

fn check_cached_page(page: &CachedPage) -> Result<(), OutOfBounds> {
    time("cache_page.fetched_at", page.fetched_at)?;
    json("cache_page", page, CachedPage::MAX_JSON_BYTES)
}

fn check_robots(robots: &RobotsTxt) -> Result<(), OutOfBounds> {
    text("robots.origin", &robots.origin, MAX_ORIGIN_BYTES)?;
    text("robots.text", &robots.text, RobotsTxt::MAX_BYTES)?;
    time("robots.fetched_at", robots.fetched_at)
}

fn check_verdict(verdict: &Verdict) -> Result<(), OutOfBounds> {
    text("end.sentence", &verdict.sentence, MAX_SENTENCE_BYTES)?;
    verdict.similarity.map_or(Ok(()), |it| share("end.similarity", it))?;
    at_most("end.rows", verdict.rows, MAX_ROWS)?;
    check_statistics(&verdict.statistics)
}

fn check_statistics(statistics: &RunStatistics) -> Result<(), OutOfBounds> {
    let RunStatistics {
        similarity_parts,
        columns,
        numbers,
        records,
        table,
        cells,
        known,
        signs: _,
        accepted: _,
        rolled_back: _,
        repaired: _,
    } = statistics;
    for names in [&table.new, &table.gone] {
        bytes("end.table", names.len(), TableChanges::MAX_COLUMNS)?;
        names.iter().try_for_each(|name| text("end.table", name, MAX_NAME_BYTES))?;
    }
    if let Some(SimilarityParts { tags, fit, places, header }) = similarity_parts {
        [Some(*tags), *fit, Some(*places), Some(*header)]
            .into_iter()
            .flatten()
            .try_for_each(|part| share("end.similarity_parts", part))?;
    }
    bytes("end.columns", columns.len(), MAX_COLUMNS)?;
    columns.iter().try_for_each(check_column)?;
    bytes("end.numbers", numbers.len(), MAX_COLUMNS)?;
    numbers.iter().try_for_each(check_numbers)?;
    for sketch in [records, cells].into_iter().flatten() {
        names("end.records.columns", sketch.columns.iter(), MAX_COLUMNS)?;
        bytes("end.records", sketch.hash_count(), MinHash::SKETCH_SIZE)?;
    }
    known.as_ref().map_or(Ok(()), check_known)
}

fn check_known(known: &KnownRecords) -> Result<(), OutOfBounds> {
    let KnownRecords { sought, found, elsewhere, lost_before_found } = *known;
    [sought, found, elsewhere].into_iter().try_for_each(|it| bytes("end.known", it as usize, MinHash::SKETCH_SIZE))?;
    share("end.known.lost_before_found", lost_before_found)
}

fn check_column(column: &ColumnStatistics) -> Result<(), OutOfBounds> {
    let ColumnStatistics { name, filled, numbers, words, links, different, unread, is_text: _ } = column;
    text("end.columns.name", name, MAX_NAME_BYTES)?;
    [filled, numbers, words, links, different, unread]
        .into_iter()
        .try_for_each(|count| at_most("end.columns", *count, MAX_ROWS))
}

fn check_numbers(numbers: &NumberStatistics) -> Result<(), OutOfBounds> {
    let NumberStatistics { column, currency, count, least, lower, median, upper, most } = numbers;
    text("end.numbers.column", column, MAX_NAME_BYTES)?;
    optional_text("end.numbers.currency", currency.as_ref(), MAX_WORD_BYTES)?;
    at_most("end.numbers.count", *count, MAX_ROWS)?;
    [least, lower, median, upper, most].into_iter().try_for_each(|number| finite("end.numbers", *number))
}
