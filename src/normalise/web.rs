//! Web addresses and e-mail addresses.

use email_address::{EmailAddress, Options};
use url::Url;

use super::{Hints, ParsedValue, ValueError};
use crate::model::Value;

/// Most servers refuse longer addresses.
const MAX_URL: usize = 8_000;

/// File extensions of the web, which tell an address without a slash from a word.
const FILE_SUFFIXES: &[&str] = &[
    ".html", ".htm", ".php", ".asp", ".aspx", ".jsp", ".cgi", ".pdf", ".jpg", ".jpeg", ".png", ".gif", ".webp", ".svg",
];

/// Parses a web address and resolves it against the page's.
pub(super) fn url(text: &str, hints: &Hints<'_>) -> Result<ParsedValue, ValueError> {
    if text.len() > MAX_URL {
        return Err(ValueError::TooLong);
    }
    let is_bare = text.get(..4).is_some_and(|it| it.eq_ignore_ascii_case("www."));
    let parsed = match hints.base {
        _ if is_bare => Url::parse(&format!("http://{text}")),
        Some(base) => base.join(text),
        None => Url::parse(text),
    };
    let url =
        parsed.ok().filter(|url| matches!(url.scheme(), "http" | "https" | "ftp")).ok_or(ValueError::NoAddress)?;
    Ok(ParsedValue { is_whole: is_bare || looks_like_url(text), value: Value::Url(url.into()) })
}

fn looks_like_url(text: &str) -> bool {
    let starts = ["http://", "https://", "ftp://", "//", "/", "./", "../", "?"];
    let lower = text.to_ascii_lowercase();
    let path = lower.split(['?', '#']).next().unwrap_or_default();
    !text.contains(char::is_whitespace)
        && (starts.iter().any(|it| lower.starts_with(it))
            || FILE_SUFFIXES.iter().any(|it| path.ends_with(it))
            || path.contains('/') && path.len() > 5)
}

/// The first e-mail address in the text, with the host in lower case.
pub(super) fn email(text: &str) -> Result<ParsedValue, ValueError> {
    let bare = text.get(..7).filter(|it| it.eq_ignore_ascii_case("mailto:")).map_or(text, |_| &text[7..]);
    let bare = bare.split('?').next().unwrap_or_default();
    let options = || Options::default().with_required_tld().without_domain_literal().without_display_text();
    let around = |c: char| {
        matches!(c, '<' | '>' | '(' | ')' | '[' | ']' | ',' | ';' | ':' | '"' | '\'' | '.') || c.is_whitespace()
    };
    let words = bare.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '<' | '>'));
    let mut found = words.filter(|word| word.contains('@')).filter_map(|word| {
        let word = word.trim_matches(around);
        EmailAddress::parse_with_options(word, options()).ok()
    });
    let address = found.next().ok_or(ValueError::NoEmail)?;
    let value = format!("{}@{}", address.local_part(), address.domain().to_lowercase());
    Ok(ParsedValue { is_whole: bare.trim() == address.as_str(), value: Value::Email(value) })
}
