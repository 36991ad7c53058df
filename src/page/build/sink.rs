//! The `TreeSink` that html5ever's tree builder writes to: nodes by number, texts and attributes in one arena.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};

use foldhash::HashMap;
use html5ever::interface::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::tendril::StrTendril;
use html5ever::{Attribute, ExpandedName, LocalName, QualName, local_name, ns};

use super::name_arena::NameArena;
use crate::page::nodes::{ContentArena, ContentRange, Node, NodeKind};
use crate::page::parse_limit::{MAX_ATTRIBUTES, ParseLimit};
use crate::page::tree::{PageEnding, Tree};

const NONE: u32 = u32::MAX;

struct SinkNode<'n> {
    parent: u32,
    first: u32,
    last: u32,
    before: u32,
    after: u32,
    depth: u32,
    kind: SinkNodeKind<'n>,
}

enum SinkNodeKind<'n> {
    /// The document, template contents, comments and processing instructions. Only the document is kept.
    Other,
    Element(&'n QualName, ContentRange),
    Text(StrTendril),
}

/// A node as the builder refers to it. `Copy`, because the builder clones handles all the time.
#[derive(Clone, Copy)]
pub struct Handle<'n> {
    id: u32,
    name: Option<&'n QualName>,
}

impl<'n> Handle<'n> {
    pub(super) fn tag(self) -> Option<&'n LocalName> {
        self.name.map(|name| &name.local)
    }
}

pub(super) struct Sink<'n> {
    nodes: RefCell<Vec<SinkNode<'n>>>,
    names: &'n NameArena,
    interned: RefCell<HashMap<QualName, &'n QualName>>,
    contents: RefCell<ContentArena>,
    /// Name and attributes of the tag being built. The builder does not know of these attributes.
    pending_attributes: Cell<Option<(LocalName, ContentRange)>>,
    /// Depth of the latest append. The builder does not report every element that it closes, so this may be too large.
    pub depth: Cell<u32>,
    pub limit: Cell<Option<ParseLimit>>,
}

impl<'n> SinkNode<'n> {
    fn new(kind: SinkNodeKind<'n>) -> SinkNode<'n> {
        SinkNode { parent: NONE, first: NONE, last: NONE, before: NONE, after: NONE, depth: 0, kind }
    }
}

impl<'n> Sink<'n> {
    pub fn new(names: &'n NameArena, page_bytes: usize) -> Sink<'n> {
        let mut nodes = Vec::with_capacity(page_bytes / BYTES_PER_NODE + 8);
        nodes.push(SinkNode::new(SinkNodeKind::Other));
        Sink {
            nodes: RefCell::new(nodes),
            names,
            interned: RefCell::default(),
            contents: RefCell::new(ContentArena::with_capacity(page_bytes)),
            pending_attributes: Cell::new(None),
            depth: Cell::new(0),
            limit: Cell::new(None),
        }
    }

    pub fn len(&self) -> usize {
        self.nodes.borrow().len()
    }

    /// Stores the attributes of a tag. Their range is enough to attach them to whatever element the builder creates.
    pub fn store_attributes<'a>(&self, attributes: impl Iterator<Item = (LocalName, &'a str)>) -> ContentRange {
        self.contents.borrow_mut().add_attributes(attributes)
    }

    /// Attaches these attributes to the next element of this name, which the builder creates without any.
    pub fn expect_attributes(&self, untold: Option<(LocalName, ContentRange)>) {
        self.pending_attributes.set(untold);
    }

    pub fn tree(self) -> Tree {
        in_document_order(self.nodes.into_inner(), self.contents.into_inner())
    }

    /// Returns the interned name.
    fn shared(&self, name: QualName) -> &'n QualName {
        let mut known = self.interned.borrow_mut();
        if let Some(known) = known.get(&name) {
            return known;
        }
        let made = self.names.intern(name.clone());
        known.insert(name, made);
        made
    }

    fn attributes_of(&self, name: &QualName, told: &[Attribute]) -> ContentRange {
        if let [only] = told
            && let Some(places) = decode_placeholder(only)
        {
            return places;
        }
        if !told.is_empty() {
            return self.store_attributes(told.iter().map(|it| (it.name.local.clone(), &*it.value)));
        }
        match self.pending_attributes.take() {
            Some((tag, places)) if tag == name.local && name.ns == ns!(html) => places,
            other => {
                self.pending_attributes.set(other);
                ContentRange::NONE
            }
        }
    }

    fn create(&self, kind: SinkNodeKind<'n>) -> u32 {
        let mut nodes = self.nodes.borrow_mut();
        nodes.push(SinkNode::new(kind));
        u32::try_from(nodes.len() - 1).expect("the node cap is far below u32::MAX")
    }

    fn detach(&self, id: u32) {
        let mut nodes = self.nodes.borrow_mut();
        let SinkNode { parent, before, after, .. } = nodes[id as usize];
        if before != NONE {
            nodes[before as usize].after = after;
        }
        if after != NONE {
            nodes[after as usize].before = before;
        }
        if parent != NONE {
            let parent = &mut nodes[parent as usize];
            if parent.first == id {
                parent.first = after;
            }
            if parent.last == id {
                parent.last = before;
            }
        }
        let node = &mut nodes[id as usize];
        (node.parent, node.before, node.after) = (NONE, NONE, NONE);
    }

    /// Puts `child` under `parent`, before `sibling` or last.
    fn insert(&self, parent: u32, sibling: u32, child: NodeOrText<Handle<'n>>) {
        if let NodeOrText::AppendNode(handle) = &child
            && self.nodes.borrow()[handle.id as usize].parent != NONE
        {
            self.detach(handle.id);
        }
        let mut nodes = self.nodes.borrow_mut();
        let before = if sibling == NONE { nodes[parent as usize].last } else { nodes[sibling as usize].before };
        let id = match child {
            NodeOrText::AppendText(text) => {
                if let Some(SinkNode { kind: SinkNodeKind::Text(there), .. }) = nodes.get_mut(before as usize) {
                    there.push_tendril(&text);
                    return;
                }
                nodes.push(SinkNode::new(SinkNodeKind::Text(text)));
                u32::try_from(nodes.len() - 1).expect("the node cap is far below u32::MAX")
            }
            NodeOrText::AppendNode(handle) => handle.id,
        };
        let depth = nodes[parent as usize].depth + 1;
        let node = &mut nodes[id as usize];
        (node.parent, node.before, node.after, node.depth) = (parent, before, sibling, depth);
        let is_element = matches!(node.kind, SinkNodeKind::Element(..));
        if before != NONE {
            nodes[before as usize].after = id;
        } else {
            nodes[parent as usize].first = id;
        }
        if sibling != NONE {
            nodes[sibling as usize].before = id;
        } else {
            nodes[parent as usize].last = id;
        }
        self.depth.set(if is_element { depth } else { depth - 1 });
    }
}

/// Pages of the corpus have one node in 20 to 60 bytes.
const BYTES_PER_NODE: usize = 32;

/// A nameless attribute that stands for all attributes of a tag and encodes their range. No tag of a page can have one.
pub(super) fn placeholder_attribute(places: ContentRange) -> Attribute {
    let mut value = StrTendril::new();
    for number in [places.from, places.to - places.from] {
        for digit in 0..PLACEHOLDER_DIGITS {
            value.push_char(char::from((number >> (7 * digit) & 0x7f) as u8));
        }
    }
    Attribute { name: QualName::new(None, ns!(), local_name!("")), value }
}

/// Digits of base 128, lowest first: two numbers of four digits fit into a tendril without a heap allocation.
const PLACEHOLDER_DIGITS: usize = 4;
/// Ranges from here on have too many digits.
pub(super) const MAX_PLACEHOLDER: u32 = 1 << (7 * PLACEHOLDER_DIGITS);

fn decode_placeholder(attribute: &Attribute) -> Option<ContentRange> {
    if attribute.name.local != local_name!("") {
        return None;
    }
    let number = |digits: &[u8]| digits.iter().rev().fold(0, |number, &digit| number << 7 | u32::from(digit));
    let (from, count) = attribute.value.as_bytes().split_at_checked(PLACEHOLDER_DIGITS)?;
    let from = number(from);
    Some(ContentRange { from, to: from + number(count) })
}

impl<'n> TreeSink for Sink<'n> {
    type Handle = Handle<'n>;
    type Output = Sink<'n>;
    type ElemName<'a>
        = ExpandedName<'a>
    where
        Self: 'a;

    fn finish(self) -> Sink<'n> {
        self
    }

    fn parse_error(&self, _message: Cow<'static, str>) {}

    fn get_document(&self) -> Handle<'n> {
        Handle { id: 0, name: None }
    }

    fn elem_name<'a>(&'a self, target: &'a Handle<'n>) -> ExpandedName<'a> {
        target.name.expect("the builder asks only for names of elements").expanded()
    }

    fn create_element(&self, name: QualName, attributes: Vec<Attribute>, _flags: ElementFlags) -> Handle<'n> {
        let name = self.shared(name);
        let places = self.attributes_of(name, &attributes);
        Handle { id: self.create(SinkNodeKind::Element(name, places)), name: Some(name) }
    }

    fn create_comment(&self, _text: StrTendril) -> Handle<'n> {
        Handle { id: self.create(SinkNodeKind::Other), name: None }
    }

    fn create_pi(&self, _target: StrTendril, _data: StrTendril) -> Handle<'n> {
        Handle { id: self.create(SinkNodeKind::Other), name: None }
    }

    fn append(&self, parent: &Handle<'n>, child: NodeOrText<Handle<'n>>) {
        self.insert(parent.id, NONE, child);
    }

    fn append_based_on_parent_node(&self, element: &Handle<'n>, previous: &Handle<'n>, child: NodeOrText<Handle<'n>>) {
        let has_parent = self.nodes.borrow()[element.id as usize].parent != NONE;
        if has_parent {
            self.append_before_sibling(element, child);
        } else {
            self.append(previous, child);
        }
    }

    fn append_doctype_to_document(&self, _name: StrTendril, _public: StrTendril, _system: StrTendril) {}

    fn get_template_contents(&self, _target: &Handle<'n>) -> Handle<'n> {
        // A template's contents are not part of the page: they go under a node that is attached nowhere.
        Handle { id: self.create(SinkNodeKind::Other), name: None }
    }

    fn same_node(&self, x: &Handle<'n>, y: &Handle<'n>) -> bool {
        x.id == y.id
    }

    fn set_quirks_mode(&self, _mode: QuirksMode) {}

    fn append_before_sibling(&self, sibling: &Handle<'n>, new_node: NodeOrText<Handle<'n>>) {
        // Detached first: the moved node may itself be a neighbour of the sibling.
        if let NodeOrText::AppendNode(node) = &new_node {
            self.detach(node.id);
        }
        let parent = self.nodes.borrow()[sibling.id as usize].parent;
        if parent != NONE {
            self.insert(parent, sibling.id, new_node);
        }
    }

    fn add_attrs_if_missing(&self, target: &Handle<'n>, attributes: Vec<Attribute>) {
        let mut nodes = self.nodes.borrow_mut();
        let SinkNodeKind::Element(_, places) = &mut nodes[target.id as usize].kind else { return };
        let mut kept = self.contents.borrow_mut();
        let is_new = |it: &&Attribute| !kept.list(*places).iter().any(|there| there.name == it.name.local);
        let new: Vec<&Attribute> = attributes.iter().filter(is_new).collect();
        let room = MAX_ATTRIBUTES - kept.list(*places).len().min(MAX_ATTRIBUTES);
        if new.len() > room {
            self.limit.set(Some(ParseLimit::TooManyAttributes));
        }
        *places = kept.extended(*places, new.into_iter().take(room).map(|it| (it.name.local.clone(), &*it.value)));
    }

    fn remove_from_parent(&self, target: &Handle<'n>) {
        self.detach(target.id);
    }

    fn reparent_children(&self, node: &Handle<'n>, new_parent: &Handle<'n>) {
        loop {
            let first = self.nodes.borrow()[node.id as usize].first;
            if first == NONE {
                return;
            }
            self.insert(new_parent.id, NONE, NodeOrText::AppendNode(Handle { id: first, name: None }));
        }
    }
}

/// Copies the nodes below the document into document order.
fn in_document_order(drafts: Vec<SinkNode<'_>>, mut contents: ContentArena) -> Tree {
    let mut nodes: Vec<Node> = Vec::with_capacity(drafts.len());
    nodes.push(Node { parent: 0, before: 0, end: 0, kind: NodeKind::Document });
    // (draft, its id here): the chain of open nodes
    let mut open: Vec<(u32, u32)> = vec![(0, 0)];
    let mut next = drafts[0].first;
    let mut before = NONE;
    loop {
        if next == NONE {
            let (draft, id) = open.pop().expect("the document closes last");
            nodes[id as usize].end = nodes.len() as u32;
            if open.is_empty() {
                return Tree { nodes, contents, limit: None, ending: PageEnding::default() };
            }
            next = drafts[draft as usize].after;
            before = id;
            continue;
        }
        let draft = &drafts[next as usize];
        let kind = match &draft.kind {
            SinkNodeKind::Element(name, places) => NodeKind::Element(name.local.clone(), *places),
            SinkNodeKind::Text(text) => NodeKind::Text(contents.add_text(text)),
            SinkNodeKind::Other => {
                next = draft.after;
                continue;
            }
        };
        let id = nodes.len() as u32;
        let parent = open.last().expect("a node stands in an open one").1;
        nodes.push(Node { parent, before: if before == NONE { id } else { before }, end: id + 1, kind });
        if draft.first == NONE {
            (next, before) = (draft.after, id);
        } else {
            open.push((next, id));
            (next, before) = (draft.first, NONE);
        }
    }
}
