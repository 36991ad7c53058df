//! A page as a person may look at it: the same tree as HTML that can do nothing.
//!
//! What is written is a list of what is allowed: these tags, these attributes, texts that are escaped. No script, no handler, no
//! address, no form, no frame, nothing that would be fetched; pictures and fields are boxes with their words in them. Every
//! element carries its node's number in `data-n`, and in a listing every line, so that a click can be told and a row outlined.
//!
//! Whoever serves it does not rely on this alone (`docs/safety.md`): it goes into a sandbox of its own.

mod names;
mod style;

use names::{ALLOWED_ATTRIBUTES, Rendering, rendering_of};

use super::tree::{Element, NodeContent, collapse};
use super::{NodeId, Tree};

/// A page above this is cut: it must go in one message, and nobody scrolls so far.
const MAX_HTML: usize = 8 << 20;
/// Sheets of the page's own, all together: the largest of the corpus has 370 kB.
const MAX_STYLE: usize = 1 << 20;
/// Of an alternative text or a field's value.
const MAX_LABEL: usize = 120;
/// What stands in a box that says nothing of itself.
const EMPTY_BOX: &str = "▢";

/// The page's own sheets in one `<style>`, and its body.
pub fn html(tree: &Tree) -> String {
    let mut writer = HtmlSanitiser { tree, out: String::new(), open: Vec::new(), in_listing: 0 };
    writer.sheets();
    if tree.children(tree.root()).any(|node| tree.tag(node) == "json") {
        writer.keys();
    } else {
        writer.elements();
    }
    writer.out
}

struct HtmlSanitiser<'t> {
    tree: &'t Tree,
    out: String,
    /// Elements that are still to be closed, the innermost last: their nodes, and the tags they were written with.
    open: Vec<(NodeId, &'static str)>,
    /// How many of them are listings.
    in_listing: usize,
}

impl<'t> HtmlSanitiser<'t> {
    fn sheets(&mut self) {
        self.out.push_str("<style>");
        for sheet in self.tree.elements("style") {
            for text in self.tree.subtree(sheet).filter_map(|node| self.tree.own_text(node)) {
                if self.out.len() + text.len() <= MAX_STYLE {
                    self.out.push_str(&style::without_fetches(text));
                    self.out.push('\n');
                }
            }
        }
        self.out.push_str("</style>");
    }

    fn elements(&mut self) {
        let (mut at, end) = (NodeId(1), self.tree.end(self.tree.root()));
        while at < end && self.out.len() < MAX_HTML {
            self.close_before(at);
            at = match self.tree.kind(at) {
                NodeContent::Text(text) => {
                    self.text(at, text);
                    self.next(at)
                }
                NodeContent::Element(element) => self.element(at, element),
                NodeContent::Document => self.next(at),
            };
        }
        self.close_before(end);
    }

    /// Writes an element's beginning, or all of it; says which node is next.
    fn element(&mut self, node: NodeId, element: Element<'t>) -> NodeId {
        match rendering_of(element.name) {
            Rendering::Omit => self.tree.end(node),
            Rendering::ChildrenOnly => self.next(node),
            Rendering::Placeholder => {
                self.placeholder_box(node, element);
                self.tree.end(node)
            }
            Rendering::Tag(tag) => {
                self.start(node, element, tag);
                if names::is_void(tag) {
                    return self.tree.end(node);
                }
                self.in_listing += usize::from(tag == "pre");
                self.open.push((node, tag));
                self.next(node)
            }
        }
    }

    fn start(&mut self, node: NodeId, element: Element<'t>, tag: &str) {
        self.out.push_str(&format!("<{tag} data-n={}", node.0));
        for (name, value) in element.attributes() {
            if &**name == "style" {
                self.attribute("style", &style::without_fetches(value));
            } else if ALLOWED_ATTRIBUTES.contains(&&**name) {
                self.attribute(name, value);
            }
        }
        if tag == "details" {
            self.out.push_str(" open");
        }
        self.out.push('>');
    }

    /// Pictures, fields and players: what they say, in a box.
    fn placeholder_box(&mut self, node: NodeId, element: Element<'t>) {
        let value = |name: &str| element.attributes().find(|(key, _)| &***key == name).map(|(_, value)| value);
        if value("type").is_some_and(|it| it.eq_ignore_ascii_case("hidden")) {
            return;
        }
        let is_secret = value("type").is_some_and(|it| it.eq_ignore_ascii_case("password"));
        let words = ["alt", "value", "placeholder", "aria-label", "title"].into_iter().filter_map(value);
        let words = words.map(collapse).find(|it| !it.is_empty() && !is_secret).unwrap_or_default();
        let words: String = words.chars().take(MAX_LABEL).collect();
        self.out.push_str(&format!("<span class=pieme-box data-n={}>", node.0));
        self.escaped(if words.is_empty() { EMPTY_BOX } else { &words });
        self.out.push_str("</span>");
    }

    fn attribute(&mut self, name: &str, value: &str) {
        self.out.push_str(&format!(" {name}=\""));
        self.escaped(value);
        self.out.push('"');
    }

    /// In a listing each line is an element of its own: there are no others to outline.
    fn text(&mut self, node: NodeId, text: &str) {
        if self.in_listing == 0 {
            return self.escaped(text);
        }
        let mut from = 0;
        for line in text.split_inclusive('\n') {
            self.out.push_str(&format!("<span data-n={} data-o={from}>", node.0));
            self.escaped(line);
            self.out.push_str("</span>");
            from += line.len();
        }
    }

    fn escaped(&mut self, text: &str) {
        for c in text.chars() {
            match c {
                '&' => self.out.push_str("&amp;"),
                '<' => self.out.push_str("&lt;"),
                '>' => self.out.push_str("&gt;"),
                '"' => self.out.push_str("&quot;"),
                c => self.out.push(c),
            }
        }
    }

    fn close_before(&mut self, next: NodeId) {
        while let Some(&(node, tag)) = self.open.last()
            && self.tree.end(node) <= next
        {
            self.out.push_str(&format!("</{tag}>"));
            self.in_listing -= usize::from(tag == "pre");
            self.open.pop();
        }
    }

    fn next(&self, node: NodeId) -> NodeId {
        NodeId(node.0 + 1)
    }

    /// JSON: each key with what stands under it.
    fn keys(&mut self) {
        self.out.push_str("<body>");
        let (mut at, end) = (NodeId(1), self.tree.end(self.tree.root()));
        while at < end && self.out.len() < MAX_HTML {
            self.close_before(at);
            match self.tree.kind(at) {
                NodeContent::Text(text) => self.escaped(text),
                NodeContent::Element(element) => {
                    let key = self.tree.attribute(at, "key").unwrap_or(element.name);
                    self.out.push_str(&format!("<div class=pieme-key data-n={}><b>", at.0));
                    self.escaped(key);
                    self.out.push_str("</b> ");
                    self.open.push((at, "div"));
                }
                NodeContent::Document => {}
            }
            at = self.next(at);
        }
        self.close_before(end);
    }
}

#[cfg(test)]
mod tests;
