//! Encodes a page as a sequence of symbols: from block-level tags only, over every tag, to chunks of text.
//!
//! Which patterns repeat in a page depends on the encoding. IEPAD leaves out classes of tags and treats all text
//! between two tags alike; Shi et al. keep attributes and words. In each encoding a symbol knows the tokens it stands
//! for.

use std::ops::Range;

use foldhash::{HashMap, HashMapExt};

use super::text::collapse;
use super::tokens::{Span, Token, TokenKind, Tokens};
use super::tree::Tree;

/// What is encoded, coarsest first (IEPAD section 5.1, Shi section 2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TagEncoding {
    /// Block-level tags; everything between two of them is one text.
    Block,
    /// Every tag but links, images and other special markup.
    NoSpecial,
    /// Every tag but bold, italics and other physical markup.
    NoPhysical,
    /// Every tag but emphasis, code and other logical markup.
    NoLogical,
    /// Every tag by its name.
    Tags,
    /// Every tag with its attributes, and texts split at punctuation: Shi's tokens and separators.
    Chunks,
}

/// Maximum number of symbols of one page; the rest of the page is not encoded. The finders sort all suffixes of the
/// symbols, in six encodings where a page shows no list: half a million short lines, 1 MB, took 3 s. The longest page
/// of the corpus (2.3 MB) has 55,832 tokens; split into chunks it may have more.
pub const MAX_SYMBOLS: usize = 60_000;

/// Within one encoded page, equal numbers are equal symbols.
pub type Symbol = u32;

/// A page under one encoding. `spans` has one entry a symbol, ascending; chunks of one text share its token.
pub struct EncodedPage {
    pub symbols: Vec<Symbol>,
    spans: Vec<Span>,
    words: Vec<SymbolName>,
}

struct SymbolName {
    name: String,
    kind: TokenKind,
}

impl SymbolName {
    fn tag(&self) -> &str {
        let name = self.name.trim_start_matches(['<', '/']);
        name.split([' ', '>']).next().unwrap_or(name)
    }
}

impl EncodedPage {
    pub fn new(tokens: &Tokens<'_>, encoding: TagEncoding) -> EncodedPage {
        let mut encoder = Encoder::new(tokens, encoding);
        for (place, token) in tokens.list.iter().enumerate() {
            if encoder.encoded.symbols.len() >= MAX_SYMBOLS {
                encoder.flush(place as u32);
                return encoder.encoded;
            }
            encoder.take(place as u32, token);
        }
        encoder.flush(tokens.list.len() as u32);
        encoder.encoded
    }

    /// The readable form: `<td>`, `</td>`, `TEXT`, or the chunk itself.
    pub fn name(&self, symbol: Symbol) -> &str {
        &self.words[symbol as usize].name
    }

    pub fn is_text(&self, symbol: Symbol) -> bool {
        self.words[symbol as usize].kind == TokenKind::Text
    }

    /// True for the start tag of an element with content, so not for `<br>`.
    pub fn is_open(&self, symbol: Symbol) -> bool {
        let word = &self.words[symbol as usize];
        word.kind == TokenKind::Open && !is_void(word.tag())
    }

    /// True for a block-level tag or a line end: where a record may begin or end.
    pub fn is_block(&self, symbol: Symbol) -> bool {
        !self.is_text(symbol) && TagClass::of(self.words[symbol as usize].tag()) == TagClass::Block
    }

    /// The tokens of a range of symbols; empty for an empty range.
    pub fn span(&self, symbols: Range<usize>) -> Span {
        match self.spans.get(symbols) {
            Some([first, .., last]) => Span { start: first.start, stop: last.stop },
            Some([only]) => *only,
            _ => Span { start: 0, stop: 0 },
        }
    }

    /// The first token of a symbol; for one past the last symbol, the end of the last one.
    pub fn start(&self, symbol: usize) -> u32 {
        match self.spans.get(symbol) {
            Some(span) => span.start,
            None => self.spans.last().map_or(0, |span| span.stop),
        }
    }
}

struct Encoder<'a, 't> {
    tokens: &'a Tokens<'t>,
    encoding: TagEncoding,
    encoded: EncodedPage,
    ids: HashMap<String, Symbol>,
    /// Buffer for the name of the current tag, reused because a page has hundreds of thousands of tags and few names.
    name: String,
    /// Start of the stretch since the last kept tag, and whether it has text.
    pending: Option<(u32, bool)>,
}

impl<'a, 't> Encoder<'a, 't> {
    fn new(tokens: &'a Tokens<'t>, encoding: TagEncoding) -> Encoder<'a, 't> {
        let encoded = EncodedPage { symbols: Vec::new(), spans: Vec::new(), words: Vec::new() };
        Encoder { tokens, encoding, encoded, ids: HashMap::new(), name: String::new(), pending: None }
    }

    fn take(&mut self, place: u32, token: &Token) {
        let tree = self.tokens.tree;
        match token.kind {
            TokenKind::Text if self.encoding == TagEncoding::Chunks => {
                let span = Span { start: place, stop: place + 1 };
                let free = MAX_SYMBOLS.saturating_sub(self.encoded.symbols.len());
                for chunk in chunks(&collapse(self.tokens.raw(token))).take(free) {
                    self.push(chunk, TokenKind::Text, span);
                }
            }
            TokenKind::Text => self.pending = Some((self.pending.map_or(place, |(start, _)| start), true)),
            TokenKind::Open | TokenKind::Close if TagClass::of(tree.tag(token.node)) == TagClass::Frame => {
                self.flush(place);
            }
            TokenKind::Line => self.keep(place, "#nl", TokenKind::Line),
            TokenKind::Close if is_void(tree.tag(token.node)) => self.widen(place),
            TokenKind::Open | TokenKind::Close if self.keeps(tree.tag(token.node)) => {
                let mut name = std::mem::take(&mut self.name);
                self.write_tag(token, &mut name);
                self.keep(place, &name, token.kind);
                self.name = name;
            }
            TokenKind::Open | TokenKind::Close => {
                self.pending = Some(self.pending.unwrap_or((place, false)));
            }
        }
    }

    fn keeps(&self, tag: &str) -> bool {
        let class = TagClass::of(tag);
        match self.encoding {
            TagEncoding::Block => class == TagClass::Block,
            TagEncoding::NoSpecial => class != TagClass::Special,
            TagEncoding::NoPhysical => class != TagClass::Physical,
            TagEncoding::NoLogical => class != TagClass::Logical,
            TagEncoding::Tags | TagEncoding::Chunks => true,
        }
    }

    fn write_tag(&self, token: &Token, name: &mut String) {
        let tree = self.tokens.tree;
        name.clear();
        name.push_str(if token.kind == TokenKind::Close { "</" } else { "<" });
        name.push_str(tree.tag(token.node));
        if token.kind != TokenKind::Close && self.encoding == TagEncoding::Chunks {
            write_attributes(tree, token, name);
        }
        name.push('>');
    }

    fn keep(&mut self, place: u32, name: &str, kind: TokenKind) {
        let start = self.flush(place);
        self.push(name, kind, Span { start, stop: place + 1 });
    }

    /// The end tag of an empty element belongs to its start tag.
    fn widen(&mut self, place: u32) {
        match (self.pending, self.encoded.spans.last_mut()) {
            (None, Some(last)) => last.stop = place + 1,
            _ => {
                self.pending.get_or_insert((place, false));
            }
        }
    }

    /// Ends a stretch of text and skipped tags before `place`. Skipped tags without text, such as an image, belong to
    /// the start tag before them, otherwise to the next symbol. Returns where the next symbol begins.
    fn flush(&mut self, place: u32) -> u32 {
        let Some((start, has_text)) = self.pending.take() else { return place };
        if has_text {
            self.push("TEXT", TokenKind::Text, Span { start, stop: place });
            return place;
        }
        let opens = self.encoded.symbols.last().is_some_and(|&last| self.encoded.is_open(last));
        match self.encoded.spans.last_mut() {
            Some(last) if opens => {
                last.stop = place;
                place
            }
            _ => start,
        }
    }

    fn push(&mut self, name: &str, kind: TokenKind, span: Span) {
        let symbol = self.ids.get(name).copied().unwrap_or_else(|| {
            let next = self.encoded.words.len() as Symbol;
            self.encoded.words.push(SymbolName { name: name.to_owned(), kind });
            self.ids.insert(name.to_owned(), next);
            next
        });
        self.encoded.symbols.push(symbol);
        self.encoded.spans.push(span);
    }
}

fn write_attributes(tree: &Tree, token: &Token, out: &mut String) {
    for (name, value) in tree.element(token.node).into_iter().flat_map(|element| element.attributes()) {
        out.push(' ');
        out.push_str(name);
        out.push('=');
        out.push_str(value);
    }
}

/// Splits after each separator, which stays with the chunk before it (Shi definitions 2.3 and 2.4).
fn chunks(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(is_separator).map(str::trim).filter(|chunk| !chunk.is_empty())
}

/// Punctuation, except what occurs inside values: “any punctuation character excluding the set `,.(-)'%` and SPACE”.
/// Typographic dashes and apostrophes count as their ASCII forms.
fn is_separator(c: char) -> bool {
    match c {
        ',' | '.' | '(' | '-' | ')' | '\'' | '%' | '\u{2010}'..='\u{2015}' | '\u{2019}' => false,
        '\u{a1}' | '\u{a6}' | '\u{ab}' | '\u{b7}' | '\u{bb}' | '\u{bf}' => true,
        '\u{2016}'..='\u{205e}' | '\u{3001}'..='\u{3011}' | '\u{ff01}'..='\u{ff0f}' | '\u{ff1a}'..='\u{ff20}' => true,
        _ => c.is_ascii_punctuation(),
    }
}

/// IEPAD's classes of tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TagClass {
    Block,
    Logical,
    Physical,
    Special,
    /// Outside of the content; part of no encoding.
    Frame,
}

impl TagClass {
    /// Follows HTML 3.2, as Figure 2 of the paper does (its text names only some of the tags); later tags are classed
    /// with the ones they resemble. An unknown tag, such as a custom element, counts as block-level.
    fn of(tag: &str) -> TagClass {
        match tag {
            "html" | "head" | "body" => TagClass::Frame,
            "em" | "strong" | "dfn" | "code" | "samp" | "kbd" | "var" | "cite" | "abbr" | "acronym" | "mark"
            | "time" | "data" | "q" | "ins" | "del" | "label" => TagClass::Logical,
            "tt" | "i" | "b" | "u" | "s" | "strike" | "big" | "small" | "sub" | "sup" | "font" | "span" | "bdi"
            | "bdo" | "wbr" | "nobr" | "blink" => TagClass::Physical,
            "a" | "img" | "picture" | "source" | "basefont" | "applet" | "param" | "map" | "area" | "object"
            | "embed" | "video" | "audio" | "input" | "button" => TagClass::Special,
            _ => TagClass::Block,
        }
    }
}

fn is_void(tag: &str) -> bool {
    const VOID: [&str; 15] = [
        "area", "base", "basefont", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
        "track", "wbr",
    ];
    VOID.contains(&tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(html: &str, encoding: TagEncoding) -> Vec<String> {
        let tree = Tree::parse(html);
        let encoded = EncodedPage::new(&Tokens::new(&tree), encoding);
        encoded.symbols.iter().map(|&symbol| encoded.name(symbol).to_owned()).collect()
    }

    fn check(html: &str, encoding: TagEncoding, expected: &str) {
        assert_eq!(names(html, encoding).join(" "), expected, "{encoding:?}");
    }

    #[test]
    fn the_congo_code_is_fourteen_tokens_of_six_kinds() {
        let congo = "<B>Congo</B><I>242</I><BR>\n<B>Egypt</B><I>20</I><BR>";
        let line = "<b> TEXT </b> <i> TEXT </i> <br>";
        check(congo, TagEncoding::Tags, &format!("{line} {line}"));
        let tree = Tree::parse(congo);
        let encoded = EncodedPage::new(&Tokens::new(&tree), TagEncoding::Tags);
        // The paper writes the symbols with three bits each: 000 110 001 010 110 011 100.
        assert_eq!(encoded.symbols, [0, 1, 2, 3, 1, 4, 5, 0, 1, 2, 3, 1, 4, 5]);
    }

    #[test]
    fn each_encoding_leaves_out_its_class_of_tags_and_joins_the_texts_around_them() {
        let html = "<ul><li><a href=1><b>x</b></a> by <em>me</em></ul>";
        check(html, TagEncoding::Block, "<ul> <li> TEXT </li> </ul>");
        check(html, TagEncoding::NoSpecial, "<ul> <li> <b> TEXT </b> TEXT <em> TEXT </em> </li> </ul>");
        check(html, TagEncoding::NoPhysical, "<ul> <li> <a> TEXT </a> TEXT <em> TEXT </em> </li> </ul>");
        check(html, TagEncoding::NoLogical, "<ul> <li> <a> <b> TEXT </b> </a> TEXT </li> </ul>");
        check(html, TagEncoding::Tags, "<ul> <li> <a> <b> TEXT </b> </a> TEXT <em> TEXT </em> </li> </ul>");
    }

    #[test]
    fn a_row_of_the_hotel_page_is_cut_into_the_tokens_of_shis_first_example() {
        let html = "<table><tr><td><a><b>INN ON THE LAKE</b></a></td><td align=right>Rate: CAD 95.00</td></table>";
        let names = names(html, TagEncoding::Chunks);
        let place = names.iter().position(|name| name == "<b>").expect("the name is bold");
        let row = ["<b>", "INN ON THE LAKE", "</b>", "</a>", "</td>", "<td align=right>"];
        assert_eq!(&names[place..place + 6], row);
    }

    #[test]
    fn punctuation_separates_but_not_inside_addresses_and_numbers() {
        check(
            "<p>3009 NO 2 HIGHWAY, Waverley, NS; Tel: (902) 494-7111 | 4.7 km / 2.9 mi",
            TagEncoding::Chunks,
            "<p> 3009 NO 2 HIGHWAY, Waverley, NS; Tel: (902) 494-7111 | 4.7 km / 2.9 mi </p>",
        );
        let names = names("<p>NS; Tel: (902) 494-7111 | 4.7 km", TagEncoding::Chunks);
        assert_eq!(names, ["<p>", "NS;", "Tel:", "(902) 494-7111 |", "4.7 km", "</p>"]);
    }

    #[test]
    fn a_text_brings_the_skipped_tags_around_it_and_a_picture_stays_in_its_cell() {
        let tree = Tree::parse("<div><p><img src=1></p><p><a href=2>x</a></p></div>");
        let tokens = Tokens::new(&tree);
        let encoded = EncodedPage::new(&tokens, TagEncoding::Block);
        let inside = |symbols: Range<usize>| {
            let span = encoded.span(symbols);
            let tags = tokens.slice(span).iter().filter(|token| token.kind == TokenKind::Open);
            tags.map(|token| tree.tag(token.node)).collect::<Vec<_>>().join(" ")
        };
        // <div> <p> </p> <p> TEXT </p> </div>
        assert_eq!(inside(1..2), "p img");
        assert_eq!(inside(4..5), "a");
    }

    #[test]
    fn the_first_and_the_last_symbol_do_not_reach_out_of_the_body() {
        let tree = Tree::parse("<b>x</b><br>");
        let tokens = Tokens::new(&tree);
        let encoded = EncodedPage::new(&tokens, TagEncoding::Tags);
        let body = tokens.span(tree.elements("body").next().expect("the parser makes a body"));
        let span = encoded.span(0..encoded.symbols.len());
        assert_eq!((span.start, span.stop), (body.start + 1, body.stop - 1));
    }

    #[test]
    fn a_page_without_end_has_no_more_symbols_than_are_looked_at() {
        for html in ["<li>x".repeat(30_000), format!("<p>{}", ";".repeat(100_000))] {
            for encoding in [TagEncoding::Block, TagEncoding::Tags, TagEncoding::Chunks] {
                let symbols = names(&html, encoding).len();
                assert!(symbols <= MAX_SYMBOLS + 1, "{symbols}");
            }
        }
    }

    #[test]
    fn an_empty_page_has_no_symbols() {
        for encoding in [TagEncoding::Block, TagEncoding::Tags, TagEncoding::Chunks] {
            check("", encoding, "");
            assert_eq!(
                EncodedPage::new(&Tokens::new(&Tree::parse("")), encoding).span(0..0),
                Span { start: 0, stop: 0 }
            );
        }
    }
}
