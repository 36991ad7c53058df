//! Decodes character references such as `&amp;`, `&#8364;` and `&eacute`, and keeps texts that only look like one.

use std::cell::RefCell;

use foldhash::HashMap;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{BufferQueue, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts};
use memchr::memchr;

/// Decodes references; results of html5ever for the rarer ones are cached.
#[derive(Default)]
pub(super) struct References {
    cached: HashMap<(Box<str>, bool), Box<str>>,
}

impl References {
    /// The decoded text; `None` where there is no reference in it.
    pub fn read(&mut self, text: &str, in_attribute: bool) -> Option<String> {
        let mut at = memchr(b'&', text.as_bytes())?;
        let mut out = String::with_capacity(text.len());
        let mut from = 0;
        loop {
            out.push_str(&text[from..at]);
            let reference = reference(&text[at..]);
            from = at + reference.len();
            // In an attribute, `&b=` is the next parameter of a query, whatever `&b` would stand for.
            let is_query = in_attribute && text[from..].starts_with('=') && !reference.ends_with(';');
            if reference.len() == 1 || is_query {
                out.push_str(reference);
            } else if let Some(c) = common(reference) {
                out.push(c);
            } else {
                out.push_str(self.look_up(reference, in_attribute));
            }
            match memchr(b'&', &text.as_bytes()[from..]) {
                Some(place) => at = from + place,
                None => break,
            }
        }
        out.push_str(&text[from..]);
        Some(out)
    }

    fn look_up(&mut self, reference: &str, in_attribute: bool) -> &str {
        self.cached
            .entry((reference.into(), in_attribute))
            .or_insert_with(|| by_html5ever(reference, in_attribute).into_boxed_str())
    }
}

/// The longest text from here that can be a reference: `&`, a name or a number, an optional `;`.
fn reference(text: &str) -> &str {
    let bytes = text.as_bytes();
    let digits = |from: usize, is: fn(&u8) -> bool| from + bytes[from..].iter().take_while(|b| is(b)).count();
    let (start, end) = match &bytes[1..] {
        [b'#', b'x' | b'X', ..] => (3, digits(3, u8::is_ascii_hexdigit)),
        [b'#', ..] => (2, digits(2, u8::is_ascii_digit)),
        _ => (1, digits(1, u8::is_ascii_alphanumeric)),
    };
    match bytes.get(end) {
        _ if start == end => &text[..1],
        Some(b';') => &text[..=end],
        _ => &text[..end],
    }
}

/// Decodes the most frequent references without html5ever.
fn common(reference: &str) -> Option<char> {
    match reference {
        "&amp;" => Some('&'),
        "&lt;" => Some('<'),
        "&gt;" => Some('>'),
        "&quot;" => Some('"'),
        "&nbsp;" => Some('\u{a0}'),
        _ => {
            let number = reference.strip_prefix("&#")?.strip_suffix(';')?;
            let code: u32 = number.parse().ok()?;
            // Smaller numbers are control characters or are remapped by the HTML standard.
            char::from_u32(code).filter(|_| (0x20..0x7f).contains(&code) || (0xa0..0xd800).contains(&code))
        }
    }
}

/// Decodes a reference with html5ever.
fn by_html5ever(reference: &str, in_attribute: bool) -> String {
    let html = if in_attribute { format!("<a b=\"{reference}\">") } else { reference.to_owned() };
    let tokenizer = Tokenizer::new(TextCollector::default(), TokenizerOpts::default());
    let input = BufferQueue::default();
    input.push_back(StrTendril::from_slice(&html));
    while !matches!(tokenizer.feed(&input), html5ever::TokenizerResult::Done) {}
    tokenizer.end();
    tokenizer.sink.0.into_inner()
}

/// Texts and attribute values, stored one after the other.
#[derive(Default)]
struct TextCollector(RefCell<String>);

impl TokenSink for TextCollector {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let mut heard = self.0.borrow_mut();
        match token {
            Token::CharacterTokens(text) => heard.push_str(&text),
            Token::TagToken(tag) => tag.attrs.iter().for_each(|it| heard.push_str(&it.value)),
            _ => {}
        }
        TokenSinkResult::Continue
    }
}
