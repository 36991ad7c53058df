//! Redacts secrets by value: however a secret got into a text, it is replaced by `***`.

use url::form_urlencoded;

use crate::model::Page;

/// A shorter secret would occur in pages by chance, and redacting it there would damage the page. In errors and traces
/// every secret is redacted.
const MIN_PAGE_SECRET_LEN: usize = 4;

/// Every encoding of every secret, longest first, so that a shorter one does not hide only a part of a longer one.
#[derive(Clone, Default)]
pub struct Redactor(Vec<String>);

impl Redactor {
    /// From the values of the secrets.
    pub fn new<'s>(secrets: impl IntoIterator<Item = &'s String>) -> Redactor {
        let mut spellings: Vec<String> =
            secrets.into_iter().filter(|value| !value.is_empty()).flat_map(spellings).collect();
        spellings.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        spellings.dedup();
        Redactor(spellings)
    }

    /// Adds a value to redact, such as a one-time code.
    pub fn add(&mut self, value: &str) {
        if !value.is_empty() {
            self.0.push(value.to_owned());
            self.0.sort_by_key(|spelling| std::cmp::Reverse(spelling.len()));
        }
    }

    /// As [`Redactor::add`], unless the value is so short that it would occur by chance.
    pub fn add_if_long(&mut self, value: &str) {
        if value.len() >= MIN_PAGE_SECRET_LEN {
            self.add(value);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn redact_text(&self, text: &str) -> String {
        let mut out = text.to_owned();
        for secret in &self.0 {
            if out.contains(secret.as_str()) {
                out = out.replace(secret.as_str(), "***");
            }
        }
        out
    }

    /// Whether the text contains a secret, in any encoding.
    pub(super) fn text_has_secret(&self, text: &str) -> bool {
        self.0.iter().any(|secret| text.contains(secret.as_str()))
    }

    /// As [`Redactor::text_has_secret`], for a page's bytes; shorter secrets than [`MIN_PAGE_SECRET_LEN`] are ignored.
    pub(super) fn bytes_have_secret(&self, bytes: &[u8]) -> bool {
        let mut long = self.0.iter().filter(|secret| secret.len() >= MIN_PAGE_SECRET_LEN);
        long.any(|secret| memchr::memmem::find(bytes, secret.as_bytes()).is_some())
    }

    /// Redacts a page before it is stored or shown: many sites send back what was typed into their forms.
    pub(super) fn redact_page(&self, page: &mut Page) {
        if self.0.is_empty() {
            return;
        }
        if self.text_has_secret(page.meta.url.as_str())
            && let Ok(url) = url::Url::parse(&self.redact_text(page.meta.url.as_str()))
        {
            page.meta.url = url;
        }
        for (_, value) in &mut page.meta.headers {
            *value = self.redact_text(value);
        }
        for secret in self.0.iter().filter(|secret| secret.len() >= MIN_PAGE_SECRET_LEN) {
            replace_bytes(&mut page.body, secret.as_bytes());
        }
    }
}

/// The secret as it is, and as forms, URLs, HTML and JSON encode it.
pub(super) fn spellings(secret: &String) -> Vec<String> {
    let form: String = form_urlencoded::byte_serialize(secret.as_bytes()).collect();
    let query = form.replace('+', "%20");
    let html = secret.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    let mut path = url::Url::parse("http://x/").expect("a constant URL");
    path.set_path(secret);
    let path = path.path().trim_start_matches('/').to_owned();
    let json = serde_json::to_string(secret).unwrap_or_default();
    let json = json.strip_prefix('"').and_then(|json| json.strip_suffix('"')).unwrap_or_default().to_owned();
    [secret.clone(), form, query, html, json, path].into_iter().filter(|spelling| !spelling.is_empty()).collect()
}

/// Replaces every occurrence by `***`.
pub(super) fn replace_bytes(body: &mut Vec<u8>, secret: &[u8]) {
    let mut out = Vec::new();
    let mut from = 0;
    for at in memchr::memmem::find_iter(body, secret) {
        out.extend_from_slice(&body[from..at]);
        out.extend_from_slice(b"***");
        from = at + secret.len();
    }
    if from > 0 {
        out.extend_from_slice(&body[from..]);
        *body = out;
    }
}

/// Longer errors and trace lines are truncated: a site could fill a log with one title.
const MAX_LINE_CHARS: usize = 2_000;

/// The text on one line, without control characters and bidirectional overrides: it may come from a site.
pub fn one_line(text: String) -> String {
    let is_obeyed = |c: char| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if text.len() <= MAX_LINE_CHARS && !text.chars().any(is_obeyed) {
        return text;
    }
    text.chars().map(|c| if is_obeyed(c) { ' ' } else { c }).take(MAX_LINE_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_blanked_in_every_spelling() {
        let secrets = ["say \"x\"\\", "p&ss wörd/1", "p&ss", ""].map(str::to_owned);
        let blanks = Redactor::new(&secrets);
        for (text, result) in [
            ("it is p&ss wörd/1!", "it is ***!"),
            ("?pw=p%26ss+w%C3%B6rd%2F1&x=1", "?pw=***&x=1"),
            ("?pw=p%26ss%20w%C3%B6rd%2F1", "?pw=***"),
            ("value=\"p&amp;ss wörd/1\"", "value=\"***\""),
            ("/p&ss%20w%C3%B6rd/1/x", "/***/x"),
            ("only p&ss here", "only *** here"),
            ("nothing", "nothing"),
            (r#"{"k":"say \"x\"\\"}"#, r#"{"k":"***"}"#),
        ] {
            assert_eq!(blanks.redact_text(text), result, "{text}");
        }
    }
}
