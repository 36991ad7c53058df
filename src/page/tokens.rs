//! The page as a sequence of tokens: start tag, end tag, text, and the line ends of `<pre>`.
//!
//! A row of a list, whether an element, several siblings or some lines of a listing, is a range of these tokens: a
//! [`Span`]. Scripts, styles and white space have no tokens.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};
use std::hash::{BuildHasher, Hash, Hasher};

use foldhash::quality::FixedState;
use html5ever::{LocalName, local_name};

use super::text::{CollapsedText, collapse, collapsed, is_blank};
use super::tree::{NodeContent, NodeId, Tree};

/// A range of tokens: `start` is the first, `stop` one past the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    pub start: u32,
    pub stop: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    Open,
    Close,
    Text,
    /// The end of a line inside `<pre>`.
    Line,
}

#[derive(Clone, Copy, Debug)]
pub struct Token {
    pub kind: TokenKind,
    pub node: NodeId,
    /// Byte range in the text node: the whole node, or one line of it inside `<pre>`.
    text: (u32, u32),
}

impl Token {
    /// The node, and where in its text this token begins: in a listing each line is a token.
    pub fn line(&self) -> (u32, u32) {
        (self.node.0, self.text.0)
    }

    /// True unless it is the end of a line.
    pub fn is_visible(&self) -> bool {
        self.kind != TokenKind::Line
    }
}

/// Maximum weight of a text: one long article must not outweigh a list (docs/design/learning.md 2.1).
const MAX_WEIGHT: usize = 60;

/// Weight of any text in addition to its length: a cell with one digit counts as much as a word (see
/// `learn/rank/score.rs`).
const BASE_TEXT_WEIGHT: u32 = 3;

pub struct Tokens<'t> {
    pub tree: &'t Tree,
    pub list: Vec<Token>,
    /// By node: the tokens it covers; an empty span where the node has none.
    spans: Vec<Span>,
    /// `weights[i]` = text weight before token i.
    weights: Vec<u32>,
    /// By token: a fingerprint of its text; 0 for tags and where not computed yet.
    fingerprints: OnceCell<Vec<Cell<u64>>>,
    /// By token: its text, white space collapsed. Learning reads each text many times; applying a template only those
    /// of the rows.
    words: OnceCell<Vec<OnceCell<Cow<'t, str>>>>,
}

impl<'t> Tokens<'t> {
    pub fn new(tree: &'t Tree) -> Tokens<'t> {
        let empty = Span { start: 0, stop: 0 };
        // Usually most nodes are elements with two tokens, or white space with none.
        let mut tokens = Tokens {
            tree,
            list: Vec::with_capacity(tree.len()),
            spans: vec![empty; tree.len()],
            weights: Vec::with_capacity(tree.len() + 1),
            fingerprints: OnceCell::new(),
            words: OnceCell::new(),
        };
        tokens.weights.push(0);
        // Nodes whose end tag has not been reached, innermost last; `true` inside <pre>.
        let mut open: Vec<(NodeId, bool)> = Vec::new();
        let mut at = NodeId(1);
        let end = tree.end(tree.root());
        while at < end {
            tokens.close_before(at, &mut open);
            let in_pre = open.last().is_some_and(|&(_, pre)| pre);
            let start = tokens.list.len() as u32;
            tokens.spans[at.index()] = Span { start, stop: start };
            match tree.kind(at) {
                NodeContent::Element(element) if is_left_out(element.name) => {
                    at = tree.end(at);
                    continue;
                }
                NodeContent::Element(element) => {
                    tokens.push(TokenKind::Open, at, (0, 0), 0);
                    open.push((at, in_pre || is_listing(element.name)));
                }
                NodeContent::Text(text) if in_pre => tokens.push_lines(at, text),
                NodeContent::Text(text) => tokens.push_text(at, text, 0, text.len()),
                NodeContent::Document => {}
            }
            at = NodeId(at.0 + 1);
        }
        tokens.close_before(end, &mut open);
        let all = Span { start: 0, stop: tokens.list.len() as u32 };
        tokens.spans[0] = all;
        tokens
    }

    pub fn span(&self, node: NodeId) -> Span {
        self.spans[node.index()]
    }

    pub fn all(&self) -> Span {
        self.spans[0]
    }

    pub fn slice(&self, span: Span) -> &[Token] {
        &self.list[span.start as usize..span.stop as usize]
    }

    pub fn weight(&self, span: Span) -> u32 {
        self.weights[span.stop as usize] - self.weights[span.start as usize]
    }

    /// Fingerprint of a text token: equal texts have equal fingerprints.
    pub fn fingerprint(&self, token: u32) -> u64 {
        let cell = &self.fingerprints.get_or_init(|| vec![Cell::new(0); self.list.len()])[token as usize];
        let it = &self.list[token as usize];
        if cell.get() == 0 && it.kind == TokenKind::Text {
            cell.set(fingerprint(self.raw(it)));
        }
        cell.get()
    }

    /// The text as it is in the page, with white space; `""` for a tag.
    pub fn raw(&self, token: &Token) -> &'t str {
        let text = self.tree.own_text(token.node).unwrap_or("");
        &text[token.text.0 as usize..token.text.1 as usize]
    }

    /// Appends a text token's words.
    pub fn push_words(&self, token: u32, out: &mut CollapsedText) {
        let raw = self.raw(&self.list[token as usize]);
        out.push_collapsed(self.words(token), raw.starts_with(is_blank), raw.ends_with(is_blank));
    }

    /// The text of a token, white space collapsed; `""` for a tag.
    pub fn words(&self, token: u32) -> &str {
        let cells = self.words.get_or_init(|| vec![OnceCell::new(); self.list.len()]);
        cells[token as usize].get_or_init(|| collapsed(self.raw(&self.list[token as usize])))
    }

    /// Upper bound of the bytes that the words of a span need.
    pub fn words_len(&self, span: Span) -> usize {
        self.slice(span).iter().map(|token| (token.text.1 - token.text.0) as usize).sum()
    }

    /// Readable listing of the tokens, one per line.
    pub fn outline(&self) -> String {
        let mut out = String::new();
        let mut depth = 0_usize;
        for token in &self.list {
            if token.kind == TokenKind::Close {
                depth = depth.saturating_sub(1);
            }
            out.push_str(&"  ".repeat(depth.min(40)));
            match token.kind {
                TokenKind::Open => {
                    out.push_str(&format!("<{}", self.tree.tag(token.node)));
                    for class in self.tree.classes(token.node) {
                        out.push_str(&format!(".{class}"));
                    }
                    out.push('>');
                    depth += 1;
                }
                TokenKind::Close => out.push_str(&format!("</{}>", self.tree.tag(token.node))),
                TokenKind::Text => out.push_str(&format!("{:?}", collapse(self.raw(token)))),
                TokenKind::Line => out.push_str("#nl"),
            }
            out.push('\n');
        }
        out
    }

    fn close_before(&mut self, next: NodeId, open: &mut Vec<(NodeId, bool)>) {
        while let Some(&(node, _)) = open.last()
            && self.tree.end(node) <= next
        {
            self.push(TokenKind::Close, node, (0, 0), 0);
            self.spans[node.index()].stop = self.list.len() as u32;
            open.pop();
        }
    }

    fn push_lines(&mut self, node: NodeId, text: &str) {
        let mut from = 0;
        for (place, _) in text.match_indices('\n') {
            self.push_text(node, text, from, place);
            self.push(TokenKind::Line, node, (0, 0), 0);
            from = place + 1;
        }
        self.push_text(node, text, from, text.len());
        self.spans[node.index()].stop = self.list.len() as u32;
    }

    fn push_text(&mut self, node: NodeId, text: &str, from: usize, to: usize) {
        let part = &text[from..to];
        if let Some(weight) = weigh(part) {
            self.push(TokenKind::Text, node, (from as u32, to as u32), weight);
            self.spans[node.index()].stop = self.list.len() as u32;
        }
    }

    fn push(&mut self, kind: TokenKind, node: NodeId, text: (u32, u32), weight: u32) {
        let before = *self.weights.last().expect("weights start with one entry");
        self.list.push(Token { kind, node, text });
        self.weights.push(before + weight);
    }
}

/// Length up to the maximum, white space collapsed; `None` where there is only white space.
fn weigh(text: &str) -> Option<u32> {
    let is_space = |byte: u8| byte == b' ' || byte.wrapping_sub(b'\t') < 5;
    let bytes = text.as_bytes();
    // Most texts are only the white space between two tags.
    let start = bytes.iter().position(|&byte| !is_space(byte))?;
    let (mut length, mut parted) = (0, false);
    for &byte in &bytes[start..] {
        if is_space(byte) {
            parted = true;
            continue;
        }
        if !byte.is_ascii() {
            length = weigh_beyond_ascii(text);
            break;
        }
        length += 1 + usize::from(parted);
        parted = false;
        if length >= MAX_WEIGHT {
            break;
        }
    }
    (length > 0).then_some(length.min(MAX_WEIGHT) as u32 + BASE_TEXT_WEIGHT)
}

fn weigh_beyond_ascii(text: &str) -> usize {
    let mut length = 0;
    for word in text.split(is_blank).filter(|word| !word.is_empty()) {
        length += word.chars().count() + usize::from(length > 0);
        if length >= MAX_WEIGHT {
            break;
        }
    }
    length
}

fn fingerprint(text: &str) -> u64 {
    let mut hasher = FixedState::default().build_hasher();
    text.split(is_blank).filter(|word| !word.is_empty()).for_each(|word| word.hash(&mut hasher));
    hasher.finish()
}

fn is_listing(tag: &LocalName) -> bool {
    matches!(*tag, local_name!("pre") | local_name!("xmp") | local_name!("plaintext") | local_name!("listing"))
}

fn is_left_out(tag: &LocalName) -> bool {
    matches!(
        *tag,
        local_name!("script")
            | local_name!("style")
            | local_name!("noscript")
            | local_name!("template")
            | local_name!("head")
            | local_name!("iframe")
            | local_name!("svg")
            | local_name!("select")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(html: &str, expected: &str) {
        let tree = Tree::parse(html);
        let tokens = Tokens::new(&tree);
        let body = tree.elements("body").next().expect("the parser makes a body");
        let span = tokens.span(body);
        let words: Vec<String> = tokens
            .slice(Span { start: span.start + 1, stop: span.stop - 1 })
            .iter()
            .map(|token| match token.kind {
                TokenKind::Open => format!("<{}>", tree.tag(token.node)),
                TokenKind::Close => format!("</{}>", tree.tag(token.node)),
                TokenKind::Text => collapse(tokens.raw(token)),
                TokenKind::Line => "#nl".to_owned(),
            })
            .collect();
        assert_eq!(words.join(" "), expected);
    }

    #[test]
    fn scripts_and_blanks_leave_no_tokens() {
        check("<p> a <script>x</script><b>b</b></p> <select><option>1</select>", "<p> a <b> b </b> </p>");
    }

    #[test]
    fn lines_count_inside_pre_only() {
        check(
            "<p>a\nb</p><pre>one <b>x</b>\n\ntwo\n</pre>",
            "<p> a b </p> <pre> one <b> x </b> #nl #nl two #nl </pre>",
        );
    }

    #[test]
    fn words_are_the_same_with_and_without_a_copy() {
        for text in
            ["", " ", "a", " a\n", "a b", "a  b", "a \t b", "a\u{a0}b", " é  e ", "a\u{200b}", "x\u{1c}y", "a \u{a0}b"]
        {
            assert_eq!(collapsed(text), collapse(text), "{text:?}");
            let length = weigh_beyond_ascii(text) as u32;
            assert_eq!(weigh(text), (length > 0).then_some(length + BASE_TEXT_WEIGHT), "{text:?}");
        }
    }

    #[test]
    fn long_text_weighs_no_more_than_the_cap() {
        let tree = Tree::parse(&format!("<p>{}</p><p>abc  d</p>", "x".repeat(500)));
        let tokens = Tokens::new(&tree);
        let weights: Vec<u32> = tree.elements("p").map(|p| tokens.weight(tokens.span(p))).collect();
        assert_eq!(weights, [60 + BASE_TEXT_WEIGHT, 5 + BASE_TEXT_WEIGHT]);
    }
}
