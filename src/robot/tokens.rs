//! Recognises CSRF tokens, nonces and session ids of a site, by their name or their random look, and redacts them in
//! everything that is shown of a walk. Pure.
//!
//! They are no secrets of the task: a page that is kept for the learner stays unchanged.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::redact::{replace_bytes, spellings};
use crate::model::script::variables::{self, TemplatePart};
use crate::model::{Page, PageMeta, Script, ScriptStep};
use crate::page::Tree;
use crate::page::token_names::is_token_name;

const REDACTED: &str = "***";
/// A shorter value would occur in texts by chance.
const MIN_CHARS: usize = 8;
/// From this length on, a value that looks random counts as a token.
const MIN_RANDOM_CHARS: usize = 16;
/// How often such a value at least changes between small letters, capitals and digits.
const MIN_CLASS_CHANGES: usize = 5;
/// How many tokens a walk remembers (the newest), and how many one page may add: a hostile page has 100,000 fields.
const MAX_VALUES: usize = 200;
const MAX_PER_PAGE: usize = 50;

/// Whether the value looks randomly generated.
fn is_random(value: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_+/=.:%~|".contains(c);
    if value.len() < MIN_RANDOM_CHARS || value.starts_with('/') || value.contains("://") || !value.chars().all(is_plain)
    {
        return false;
    }
    let kind = |c: char| match c {
        '0'..='9' => Some(0),
        'a'..='z' => Some(1),
        'A'..='Z' => Some(2),
        _ => None,
    };
    let kinds: Vec<u8> = value.chars().filter_map(kind).collect();
    let turns = kinds.windows(2).filter(|pair| pair[0] != pair[1]).count();
    turns >= MIN_CLASS_CHANGES && kinds.contains(&0)
}

#[derive(Clone)]
struct SiteToken {
    /// The value as it is, and as forms, URLs, HTML and JSON encode it.
    spellings: Vec<String>,
    /// Recognised by its name, or a cookie. A hidden field that only looks random may be the number of a product.
    is_certain: bool,
    number: u64,
}

impl SiteToken {
    fn value(&self) -> &str {
        &self.spellings[0]
    }
}

/// The tokens of a walk.
#[derive(Clone, Default)]
pub struct SiteTokens {
    /// Longest first, so that a shorter one does not hide only a part of a longer one.
    values: Vec<SiteToken>,
    added: u64,
    /// Variables that the script sends under a token's name.
    variables: BTreeSet<String>,
}

impl SiteTokens {
    pub fn of(script: &Script) -> SiteTokens {
        let mut variables = BTreeSet::new();
        for step in script.every_step() {
            match step {
                ScriptStep::Get(ask) | ScriptStep::Post(ask) => {
                    [&ask.query, &ask.headers, &ask.form]
                        .into_iter()
                        .for_each(|it| collect_token_variables(it, &mut variables));
                    ask.json.iter().for_each(|json| collect_json_token_variables(None, json, &mut variables));
                }
                ScriptStep::Submit(submit) => collect_token_variables(&submit.fields, &mut variables),
                ScriptStep::Login(login) => collect_token_variables(&login.fields, &mut variables),
                _ => {}
            }
        }
        SiteTokens { variables, ..SiteTokens::default() }
    }

    pub fn is_variable(&self, name: &str) -> bool {
        is_token_name(name) || self.variables.contains(name)
    }

    /// Adds a value that is a token by its name.
    pub fn add(&mut self, value: &str) {
        self.remember(value, true);
    }

    fn remember(&mut self, value: &str, is_sure: bool) {
        let value = value.trim();
        if value.len() < MIN_CHARS {
            return;
        }
        if let Some(known) = self.values.iter_mut().find(|known| known.value() == value) {
            known.is_certain |= is_sure;
            return;
        }
        if self.values.len() == MAX_VALUES {
            let oldest = self.values.iter().map(|token| token.number).min();
            self.values.retain(|token| Some(token.number) != oldest);
        }
        self.added += 1;
        let mut spelled = spellings(&value.to_owned());
        spelled.dedup();
        let place = self.values.partition_point(|token| token.value().len() >= value.len());
        self.values.insert(place, SiteToken { spellings: spelled, is_certain: is_sure, number: self.added });
    }

    /// Adds the tokens of a page: hidden fields, and `<meta>` elements for its scripts.
    pub fn read_page(&mut self, tree: &Tree) {
        let said = |node, name: &str| tree.attribute(node, name).unwrap_or_default();
        let hidden = tree.elements("input").filter(|&node| said(node, "type").trim().eq_ignore_ascii_case("hidden"));
        for node in hidden.take(MAX_PER_PAGE) {
            let (is_sure, value) = (is_token_name(said(node, "name")), said(node, "value"));
            if is_sure || is_random(value) {
                self.remember(value, is_sure);
            }
        }
        for node in tree.elements("meta").filter(|&node| is_token_name(said(node, "name"))).take(MAX_PER_PAGE) {
            self.add(said(node, "content"));
        }
    }

    pub fn read_cookies<'c>(&mut self, cookies: impl Iterator<Item = (&'c str, &'c str)>) {
        cookies.filter(|(name, value)| is_token_name(name) || is_random(value)).for_each(|(_, value)| self.add(value));
    }

    pub fn redact(&self, text: &str) -> String {
        redact_values(redact_named(text), self.values.iter())
    }

    /// Redacts a page's URL and headers; false if they contain no token. Links of rows are relative to that URL, so its
    /// path stays, and so does a value that only looks like a token.
    pub fn redact_meta(&self, meta: &mut PageMeta) -> bool {
        let mut had = false;
        let sure = || self.values.iter().filter(|token| token.is_certain);
        let query = meta.url.query().map(|query| (query.to_owned(), redact_values(redact_named(query), sure())));
        if let Some((_, shown)) = query.filter(|(query, shown)| query != shown) {
            meta.url.set_query(Some(&shown));
            had = true;
        }
        for (name, value) in &mut meta.headers {
            let shown = if is_token_name(name) { REDACTED.to_owned() } else { self.redact(value) };
            if shown != *value {
                (*value, had) = (shown, true);
            }
        }
        had
    }

    /// Redacts the whole page, for showing it.
    pub fn redact_page(&self, page: &mut Page) {
        self.redact_meta(&mut page.meta);
        if let Ok(url) = url::Url::parse(&self.redact(page.meta.url.as_str())) {
            page.meta.url = url;
        }
        for token in self.values.iter().flat_map(|token| &token.spellings) {
            replace_bytes(&mut page.body, token.as_bytes());
        }
        // Also tokens inside scripts of the page.
        if let Ok(text) = std::str::from_utf8(&page.body) {
            page.body = redact_named(text).into_bytes();
        }
    }
}

fn collect_token_variables(fields: &BTreeMap<String, String>, variables: &mut BTreeSet<String>) {
    for (_, value) in fields.iter().filter(|(name, _)| is_token_name(name)) {
        collect_variables(value, variables);
    }
}

fn collect_json_token_variables(name: Option<&str>, value: &Value, variables: &mut BTreeSet<String>) {
    match value {
        Value::String(text) if name.is_some_and(is_token_name) => collect_variables(text, variables),
        Value::Array(items) => items.iter().for_each(|item| collect_json_token_variables(name, item, variables)),
        Value::Object(map) => {
            map.iter().for_each(|(key, item)| collect_json_token_variables(Some(key), item, variables))
        }
        _ => {}
    }
}

fn collect_variables(text: &str, variables: &mut BTreeSet<String>) {
    for part in variables::parse(text).unwrap_or_default() {
        if let TemplatePart::Variable(name) = part {
            variables.insert(name.to_owned());
        }
    }
}

/// `csrf_token=…` in an address or a form, `"csrf": "…"` in JSON, `X-CSRF-Token: …` in a header.
fn redact_named(text: &str) -> String {
    let (mut out, mut from) = (String::new(), 0);
    for (at, sign) in text.match_indices(['=', ':']) {
        if at < from || !is_token_name(name_before(&text[..at])) {
            continue;
        }
        let rest = &text[at + 1..];
        let begin = text.len() - rest.trim_start_matches(' ').trim_start_matches(['"', '\'']).len();
        let end = text[begin..].find(is_end).map_or(text.len(), |length| begin + length);
        // After a colon only a value with a digit: in a sentence, words follow a colon.
        let is_value = sign == "=" || text[begin..end].contains(|c: char| c.is_ascii_digit());
        if begin < end && is_value {
            out.push_str(&text[from..begin]);
            out.push_str(REDACTED);
            from = end;
        }
    }
    out.push_str(&text[from..]);
    out
}

fn redact_values<'t>(mut text: String, tokens: impl Iterator<Item = &'t SiteToken>) -> String {
    for token in tokens.flat_map(|token| &token.spellings) {
        if text.contains(token.as_str()) {
            text = text.replace(token.as_str(), REDACTED);
        }
    }
    text
}

fn name_before(text: &str) -> &str {
    let text = text.trim_end_matches(' ').trim_end_matches(['"', '\'']);
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_-.[]$%".contains(c);
    let begin = text.char_indices().rev().take_while(|(_, c)| is_part(*c)).last().map_or(text.len(), |(at, _)| at);
    &text[begin..]
}

fn is_end(c: char) -> bool {
    c.is_whitespace() || "&,;\"'<>)#}]".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robot::tests::meta;

    #[test]
    fn names_of_tokens_are_known_and_those_of_cursors_are_not() {
        for name in [
            "csrf_token",
            "_csrf",
            "X-CSRF-Token",
            "authenticity_token",
            "__RequestVerificationToken",
            "_wpnonce",
            "XSRF-TOKEN",
            "token",
            "__VIEWSTATE",
            "form[_token]",
            "JSESSIONID",
        ] {
            assert!(is_token_name(name), "{name}");
        }
        for name in ["page_token", "nextPageToken", "continuationToken", "q", "tokens", "user", ""] {
            assert!(!is_token_name(name), "{name}");
        }
    }

    #[test]
    fn what_is_drawn_by_lot_is_told_from_words() {
        for value in
            ["b41d8e02c7aa4f6f9e63d1c05a2290ff", "0198a000-3f2c-7c1d-8e55-a1b2c3d4e5f6", "dGhpcyBpcyAxIHRva2Vu"]
        {
            assert!(is_random(value), "{value}");
        }
        for value in [
            "summer-collection-2026",
            "2026-11-18T01:02:03",
            "/a/b1c2d3e4f5a6b7c8",
            "https://a.test/1a2b3c4d5e",
            "12345678901234567890",
            "red chairs 1a2b3c4d5e6f7",
        ] {
            assert!(!is_random(value), "{value}");
        }
    }

    #[test]
    fn a_named_token_is_blanked_wherever_it_is_written() {
        for (text, shown) in [
            ("GET http://a.test/x?csrf=abc&page=2 → 200", "GET http://a.test/x?csrf=***&page=2 → 200"),
            ("; sent user=anna, csrf_token=a1 b, q=red", "; sent user=anna, csrf_token=*** b, q=red"),
            (r#"; sent {"nonce":"a\u00e41","q":"x"}"#, r#"; sent {"nonce":"***","q":"x"}"#),
            ("X-CSRF-Token: 77aa", "X-CSRF-Token: ***"),
            ("csrf = 77aa", "csrf = ***"),
            (
                "the site did not take the token: it says “expired”",
                "the site did not take the token: it says “expired”",
            ),
            ("http://a.test/?page_token=77aa", "http://a.test/?page_token=77aa"),
            ("é=ü: token=", "é=ü: token="),
        ] {
            assert_eq!(redact_named(text), shown, "{text}");
        }
    }

    #[test]
    fn a_token_of_a_page_is_blanked_in_every_spelling() {
        let mut tokens = SiteTokens::default();
        tokens.read_page(&Tree::parse(
            "<meta name=csrf-token content='head-token'><input type=hidden name=k value='b41d8e02c7aa4f6f+/=='>
             <input type=hidden name=lang value=en><input name=q value='b41d8e02c7aa4f6f0000'>",
        ));
        assert_eq!(tokens.redact("head-token b41d8e02c7aa4f6f%2B%2F%3D%3D en"), "*** *** en");
        assert_eq!(tokens.redact("b41d8e02c7aa4f6f0000"), "b41d8e02c7aa4f6f0000", "a person typed it");
        for n in 0..3 * MAX_VALUES {
            tokens.add(&format!("token-{n:08}"));
        }
        assert_eq!(tokens.values.len(), MAX_VALUES);
    }

    #[test]
    fn a_page_that_is_kept_can_still_be_found_by_its_address() {
        let mut tokens = SiteTokens::default();
        tokens.read_page(&Tree::parse("<input type=hidden name=list value=5d3f0c91ab77e824>"));
        tokens.read_cookies([("sid", "77e1d2a9c4b05f38a1")].into_iter());
        for (address, kept) in [
            ("http://a.test/list/5d3f0c91ab77e824?page=2", "http://a.test/list/5d3f0c91ab77e824?page=2"),
            ("http://a.test/list?id=5d3f0c91ab77e824", "http://a.test/list?id=5d3f0c91ab77e824"),
            ("http://a.test/list?s=77e1d2a9c4b05f38a1&page=2", "http://a.test/list?s=***&page=2"),
            ("http://a.test/list?csrf=1&page=2", "http://a.test/list?csrf=***&page=2"),
        ] {
            let mut meta = meta(address, 200, &[("x-csrf-token", "1")]);
            assert!(tokens.redact_meta(&mut meta));
            assert_eq!((meta.url.as_str(), meta.headers[0].1.as_str()), (kept, "***"));
        }
        assert_eq!(tokens.redact("at 5d3f0c91ab77e824"), "at ***", "a line of the trace says less");
    }
}
