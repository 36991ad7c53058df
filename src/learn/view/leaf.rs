//! The leaves of a row: texts and value attributes, each with its path.

use std::borrow::Cow;
use std::cell::OnceCell;

use foldhash::{HashMap, HashMapExt};

use super::limit::MAX_LEAVES;
use super::paths::{PathId, PathInterner};
use super::text::{fingerprint, is_inline, text_borrowed};
use crate::page::tokens::{Span, TokenKind, Tokens};
use crate::page::{NodeId, Tree};

/// Text, or an attribute with a value that a person may want.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LeafKind {
    #[default]
    Text,
    Href,
    Src,
    DataSrc,
    Alt,
    Title,
    Datetime,
    Content,
    Value,
}

/// The attributes that hold values, links first.
pub const ATTRIBUTES: [(LeafKind, &str); 8] = [
    (LeafKind::Href, "href"),
    (LeafKind::Src, "src"),
    (LeafKind::DataSrc, "data-src"),
    (LeafKind::Alt, "alt"),
    (LeafKind::Title, "title"),
    (LeafKind::Datetime, "datetime"),
    (LeafKind::Content, "content"),
    (LeafKind::Value, "value"),
];

impl LeafKind {
    /// The name of the attribute; empty for text.
    pub fn attribute(self) -> &'static str {
        ATTRIBUTES.iter().find(|(kind, _)| *kind == self).map_or("", |&(_, name)| name)
    }
}

#[derive(Clone, Debug)]
pub struct Leaf {
    pub kind: LeafKind,
    /// Tag path from the row to the element of the leaf.
    pub path: PathId,
    /// The same with classes.
    pub class_path: PathId,
    pub value: String,
    /// Further values, if the leaf stands for an inner list.
    pub more_values: Vec<String>,
    /// Hash of the value.
    pub fingerprint: u64,
    /// The element that contains it, or the row's parent.
    pub holder: NodeId,
    /// Cached, because every alignment needs it.
    value_type: OnceCell<u8>,
}

/// Separator between the values of an inner list.
pub const LIST_SEPARATOR: &str = ", ";

impl Leaf {
    /// A leaf without further values.
    pub fn new(kind: LeafKind, way: (PathId, PathId), value: String, holder: NodeId) -> Leaf {
        let print = fingerprint(&value);
        let (path, class_path) = way;
        Leaf {
            kind,
            path,
            class_path,
            value,
            more_values: Vec::new(),
            fingerprint: print,
            holder,
            value_type: OnceCell::new(),
        }
    }

    /// The rough type of its value.
    pub fn value_type(&self) -> u8 {
        *self.value_type.get_or_init(|| value_type(&self.value))
    }

    /// Moves all values out of the leaf.
    pub fn take_values(&mut self) -> String {
        if self.more_values.is_empty() { std::mem::take(&mut self.value) } else { self.all_values().into_owned() }
    }

    /// All values, joined.
    pub fn all_values(&self) -> Cow<'_, str> {
        if self.more_values.is_empty() {
            return Cow::Borrowed(&self.value);
        }
        let mut all = self.value.clone();
        for value in &self.more_values {
            all.push_str(LIST_SEPARATOR);
            all.push_str(value);
        }
        Cow::Owned(all)
    }
}

/// The rough type of a value: enough to distinguish a price from a name, not to parse it.
pub fn value_type(value: &str) -> u8 {
    let (mut digits, mut letters, mut others, mut blanks) = (0_u32, 0_u32, 0_u32, 0_u32);
    for c in value.chars().take(200) {
        // Fast path: nearly all letters are ASCII, and the Unicode tables are slow.
        if c.is_ascii_alphabetic() {
            letters += 1;
        } else if c.is_numeric() {
            digits += 1;
        } else if c.is_alphabetic() {
            letters += 1;
        } else if c.is_whitespace() {
            blanks += 1;
        } else {
            others += 1;
        }
    }
    let length = digits + letters + others + blanks;
    match () {
        () if length == 0 => 0,
        () if digits == length => 1,
        () if letters == 0 && digits > 0 => 2,
        () if letters == 0 => 3,
        () if digits > 0 && digits * 2 >= letters => 4,
        () if length > 80 => 5,
        () if blanks == 0 => 6,
        () if digits > 0 => 7,
        () => 8,
    }
}

/// The row's leaves, in page order.
pub fn leaves(tokens: &Tokens<'_>, row: Span, paths: &mut PathInterner) -> Vec<Leaf> {
    first_leaves(tokens, row, paths, MAX_LEAVES)
}

/// Does the row have more leaves than are read?
pub fn is_too_wide(tokens: &Tokens<'_>, row: Span) -> bool {
    let length = row.stop.saturating_sub(row.start) as usize;
    // An element has two tokens and at most eight attribute values.
    length * ATTRIBUTES.len() / 2 > MAX_LEAVES
        && first_leaves(tokens, row, &mut PathInterner::default(), MAX_LEAVES + 1).len() > MAX_LEAVES
}

/// The first `most` leaves of the row, and the rest of the last one's element.
pub fn first_leaves(tokens: &Tokens<'_>, row: Span, paths: &mut PathInterner, most: usize) -> Vec<Leaf> {
    let tree = tokens.tree;
    // About one leaf per three tokens. Default growth would reserve four for each of 500,000 short lines.
    let mut leaves = Vec::with_capacity((row.stop.saturating_sub(row.start) as usize / 3).clamp(1, most.clamp(1, 16)));
    let mut way = OpenPath::new(tokens, row);
    let mut i = row.start;
    while i < row.stop && leaves.len() < most {
        let token = &tokens.list[i as usize];
        match token.kind {
            TokenKind::Open => {
                way.enter(tree, token.node, paths);
                attributes(tree, token.node, way.current(), &mut leaves);
            }
            TokenKind::Close => way.leave(),
            TokenKind::Text => {
                let span = Span { start: i, stop: run_end(tokens, i, row.stop) };
                let holder = tree.parent(token.node).unwrap_or(tree.root());
                leaves.push(Leaf::new(LeafKind::Text, way.current(), text_borrowed(tokens, span).into_owned(), holder));
                for inside in &tokens.slice(span)[1..] {
                    match inside.kind {
                        TokenKind::Open => way.enter(tree, inside.node, paths),
                        TokenKind::Close => way.leave(),
                        TokenKind::Text | TokenKind::Line => {}
                    }
                }
                i = span.stop;
                continue;
            }
            TokenKind::Line => {}
        }
        i += 1;
    }
    leaves
}

/// The path of the open elements, without and with classes.
pub struct OpenPath {
    open: Vec<(PathId, PathId)>,
    one_root: bool,
}

impl OpenPath {
    /// If the row is one element, its classes are ignored: they describe the row (first, odd, sold), not its content.
    pub fn new(tokens: &Tokens<'_>, row: Span) -> OpenPath {
        let one_root = tokens.slice(row).first().is_some_and(|first| tokens.span(first.node) == row);
        OpenPath { open: Vec::new(), one_root }
    }

    pub fn current(&self) -> (PathId, PathId) {
        self.open.last().copied().unwrap_or((PathId::TOP, PathId::TOP))
    }

    pub fn enter(&mut self, tree: &Tree, node: NodeId, paths: &mut PathInterner) {
        let is_bare = self.open.is_empty() && self.one_root;
        self.open.push(paths.below_element(self.current(), tree, node, is_bare));
    }

    /// A line of a listing may close an element that it did not open; then nothing happens.
    pub fn leave(&mut self) {
        self.open.pop();
    }
}

/// The wanted elements of the row, until there are enough, each with its path and its ordinal among elements with that
/// path.
pub fn elements_in(
    tokens: &Tokens<'_>,
    row: Span,
    paths: &mut PathInterner,
    path: impl Fn(&OpenPath) -> PathId,
    wanted: impl Fn(NodeId) -> bool,
    mut enough: impl FnMut(&[(PathId, u32, NodeId)]) -> bool,
) -> Vec<(PathId, u32, NodeId)> {
    let mut way = OpenPath::new(tokens, row);
    let mut nths: HashMap<PathId, u32> = HashMap::new();
    let mut elements = Vec::new();
    for token in tokens.slice(row) {
        match token.kind {
            TokenKind::Open => {
                way.enter(tokens.tree, token.node, paths);
                let path = path(&way);
                let nth = nths.entry(path).or_default();
                if wanted(token.node) {
                    elements.push((path, *nth, token.node));
                    if enough(&elements) {
                        break;
                    }
                }
                *nth += 1;
            }
            TokenKind::Close => way.leave(),
            TokenKind::Text | TokenKind::Line => {}
        }
    }
    elements
}

/// End of the text run that starts at a text token. A run continues through inline formatting only if plain text is
/// beside it: `a <b>b</b> c` is one run, `<b>a</b> <b>b</b>` are two.
fn run_end(tokens: &Tokens<'_>, start: u32, limit: u32) -> u32 {
    let tree = tokens.tree;
    let mut stop = start + 1;
    let mut depth = 0_i32;
    let mut i = start + 1;
    // Depth of the last text of the run, relative to the start.
    let mut last_depth = 0_i32;
    while i < limit {
        let token = &tokens.list[i as usize];
        match token.kind {
            TokenKind::Open if is_inline(tree.tag(token.node)) => depth += 1,
            TokenKind::Close if is_inline(tree.tag(token.node)) => depth -= 1,
            TokenKind::Text => {
                let lowest =
                    tokens.list[stop as usize..i as usize].iter().fold((last_depth, last_depth), |(at, low), it| {
                        let at = if it.kind == TokenKind::Open { at + 1 } else { at - 1 };
                        (at, low.min(at))
                    });
                if lowest.1 < last_depth && lowest.1 < depth {
                    return stop;
                }
                stop = i + 1;
                last_depth = depth;
            }
            TokenKind::Open | TokenKind::Close | TokenKind::Line => return balanced(tokens, start, stop, limit),
        }
        i += 1;
    }
    balanced(tokens, start, stop, limit)
}

/// Extends a run that ends inside inline formatting by the end tags.
fn balanced(tokens: &Tokens<'_>, start: u32, mut stop: u32, limit: u32) -> u32 {
    let mut depth = 0_i32;
    for token in &tokens.list[start as usize..stop as usize] {
        match token.kind {
            TokenKind::Open => depth += 1,
            TokenKind::Close => depth -= 1,
            TokenKind::Text | TokenKind::Line => {}
        }
    }
    while depth > 0 && stop < limit && tokens.list[stop as usize].kind == TokenKind::Close {
        depth -= 1;
        stop += 1;
    }
    stop
}

fn attributes(tree: &Tree, node: NodeId, way: (PathId, PathId), leaves: &mut Vec<Leaf>) {
    let Some(element) = tree.element(node) else { return };
    let mut values = [None; ATTRIBUTES.len()];
    let mut any = false;
    for (name, value) in element.attributes() {
        if let Some(place) = ATTRIBUTES.iter().position(|(_, it)| *it == &**name) {
            values[place].get_or_insert(value);
            any = true;
        }
    }
    if !any {
        return;
    }
    for ((kind, _), value) in ATTRIBUTES.into_iter().zip(values) {
        let Some(value) = value else { continue };
        let value = value.trim();
        // An inlined image says nothing about the record.
        if value.is_empty() || value.starts_with("data:") && kind != LeafKind::Value {
            continue;
        }
        leaves.push(Leaf::new(kind, way, value.to_owned(), node));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(html: &str, expected: &str) {
        let tree = Tree::parse(html);
        let tokens = Tokens::new(&tree);
        let body = tree.elements("body").next().expect("the parser makes a body");
        let mut paths = PathInterner::default();
        let found: Vec<String> = leaves(&tokens, tokens.span(body), &mut paths)
            .iter()
            .map(|leaf| format!("{}{} {:?}", paths.path_text(leaf.class_path), leaf.kind.attribute(), leaf.value))
            .collect();
        assert_eq!(found.join(" | "), expected);
    }

    #[test]
    fn bold_words_do_not_break_a_text() {
        check("<p>a <b>b</b> c<i>d</i></p>", r#"body/p "a b cd""#);
        check("<p><b>Name:</b> Ann</p>", r#"body/p/b "Name: Ann""#);
        check("<p><b>x</b> <b>y</b></p>", r#"body/p/b "x" | body/p/b "y""#);
        check("<p>a<br>b</p>", r#"body/p "a" | body/p "b""#);
        check("<p>a <b>b<a href=u>c</a></b></p>", r#"body/p "a b" | body/p/b/ahref "u" | body/p/b/a "c""#);
    }

    #[test]
    fn links_and_pictures_are_leaves() {
        check("<a class='x y2' href='/1'><img src=a.png alt=''></a>", r#"body/a.xhref "/1" | body/a.x/imgsrc "a.png""#);
    }
}
