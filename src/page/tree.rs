//! The DOM tree of a page, as an HTML5 browser would build it.
//!
//! Nodes are numbered in document order, so the descendants of a node are the ids after it, up to [`Tree::end`].
//! Containment and order are therefore comparisons of two numbers.

use std::borrow::Cow;

use html5ever::{LocalName, local_name};

use super::nodes::{Attribute, ContentArena, Node, NodeKind};
use super::parse_limit::{MIN_NODE_LIMIT, ParseLimit};
use super::text::{CollapsedText, collapsed, is_blank};

/// The interned name of a tag or attribute: comparison is as cheap as for numbers.
pub type Name = LocalName;

/// Tag of a whole JSON document.
pub(super) const JSON_ROOT_TAG: &str = "json";

/// A node's place in document order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct NodeId(pub u32);

impl NodeId {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A parsed page. Never empty: node 0 is the document. Comments and processing instructions are not kept.
#[derive(Clone)]
pub struct Tree {
    pub(super) nodes: Vec<Node>,
    pub(super) contents: ContentArena,
    /// The limit that the page reached while it was parsed; content beyond it is missing or flattened.
    pub limit: Option<ParseLimit>,
    pub ending: PageEnding,
}

/// Where the text of a page ends, as far as it tells that the rest is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageEnding {
    /// Inside a tag. None of 930 real pages ends so.
    pub inside_tag: bool,
    /// A list, a table or another block is open. Pages may leave their end to the parser, and some do.
    pub open_block: bool,
}

/// Kind and content of a node.
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
    pub fn root(&self) -> NodeId {
        NodeId(0)
    }

    /// True if the page was JSON.
    pub fn is_json(&self) -> bool {
        self.len() > 1 && self.tag(NodeId(1)) == JSON_ROOT_TAG
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// True when there is only the document node.
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

    /// The tag, in lower case unless it is a JSON key; `""` for a node that is not an element.
    pub fn tag(&self, node: NodeId) -> &str {
        self.name(node).map_or("", |name| name)
    }

    /// The unchanged text of a text node.
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

    /// The unchanged class attribute.
    #[inline]
    pub fn class(&self, node: NodeId) -> Option<&str> {
        self.element(node)?.attributes().find(|(key, _)| **key == local_name!("class")).map(|(_, value)| value)
    }

    #[inline]
    pub fn parent(&self, node: NodeId) -> Option<NodeId> {
        (node.0 != 0).then(|| NodeId(self.nodes[node.index()].parent))
    }

    /// Ancestors, from the parent up to the document.
    pub fn ancestors(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
        std::iter::successors(self.parent(node), |&it| self.parent(it))
    }

    /// One past the last descendant: `node.0..end.0` is the node with everything in it.
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

    pub(super) fn sibling_before(&self, node: NodeId) -> Option<NodeId> {
        let before = self.nodes[node.index()].before;
        (before != node.0).then_some(NodeId(before))
    }

    pub fn sibling_after(&self, node: NodeId) -> Option<NodeId> {
        let next = self.end(node);
        (next < self.end(self.parent(node)?)).then_some(next)
    }

    /// All text inside the node, white space collapsed; without scripts and styles.
    pub fn text(&self, node: NodeId) -> String {
        let room = self.visible_texts(node).map(|part| part.len() + 1).sum();
        let mut text = CollapsedText::after(String::with_capacity(room));
        for part in self.visible_texts(node) {
            text.push(part);
            text.separate();
        }
        text.text
    }

    /// As [`Tree::text`], without a copy where a single text node has all of it.
    pub(super) fn collapsed_text(&self, node: NodeId) -> Cow<'_, str> {
        let mut texts = self.visible_texts(node).filter(|text| !text.chars().all(is_blank));
        match (texts.next(), texts.next()) {
            (None, _) => Cow::Borrowed(""),
            (Some(only), None) => collapsed(only),
            (Some(_), Some(_)) => Cow::Owned(self.text(node)),
        }
    }

    /// The unchanged visible texts below a node.
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

    /// Joins parts of several pages into one tree, side by side, so that pages can be learned from like the rows of a
    /// list. Takes the first part, and more of them up to [`MIN_NODE_LIMIT`] nodes in total; the template learned from
    /// them also reads the others.
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
        Tree { nodes, contents, limit: None, ending: PageEnding::default() }
    }

    /// The elements with this tag, in document order.
    pub fn elements(&self, tag: &str) -> impl Iterator<Item = NodeId> + use<'_> {
        let name = Name::from(tag);
        self.subtree(self.root()).filter(move |&node| self.name(node) == Some(&name))
    }
}

#[cfg(test)]
impl Tree {
    /// Checks that every node is inside its parent, among its children and between its siblings.
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
