//! Tokenizes a page that is completely in memory, into html5ever's token types.
//!
//! html5ever's own tokenizer supports pages that arrive in pieces and copies every text and value character by
//! character; here they are slices of the page. The tree builder is html5ever's, so a page is parsed as browsers parse
//! it. Rare character references are decoded by html5ever's tokenizer, one at a time.

use std::borrow::Cow;

use foldhash::HashMap;
use html5ever::LocalName;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{Doctype, Tag, TagKind, Token, TokenSink, TokenSinkResult};
use memchr::{memchr, memchr2};

use super::capped_builder::CappedTreeBuilder;
use super::character_references::References;
use crate::page::parse_limit::MAX_ATTRIBUTES;
use crate::page::tree::PageEnding;

/// What the tokenizer noticed on a page.
#[derive(Clone, Copy)]
pub(super) struct TokenizerReport {
    /// False if a tag lost attributes: those beyond [`MAX_ATTRIBUTES`] are dropped, because each is compared with all
    /// before it.
    pub kept_all_attributes: bool,
    pub ending: PageEnding,
}

/// Sends all tokens of the page to the sink. The page must have no NUL and no carriage return.
pub(super) fn tokenize(page: &str, sink: &CappedTreeBuilder<'_>) -> TokenizerReport {
    let page = StrTendril::from_slice(page.strip_prefix('\u{feff}').unwrap_or(page));
    let mut scanner = HtmlTokenizer {
        text: &page,
        page: &page,
        at: 0,
        sink,
        names: HashMap::default(),
        recent: [const { None }; RECENT],
        references: References::default(),
        attributes: Vec::new(),
        kept_all_attributes: true,
        ends_inside_tag: false,
    };
    while scanner.at < page.len() {
        scanner.step();
    }
    let ending = PageEnding { inside_tag: scanner.ends_inside_tag, open_block: sink.has_open_block() };
    let _ = sink.process_token(Token::EOFToken, 0);
    sink.end();
    TokenizerReport { kept_all_attributes: scanner.kept_all_attributes, ending }
}

/// Distinct tags and attributes of an ordinary page, with spare capacity.
const RECENT: usize = 128;

struct HtmlTokenizer<'p, 'n> {
    text: &'p str,
    /// The same text, for cutting shared slices.
    page: &'p StrTendril,
    at: usize,
    sink: &'p CappedTreeBuilder<'n>,
    names: HashMap<&'p str, LocalName>,
    /// Interned names, under a cheap hash: a page has few, so collisions do no harm.
    recent: [Option<(&'p str, LocalName)>; RECENT],
    references: References,
    /// Attributes of the current tag.
    attributes: Vec<(LocalName, Cow<'p, str>)>,
    kept_all_attributes: bool,
    ends_inside_tag: bool,
}

impl<'p> HtmlTokenizer<'p, '_> {
    /// Reads text up to the next tag, then the construct that begins with `<`.
    fn step(&mut self) {
        let end = self.find(self.at, b'<');
        self.emit_text(end, true);
        if self.at == self.text.len() {
            return;
        }
        let rest = &self.text.as_bytes()[self.at + 1..];
        match rest {
            [b, ..] if b.is_ascii_alphabetic() => self.tag(TagKind::StartTag, self.at + 1),
            [b'/', b, ..] if b.is_ascii_alphabetic() => self.tag(TagKind::EndTag, self.at + 2),
            [b'/', b'>', ..] => self.at += 3,
            [b'/'] => self.emit_text(self.at + 2, false),
            [b'!', b'-', b'-', ..] => self.comment(),
            [b'!', rest @ ..] if starts_with(rest, "doctype") => self.doctype(),
            [b'!', b'[', ..] if self.is_cdata() => self.cdata(),
            [b'!' | b'?' | b'/', ..] => self.bogus_comment(),
            _ => self.emit_text(self.at + 1, false),
        }
    }

    /// Position of the next such byte, or the end.
    fn find(&self, from: usize, byte: u8) -> usize {
        memchr(byte, &self.text.as_bytes()[from..]).map_or(self.text.len(), |place| from + place)
    }

    /// Position after the next `>` that is preceded by one of these, searched from `from` on; or the end.
    fn behind(&self, from: usize, endings: &[&str]) -> usize {
        let mut at = self.find(from, b'>');
        while at < self.text.len() {
            let before = &self.text.as_bytes()[from..at];
            if endings.iter().any(|it| before.ends_with(it.as_bytes())) {
                return at + 1;
            }
            at = self.find(at + 1, b'>');
        }
        at
    }

    fn slice(&self, from: usize, to: usize) -> StrTendril {
        self.page.subtendril(from as u32, (to - from) as u32)
    }

    fn emit(&self, token: Token) {
        let _ = self.sink.process_token(token, 0);
    }

    /// Emits the text from the current position to `end`.
    fn emit_text(&mut self, end: usize, references: bool) {
        let from = std::mem::replace(&mut self.at, end);
        if from == end {
            return;
        }
        let text = &self.text[from..end];
        let read = if references { self.references.read(text, false) } else { None };
        let token = read.map_or_else(|| self.slice(from, end), |read| StrTendril::from_slice(&read));
        self.emit(Token::CharacterTokens(token));
    }

    /// Skips a comment: its content is not needed, only its end.
    fn comment(&mut self) {
        let inside = self.at + 4;
        let rest = &self.text[inside..];
        let end = if rest.starts_with('>') {
            inside + 1
        } else if rest.starts_with("->") {
            inside + 2
        } else {
            self.behind(inside, &["--", "--!"])
        };
        self.emit(Token::CommentToken(StrTendril::new()));
        self.at = end;
    }

    fn bogus_comment(&mut self) {
        self.emit(Token::CommentToken(StrTendril::new()));
        self.at = (self.find(self.at + 2, b'>') + 1).min(self.text.len());
    }

    fn is_cdata(&self) -> bool {
        self.text[self.at..].starts_with("<![CDATA[")
            && self.sink.adjusted_current_node_present_but_not_in_html_namespace()
    }

    fn cdata(&mut self) {
        self.at += "<![CDATA[".len();
        let behind = self.behind(self.at, &["]]"]);
        let is_closed = self.text[self.at..behind].ends_with("]]>");
        self.emit_text(if is_closed { behind - 3 } else { behind }, false);
        self.at = behind;
    }

    fn doctype(&mut self) {
        let from = self.at + "<!doctype".len();
        let end = self.find(from, b'>');
        let mut doctype = doctype(&self.text[from..end]);
        doctype.force_quirks |= end == self.text.len();
        self.emit(Token::DoctypeToken(doctype));
        self.at = (end + 1).min(self.text.len());
    }

    /// Reads a tag whose name begins at `from`. A tag cut off by the end of the page is dropped.
    fn tag(&mut self, kind: TagKind, from: usize) {
        let bytes = self.text.as_bytes();
        self.at = until(bytes, from, |b| is_space(b) || matches!(b, b'/' | b'>'));
        let name = self.name(from, self.at);
        let mut self_closing = false;
        self.attributes.clear();
        loop {
            self.at = until(bytes, self.at, |b| !is_space(b));
            match &bytes[self.at..] {
                [] => {
                    self.ends_inside_tag = true;
                    return;
                }
                [b'>', ..] => break,
                [b'/', b'>', ..] => {
                    self_closing = true;
                    self.at += 1;
                    break;
                }
                [b'/', ..] => self.at += 1,
                _ => self.attribute(kind),
            }
        }
        self.at += 1;
        let tag = Tag { kind, name: name.clone(), self_closing, attrs: Vec::new(), had_duplicate_attributes: false };
        match self.sink.process_tag(tag, &self.attributes) {
            TokenSinkResult::Plaintext => self.emit_text(self.text.len(), false),
            TokenSinkResult::RawData(RawKind::Rcdata) => self.emit_text(self.end_of_raw(self.at, &name), true),
            TokenSinkResult::RawData(RawKind::Rawtext) => self.emit_text(self.end_of_raw(self.at, &name), false),
            TokenSinkResult::RawData(RawKind::ScriptData | RawKind::ScriptDataEscaped(_)) => {
                self.emit_text(self.end_of_script(), false);
            }
            TokenSinkResult::Continue | TokenSinkResult::Script(_) | TokenSinkResult::EncodingIndicator(_) => {}
        }
    }

    fn attribute(&mut self, kind: TagKind) {
        let bytes = self.text.as_bytes();
        let from = self.at;
        // The HTML standard allows a name that begins with `=`.
        self.at = until(bytes, from + 1, |b| is_space(b) || matches!(b, b'/' | b'>' | b'='));
        let name_end = self.at;
        self.at = until(bytes, self.at, |b| !is_space(b));
        let mut value = Cow::Borrowed("");
        if bytes.get(self.at) == Some(&b'=') {
            self.at = until(bytes, self.at + 1, |b| !is_space(b));
            value = self.value();
        }
        // The page ends inside this tag, so the tag is dropped.
        if self.at == bytes.len() || kind == TagKind::EndTag {
            return;
        }
        if self.attributes.len() >= MAX_ATTRIBUTES {
            self.kept_all_attributes = false;
            return;
        }
        let name = self.name(from, name_end);
        // Of two attributes with the same name the first one counts.
        if !self.attributes.iter().any(|(it, _)| *it == name) {
            self.attributes.push((name, value));
        }
    }

    fn value(&mut self) -> Cow<'p, str> {
        let bytes = self.text.as_bytes();
        let (from, to, next) = match bytes.get(self.at) {
            Some(&quote @ (b'"' | b'\'')) => {
                let from = self.at + 1;
                let to = self.find(from, quote);
                (from, to, (to + 1).min(bytes.len()))
            }
            _ => {
                let to = until(bytes, self.at, |b| is_space(b) || b == b'>');
                (self.at, to, to)
            }
        };
        self.at = next;
        let text = &self.text[from..to];
        self.references.read(text, true).map_or(Cow::Borrowed(text), Cow::Owned)
    }

    fn name(&mut self, from: usize, to: usize) -> LocalName {
        let name = &self.text[from..to];
        let bytes = name.as_bytes();
        let place =
            bytes.first().zip(bytes.last()).map_or(0, |(a, z)| usize::from(*a) * 7 + usize::from(*z)) + bytes.len();
        let recent = &mut self.recent[place % RECENT];
        if let Some((known, made)) = recent
            && *known == name
        {
            return made.clone();
        }
        let made = self.names.entry(name).or_insert_with(|| match name.bytes().any(|b| b.is_ascii_uppercase()) {
            true => LocalName::from(name.to_ascii_lowercase()),
            false => LocalName::from(name),
        });
        *recent = Some((name, made.clone()));
        made.clone()
    }

    /// Position of the end tag of a raw text element.
    fn end_of_raw(&self, from: usize, name: &str) -> usize {
        let bytes = self.text.as_bytes();
        let mut at = self.find(from, b'<');
        while at < bytes.len() && !(bytes.get(at + 1) == Some(&b'/') && self.is_tag(at + 2, name)) {
            at = self.find(at + 1, b'<');
        }
        at
    }

    /// True if this tag name stands here and ends here.
    fn is_tag(&self, at: usize, name: &str) -> bool {
        let rest = &self.text.as_bytes()[at..];
        starts_with(rest, name) && rest.get(name.len()).is_some_and(|&b| is_space(b) || matches!(b, b'/' | b'>'))
    }

    /// Position of the script's end tag. A script inside `<!-- … -->` inside the script does not end it.
    fn end_of_script(&self) -> usize {
        let mut at = self.find(self.at, b'<');
        let bytes = self.text.as_bytes();
        let mut depth = 0;
        while at < self.text.len() {
            let rest = &bytes[at..];
            if depth < 2 && rest.starts_with(b"</") && self.is_tag(at + 2, "script") {
                return at;
            }
            match depth {
                0 if rest.starts_with(b"<!--") => {
                    depth = 1;
                    at += 1;
                }
                1 if rest[0] == b'<' && self.is_tag(at + 1, "script") => depth = 2,
                2 if rest.starts_with(b"</") && self.is_tag(at + 2, "script") => depth = 1,
                1 | 2 if rest.starts_with(b"-->") => depth = 0,
                _ => {}
            }
            at += 1;
            let next = if depth == 0 { memchr(b'<', &bytes[at..]) } else { memchr2(b'<', b'-', &bytes[at..]) };
            at = next.map_or(bytes.len(), |place| at + place);
        }
        at
    }
}

fn is_space(b: u8) -> bool {
    matches!(b, b' ' | b'\n' | b'\t' | b'\x0c')
}

/// The first position from here on with one of these bytes, or the end.
fn until(bytes: &[u8], from: usize, is: impl Fn(u8) -> bool) -> usize {
    let from = from.min(bytes.len());
    bytes[from..].iter().position(|&b| is(b)).map_or(bytes.len(), |place| from + place)
}

fn starts_with(bytes: &[u8], word: &str) -> bool {
    bytes.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word.as_bytes()))
}

/// Parses the text between `<!doctype` and `>`.
fn doctype(inside: &str) -> Doctype {
    let space = |c: char| c.is_ascii() && is_space(c as u8);
    let inside = inside.trim_start_matches(space);
    let (name, rest) = inside.split_at(inside.find(space).unwrap_or(inside.len()));
    let mut made = Doctype::default();
    if name.is_empty() {
        made.force_quirks = true;
        return made;
    }
    made.name = Some(StrTendril::from_slice(&name.to_ascii_lowercase()));
    let rest = rest.trim_start_matches(space);
    if rest.is_empty() {
        return made;
    }
    let is_public = starts_with(rest.as_bytes(), "public");
    if !is_public && !starts_with(rest.as_bytes(), "system") {
        made.force_quirks = true;
        return made;
    }
    let mut ids = Vec::new();
    let mut rest = rest["public".len()..].trim_start_matches(space);
    while let Some(quote @ ('"' | '\'')) = rest.chars().next()
        && ids.len() < 1 + usize::from(is_public)
    {
        let (id, behind) = rest[1..].split_once(quote).unwrap_or_else(|| {
            made.force_quirks = true;
            (&rest[1..], "")
        });
        ids.push(StrTendril::from_slice(id));
        rest = behind.trim_start_matches(space);
    }
    // Anything after the system id is ignored.
    made.force_quirks |= ids.is_empty() || is_public && ids.len() == 1 && !rest.is_empty();
    let mut ids = ids.into_iter();
    made.public_id = if is_public { ids.next() } else { None };
    made.system_id = ids.next();
    made
}
