//! Secrets are blanked by value: whatever way one got into a text, `***` stands there instead.

use std::collections::BTreeMap;

use url::form_urlencoded;

use crate::model::Page;

/// A shorter secret is found in a page by chance, and blanking it there would spoil the page and show nothing of use. Sentences
/// and traces have every secret blanked.
const MIN_IN_PAGE: usize = 4;

/// Every spelling of every secret, longest first, so that none is left half covered by a shorter one.
#[derive(Clone, Default)]
pub struct Blanks(Vec<String>);

impl Blanks {
    pub fn new(secrets: &BTreeMap<String, String>) -> Blanks {
        let mut spellings: Vec<String> =
            secrets.values().filter(|value| !value.is_empty()).flat_map(spellings).collect();
        spellings.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        spellings.dedup();
        Blanks(spellings)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn text(&self, text: &str) -> String {
        let mut out = text.to_owned();
        for secret in &self.0 {
            if out.contains(secret.as_str()) {
                out = out.replace(secret.as_str(), "***");
            }
        }
        out
    }

    /// Does the text hold a secret, in any spelling?
    pub fn in_text(&self, text: &str) -> bool {
        self.0.iter().any(|secret| text.contains(secret.as_str()))
    }

    /// A page that may be kept or shown: a site likes to send back what was typed into its forms.
    pub fn page(&self, page: &mut Page) {
        if self.0.is_empty() {
            return;
        }
        if self.in_text(page.meta.url.as_str())
            && let Ok(url) = url::Url::parse(&self.text(page.meta.url.as_str()))
        {
            page.meta.url = url;
        }
        for (_, value) in &mut page.meta.headers {
            *value = self.text(value);
        }
        for secret in self.0.iter().filter(|secret| secret.len() >= MIN_IN_PAGE) {
            blank_bytes(&mut page.body, secret.as_bytes());
        }
    }
}

/// As it is, as a form or a query spells it, and as HTML spells it.
fn spellings(secret: &String) -> Vec<String> {
    let form: String = form_urlencoded::byte_serialize(secret.as_bytes()).collect();
    let query = form.replace('+', "%20");
    let html = secret.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    let mut path = url::Url::parse("http://x/").expect("a constant URL");
    path.set_path(secret);
    let path = path.path().trim_start_matches('/').to_owned();
    [secret.clone(), form, query, html, path].into_iter().filter(|spelling| !spelling.is_empty()).collect()
}

fn blank_bytes(body: &mut Vec<u8>, secret: &[u8]) {
    let mut out = Vec::new();
    let mut rest = body.as_slice();
    while let Some(at) = rest.windows(secret.len()).position(|window| window == secret) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(b"***");
        rest = &rest[at + secret.len()..];
    }
    if rest.len() != body.len() {
        out.extend_from_slice(rest);
        *body = out;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_blanked_in_every_spelling() {
        let secrets = BTreeMap::from([
            ("a".to_owned(), "p&ss wörd/1".to_owned()),
            ("b".to_owned(), "p&ss".to_owned()),
            ("none".to_owned(), String::new()),
        ]);
        let blanks = Blanks::new(&secrets);
        for (text, result) in [
            ("it is p&ss wörd/1!", "it is ***!"),
            ("?pw=p%26ss+w%C3%B6rd%2F1&x=1", "?pw=***&x=1"),
            ("?pw=p%26ss%20w%C3%B6rd%2F1", "?pw=***"),
            ("value=\"p&amp;ss wörd/1\"", "value=\"***\""),
            ("/p&ss%20w%C3%B6rd/1/x", "/***/x"),
            ("only p&ss here", "only *** here"),
            ("nothing", "nothing"),
        ] {
            assert_eq!(blanks.text(text), result, "{text}");
        }
    }
}
