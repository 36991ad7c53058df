//! Builds the tree with html5ever, behind caps on depth, nodes and attributes.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

use foldhash::HashMap;
use html5ever::interface::{ElementFlags, NodeOrText, QuirksMode, Tracer, TreeSink};
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{Tag, TagKind, Token, TokenSink, TokenSinkResult};
use html5ever::tree_builder::{TreeBuilder, TreeBuilderOpts};
use html5ever::{Attribute, ExpandedName, QualName};

use super::scan::scan;
use super::tree::{Cut, Element, Kind, MAX_ATTRIBUTES, MAX_DEPTH, MAX_NODES, Node, Tree};

pub(super) fn parse(html: &str) -> Tree {
    let guard = Guard::new();
    let complete = if html.contains(['\r', '\0']) {
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
pub(super) struct Guard {
    inner: TreeBuilder<Handle, Sink>,
    /// Start tags dropped for depth whose end tags are still to come.
    skipped: Cell<u32>,
    /// Nothing has reached the builder since it was found too deep.
    still_deep: Cell<bool>,
    cut: Cell<Option<Cut>>,
}

impl TokenSink for Guard {
    type Handle = Handle;

    fn process_token(&self, token: Token, line_number: u64) -> TokenSinkResult<Handle> {
        match &token {
            Token::EOFToken => {}
            _ if self.inner.sink.nodes.borrow().len() >= MAX_NODES => {
                self.cut.set(Some(Cut::TooManyNodes));
                return TokenSinkResult::Continue;
            }
            Token::TagToken(tag) if self.too_deep(tag) => {
                self.cut.set(self.cut.get().or(Some(Cut::TooDeep)));
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

impl Guard {
    fn new() -> Guard {
        let options = TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() };
        Guard {
            inner: TreeBuilder::new(Sink::default(), options),
            skipped: Cell::new(0),
            still_deep: Cell::new(false),
            cut: Cell::new(None),
        }
    }

    fn tree(self) -> Tree {
        let cut = self.cut.get().or(self.inner.sink.cut.get());
        let mut tree = in_document_order(self.inner.sink.nodes.into_inner());
        tree.cut = cut;
        tree
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

/// Counts what the builder holds on to: the open elements, and the formatting elements it would open again.
#[derive(Default)]
struct Count(Cell<u32>);

impl Tracer for Count {
    type Handle = Handle;

    fn trace_handle(&self, _node: &Handle) {
        self.0.set(self.0.get() + 1);
    }
}

fn is_void(tag: &str) -> bool {
    const VOID: [&str; 13] =
        ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"];
    VOID.contains(&tag)
}

const NONE: u32 = u32::MAX;

struct Draft {
    parent: u32,
    first: u32,
    last: u32,
    before: u32,
    after: u32,
    depth: u32,
    kind: DraftKind,
}

enum DraftKind {
    /// The document, template contents, comments and processing instructions: nothing that is kept but the first.
    Other,
    Element(Rc<QualName>, Vec<Attribute>),
    Text(StrTendril),
}

#[derive(Clone)]
pub(super) struct Handle {
    id: u32,
    name: Option<Rc<QualName>>,
}

struct Sink {
    nodes: RefCell<Vec<Draft>>,
    names: RefCell<HashMap<QualName, Rc<QualName>>>,
    /// Depth of the latest append. The builder does not report every element that it closes, so this may be too large.
    depth: Cell<u32>,
    cut: Cell<Option<Cut>>,
}

impl Default for Sink {
    fn default() -> Sink {
        let document = Draft::new(DraftKind::Other);
        Sink {
            nodes: RefCell::new(vec![document]),
            names: RefCell::default(),
            depth: Cell::new(0),
            cut: Cell::new(None),
        }
    }
}

impl Draft {
    fn new(kind: DraftKind) -> Draft {
        Draft { parent: NONE, first: NONE, last: NONE, before: NONE, after: NONE, depth: 0, kind }
    }
}

impl Sink {
    /// The name as all elements with it hold it.
    fn shared(&self, name: QualName) -> Rc<QualName> {
        let mut names = self.names.borrow_mut();
        if let Some(known) = names.get(&name) {
            return Rc::clone(known);
        }
        let made = Rc::new(name.clone());
        names.insert(name, Rc::clone(&made));
        made
    }

    fn create(&self, kind: DraftKind) -> u32 {
        let mut nodes = self.nodes.borrow_mut();
        nodes.push(Draft::new(kind));
        u32::try_from(nodes.len() - 1).expect("the node cap is far below u32::MAX")
    }

    fn detach(&self, id: u32) {
        let mut nodes = self.nodes.borrow_mut();
        let Draft { parent, before, after, .. } = nodes[id as usize];
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
    fn insert(&self, parent: u32, sibling: u32, child: NodeOrText<Handle>) {
        let text_place = |nodes: &[Draft]| {
            if sibling == NONE { nodes[parent as usize].last } else { nodes[sibling as usize].before }
        };
        let id = match child {
            NodeOrText::AppendText(text) => {
                let mut nodes = self.nodes.borrow_mut();
                let place = text_place(&nodes);
                if let Some(Draft { kind: DraftKind::Text(there), .. }) = nodes.get_mut(place as usize) {
                    there.push_tendril(&text);
                    return;
                }
                drop(nodes);
                self.create(DraftKind::Text(text))
            }
            NodeOrText::AppendNode(handle) => {
                self.detach(handle.id);
                handle.id
            }
        };
        let mut nodes = self.nodes.borrow_mut();
        let before = text_place(&nodes);
        let depth = nodes[parent as usize].depth + 1;
        let node = &mut nodes[id as usize];
        (node.parent, node.before, node.after, node.depth) = (parent, before, sibling, depth);
        let is_element = matches!(node.kind, DraftKind::Element(..));
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

impl TreeSink for Sink {
    type Handle = Handle;
    type Output = Sink;
    type ElemName<'a> = ExpandedName<'a>;

    fn finish(self) -> Sink {
        self
    }

    fn parse_error(&self, _message: Cow<'static, str>) {}

    fn get_document(&self) -> Handle {
        Handle { id: 0, name: None }
    }

    fn elem_name<'a>(&'a self, target: &'a Handle) -> ExpandedName<'a> {
        target.name.as_ref().expect("the builder asks only for names of elements").expanded()
    }

    fn create_element(&self, name: QualName, attributes: Vec<Attribute>, _flags: ElementFlags) -> Handle {
        let name = self.shared(name);
        Handle { id: self.create(DraftKind::Element(Rc::clone(&name), attributes)), name: Some(name) }
    }

    fn create_comment(&self, _text: StrTendril) -> Handle {
        Handle { id: self.create(DraftKind::Other), name: None }
    }

    fn create_pi(&self, _target: StrTendril, _data: StrTendril) -> Handle {
        Handle { id: self.create(DraftKind::Other), name: None }
    }

    fn append(&self, parent: &Handle, child: NodeOrText<Handle>) {
        self.insert(parent.id, NONE, child);
    }

    fn append_based_on_parent_node(&self, element: &Handle, previous: &Handle, child: NodeOrText<Handle>) {
        let has_parent = self.nodes.borrow()[element.id as usize].parent != NONE;
        if has_parent {
            self.append_before_sibling(element, child);
        } else {
            self.append(previous, child);
        }
    }

    fn append_doctype_to_document(&self, _name: StrTendril, _public: StrTendril, _system: StrTendril) {}

    fn get_template_contents(&self, _target: &Handle) -> Handle {
        // A template's contents are not part of the page: they go under a node that hangs nowhere.
        Handle { id: self.create(DraftKind::Other), name: None }
    }

    fn same_node(&self, x: &Handle, y: &Handle) -> bool {
        x.id == y.id
    }

    fn set_quirks_mode(&self, _mode: QuirksMode) {}

    fn append_before_sibling(&self, sibling: &Handle, new_node: NodeOrText<Handle>) {
        // Detached first: a node that moves may itself be the sibling's neighbour.
        if let NodeOrText::AppendNode(node) = &new_node {
            self.detach(node.id);
        }
        let parent = self.nodes.borrow()[sibling.id as usize].parent;
        if parent != NONE {
            self.insert(parent, sibling.id, new_node);
        }
    }

    fn add_attrs_if_missing(&self, target: &Handle, attributes: Vec<Attribute>) {
        let mut nodes = self.nodes.borrow_mut();
        if let DraftKind::Element(_, there) = &mut nodes[target.id as usize].kind {
            for attribute in attributes {
                if there.len() >= MAX_ATTRIBUTES {
                    self.cut.set(Some(Cut::TooManyAttributes));
                    return;
                }
                if !there.iter().any(|it| it.name == attribute.name) {
                    there.push(attribute);
                }
            }
        }
    }

    fn remove_from_parent(&self, target: &Handle) {
        self.detach(target.id);
    }

    fn reparent_children(&self, node: &Handle, new_parent: &Handle) {
        loop {
            let first = self.nodes.borrow()[node.id as usize].first;
            if first == NONE {
                return;
            }
            self.insert(new_parent.id, NONE, NodeOrText::AppendNode(Handle { id: first, name: None }));
        }
    }
}

/// Copies the drafts that hang under the document into document order.
fn in_document_order(mut drafts: Vec<Draft>) -> Tree {
    let mut nodes: Vec<Node> = Vec::with_capacity(drafts.len());
    nodes.push(Node { parent: 0, before: 0, end: 0, kind: Kind::Document });
    // (draft, its id here): the chain of open nodes
    let mut open: Vec<(u32, u32)> = vec![(0, 0)];
    let mut next = drafts[0].first;
    let mut before = NONE;
    loop {
        if next == NONE {
            let (draft, id) = open.pop().expect("the document closes last");
            nodes[id as usize].end = nodes.len() as u32;
            if open.is_empty() {
                return Tree { nodes, cut: None };
            }
            next = drafts[draft as usize].after;
            before = id;
            continue;
        }
        let draft = &mut drafts[next as usize];
        let kind = match std::mem::replace(&mut draft.kind, DraftKind::Other) {
            DraftKind::Element(name, attributes) => Kind::Element(Element {
                name: name.local.clone(),
                attributes: attributes.into_iter().map(|it| (it.name.local, it.value.as_ref().into())).collect(),
            }),
            DraftKind::Text(text) => Kind::Text(text.as_ref().into()),
            DraftKind::Other => {
                next = draft.after;
                continue;
            }
        };
        let id = nodes.len() as u32;
        let parent = open.last().expect("a node stands in an open one").1;
        nodes.push(Node { parent, before: if before == NONE { id } else { before }, end: id + 1, kind });
        open.push((next, id));
        next = draft.first;
        before = NONE;
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use proptest::prelude::*;

    use super::super::tree::NodeId;
    use html5ever::TokenizerResult;
    use html5ever::tokenizer::{BufferQueue, Tokenizer, TokenizerOpts};

    use super::*;

    /// The tree as `tag(child child) "text"`, attributes left out.
    fn outline(tree: &Tree, node: NodeId) -> String {
        let inside: Vec<String> = tree.children(node).map(|child| outline(tree, child)).collect();
        match tree.kind(node) {
            Kind::Text(text) => format!("{:?}", text.trim()),
            _ if inside.is_empty() => tree.tag(node).to_owned(),
            _ => format!("{}({})", tree.tag(node), inside.join(" ")),
        }
    }

    fn check(html: &str, expected: &str) {
        let tree = Tree::parse(html);
        assert_eq!(outline(&tree, tree.root()), format!("({expected})"), "{html}");
        tree.check();
    }

    #[test]
    fn pages_are_read_as_browsers_read_them() {
        check("<p>one<p>two", r#"html(head body(p("one") p("two")))"#);
        check("<dl><dt>a<dd>b<dt>c<dd>d</dl>", r#"html(head body(dl(dt("a") dd("b") dt("c") dd("d"))))"#);
        check("<table><tr><td>1<td>2</table>", r#"html(head body(table(tbody(tr(td("1") td("2"))))))"#);
        check("<table>lost<tr><td>1</table>", r#"html(head body("lost" table(tbody(tr(td("1"))))))"#);
        check("<b>x<p>y</b>z</p>", r#"html(head body(b("x") p(b("y") "z")))"#);
        check("a<!-- gone -->b<br>c", r#"html(head body("a" "b" br "c"))"#);
        check("<template><p>no</p></template><p>yes", r#"html(head(template) body(p("yes")))"#);
        check("<meta charset=utf-8><p>kept", r#"html(head(meta) body(p("kept")))"#);
        check("<script>x</script><p>kept", r#"html(head(script("x")) body(p("kept")))"#);
        check("no tag\nat all", r#"html(head body(pre("no tag\nat all")))"#);
        check("", "html(head body)");
    }

    /// Everything that a page holds, as text.
    /// The page as html5ever itself takes it apart.
    fn parse_by_html5ever(html: &str) -> Tree {
        let tokenizer = Tokenizer::new(Guard::new(), TokenizerOpts::default());
        let input = BufferQueue::default();
        input.push_back(StrTendril::from_slice(html));
        // A script's end or a `<meta charset>` only hands control back so that a browser could act on it.
        while !matches!(tokenizer.feed(&input), TokenizerResult::Done) {}
        tokenizer.end();
        tokenizer.sink.tree()
    }

    fn whole(tree: &Tree) -> String {
        let node = |node: NodeId| {
            let depth = tree.ancestors(node).count();
            match tree.kind(node) {
                Kind::Element(element) => format!("{depth} {} {:?}", &*element.name, element.attributes),
                Kind::Text(text) => format!("{depth} {text:?}"),
                Kind::Document => String::new(),
            }
        };
        tree.subtree(tree.root()).map(node).collect::<Vec<_>>().join("\n")
    }

    fn check_as_html5ever(html: &str) {
        assert_eq!(whole(&parse(html)), whole(&parse_by_html5ever(html)), "{html}");
    }

    #[test]
    fn odd_markup_is_read_as_html5ever_reads_it() {
        for html in [
            "<!DOCTYPE html PUBLIC \"-//W3C//DTD HTML 4.01//EN\" 'http://x'><p><table><tr><td>x",
            "<!doctype html system><p><table>",
            "<!doctype><p><table>",
            "<!doctype html public 'a' b><p><table>",
            "<!doctype html public \"-//w3c//dtd html 4.01 transitional//",
            "<!--><p>a<!---><p>b<!-- x --!><p>c<!-- <!-- --><p>d<!-",
            "<?xml version='1.0'?><p></ x>y</>z<3 <",
            "</",
            "<a href=?a=1&b=2&copy=3&copy&lt;x&ampy title='&eacute;&#233;&#x80;&#0;&bogus;' TITLE=2 x>&copy &notit; &#150 &#;",
            "<A HREF = 'x' / =y z= w=>t</A b=c>u<img/><br/ >",
            "<script>a</scripty></script >b<script><!-- <script> x </script> --> y</script>c<script><!--></script>d",
            "<style>a</p></style><title>a &amp; b</title><textarea>\n&lt;x</textarea><noscript><p>n</noscript>",
            "<svg><![CDATA[ a <b> ]]><path/></svg><![CDATA[ c ]]>d<math><mi>x</math>",
            "a\r\nb\rc<pre>\r\nd</pre>\u{feff}",
            "\u{feff}<p>a\0b<plaintext>x</plaintext>&amp;",
            "<plaintext>x</plaintext>&amp;<p>",
            "<p a='unclosed",
            "<p a=1",
            "<iframe><p></iframe><xmp><b></xmp><select><option>a<p>b</select>é<ü>",
        ] {
            check_as_html5ever(html);
        }
    }

    #[test]
    #[allow(clippy::print_stderr, reason = "a test that had nothing to look at says so")]
    fn pages_of_the_corpus_are_read_as_html5ever_reads_them() {
        let root = std::env::var_os("PIEME_CORPUS").map_or_else(|| PathBuf::from("../shared"), PathBuf::from);
        let Ok(sites) = std::fs::read_dir(root.join("corpus")) else {
            eprintln!("no corpus at {}: set PIEME_CORPUS", root.display());
            return;
        };
        for site in sites.flatten() {
            let Ok(bytes) = std::fs::read(site.path().join("page.html")) else { continue };
            let html = super::super::charset::decode(&bytes, None).text;
            assert!(whole(&parse(&html)) == whole(&parse_by_html5ever(&html)), "{}", site.path().display());
        }
    }

    proptest! {
        #[test]
        fn any_markup_is_read_as_html5ever_reads_it(
            parts in proptest::collection::vec(
                prop_oneof![
                    "[a-z<>/!&;=\"'# -]{1,6}",
                    Just("<p>".to_owned()), Just("</p>".to_owned()), Just("<table><tr>".to_owned()),
                    Just("<script>".to_owned()), Just("</script>".to_owned()), Just("<!--".to_owned()),
                    Just("-->".to_owned()), Just("<a href='".to_owned()), Just("&amp".to_owned()),
                    Just("<title>".to_owned()), Just("</title".to_owned()), Just("<!DOCTYPE html ".to_owned()),
                    Just("PUBLIC \"".to_owned()), Just("<svg>".to_owned()), Just("<![CDATA[".to_owned()),
                    Just("]]>".to_owned()), Just("&#x".to_owned()), Just("<style>".to_owned()), Just("\r\n".to_owned()),
                ],
                0..24,
            ),
        ) {
            check_as_html5ever(&parts.concat());
        }
    }

    #[test]
    fn text_is_collapsed_and_without_scripts() {
        let tree = Tree::parse("<p> a\u{a0}\n b <script>x()</script><b>c</b></p>");
        assert_eq!(tree.text(tree.root()), "a b c");
    }

    #[test]
    fn a_million_nested_elements_are_flattened() {
        let tree = Tree::parse(&"<div>x".repeat(100_000));
        assert_eq!(tree.cut, Some(Cut::TooDeep));
        let deepest = tree.subtree(tree.root()).map(|node| tree.ancestors(node).count()).max();
        assert!(deepest.is_some_and(|depth| depth <= MAX_DEPTH as usize + 2), "{deepest:?}");
        let after = Tree::parse(&format!("{}{}<p>after</p>", "<div>".repeat(2_000), "</div>".repeat(2_000)));
        let p = after.elements("p").next().expect("what follows is kept");
        assert_eq!(after.ancestors(p).count(), 3, "and stands outside");
    }

    #[test]
    fn misnested_formatting_does_not_multiply_without_end() {
        let mut html = String::new();
        for i in 0..1_500 {
            html.push_str(&format!("<b i={i}><i i={i}>"));
        }
        html.push_str(&"<p>x</b>".repeat(1_500));
        let tree = Tree::parse(&html);
        assert!(tree.cut.is_some());
        assert!(tree.len() <= MAX_NODES + 10_000, "{}", tree.len());
    }

    #[test]
    fn unclosed_items_of_old_pages_are_not_taken_for_depth() {
        let tree = Tree::parse(&"<li>x".repeat(5_000));
        assert_eq!(tree.cut, None);
        assert_eq!(tree.elements("li").count(), 5_000);
    }
}
