//! Describes requests and responses for the trace. Pure. The caller redacts secrets, so nothing is truncated here: half
//! a secret would not be recognised.

use super::request::PageRequest;
use crate::model::Page;
use crate::model::address::display_url;

/// Of longer values only the length is shown.
const MAX_VALUE: usize = 200;
const MAX_JSON: usize = 1_500;

/// `; sent user=anna, q=red chairs`, or nothing where there was no body.
pub fn describe_body(request: &PageRequest) -> String {
    let Some(body) = &request.body else { return String::new() };
    let kind = body.content_type.split(';').next().unwrap_or_default().trim();
    let said = match kind {
        "application/x-www-form-urlencoded" => describe_fields(&body.bytes),
        "application/json" => describe_value(&body.bytes, MAX_JSON),
        "multipart/form-data" => multipart_names(&body.bytes),
        _ => format!("{} bytes", body.bytes.len()),
    };
    if said.is_empty() { "; sent an empty form".to_owned() } else { format!("; sent {said}") }
}

/// The line for a request that brought a page.
pub fn describe_exchange(request: &PageRequest, page: &Page) -> String {
    let (method, from, sent) = (request.method(), display_url(&request.url), describe_body(request));
    let (status, elapsed_ms) = (page.meta.status, page.meta.elapsed_ms);
    let (kind, size) = (describe_content_type(&page.meta.headers), page.body.len().div_ceil(1024));
    format!("{method} {from} → {status}, {size} kB{kind}, {elapsed_ms} ms{sent}")
}

/// `, text/html`, or nothing where the site does not say.
fn describe_content_type(headers: &[(String, String)]) -> String {
    let found = headers.iter().find(|(name, _)| name == "content-type");
    let kind = found.and_then(|(_, value)| value.split(';').next()).map(str::trim).filter(|kind| !kind.is_empty());
    kind.map(|kind| format!(", {kind}")).unwrap_or_default()
}

fn describe_fields(body: &[u8]) -> String {
    let pairs = body.split(|&byte| byte == b'&').filter(|pair| !pair.is_empty()).map(|pair| {
        let mut parts = pair.splitn(2, |&byte| byte == b'=');
        let mut next = || describe_value(&unescaped(parts.next().unwrap_or_default()), MAX_VALUE);
        format!("{}={}", next(), next())
    });
    pairs.collect::<Vec<_>>().join(", ")
}

/// Shows only UTF-8 values: in another charset a secret would not be recognised.
fn describe_value(bytes: &[u8], most: usize) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if text.len() <= most => text.to_owned(),
        Ok(_) | Err(_) => format!("({} bytes)", bytes.len()),
    }
}

fn unescaped(part: &[u8]) -> Vec<u8> {
    let hex = |byte: u8| char::from(byte).to_digit(16);
    let mut out = Vec::with_capacity(part.len());
    let mut at = 0;
    while at < part.len() {
        let code = match part[at..] {
            [b'%', high, low, ..] => hex(high).zip(hex(low)).map(|(high, low)| (high * 16 + low) as u8),
            _ => None,
        };
        out.push(code.unwrap_or(if part[at] == b'+' { b' ' } else { part[at] }));
        at += if code.is_some() { 3 } else { 1 };
    }
    out
}

/// The names of the fields, without their values.
fn multipart_names(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let names: Vec<&str> = text.split("name=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    format!("{} field{}: {}", names.len(), if names.len() == 1 { "" } else { "s" }, names.join(", "))
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::*;
    use crate::robot::request::RequestBody;

    #[test]
    fn what_was_sent_is_told_and_never_cut() {
        let long = "x".repeat(MAX_VALUE + 1);
        for (kind, body, told) in [
            (
                "application/x-www-form-urlencoded",
                "user=anna&q=red+ch%C3%A4irs&e=".to_owned(),
                "; sent user=anna, q=red chäirs, e=",
            ),
            ("application/x-www-form-urlencoded", format!("a={long}&b=1"), "; sent a=(201 bytes), b=1"),
            ("application/x-www-form-urlencoded", "a=%E4%zz".to_owned(), "; sent a=(4 bytes)"),
            ("application/x-www-form-urlencoded", String::new(), "; sent an empty form"),
            ("application/json", "{\"a\":1}".to_owned(), "; sent {\"a\":1}"),
            (
                "multipart/form-data; boundary=b",
                "--b\r\nContent-Disposition: form-data; name=\"q\"\r\n\r\nred".to_owned(),
                "; sent 1 field: q",
            ),
            ("text/plain", "hello".to_owned(), "; sent 5 bytes"),
        ] {
            let url = Url::parse("http://a.test/").expect("a URL");
            let body = RequestBody { content_type: kind.to_owned(), bytes: body.into_bytes() };
            assert_eq!(describe_body(&PageRequest { body: Some(body), ..PageRequest::get(url) }), told);
        }
        assert_eq!(describe_body(&PageRequest::get(Url::parse("http://a.test/").expect("a URL"))), "");
    }
}
