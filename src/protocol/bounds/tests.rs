mod answers;

use serde_json::json;

use super::*;
use crate::labelling::page::LabellingAnswer;
use crate::model::{
    ColumnStatistics, Facet, Failure, MinHash, NumberStatistics, PageMeta, RobotsTxt, Row, RunStatistics,
    SimilarityParts, StepwiseState, TraceLine, ValueColumn, Verdict,
};
use crate::protocol::{FetchRequest, InspectAnswer, RunMessage, StepMessage};

use answers::{lists_with, repair_with, taken_with};

/// Refused with the field that is out of bounds, by its raw bytes or by itself.
fn field(message: &dyn BoundedMessage, raw_bytes: usize) -> Option<&'static str> {
    message.check(raw_bytes).err().map(|error| match error {
        OutOfBounds::TooLarge { field, .. }
        | OutOfBounds::Impossible { field, .. }
        | OutOfBounds::UnknownWord { field } => field,
    })
}

/// The message that `make` makes passes with the maximum, and is refused with one more.
fn at_its_limit<M: BoundedMessage>(name: &str, most: usize, make: impl Fn(usize) -> M) {
    assert_eq!(field(&make(most), 0), None, "{name}: the largest that is allowed");
    assert_eq!(field(&make(most + 1), 0), Some(name), "{name}: one more");
}

fn long(len: usize) -> String {
    "x".repeat(len)
}

fn many<T: Clone>(one: T, count: usize) -> Vec<T> {
    vec![one; count]
}

fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000, 0).expect("a time of this century")
}

fn address(len: usize) -> Url {
    let start = "https://shop.test/";
    Url::parse(&format!("{start}{}", long(len - start.len()))).expect("an address")
}

fn page() -> PageMeta {
    PageMeta { url: address(40), status: 200, headers: Vec::new(), fetched_at: now(), elapsed_ms: 1, saved_as: None }
}

fn page_with(change: impl Fn(&mut PageMeta)) -> RunMessage {
    let mut meta = page();
    change(&mut meta);
    RunMessage::Page { index: 0, meta }
}

fn end_with(change: impl Fn(&mut Verdict)) -> RunMessage {
    let mut verdict = Verdict::failed(Failure::Network, "no route");
    change(&mut verdict);
    RunMessage::End(verdict)
}

fn statistics_with(change: impl Fn(&mut RunStatistics)) -> RunMessage {
    end_with(|verdict| change(&mut verdict.statistics))
}

fn rows(columns: usize, values: Vec<ValueColumn>, rows: Vec<Row>) -> RunMessage {
    RunMessage::Rows { columns: many("name".to_owned(), columns), values, rows }
}

fn row(cells: &[usize]) -> Row {
    Row { cells: cells.iter().map(|&len| Some(long(len))).collect(), page: 0 }
}

fn value(of: usize) -> ValueColumn {
    ValueColumn { of, kind: crate::model::ColumnType::Number, facet: Facet::Value }
}

#[test]
fn requests_of_a_child_have_their_limits_in_a_run_and_in_a_stepping_session() {
    at_its_limit("turn.host", MAX_HOST_BYTES, |n| {
        RunMessage::Request(FetchRequest::Turn { host: long(n), delay_ms: 0 })
    });
    at_its_limit("turn.delay_ms", MAX_TIME_MS as usize, |n| {
        RunMessage::Request(FetchRequest::Turn { host: long(9), delay_ms: n as u64 })
    });
    at_its_limit("turn_finished.pause_ms", MAX_TIME_MS as usize, |n| {
        StepMessage::Request(FetchRequest::TurnFinished { pause_ms: n as u64 })
    });
    at_its_limit("body.url", MAX_URL_BYTES, |n| StepMessage::Request(FetchRequest::Body { url: address(n) }));
    at_its_limit("connect.host", MAX_HOST_BYTES, |n| {
        StepMessage::Request(FetchRequest::Connect { question: 0, host: long(n), port: 443 })
    });
    at_its_limit("connect.question", MAX_REQUESTS, |n| {
        RunMessage::Request(FetchRequest::Connect { question: n as u64, host: long(9), port: 443 })
    });
}

#[test]
fn trace_and_pages_have_their_limits() {
    let line =
        |verb: &str, text| RunMessage::Trace(TraceLine { at: now(), step: 1, verb: verb.to_owned(), text: long(text) });
    // 25 verbs with their separators have 245 bytes.
    at_its_limit("trace.verb", 25, |n| line(&many("click", n).join(" › ").replacen("click", "for_each › if", 1), 0));
    for (verb, refused) in
        [("run", None), ("for_each › get", None), ("pwned", Some("trace.verb")), ("", Some("trace.verb"))]
    {
        assert_eq!(field(&line(verb, 0), 0), refused, "{verb}");
    }
    at_its_limit("trace.text", MAX_TRACE_TEXT_BYTES, |n| line("get", n));
    at_its_limit("page.index", 1_999, |n| RunMessage::Page { index: n as u32, meta: page() });
    at_its_limit("page.url", MAX_URL_BYTES, |n| page_with(|meta| meta.url = address(n)));
    let header = |len: usize| ("server".to_owned(), long(len));
    at_its_limit("page.headers", MAX_HEADERS, |n| page_with(|meta| meta.headers = many(header(9), n)));
    at_its_limit("page.headers in bytes", MAX_HEADER_BYTES, |n| {
        page_with(|meta| meta.headers = vec![header(n - "server".len())])
    });
    at_its_limit("page.elapsed_ms", MAX_TIME_MS as usize, |n| page_with(|meta| meta.elapsed_ms = n as u64));
    at_its_limit("page.saved_as", MAX_NAME_BYTES, |n| page_with(|meta| meta.saved_as = Some(long(n))));
    at_its_limit("page.fetched_at", MAX_TIMESTAMP as usize, |n| {
        page_with(|meta| meta.fetched_at = DateTime::from_timestamp(n as i64, 0).expect("a time"))
    });
    let before_1970 = page_with(|meta| meta.fetched_at = DateTime::from_timestamp(-1, 0).expect("a time"));
    assert_eq!(field(&before_1970, 0), Some("page.fetched_at"));
}

#[test]
fn rows_have_their_limits() {
    at_its_limit("rows.columns", MAX_COLUMNS, |n| rows(n, Vec::new(), Vec::new()));
    at_its_limit("rows.columns", MAX_NAME_BYTES, |n| RunMessage::Rows {
        columns: vec![long(n)],
        values: Vec::new(),
        rows: Vec::new(),
    });
    at_its_limit("rows.values", MAX_VALUE_COLUMNS, |n| rows(1, many(value(0), n), Vec::new()));
    at_its_limit("rows.values.of", 2, |n| rows(3, vec![value(n)], Vec::new()));
    assert_eq!(field(&rows(3, vec![value(usize::MAX)], Vec::new()), 0), Some("rows.values.of"));
    at_its_limit("rows.rows", BATCH_ROWS, |n| rows(1, Vec::new(), many(row(&[1]), n)));
    at_its_limit("rows.cells", 3, |n| rows(2, vec![value(0)], vec![row(&many(1, n))]));
    at_its_limit("rows.cells in bytes", MAX_ROW_BYTES, |n| rows(2, Vec::new(), vec![row(&[n - 1, 1])]));
    at_its_limit("rows.values in bytes", MAX_VALUE_BYTES, |n| rows(1, vec![value(0)], vec![row(&[1, n])]));
    assert_eq!(field(&rows(2, Vec::new(), vec![row(&[1])]), 0), None, "a short row ends with empty cells");
}

#[test]
fn what_a_run_leaves_for_the_next_one_has_its_limits() {
    at_its_limit("progress.rows", MAX_ROWS as usize, |n| RunMessage::Progress { pages: 1, rows: n as u64 });
    at_its_limit("cookies.json", MAX_COOKIES_BYTES, |n| RunMessage::Cookies { json: long(n) });
    at_its_limit("learned.template", MAX_TEMPLATE_BYTES, |n| RunMessage::Learned { template: long(n) });
    at_its_limit("learned.template", MAX_TEMPLATE_VALUES, |n| RunMessage::Learned { template: "[".repeat(n - 1) });
    at_its_limit("learned_details.template", MAX_TEMPLATE_BYTES, |n| RunMessage::LearnedDetails { template: long(n) });
    let cached = |etag: Option<String>| CachedPage {
        url: address(40),
        etag,
        last_modified: None,
        request_digest: 1,
        headers: Vec::new(),
        fetched_at: now(),
    };
    let around = json_bytes(&cached(Some(String::new())));
    at_its_limit("cache_page", CachedPage::MAX_JSON_BYTES, |n| RunMessage::CachePage(cached(Some(long(n - around)))));
    let robots =
        |origin, text| RunMessage::Robots(RobotsTxt { origin: long(origin), text: long(text), fetched_at: now() });
    at_its_limit("robots.origin", MAX_ORIGIN_BYTES, |n| robots(n, 0));
    at_its_limit("robots.text", RobotsTxt::MAX_BYTES, |n| robots(9, n));
}

#[test]
fn a_verdict_has_its_limits() {
    at_its_limit("end.sentence", MAX_SENTENCE_BYTES, |n| end_with(|verdict| verdict.sentence = long(n)));
    at_its_limit("end.rows", MAX_ROWS as usize, |n| end_with(|verdict| verdict.rows = n as u64));
    at_its_limit("end.similarity", 1, |n| end_with(|verdict| verdict.similarity = Some(n as f64)));
    assert_eq!(field(&end_with(|verdict| verdict.similarity = Some(-0.5)), 0), Some("end.similarity"));
    at_its_limit("end.similarity_parts", 1, |n| {
        let parts = SimilarityParts { tags: 1.0, fit: Some(n as f64), places: 1.0, header: 1.0 };
        statistics_with(|statistics| statistics.similarity_parts = Some(parts))
    });
    let column = |name: usize, filled| ColumnStatistics { name: long(name), filled, ..ColumnStatistics::default() };
    at_its_limit("end.columns", MAX_COLUMNS, |n| statistics_with(|it| it.columns = many(column(9, 0), n)));
    at_its_limit("end.columns", MAX_ROWS as usize, |n| statistics_with(|it| it.columns = vec![column(9, n as u64)]));
    at_its_limit("end.columns.name", MAX_NAME_BYTES, |n| statistics_with(|it| it.columns = vec![column(n, 0)]));
    let numbers = |currency: usize, most| NumberStatistics {
        column: "price".to_owned(),
        currency: Some(long(currency)),
        count: 1,
        least: 0.0,
        lower: 0.0,
        median: 0.0,
        upper: 0.0,
        most,
    };
    at_its_limit("end.numbers", MAX_COLUMNS, |n| statistics_with(|it| it.numbers = many(numbers(3, 1.0), n)));
    at_its_limit("end.numbers.currency", MAX_WORD_BYTES, |n| statistics_with(|it| it.numbers = vec![numbers(n, 1.0)]));
    assert_eq!(field(&statistics_with(|it| it.numbers = vec![numbers(3, f64::NAN)]), 0), Some("end.numbers"));
    at_its_limit("end.records.columns", MAX_COLUMNS, |n| {
        statistics_with(|it| it.records = Some(MinHash::new(many("name".to_owned(), n))))
    });
    at_its_limit("end.records", MinHash::SKETCH_SIZE, |n| {
        let hashes: Vec<usize> = (0..n).collect();
        let sketch: MinHash =
            serde_json::from_value(json!({ "columns": ["name"], "least": hashes })).expect("a sketch");
        statistics_with(|it| it.records = Some(sketch.clone()))
    });
}

#[test]
fn the_state_of_a_stepping_session_has_its_limits() {
    let state = |steps: Vec<String>, done, last| StepMessage::State(StepwiseState { steps, done, last, cookies: None });
    at_its_limit("state.steps", MAX_STEPS, |n| state(many("get".to_owned(), n), 0, None));
    assert_eq!(field(&state(vec!["pwned".to_owned()], 0, None), 0), Some("state.steps"));
    at_its_limit("state.done", 2, |n| state(many("get".to_owned(), 2), n, None));
    let quotes = 2;
    at_its_limit("state.last", MAX_STEP_JSON_BYTES, |n| state(Vec::new(), 0, Some(json!(long(n - quotes)))));
    at_its_limit("state.cookies", MAX_COOKIES_BYTES, |n| {
        StepMessage::State(StepwiseState { cookies: Some(long(n)), ..StepwiseState::default() })
    });
}

/// Only pages are sent as raw bytes.
#[test]
fn raw_bytes_have_their_limits() {
    let cached = CachedPage {
        url: address(40),
        etag: None,
        last_modified: None,
        request_digest: 1,
        headers: Vec::new(),
        fetched_at: now(),
    };
    let turn = || FetchRequest::TurnFinished { pause_ms: 0 };
    let table: [(&str, Box<dyn BoundedMessage>, usize); 13] = [
        ("request", Box::new(RunMessage::Request(turn())), 0),
        ("page", Box::new(page_with(|_| ())), MAX_PAGE_BYTES),
        ("rows", Box::new(rows(1, Vec::new(), Vec::new())), 0),
        ("cached page", Box::new(RunMessage::CachePage(cached)), CachedPage::MAX_BODY_BYTES),
        ("end", Box::new(end_with(|_| ())), 0),
        ("request of a step", Box::new(StepMessage::Request(turn())), 0),
        ("state of a step", Box::new(StepMessage::State(StepwiseState::default())), MAX_PAGE_BYTES),
        ("repair", Box::new(repair_with(|_| ())), MAX_PAGE_BYTES),
        ("lists", Box::new(lists_with(|_| ())), 0),
        ("accepted list", Box::new(taken_with(|_| ())), MAX_FRAME),
        ("all rows", Box::new(InspectAnswer(LabellingAnswer::Rows(Table::default()))), 0),
        ("more of a page", Box::new(InspectAnswer(LabellingAnswer::More { is_last: true })), MAX_FRAME),
        ("page to label", Box::new(InspectAnswer(LabellingAnswer::Page)), MAX_FRAME),
    ];
    for (what, message, most) in table {
        assert_eq!(field(&*message, most), None, "{what}");
        assert_eq!(field(&*message, most + 1), Some("raw bytes"), "{what}");
    }
}

#[test]
fn what_is_written_to_a_file_is_not_larger_than_what_is_read_from_it() {
    assert_eq!(MAX_TEMPLATE_BYTES as u64, crate::tasks::MAX_TEMPLATE_BYTES);
    assert_eq!(MAX_LIST_ROWS, crate::page::parse_limit::MAX_NODES);
    const { assert!(MAX_URL_BYTES >= crate::model::address::MAX_URL_BYTES) };
}

#[test]
fn a_text_is_cut_between_characters() {
    assert_eq!(cut("Stühle".to_owned(), 3), "St");
    assert_eq!(cut("Stühle".to_owned(), 4), "Stü");
    assert_eq!(cut("Stühle".to_owned(), 40), "Stühle");
}

#[test]
fn the_verbs_of_deeply_nested_steps_are_cut_between_verbs() {
    let nested = many("for_each", 40).join(VERB_SEPARATOR);
    let cut = cut_verbs(nested.clone());
    assert!(cut.len() <= MAX_VERB_BYTES && nested.starts_with(&cut) && cut.ends_with("for_each"), "{cut}");
    assert_eq!(verbs("trace.verb", &cut), Ok(()));
}
