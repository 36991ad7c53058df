//! Builds the tree with html5ever, behind caps on depth, nodes and attributes.

mod names;
mod sink;

use std::borrow::Cow;
use std::cell::Cell;
use std::marker::PhantomData;

use html5ever::interface::Tracer;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{Tag, TagKind, Token, TokenSink, TokenSinkResult};
use html5ever::tree_builder::{TreeBuilder, TreeBuilderOpts};
use html5ever::{Attribute, LocalName, QualName, local_name, ns};
use memchr::memchr2;
use names::Names;
use sink::{Handle, MOST_STANDING, Sink, standing_for};

use super::scan::scan;
use super::tree::{Cut, MAX_DEPTH, Tree, max_nodes};

pub(super) fn parse(html: &str) -> Tree {
    let names = Names::default();
    let guard = Guard::new(&names, html.len());
    let complete = if memchr2(b'\r', b'\0', html.as_bytes()).is_some() {
        // Browsers leave a NUL out of a text; of attributes we do the same.
        scan(&html.replace("\r\n", "\n").replace('\r', "\n").replace('\0', ""), &guard)
    } else {
        scan(html, &guard)
    };
    if !complete {
        guard.cut.set(guard.cut.get().or(Some(Cut::TooManyAttributes)));
    }
    guard.tree()
}

/// Stands between tokenizer and tree builder and drops what would make them quadratic.
pub(super) struct Guard<'n> {
    inner: TreeBuilder<Handle<'n>, Sink<'n>>,
    /// Start tags dropped for depth whose end tags are still to come.
    skipped: Cell<u32>,
    /// Nothing has reached the builder since it was found too deep.
    still_deep: Cell<bool>,
    max_nodes: usize,
    cut: Cell<Option<Cut>>,
}

impl<'n> TokenSink for Guard<'n> {
    type Handle = Handle<'n>;

    fn process_token(&self, token: Token, line_number: u64) -> TokenSinkResult<Handle<'n>> {
        match &token {
            Token::EOFToken => {}
            _ if self.inner.sink.len() >= self.max_nodes => {
                self.cut.set(Some(Cut::TooManyNodes(self.max_nodes)));
                return TokenSinkResult::Continue;
            }
            Token::TagToken(tag) if self.too_deep(tag) => {
                self.cut.set(self.cut.get().or(Some(Cut::TooDeep(MAX_DEPTH))));
                return TokenSinkResult::Continue;
            }
            _ => {}
        }
        self.still_deep.set(false);
        self.inner.process_token(token, line_number)
    }

    fn end(&self) {
        self.inner.end();
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.inner.adjusted_current_node_present_but_not_in_html_namespace()
    }
}

impl<'n> Guard<'n> {
    fn new(names: &'n Names, page_bytes: usize) -> Guard<'n> {
        let options = TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() };
        Guard {
            inner: TreeBuilder::new(Sink::new(names, page_bytes), options),
            skipped: Cell::new(0),
            still_deep: Cell::new(false),
            max_nodes: max_nodes(page_bytes),
            cut: Cell::new(None),
        }
    }

    fn tree(self) -> Tree {
        let cut = self.cut.get().or(self.inner.sink.cut.get());
        let mut tree = self.inner.sink.tree();
        tree.cut = cut;
        tree
    }

    /// A tag and its attributes, of which the builder is told no more than it asks for: each costs it memory, most tags
    /// twice.
    pub fn process_tag(&self, mut tag: Tag, attributes: &[(LocalName, Cow<'_, str>)]) -> TokenSinkResult<Handle<'n>> {
        let sink = &self.inner.sink;
        if attributes.is_empty() {
            sink.expect(None);
        } else if reads_attributes(&tag.name) || self.adjusted_current_node_present_but_not_in_html_namespace() {
            sink.expect(None);
            tag.attrs = attributes.iter().map(|(name, value)| told(name, value)).collect();
        } else {
            let places = sink.keep(attributes.iter().map(|(name, value)| (name.clone(), &**value)));
            if tag.name != local_name!("a") {
                sink.expect(Some((tag.name.clone(), places)));
            } else if places.to < MOST_STANDING {
                // A link may be opened again: its attributes go with it. Never are two of them told apart by these, for
                // in one place there is only one open link.
                sink.expect(None);
                tag.attrs = vec![standing_for(places)];
            } else {
                tag.attrs = attributes.iter().map(|(name, value)| told(name, value)).collect();
            }
        }
        self.process_token(Token::TagToken(tag), 0)
    }

    /// Exact, but a walk: only asked where the last append was deep.
    fn open_elements(&self) -> u32 {
        let count = Count::default();
        self.inner.trace_handles(&count);
        count.0.get()
    }

    fn too_deep(&self, tag: &Tag) -> bool {
        let skipped = self.skipped.get();
        match tag.kind {
            TagKind::EndTag if skipped > 0 => {
                self.skipped.set(skipped - 1);
                true
            }
            TagKind::EndTag => false,
            // Raw text elements must reach the builder: it is what tells the tokenizer how to read on.
            TagKind::StartTag
                if matches!(&*tag.name, "script" | "style" | "textarea" | "title" | "xmp" | "plaintext") =>
            {
                false
            }
            TagKind::StartTag
                if !self.still_deep.get()
                    && (self.inner.sink.depth.get() < MAX_DEPTH || self.open_elements() < MAX_DEPTH) =>
            {
                false
            }
            TagKind::StartTag => {
                self.still_deep.set(true);
                if !tag.self_closing && !is_void(&tag.name) {
                    self.skipped.set(skipped + 1);
                }
                true
            }
        }
    }
}

/// Tags that the builder treats by their attributes, gives to an element that is there already, opens again, compares with
/// others, or renames.
fn reads_attributes(tag: &LocalName) -> bool {
    matches!(
        *tag,
        local_name!("b")
            | local_name!("big")
            | local_name!("body")
            | local_name!("code")
            | local_name!("em")
            | local_name!("font")
            | local_name!("frameset")
            | local_name!("head")
            | local_name!("html")
            | local_name!("i")
            | local_name!("image")
            | local_name!("input")
            | local_name!("math")
            | local_name!("nobr")
            | local_name!("s")
            | local_name!("small")
            | local_name!("strike")
            | local_name!("strong")
            | local_name!("svg")
            | local_name!("template")
            | local_name!("tt")
            | local_name!("u")
    )
}

fn told(name: &LocalName, value: &str) -> Attribute {
    Attribute { name: QualName::new(None, ns!(), name.clone()), value: StrTendril::from_slice(value) }
}

/// Counts what the builder holds on to: the open elements, and the formatting elements it would open again.
#[derive(Default)]
struct Count<'n>(Cell<u32>, PhantomData<Handle<'n>>);

impl<'n> Tracer for Count<'n> {
    type Handle = Handle<'n>;

    fn trace_handle(&self, _node: &Handle<'n>) {
        self.0.set(self.0.get() + 1);
    }
}

fn is_void(tag: &str) -> bool {
    const VOID: [&str; 13] =
        ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"];
    VOID.contains(&tag)
}

#[cfg(test)]
mod tests;
