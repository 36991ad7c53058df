//! The tree of a page, as an HTML5 browser would build it.
//!
//! Nodes stand in document order, so a node's descendants are the ids right behind it, up to [`Tree::end`]. That makes
//! “is it inside”, “what comes next” and “which stretch of the page is this” questions about two numbers.

use std::borrow::Cow;

use html5ever::{LocalName, local_name};

use super::tokens::collapsed;
use super::{build, json};

/// The name of a tag or an attribute: as cheap to compare as a number.
pub type Name = LocalName;

/// A node's place in document order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct NodeId(pub u32);

impl NodeId {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A parsed page. Never empty: node 0 is the document itself. No comments, no processing instructions.
#[derive(Clone)]
pub struct Tree {
    pub(super) nodes: Vec<Node>,
    pub(super) contents: ContentArena,
    /// The cap that the page reached while it was parsed; what stood beyond it is missing or flattened.
    pub limit: Option<ParseLimit>,
}

/// A cap of the parser: html5ever is quadratic on hostile nesting (docs/design/safety.md 1.7). Rows of a
/// page that reached one may be missing or wrong: a run that meets such a page fails as `limit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseLimit {
    /// More open elements than this: deeper ones were flattened.
    TooDeep(u32),
    /// More nodes than this: the rest of the page was left out.
    TooManyNodes(usize),
    /// More than [`MAX_ATTRIBUTES`] attributes on one tag: the rest of them were left out.
    TooManyAttributes,
}

impl ParseLimit {
    /// What was reached, how large the page is, and what to do.
    pub fn sentence(self, page: &str, bytes: usize) -> String {
        let size = match bytes as f64 {
            few if few < 1e6 => format!("{:.0} kB", (few / 1e3).ceil()),
            many => format!("{:.1} MB", many / 1e6),
        };
        let (reached, remedy) = match self {
            ParseLimit::TooManyNodes(most) => (
                format!("has more than {} elements and texts, the most that is read of one page", grouped(most)),
                "ask the site for smaller pages: a filter or a page size in the address, `paginate` in robot.toml",
            ),
            ParseLimit::TooDeep(most) => (
                format!("nests more than {most} elements in each other, so its rows would be read wrong"),
                "take another page of the site with this list, or its JSON",
            ),
            ParseLimit::TooManyAttributes => (
                format!("has a tag with more than {MAX_ATTRIBUTES} attributes, so its rows would be read wrong"),
                "take another page of the site with this list, or its JSON",
            ),
        };
        format!("{page} ({size}) {reached}; {remedy}")
    }
}

/// A number as people write it: 5,000,000.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let parts = digits.as_bytes().rchunks(3).rev().map(|part| String::from_utf8_lossy(part).into_owned());
    parts.collect::<Vec<_>>().join(",")
}

/// As in Blink and WebKit.
pub const MAX_DEPTH: u32 = 512;
/// Nodes of a page at most. The largest page of the corpus (2.3 MB) has some 60,000; a table of 20,000 rows with 15 columns
/// has 640,000.
pub const MAX_NODES: usize = 5_000_000;
/// So many are read however few bytes a page has. Beyond it a page has no more than half as many nodes as bytes, unless it
/// makes the parser multiply them: 61 kB of misnested `<b><i>` came to 9 million. `<br>x` is a node in 2.5 bytes.
pub const MIN_NODE_LIMIT: usize = 500_000;

/// Nodes that a page of so many bytes may have.
pub fn max_nodes(bytes: usize) -> usize {
    (bytes / 2).clamp(MIN_NODE_LIMIT, MAX_NODES)
}

/// The richest tag of the corpus has 20.
pub const MAX_ATTRIBUTES: usize = 256;

#[derive(Clone)]
pub(super) struct Node {
    pub parent: u32,
    /// The sibling before this one, or this node itself when there is none.
    pub before: u32,
    /// One past the last descendant.
    pub end: u32,
    pub kind: NodeKind,
}

#[derive(Clone)]
pub(super) enum NodeKind {
    Document,
    /// Name, and where its attributes stand.
    Element(LocalName, ContentRange),
    /// Where it stands.
    Text(ContentRange),
}

/// What a node is, with what it says.
#[derive(Clone, Copy)]
pub enum NodeContent<'t> {
    Document,
    Element(Element<'t>),
    Text(&'t str),
}

#[derive(Clone, Copy)]
pub struct Element<'t> {
    pub name: &'t LocalName,
    attributes: &'t [Attribute],
    contents: &'t ContentArena,
}

impl<'t> Element<'t> {
    pub fn attributes(self) -> impl ExactSizeIterator<Item = (&'t LocalName, &'t str)> {
        self.attributes.iter().map(move |it| (&it.name, self.contents.text(it.value)))
    }
}

impl Tree {
    /// Reads HTML, or JSON where the text is that from end to end. Plain text is a listing: without a single tag its lines
    /// are all the structure there is.
    pub fn parse(html: &str) -> Tree {
        if let Some(tree) = json::parse(html) {
            return tree;
        }
        if html.contains('<') || html.trim().is_empty() {
            build::parse(html)
        } else {
            build::parse(&format!("<pre>\n{html}</pre>"))
        }
    }

    pub fn root(&self) -> NodeId {
        NodeId(0)
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// True when there is nothing but the document node.
    pub fn is_empty(&self) -> bool {
        self.nodes.len() == 1
    }

    #[inline]
    pub fn kind(&self, node: NodeId) -> NodeContent<'_> {
        match &self.nodes[node.index()].kind {
            NodeKind::Document => NodeContent::Document,
            NodeKind::Element(name, attributes) => {
                let contents = &self.contents;
                NodeContent::Element(Element { name, attributes: contents.list(*attributes), contents })
            }
            NodeKind::Text(text) => NodeContent::Text(self.contents.text(*text)),
        }
    }

    pub fn element(&self, node: NodeId) -> Option<Element<'_>> {
        match self.kind(node) {
            NodeContent::Element(element) => Some(element),
            NodeContent::Document | NodeContent::Text(_) => None,
        }
    }

    /// The name of an element.
    #[inline]
    pub fn name(&self, node: NodeId) -> Option<&LocalName> {
        match &self.nodes[node.index()].kind {
            NodeKind::Element(name, _) => Some(name),
            NodeKind::Document | NodeKind::Text(_) => None,
        }
    }

    /// The tag, in lower case unless it is a key of JSON, or `""` for a node that is not an element.
    pub fn tag(&self, node: NodeId) -> &str {
        self.name(node).map_or("", |name| name)
    }

    /// The text of a text node itself, as it stands.
    pub fn own_text(&self, node: NodeId) -> Option<&str> {
        match self.kind(node) {
            NodeContent::Text(text) => Some(text),
            NodeContent::Document | NodeContent::Element(_) => None,
        }
    }

    #[inline]
    pub fn attribute(&self, node: NodeId, name: &str) -> Option<&str> {
        self.element(node)?.attributes().find(|(key, _)| &***key == name).map(|(_, value)| value)
    }

    pub fn classes(&self, node: NodeId) -> impl Iterator<Item = &str> {
        self.class(node).unwrap_or("").split_ascii_whitespace()
    }

    /// The class attribute as it stands.
    #[inline]
    pub fn class(&self, node: NodeId) -> Option<&str> {
        self.element(node)?.attributes().find(|(key, _)| **key == local_name!("class")).map(|(_, value)| value)
    }

    #[inline]
    pub fn parent(&self, node: NodeId) -> Option<NodeId> {
        (node.0 != 0).then(|| NodeId(self.nodes[node.index()].parent))
    }

    /// From the parent up to the document.
    pub fn ancestors(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
        std::iter::successors(self.parent(node), |&it| self.parent(it))
    }

    /// One past the last descendant: `node.0..end.0` is the node with all that stands in it.
    pub fn end(&self, node: NodeId) -> NodeId {
        NodeId(self.nodes[node.index()].end)
    }

    pub fn contains(&self, outer: NodeId, inner: NodeId) -> bool {
        outer <= inner && inner < self.end(outer)
    }

    /// The node and everything in it, in document order.
    pub fn subtree(&self, node: NodeId) -> impl DoubleEndedIterator<Item = NodeId> + use<> {
        (node.0..self.end(node).0).map(NodeId)
    }

    pub fn children(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
        let end = self.end(node);
        let first = NodeId(node.0 + 1);
        std::iter::successors((first < end).then_some(first), move |&child| {
            let next = self.end(child);
            (next < end).then_some(next)
        })
    }

    pub fn sibling_before(&self, node: NodeId) -> Option<NodeId> {
        let before = self.nodes[node.index()].before;
        (before != node.0).then_some(NodeId(before))
    }

    pub fn sibling_after(&self, node: NodeId) -> Option<NodeId> {
        let next = self.end(node);
        (next < self.end(self.parent(node)?)).then_some(next)
    }

    /// All text inside the node, white space collapsed; scripts and styles are not text.
    pub fn text(&self, node: NodeId) -> String {
        let room = self.visible_texts(node).map(|part| part.len() + 1).sum();
        let mut text = CollapsedText::after(String::with_capacity(room));
        for part in self.visible_texts(node) {
            text.push(part);
            text.separate();
        }
        text.text
    }

    /// As [`Tree::text`], without a copy where one text node has all of it.
    pub fn collapsed_text(&self, node: NodeId) -> Cow<'_, str> {
        let mut texts = self.visible_texts(node).filter(|text| !text.chars().all(is_blank));
        match (texts.next(), texts.next()) {
            (None, _) => Cow::Borrowed(""),
            (Some(only), None) => collapsed(only),
            (Some(_), Some(_)) => Cow::Owned(self.text(node)),
        }
    }

    /// The texts under a node that a person sees, as they stand there.
    pub fn visible_texts(&self, node: NodeId) -> impl Iterator<Item = &str> {
        let (mut at, end) = (node, self.end(node));
        std::iter::from_fn(move || {
            while at < end {
                let here = at;
                at = NodeId(here.0 + 1);
                match self.kind(here) {
                    NodeContent::Element(element)
                        if matches!(&**element.name, "script" | "style" | "template" | "noscript") =>
                    {
                        at = self.end(here);
                    }
                    NodeContent::Text(part) => return Some(part),
                    NodeContent::Element(_) | NodeContent::Document => {}
                }
            }
            None
        })
    }

    /// Parts of several pages as one page, side by side: what is learned from the rows of a list can be learned from pages too.
    /// As many as are within [`ALWAYS_READ`] nodes, and the first; what is learned from them reads the others.
    pub fn side_by_side<'a>(parts: impl IntoIterator<Item = (&'a Tree, NodeId)>) -> Tree {
        let mut nodes = vec![Node { parent: 0, before: 0, end: 1, kind: NodeKind::Document }];
        let mut contents = ContentArena::default();
        let mut before = None;
        for (tree, part) in parts {
            let start = nodes.len() as u32;
            if before.is_some() && nodes.len() + (tree.end(part).0 - part.0) as usize > MIN_NODE_LIMIT {
                break;
            }
            for node in &tree.nodes[part.index()..tree.end(part).index()] {
                let moved = |place: u32| place - part.0 + start;
                let (parent, before) = if nodes.len() as u32 == start {
                    (0, before.unwrap_or(start))
                } else {
                    (moved(node.parent), moved(node.before))
                };
                let kind = contents.copied(&node.kind, &tree.contents);
                nodes.push(Node { parent, before, end: moved(node.end), kind });
            }
            before = Some(start);
        }
        nodes[0].end = nodes.len() as u32;
        Tree { nodes, contents, limit: None }
    }

    /// The elements with this tag, in document order.
    pub fn elements(&self, tag: &str) -> impl Iterator<Item = NodeId> + use<'_> {
        let name = Name::from(tag);
        self.subtree(self.root()).filter(move |&node| self.name(node) == Some(&name))
    }
}

#[cfg(test)]
impl Tree {
    /// Every node stands inside its parent, among its children, between its neighbours.
    pub(super) fn check(&self) {
        for node in self.subtree(self.root()).skip(1) {
            let parent = self.parent(node).expect("every node but the first has a parent");
            assert!(self.contains(parent, node) && self.end(node) <= self.end(parent));
            assert!(self.children(parent).any(|child| child == node));
            if let Some(before) = self.sibling_before(node) {
                assert_eq!(self.sibling_after(before), Some(node));
            }
        }
    }
}

/// A stretch of [`Contents`].
#[derive(Clone, Copy, Debug)]
pub(super) struct ContentRange {
    pub from: u32,
    pub to: u32,
}

impl ContentRange {
    pub const NONE: ContentRange = ContentRange { from: 0, to: 0 };
}

#[derive(Clone)]
pub(super) struct Attribute {
    pub name: LocalName,
    value: ContentRange,
}

/// All texts, values and attributes of a page, one behind the other: none needs memory of its own.
#[derive(Clone, Default)]
pub(super) struct ContentArena {
    text: String,
    attributes: Vec<Attribute>,
}

/// Four pages of the corpus in five have an attribute in 40 to 130 bytes, half of them in 63 or less.
const BYTES_PER_ATTRIBUTE: usize = 64;

impl ContentArena {
    pub fn with_capacity(page_bytes: usize) -> ContentArena {
        let attributes = Vec::with_capacity(page_bytes / BYTES_PER_ATTRIBUTE);
        ContentArena { text: String::with_capacity(page_bytes), attributes }
    }

    fn text(&self, places: ContentRange) -> &str {
        &self.text[places.from as usize..places.to as usize]
    }

    pub fn list(&self, places: ContentRange) -> &[Attribute] {
        &self.attributes[places.from as usize..places.to as usize]
    }

    pub fn add_text(&mut self, text: &str) -> ContentRange {
        let from = self.text.len() as u32;
        self.text.push_str(text);
        ContentRange { from, to: self.text.len() as u32 }
    }

    pub fn add_attributes<'a>(&mut self, attributes: impl Iterator<Item = (LocalName, &'a str)>) -> ContentRange {
        self.extended(ContentRange::NONE, attributes)
    }

    /// The attributes that stand there, and these.
    pub fn extended<'a>(
        &mut self,
        there: ContentRange,
        attributes: impl Iterator<Item = (LocalName, &'a str)>,
    ) -> ContentRange {
        let from = self.attributes.len() as u32;
        for place in there.from..there.to {
            let Attribute { name, value } = &self.attributes[place as usize];
            let copy = Attribute { name: name.clone(), value: *value };
            self.attributes.push(copy);
        }
        for (name, value) in attributes {
            let value = self.add_text(value);
            self.attributes.push(Attribute { name, value });
        }
        ContentRange { from, to: self.attributes.len() as u32 }
    }

    fn copied(&mut self, kind: &NodeKind, from: &ContentArena) -> NodeKind {
        match kind {
            NodeKind::Document => NodeKind::Document,
            NodeKind::Text(text) => NodeKind::Text(self.add_text(from.text(*text))),
            NodeKind::Element(name, places) => {
                let attributes = from.list(*places).iter().map(|it| (it.name.clone(), from.text(it.value)));
                NodeKind::Element(name.clone(), self.add_attributes(attributes))
            }
        }
    }
}

/// White space runs become one blank; none at the ends. Non-breaking and zero-width blanks count as white space.
pub fn collapse(text: &str) -> String {
    let mut out = CollapsedText::after(String::with_capacity(text.len()));
    out.push(text);
    out.text
}

/// Text put together piece by piece, collapsed as it grows: a word may begin in one piece and end in the next.
#[derive(Default)]
pub struct CollapsedText {
    pub text: String,
    /// Where this text begins in `text`.
    from: usize,
    needs_blank: bool,
}

impl CollapsedText {
    /// A new text behind another, without a blank between them.
    pub fn after(text: String) -> CollapsedText {
        let from = text.len();
        CollapsedText { text, from, needs_blank: false }
    }

    /// A piece that is collapsed already; `before` and `behind` say where it had blanks.
    pub fn push_collapsed(&mut self, piece: &str, before: bool, behind: bool) {
        self.needs_blank |= before;
        if !piece.is_empty() {
            self.push_word(piece);
        }
        self.needs_blank |= behind;
    }

    pub fn push(&mut self, piece: &str) {
        let mut word: Option<usize> = None;
        for (at, c) in piece.char_indices() {
            if !is_blank(c) {
                word = word.or(Some(at));
            } else {
                if let Some(start) = word.take() {
                    self.push_word(&piece[start..at]);
                }
                self.needs_blank = true;
            }
        }
        if let Some(start) = word {
            self.push_word(&piece[start..]);
        }
    }

    /// What comes next is another word.
    pub fn separate(&mut self) {
        self.needs_blank = true;
    }

    fn push_word(&mut self, word: &str) {
        if self.needs_blank && self.text.len() > self.from {
            self.text.push(' ');
        }
        self.needs_blank = false;
        self.text.push_str(word);
    }
}

pub fn is_blank(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{200b}' | '\u{200c}' | '\u{200d}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_the_text_with_and_without_a_copy() {
        for html in
            ["", " \n", "a", " a  b ", "<b>a</b> <i></i>", "<b>a</b>b", "a<script>x</script>", "\u{200b}<p>a\u{a0}b"]
        {
            let tree = Tree::parse(&format!("<div>{html}</div>"));
            assert_eq!(tree.collapsed_text(tree.root()), tree.text(tree.root()), "{html:?}");
        }
    }

    #[test]
    fn parts_of_pages_stand_side_by_side_as_they_were() {
        let pages =
            [Tree::parse("<p>x<div id=a>one <b>two</b></div>"), Tree::parse("<main><div id=b>three</div></main>")];
        let part = |tree: &Tree| tree.elements("div").next().expect("each page has one");
        let both = Tree::side_by_side(pages.iter().map(|page| (page, part(page))));
        let parts: Vec<NodeId> = both.children(both.root()).collect();
        let texts: Vec<String> = parts.iter().map(|&node| both.text(node)).collect();
        assert_eq!(texts, ["one two", "three"]);
        assert_eq!(both.attribute(parts[1], "id"), Some("b"));
        assert_eq!((both.sibling_after(parts[0]), both.sibling_before(parts[1])), (Some(parts[1]), Some(parts[0])));
        assert_eq!((both.sibling_before(parts[0]), both.parent(parts[1])), (None, Some(both.root())));
        assert_eq!(both.elements("b").map(|b| both.parent(b)).collect::<Vec<_>>(), [Some(parts[0])]);
    }
}
