//! Sanitises a page for display: the same tree as inert HTML.
//!
//! Works by allow-list: known tags, known attributes, escaped texts. No script, event handler, address, form or frame,
//! and nothing that would be fetched. Images and form fields become boxes with their text. Every element has its node
//! number in `data-n`, and so has every line of a listing, so that clicks can be reported and rows outlined.
//!
//! This is not the only protection: the result is shown in a sandboxed frame (`docs/safety.md`).

mod names;
mod style;

use names::{Rendering, kept_value, rendering_of};

use super::text::collapse;
use super::tree::{Element, NodeContent};
use super::{NodeId, Tree};

/// Maximum size of the result; the rest is cut. It travels in one message, and nobody scrolls further.
const MAX_HTML: usize = 8 << 20;
/// Maximum size of all style sheets of the page together: the largest of the corpus has 370 kB.
const MAX_STYLE: usize = 1 << 20;
/// Maximum characters of an alternative text or a field's value.
const MAX_LABEL: usize = 120;
/// Content of a box without any text.
const EMPTY_BOX: &str = "▢";

/// Returns the page's style sheets in one `<style>`, and its body.
pub fn html(tree: &Tree) -> String {
    let is_json = tree.children(tree.root()).any(|node| tree.tag(node) == "json");
    let mut writer = HtmlSanitiser { tree, is_json, out: String::new(), open: Vec::new(), in_listing: 0 };
    writer.sheets();
    writer.nodes();
    writer.out
}

struct HtmlSanitiser<'t> {
    tree: &'t Tree,
    is_json: bool,
    out: String,
    /// Open elements, innermost last: their nodes, and the tags they were written with.
    open: Vec<(NodeId, &'t str)>,
    /// Number of open listings.
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

    fn nodes(&mut self) {
        if self.is_json {
            self.out.push_str("<body>");
        }
        let (mut at, end) = (NodeId(1), self.tree.end(self.tree.root()));
        while at < end && self.out.len() < MAX_HTML {
            self.close_before(at);
            at = match self.tree.kind(at) {
                NodeContent::Text(text) => {
                    self.text(at, text);
                    self.next(at)
                }
                NodeContent::Element(element) if self.is_json => self.key(at, element),
                NodeContent::Element(element) => self.element(at, element),
                NodeContent::Document => self.next(at),
            };
        }
        self.close_before(end);
    }

    /// Writes the start tag of an element, or all of it; returns the next node.
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
            if let Some(value) = kept_value(name, value) {
                self.attribute(name, &value);
            }
        }
        if tag == "details" {
            self.out.push_str(" open");
        }
        self.out.push('>');
    }

    /// Writes an image, field or player as a box with its text.
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

    /// In a listing each line is an element of its own, because there are no others to outline.
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

    /// Writes a key of JSON; its value follows.
    fn key(&mut self, node: NodeId, element: Element<'t>) -> NodeId {
        self.out.push_str(&format!("<div class=pieme-key data-n={}><b>", node.0));
        self.escaped(self.tree.attribute(node, "key").unwrap_or(element.name));
        self.out.push_str("</b> ");
        self.open.push((node, "div"));
        self.next(node)
    }
}

#[cfg(test)]
mod tests;
