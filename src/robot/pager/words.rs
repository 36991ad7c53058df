//! What the words of a link, and the names around it, say.

use std::borrow::Cow;

use super::phrases;
use crate::page::{NodeId, Tree};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkMeaning {
    Next,
    /// Nothing but an arrow to the right.
    Arrow,
    Back,
    /// On to another article, photo or topic: not another page of this list.
    NextOther,
    /// To what was written before, or after: which of them is next depends on how one reads a blog.
    Older,
    Newer,
    /// “More events”: of this list only where the address counts pages.
    More,
    Nothing,
}

/// A pager's words are few; a longer text is a sentence.
const MAX_WORDS: usize = 5;
const MAX_CHARS: usize = 40;
/// What is around a link and nothing else has few nodes; a larger one is not read for every link in it.
const MAX_WRAPPER_NODES: u32 = 16;

/// Does a button fetch more of the list? It may say of what: “Load more hotels”.
pub fn is_load_more_label(label: &str) -> bool {
    let label = label.trim().to_lowercase();
    let is_short = label.chars().count() <= MAX_CHARS && label.split_whitespace().count() <= MAX_WORDS;
    is_short && begins_with_more(&label)
}

fn begins_with_more(label: &str) -> bool {
    phrases::begins_with_more(label.trim_start_matches(|c: char| !c.is_alphanumeric()))
}

/// What a link's text says.
pub fn label_meaning(label: &str) -> LinkMeaning {
    let label = label.trim();
    // A letter is four bytes at most.
    if label.len() > 4 * MAX_CHARS {
        return LinkMeaning::Nothing;
    }
    let mut room = [0; 4 * MAX_CHARS];
    let label = lowercase(label, &mut room);
    if label.is_empty() || label.chars().count() > MAX_CHARS || label.split_whitespace().count() > MAX_WORDS {
        return LinkMeaning::Nothing;
    }
    if phrases::is_arrow(&label) {
        return LinkMeaning::Arrow;
    }
    let bare = label.trim_matches(|c: char| !c.is_alphanumeric());
    match phrases::meaning_of(bare) {
        Some(LinkMeaning::Next) => return LinkMeaning::Next,
        _ if phrases::mentions_next(bare) => return LinkMeaning::Next,
        Some(says) => return says,
        None => {}
    }
    match bare.strip_prefix("next ") {
        Some(rest) if phrases::names_other_content(rest) => LinkMeaning::NextOther,
        // “Next 25 results”
        Some(rest) if rest.starts_with("page") || rest.starts_with(|c: char| c.is_ascii_digit()) => LinkMeaning::Next,
        None if bare.starts_with("more ") || begins_with_more(bare) => LinkMeaning::More,
        _ => LinkMeaning::Nothing,
    }
}

/// Without memory of its own where it fits into the room: every link of every page is read so.
fn lowercase<'r>(text: &str, room: &'r mut [u8]) -> Cow<'r, str> {
    match room.get_mut(..text.len()).filter(|_| text.is_ascii()) {
        Some(room) => {
            room.copy_from_slice(text.as_bytes());
            room.make_ascii_lowercase();
            String::from_utf8_lossy(room)
        }
        None => Cow::Owned(text.to_lowercase()),
    }
}

/// Do class, id, title or label of the link, or of what it stands in alone, say so?
pub fn attributes_mean(tree: &Tree, node: NodeId, what: LinkMeaning) -> bool {
    let is_small = |it: NodeId| tree.end(it).0 - it.0 <= MAX_WRAPPER_NODES;
    let is_alone = |parent: NodeId| is_small(parent) && tree.text(parent) == tree.text(node);
    element_means(tree, node, what)
        || tree.parent(node).is_some_and(|parent| element_means(tree, parent, what) && is_alone(parent))
        || tree.subtree(node).skip(1).take(3).any(|it| element_means(tree, it, what))
}

fn element_means(tree: &Tree, node: NodeId, what: LinkMeaning) -> bool {
    if tree.element(node).is_none_or(|it| it.attributes().len() == 0) {
        return false;
    }
    let labelled = ["title", "aria-label", "alt"]
        .iter()
        .filter_map(|name| tree.attribute(node, name))
        .any(|it| label_meaning(it) == what);
    labelled || ["class", "id"].iter().filter_map(|name| tree.attribute(node, name)).any(|it| names_meaning(it) == what)
}

/// What class names and ids say: `btn-next`, `pageNext`; but not `prev_next`, which both links of a pager have.
fn names_meaning(names: &str) -> LinkMeaning {
    let has_word = |word: &[u8]| names.as_bytes().windows(word.len()).any(|it| it.eq_ignore_ascii_case(word));
    if !has_word(b"next") && !has_word(b"prev") {
        return LinkMeaning::Nothing;
    }
    let parts = parts(names);
    // `nextpostslink`, `pagenext`
    let has = |word: &str| parts.iter().any(|part| part.starts_with(word) || part.ends_with(word));
    match (has("next"), has("prev") || has("previous")) {
        (true, false) => LinkMeaning::Next,
        (false, true) => LinkMeaning::Back,
        _ => LinkMeaning::Nothing,
    }
}

/// Is the link a picture of an arrow to the right, drawn by its class: `fa-angle-right`?
pub fn is_drawn_arrow(tree: &Tree, node: NodeId) -> bool {
    const SHAPES: &[&str] = &["arrow", "chevron", "angle", "caret"];
    tree.subtree(node)
        .take(DRAWN_NODES)
        .filter_map(|it| tree.attribute(it, "class"))
        .any(|names| has_part(names, &["right"]) && has_part(names, SHAPES))
}

/// An icon is the link itself or stands right in it.
const DRAWN_NODES: usize = 4;

/// Is one of these words a part of the names?
pub fn has_part(names: &str, words: &[&str]) -> bool {
    parts(names).iter().any(|part| words.contains(&part.as_str()))
}

/// Is this element a pager by its names?
pub fn is_pager(tree: &Tree, node: NodeId) -> bool {
    const PARTS: &[&str] = &[
        "pagination",
        "pager",
        "paging",
        "paginator",
        "pagenav",
        "pages",
        "pagenavi",
        "page",
        "pagelinks",
        "paginate",
        "pageing",
        "nav",
        "pagelist",
        "pagenum",
    ];
    ["class", "id", "role", "aria-label"]
        .iter()
        .filter_map(|name| tree.attribute(node, name))
        .any(|it| has_part(it, PARTS))
}

/// Is this a part of the page that pages through something else than the list?
pub fn is_other_widget(tree: &Tree, node: NodeId) -> bool {
    const PARTS: &[&str] =
        &["calendar", "datepicker", "carousel", "slider", "slideshow", "gallery", "slick", "lightbox"];
    ["class", "id"].iter().filter_map(|name| tree.attribute(node, name)).any(|it| has_part(it, PARTS))
}

/// `btnNext page_links` as btn, next, page, links.
fn parts(names: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut part = String::new();
    let mut was_small = false;
    for c in names.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && was_small) {
            parts.push(std::mem::take(&mut part));
        }
        if c.is_alphanumeric() {
            part.extend(c.to_lowercase());
        }
        was_small = c.is_lowercase();
    }
    parts.push(part);
    parts.retain(|part| !part.is_empty());
    parts
}
