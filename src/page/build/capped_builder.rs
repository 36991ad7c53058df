//! html5ever's tree builder behind the limits on depth and nodes.

use std::borrow::Cow;
use std::cell::Cell;
use std::marker::PhantomData;

use html5ever::interface::Tracer;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{Tag, TagKind, Token, TokenSink, TokenSinkResult};
use html5ever::tree_builder::{TreeBuilder, TreeBuilderOpts};
use html5ever::{Attribute, LocalName, QualName, local_name, ns};

use super::name_arena::NameArena;
use super::sink::{Handle, MAX_PLACEHOLDER, Sink, placeholder_attribute};
use crate::page::parse_limit::{MAX_DEPTH, ParseLimit, max_nodes};
use crate::page::tree::Tree;

/// Sits between tokenizer and tree builder and drops the tags that would make the tree builder quadratic.
pub struct CappedTreeBuilder<'n> {
    inner: TreeBuilder<Handle<'n>, Sink<'n>>,
    /// Start tags dropped for depth whose end tags have not been seen yet.
    skipped: Cell<u32>,
    /// True while nothing has reached the builder since it was found too deep.
    is_still_deep: Cell<bool>,
    pub(super) max_nodes: usize,
    pub(super) limit: Cell<Option<ParseLimit>>,
}

impl<'n> TokenSink for CappedTreeBuilder<'n> {
    type Handle = Handle<'n>;

    fn process_token(&self, token: Token, line_number: u64) -> TokenSinkResult<Handle<'n>> {
        match &token {
            Token::EOFToken => {}
            _ if self.inner.sink.len() >= self.max_nodes => {
                self.limit.set(Some(ParseLimit::TooManyNodes(self.max_nodes)));
                return TokenSinkResult::Continue;
            }
            Token::TagToken(tag) if self.too_deep(tag) => {
                self.limit.set(self.limit.get().or(Some(ParseLimit::TooDeep(MAX_DEPTH))));
                return TokenSinkResult::Continue;
            }
            _ => {}
        }
        self.is_still_deep.set(false);
        self.inner.process_token(token, line_number)
    }

    fn end(&self) {
        self.inner.end();
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.inner.adjusted_current_node_present_but_not_in_html_namespace()
    }
}

impl<'n> CappedTreeBuilder<'n> {
    pub fn new(names: &'n NameArena, page_bytes: usize) -> CappedTreeBuilder<'n> {
        let options = TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() };
        CappedTreeBuilder {
            inner: TreeBuilder::new(Sink::new(names, page_bytes), options),
            skipped: Cell::new(0),
            is_still_deep: Cell::new(false),
            max_nodes: max_nodes(page_bytes),
            limit: Cell::new(None),
        }
    }

    pub fn tree(self) -> Tree {
        let cut = self.limit.get().or(self.inner.sink.limit.get());
        let mut tree = self.inner.sink.tree();
        tree.limit = cut;
        tree
    }

    /// Passes on a tag. The builder receives the attributes only where it needs them: each costs memory, for most tags
    /// twice.
    pub fn process_tag(&self, mut tag: Tag, attributes: &[(LocalName, Cow<'_, str>)]) -> TokenSinkResult<Handle<'n>> {
        let sink = &self.inner.sink;
        if attributes.is_empty() {
            sink.expect_attributes(None);
        } else if reads_attributes(&tag.name) || self.adjusted_current_node_present_but_not_in_html_namespace() {
            sink.expect_attributes(None);
            tag.attrs = attributes.iter().map(|(name, value)| to_attribute(name, value)).collect();
        } else {
            let places = sink.store_attributes(attributes.iter().map(|(name, value)| (name.clone(), &**value)));
            if tag.name != local_name!("a") {
                sink.expect_attributes(Some((tag.name.clone(), places)));
            } else if places.to < MAX_PLACEHOLDER {
                // The builder may reopen a link, so its attributes travel with the tag. They never distinguish two
                // links, because only one link can be open in one place.
                sink.expect_attributes(None);
                tag.attrs = vec![placeholder_attribute(places)];
            } else {
                tag.attrs = attributes.iter().map(|(name, value)| to_attribute(name, value)).collect();
            }
        }
        self.process_token(Token::TagToken(tag), 0)
    }

    /// Exact but linear in the depth; called only where the last append was deep.
    fn open_elements(&self) -> u32 {
        let count = HandleCounter::default();
        self.inner.trace_handles(&count);
        count.0.get()
    }

    /// True if a list, a table or another block is still open.
    pub fn has_open_block(&self) -> bool {
        let finder = OpenBlockFinder::default();
        self.inner.trace_handles(&finder);
        finder.0.get()
    }

    fn too_deep(&self, tag: &Tag) -> bool {
        let skipped = self.skipped.get();
        match tag.kind {
            TagKind::EndTag if skipped > 0 => {
                self.skipped.set(skipped - 1);
                true
            }
            TagKind::EndTag => false,
            // Raw text elements must reach the builder, because it tells the tokenizer how to continue.
            TagKind::StartTag
                if matches!(&*tag.name, "script" | "style" | "textarea" | "title" | "xmp" | "plaintext") =>
            {
                false
            }
            TagKind::StartTag
                if !self.is_still_deep.get()
                    && (self.inner.sink.depth.get() < MAX_DEPTH || self.open_elements() < MAX_DEPTH) =>
            {
                false
            }
            TagKind::StartTag => {
                self.is_still_deep.set(true);
                if !tag.self_closing && !is_void(&tag.name) {
                    self.skipped.set(skipped + 1);
                }
                true
            }
        }
    }
}

/// Tags whose attributes the builder needs: it reads them, copies them to an existing element, reopens the element,
/// compares it with others, or renames it.
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

fn to_attribute(name: &LocalName, value: &str) -> Attribute {
    Attribute { name: QualName::new(None, ns!(), name.clone()), value: StrTendril::from_slice(value) }
}

/// Counts the handles of the builder: open elements and active formatting elements.
#[derive(Default)]
struct HandleCounter<'n>(Cell<u32>, PhantomData<Handle<'n>>);

impl<'n> Tracer for HandleCounter<'n> {
    type Handle = Handle<'n>;

    fn trace_handle(&self, _node: &Handle<'n>) {
        self.0.set(self.0.get() + 1);
    }
}

/// Finds an open element whose end tag HTML does not let a page omit.
#[derive(Default)]
struct OpenBlockFinder<'n>(Cell<bool>, PhantomData<Handle<'n>>);

impl<'n> Tracer for OpenBlockFinder<'n> {
    type Handle = Handle<'n>;

    fn trace_handle(&self, node: &Handle<'n>) {
        const BLOCKS: [&str; 8] = ["ul", "ol", "dl", "table", "div", "section", "article", "main"];
        let is_block = node.tag().is_some_and(|tag| BLOCKS.contains(&&**tag));
        self.0.set(self.0.get() || is_block);
    }
}

fn is_void(tag: &str) -> bool {
    const VOID: [&str; 13] =
        ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"];
    VOID.contains(&tag)
}
