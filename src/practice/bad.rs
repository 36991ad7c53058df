//! Faulty pages, as real sites have them. Large ones are streamed, so the server never holds them in memory.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::Query;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use futures_util::{StreamExt, stream};
use serde::Deserialize;

use super::html::escape;
use super::large::{self, html_stream};
use super::shop::Shop;

/// Addresses and descriptions for the front page, in its order.
pub const ROUTES: [(&str, &str); 22] = [
    ("/bad/404", "status 404"),
    ("/bad/500", "status 500"),
    ("/bad/empty", "an empty body"),
    ("/bad/nolist", "an article without a list"),
    ("/bad/huge", "a list of 200 MB"),
    ("/bad/hang", "accepts the connection and never answers"),
    ("/bad/slow", "sends one byte a second"),
    ("/bad/cut", "a body shorter than its Content-Length"),
    ("/bad/loop", "redirects to itself"),
    ("/bad/gzip-bomb", "200 kB that decompress to 30 MB"),
    ("/bad/deep", "deeply nested elements"),
    ("/bad/deep?levels=600", "a list inside 600 levels"),
    ("/bad/attributes?count=300", "a tag with 300 attributes"),
    ("/bad/table?rows=20000&columns=15", "a long table"),
    ("/bad/table?rows=30&columns=300", "a wide table"),
    ("/bad/json?rows=100000&columns=3", "a long list in JSON"),
    ("/bad/captcha", "a captcha"),
    ("/bad/latin1", "ISO-8859-1 declared as UTF-8"),
    ("/bad/endless", "a list whose next links never end"),
    ("/bad/redirect?to=/products", "redirects to the given address"),
    ("/bad/form?to=/login", "a login form that posts to the given address"),
    ("/bad/pdf", "a PDF declared as HTML"),
];

const HUGE_BYTES: usize = 200 << 20;
const CHUNK_BYTES: usize = 64 << 10;
/// Longer than any client here waits, but not forever.
const HANG: Duration = Duration::from_secs(600);
const SLOW_BYTES: usize = 600;
const BOMB_BYTES: usize = 200 << 10;

pub fn router() -> Router<Arc<Shop>> {
    Router::new()
        .route("/404", get((StatusCode::NOT_FOUND, Html("<h1>Not found</h1>"))))
        .route("/500", get((StatusCode::INTERNAL_SERVER_ERROR, Html("<h1>Something broke</h1>"))))
        .route("/empty", get(Html("")))
        .route("/nolist", get(Html(ARTICLE)))
        .route("/huge", get(huge))
        .route("/hang", get(hang))
        .route("/slow", get(slow))
        .route("/cut", get(cut))
        .route("/loop", get(|| async { redirect_to("/bad/loop") }))
        .route("/gzip-bomb", get(gzip_bomb))
        .route("/deep", get(large::deep))
        .route("/attributes", get(large::attributes))
        .route("/table", get(large::table))
        .route("/json", get(large::json))
        .route(
            "/captcha",
            get((StatusCode::FORBIDDEN, Html("<h1>Are you human?</h1><p>Please solve this captcha.</p>"))),
        )
        .route("/latin1", get(latin1))
        .route("/endless", get(endless))
        .route(
            "/redirect",
            get(|Query(query): Query<TargetQuery>| async move { redirect_to(&query.to) }).post(redirect_post),
        )
        .route("/form", get(form))
        .route("/pdf", get(Html("%PDF-1.7\n1 0 obj\n")))
}

const ARTICLE: &str = "<!DOCTYPE html><html lang=en><title>On kettles</title><article><h1>On kettles</h1>\
    <p>A kettle is a pot with a lid, a spout and a handle, made to boil water.</p>\
    <p>This page has nothing to sell and no list at all.</p></article></html>";

#[derive(Deserialize)]
struct TargetQuery {
    to: String,
}

fn redirect_to(to: &str) -> Response {
    match HeaderValue::from_str(to) {
        Ok(to) => (StatusCode::FOUND, [(header::LOCATION, to)]).into_response(),
        Err(_) => StatusCode::BAD_REQUEST.into_response(),
    }
}

/// A login form whose action is a parameter.
async fn form(Query(query): Query<TargetQuery>) -> Html<String> {
    Html(format!(
        "<!DOCTYPE html><title>Log in</title><form method=\"post\" action=\"{}\"><input name=\"user\">\
         <input type=\"password\" name=\"password\"><button>Log in</button></form>",
        escape(&query.to)
    ))
}

/// 307: the browser must send the same form to the other address.
async fn redirect_post(Query(query): Query<TargetQuery>) -> Response {
    let mut response = redirect_to(&query.to);
    if response.status() == StatusCode::FOUND {
        *response.status_mut() = StatusCode::TEMPORARY_REDIRECT;
    }
    response
}

async fn huge() -> Response {
    let row = "<li class=\"product\"><a href=\"/product/1\">Alba Kettle 101</a> <b>€ 24.90</b></li>\n";
    let chunk = Bytes::from(row.repeat(CHUNK_BYTES / row.len()));
    let count = HUGE_BYTES / chunk.len();
    html_stream(
        stream::once(async { Bytes::from_static(b"<!DOCTYPE html><ul>") }).chain(stream::iter(vec![chunk; count])),
    )
}

async fn hang() -> StatusCode {
    tokio::time::sleep(HANG).await;
    StatusCode::NO_CONTENT
}

async fn slow() -> Response {
    html_stream(stream::iter(0..SLOW_BYTES).then(|_| async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        Bytes::from_static(b"x")
    }))
}

async fn cut() -> Response {
    let mut response = html_stream(stream::once(async { Bytes::from_static(b"<!DOCTYPE html><ul><li>one</li>") }));
    response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from_static("100000"));
    response
}

async fn latin1() -> Response {
    let body: &[u8] = b"<!DOCTYPE html><title>K\xe4se</title><ul><li>K\xe4se</li><li>Cr\xe8me br\xfbl\xe9e</li>\
        <li>Gr\xfc\xdfe aus K\xf6ln</li><li>\xc4pfel, sch\xf6n und s\xfc\xdf</li><li>Pi\xf1a</li></ul>";
    ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], body).into_response()
}

#[derive(Deserialize)]
struct EndlessQuery {
    page: Option<u64>,
}

async fn endless(Query(query): Query<EndlessQuery>) -> Html<String> {
    let page = query.page.unwrap_or(1);
    let first = page.saturating_mul(3);
    let items: String = (0..3).map(|n| format!("<li>Thing {}</li>", first.saturating_add(n))).collect();
    Html(format!(
        "<!DOCTYPE html><title>Endless</title><ul>{items}</ul><a rel=\"next\" href=\"/bad/endless?page={}\">{}</a>",
        page.saturating_add(1),
        escape("Next >")
    ))
}

/// A decompression bomb: a deflate stream of one literal and then back-references of length 258, 13 bits each.
async fn gzip_bomb() -> Response {
    let mut bits = BitWriter::default();
    bits.push(0b010, 3); // not the last block; fixed Huffman codes
    bits.push_code(0x30 + u32::from(b'x'), 8);
    while bits.bytes.len() < BOMB_BYTES {
        bits.push_code(0b1100_0101, 8); // length 258
        bits.push_code(0, 5); // distance 1
    }
    let mut body = b"\x1f\x8b\x08\0\0\0\0\0\0\xff".to_vec();
    body.append(&mut bits.bytes);
    ([(header::CONTENT_TYPE, "text/html"), (header::CONTENT_ENCODING, "gzip")], body).into_response()
}

#[derive(Default)]
struct BitWriter {
    bytes: Vec<u8>,
    filled: u32,
    byte: u8,
}

impl BitWriter {
    fn push(&mut self, value: u32, count: u32) {
        for place in 0..count {
            self.byte |= (((value >> place) & 1) as u8) << self.filled;
            self.filled += 1;
            if self.filled == 8 {
                self.bytes.push(std::mem::take(&mut self.byte));
                self.filled = 0;
            }
        }
    }

    /// Writes a Huffman code, highest bit first.
    fn push_code(&mut self, code: u32, count: u32) {
        self.push(code.reverse_bits() >> (32 - count), count);
    }
}
