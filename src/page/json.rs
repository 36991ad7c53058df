//! Parses a JSON document into a tree: keys are elements, an array is a list of `<item>`s, a value is its text as
//! written.
//!
//! ```text
//! {"items": [{"name": "A", "price": 1.50, "tags": ["x", "y"]}]}
//! <json><items><item class=items><name>A</name><price>1.50</price><tags><item class=tags>x</item>…
//! ```
//!
//! - The keys of an object are sorted by name. Their order in the source means nothing in JSON, but in a tree it would.
//! - `null`, `""`, `[]` and `{}` are empty elements. A string is text, even if it contains tags or an address.
//! - A key that is no valid tag, or has a meaning in HTML, is changed; the original key is in the attribute `key`.
//! - An array of scalars inside an array is a row without keys: its values are `<c1>`, `<c2>`, … by position.
//! - JSON Lines (several documents one after the other) are read as an array of documents.
//!
//! JSON inside HTML (`<script type="application/ld+json">` and similar) is deliberately not read. It could be: pass the
//! script's text to [`parse`], and learn from the tree as one more page of the same address.
//!
//! serde_json decides what is valid JSON; the walk here only slices text that it has accepted, so `1.50` stays `1.50`.

use std::collections::HashMap;
use std::rc::Rc;

use html5ever::LocalName;
use serde::de::IgnoredAny;

use super::nodes::{ContentArena, Node, NodeKind};
use super::parse_limit::{MAX_NODES, ParseLimit};
use super::tree::{JSON_ROOT_TAG, PageEnding, Tree};

/// Maximum nesting of arrays and objects, as in serde_json; deeper ones are left out and reported as [`ParseLimit`].
const MAX_NESTED: usize = 128;
/// Maximum number of values in a row without keys, more than a table may have columns. A longer array is a list.
const MAX_ROW: usize = 2_000;
/// Maximum characters of a key that are used for its tag.
const MAX_TAG: usize = 80;
/// Tag of an array's elements.
const ITEM_TAG: &str = "item";
/// Parses a text as JSON. Returns `None` unless the whole text is JSON. A bare string or number is rejected, because
/// most plain text would be one.
pub(super) fn parse(text: &str) -> Option<Tree> {
    parse_within(text, MAX_NODES)
}

fn parse_within(text: &str, max_nodes: usize) -> Option<Tree> {
    if !text.trim_start().starts_with(['[', '{']) {
        return None;
    }
    let mut documents = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    let mut starts = Vec::new();
    loop {
        let start = documents.byte_offset();
        match documents.next() {
            Some(Ok(_)) if text[start..].trim_start().starts_with(['[', '{']) => starts.push(start),
            Some(_) => return None,
            None => break,
        }
    }
    let mut walk = JsonWalker { max_nodes, ..JsonWalker::default() };
    if starts.len() > 1 {
        walk.begin(JsonPartKind::Array);
    }
    for start in starts {
        walk.document(&text[start..]);
    }
    Some(into_tree(walk.parts, walk.limit))
}

/// An array, an object or a scalar, before its position in the tree is known.
struct JsonPart {
    tag: LocalName,
    /// The key as written, where the tag differs.
    key: Option<Rc<str>>,
    text: Option<Box<str>>,
    kind: JsonPartKind,
    inside: Vec<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum JsonPartKind {
    Array,
    Object,
    Single,
}

/// Splits documents into parts. The first part is the whole document.
#[derive(Default)]
struct JsonWalker<'t> {
    parts: Vec<JsonPart>,
    /// Open arrays and objects, innermost last.
    open: Vec<u32>,
    /// Number of open arrays and objects that are left out.
    skipped: usize,
    /// The key of the next value, still quoted.
    key: Option<&'t str>,
    nodes: usize,
    max_nodes: usize,
    tags: HashMap<&'t str, (LocalName, Option<Rc<str>>)>,
    limit: Option<ParseLimit>,
}

impl<'t> JsonWalker<'t> {
    /// Walks over one document that is known to be valid; ignores anything after it.
    fn document(&mut self, text: &'t str) {
        let (bytes, outside) = (text.as_bytes(), self.open.len());
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            let from = at;
            at += 1;
            match byte {
                b'[' => self.begin(JsonPartKind::Array),
                b'{' => self.begin(JsonPartKind::Object),
                b']' | b'}' => {
                    self.end();
                    if self.open.len() == outside && self.skipped == 0 {
                        return;
                    }
                }
                b'"' => {
                    at = string_end(bytes, at);
                    self.string(&text[from..at]);
                }
                b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' => {}
                _ => {
                    while bytes
                        .get(at)
                        .is_some_and(|it| !matches!(it, b',' | b']' | b'}' | b' ' | b'\t' | b'\n' | b'\r'))
                    {
                        at += 1;
                    }
                    let word = &text[from..at];
                    self.single((word != "null").then(|| word.into()));
                }
            }
        }
    }

    fn begin(&mut self, kind: JsonPartKind) {
        if self.skipped == 0 && self.open.len() >= MAX_NESTED {
            self.limit.get_or_insert(ParseLimit::TooDeep(MAX_NESTED as u32));
            self.skipped = 1;
            self.key = None;
        } else if self.skipped > 0 {
            self.skipped += 1;
        } else {
            match self.add(None, kind) {
                Some(part) => self.open.push(part),
                None => self.skipped = 1,
            }
        }
    }

    fn end(&mut self) {
        if self.skipped > 0 {
            self.skipped -= 1;
        } else {
            self.open.pop();
        }
    }

    fn string(&mut self, quoted: &'t str) {
        if self.skipped > 0 {
            return;
        }
        let in_object = self.open.last().is_some_and(|&it| self.parts[it as usize].kind == JsonPartKind::Object);
        if in_object && self.key.is_none() {
            self.key = Some(quoted);
        } else {
            self.single(Some(unquoted(quoted)).filter(|it| !it.is_empty()));
        }
    }

    fn single(&mut self, text: Option<Box<str>>) {
        if self.skipped == 0 {
            self.add(text, JsonPartKind::Single);
        }
    }

    /// Adds a part to the innermost open one; `None` when the tree is full.
    fn add(&mut self, text: Option<Box<str>>, kind: JsonPartKind) -> Option<u32> {
        let key = self.key.take();
        self.nodes += 1 + usize::from(text.is_some());
        if self.nodes >= self.max_nodes {
            self.limit = Some(ParseLimit::TooManyNodes(self.max_nodes));
            return None;
        }
        let (tag, key) = match (key, self.open.last()) {
            (Some(key), _) => self.tags.entry(key).or_insert_with(|| tag_of(&unquoted(key))).clone(),
            (None, Some(_)) => (ITEM_TAG.into(), None),
            (None, None) => (JSON_ROOT_TAG.into(), None),
        };
        let id = self.parts.len() as u32;
        self.parts.push(JsonPart { tag, key, text, kind, inside: Vec::new() });
        if let Some(&parent) = self.open.last() {
            self.parts[parent as usize].inside.push(id);
        }
        Some(id)
    }
}

/// Position after the closing quote of a string whose content begins at `at`.
fn string_end(bytes: &[u8], mut at: usize) -> usize {
    while bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

/// Decodes a string. One with half a surrogate pair stays as it is written.
fn unquoted(quoted: &str) -> Box<str> {
    let inside = &quoted[1..quoted.len() - 1];
    if !inside.contains('\\') {
        return inside.into();
    }
    serde_json::from_str::<String>(quoted).map_or_else(|_| inside.into(), String::into_boxed_str)
}

/// Makes a tag of a key; also returns the key where the two differ.
fn tag_of(key: &str) -> (LocalName, Option<Rc<str>>) {
    let plain = |c: char| if c.is_alphanumeric() || matches!(c, '-' | '_') { c } else { '_' };
    let mut tag: String = key.chars().take(MAX_TAG).map(plain).collect();
    if !tag.starts_with(|c: char| c.is_alphabetic() || c == '_') {
        tag.insert(0, '_');
    }
    tag.push_str(reserved_suffix(&tag));
    let same = tag == key;
    (tag.into(), (!same).then(|| key.into()))
}

/// Tags with a meaning in HTML that changes how their text is read: omitted, split into lines, joined with neighbouring
/// text, or taken for navigation, a table or a form. A key of such a name gets an underscore.
fn reserved_suffix(tag: &str) -> &'static str {
    match tag {
        "a" | "area" | "aside" | "b" | "base" | "big" | "body" | "br" | "button" | "col" | "em" | "embed" | "font"
        | "footer" | "form" | "head" | "header" | "hr" | "html" | "i" | "iframe" | "img" | "input" | "link"
        | "listing" | "mark" | "meta" | "nav" | "noscript" | "option" | "plaintext" | "pre" | "script" | "select"
        | "small" | "source" | "span" | "strong" | "style" | "sub" | "sup" | "svg" | "table" | "td" | "template"
        | "textarea" | "th" | "tr" | "tt" | "u" | "wbr" | "xmp" => "_",
        _ => "",
    }
}

/// Arranges the parts in document order; those of an object by tag.
fn into_tree(mut parts: Vec<JsonPart>, cut: Option<ParseLimit>) -> Tree {
    let mut nodes = vec![Node { parent: 0, before: 0, end: 0, kind: NodeKind::Document }];
    let mut contents = ContentArena::default();
    let mut open = vec![OpenElement { node: 0, remaining: vec![0], before: None, class: None }];
    while let Some(around) = open.last_mut() {
        let Some(id) = around.remaining.pop() else {
            nodes[around.node as usize].end = nodes.len() as u32;
            open.pop();
            continue;
        };
        let in_array = around.class.is_some();
        let node = nodes.len() as u32;
        let before = around.before.replace(node).unwrap_or(node);
        nodes.push(Node {
            parent: around.node,
            before,
            end: node + 1,
            kind: element(&parts[id as usize], &around.class, &mut contents),
        });
        if let Some(text) = parts[id as usize].text.take() {
            let kind = NodeKind::Text(contents.add_text(&text));
            nodes.push(Node { parent: node, before: node + 1, end: node + 2, kind });
        }
        let to_come = inside(&mut parts, id, in_array);
        let part = &parts[id as usize];
        let class = (part.kind == JsonPartKind::Array).then(|| part.tag.clone());
        open.push(OpenElement { node, remaining: to_come, before: None, class });
    }
    Tree { nodes, contents, limit: cut, ending: PageEnding::default() }
}

fn element(part: &JsonPart, class: &Option<LocalName>, contents: &mut ContentArena) -> NodeKind {
    let class = class.iter().filter(|_| &*part.tag == ITEM_TAG).map(|class| (LocalName::from("class"), &**class));
    let key = part.key.iter().map(|key| (LocalName::from("key"), &**key));
    NodeKind::Element(part.tag.clone(), contents.add_attributes(class.chain(key)))
}

/// The children of a part, last first: by tag in an object, as written in an array, numbered in a row without keys.
fn inside(parts: &mut [JsonPart], id: u32, in_array: bool) -> Vec<u32> {
    let mut inside = std::mem::take(&mut parts[id as usize].inside);
    match parts[id as usize].kind {
        JsonPartKind::Single => {}
        // Stable sort: of a repeated key, the first occurrence stays first.
        JsonPartKind::Object => inside.sort_by(|&a, &b| parts[a as usize].tag.cmp(&parts[b as usize].tag)),
        JsonPartKind::Array => {
            let is_row = in_array
                && inside.len() <= MAX_ROW
                && inside.iter().all(|&it| parts[it as usize].kind == JsonPartKind::Single);
            for (place, &it) in inside.iter().enumerate().filter(|_| is_row) {
                parts[it as usize].tag = format!("c{}", place + 1).into();
            }
        }
    }
    inside.reverse();
    inside
}

/// An element that is being filled.
struct OpenElement {
    node: u32,
    /// Remaining children, next one last.
    remaining: Vec<u32>,
    before: Option<u32>,
    /// Class of each array element: the key of the array, so that a list with one element is still recognised.
    class: Option<LocalName>,
}

#[cfg(test)]
mod tests;
