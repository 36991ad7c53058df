//! What the words of a link, and the names around it, say.

use std::borrow::Cow;

use super::phrases;
use crate::page::{NodeId, Tree};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Says {
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
pub fn says_more(label: &str) -> bool {
    let label = label.trim().to_lowercase();
    let is_short = label.chars().count() <= MAX_CHARS && label.split_whitespace().count() <= MAX_WORDS;
    is_short && begins_with_more(&label)
}

fn begins_with_more(label: &str) -> bool {
    phrases::begins_with_more(label.trim_start_matches(|c: char| !c.is_alphanumeric()))
}

/// What a link's text says.
pub fn text(label: &str) -> Says {
    let label = label.trim();
    // A letter is four bytes at most.
    if label.len() > 4 * MAX_CHARS {
        return Says::Nothing;
    }
    let mut room = [0; 4 * MAX_CHARS];
    let label = lowercase(label, &mut room);
    if label.is_empty() || label.chars().count() > MAX_CHARS || label.split_whitespace().count() > MAX_WORDS {
        return Says::Nothing;
    }
    if phrases::is_arrow(&label) {
        return Says::Arrow;
    }
    let bare = label.trim_matches(|c: char| !c.is_alphanumeric());
    match phrases::whole(bare) {
        Some(Says::Next) => return Says::Next,
        _ if phrases::mentions_next(bare) => return Says::Next,
        Some(says) => return says,
        None => {}
    }
    match bare.strip_prefix("next ") {
        Some(rest) if phrases::is_other(rest) => Says::NextOther,
        // “Next 25 results”
        Some(rest) if rest.starts_with("page") || rest.starts_with(|c: char| c.is_ascii_digit()) => Says::Next,
        None if bare.starts_with("more ") || begins_with_more(bare) => Says::More,
        _ => Says::Nothing,
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
pub fn attributes(tree: &Tree, node: NodeId, what: Says) -> bool {
    let is_small = |it: NodeId| tree.end(it).0 - it.0 <= MAX_WRAPPER_NODES;
    let is_alone = |parent: NodeId| is_small(parent) && tree.text(parent) == tree.text(node);
    says(tree, node, what)
        || tree.parent(node).is_some_and(|parent| says(tree, parent, what) && is_alone(parent))
        || tree.subtree(node).skip(1).take(3).any(|it| says(tree, it, what))
}

fn says(tree: &Tree, node: NodeId, what: Says) -> bool {
    if tree.element(node).is_none_or(|it| it.attributes().len() == 0) {
        return false;
    }
    let labelled =
        ["title", "aria-label", "alt"].iter().filter_map(|name| tree.attribute(node, name)).any(|it| text(it) == what);
    labelled || ["class", "id"].iter().filter_map(|name| tree.attribute(node, name)).any(|it| names_say(it) == what)
}

/// What class names and ids say: `btn-next`, `pageNext`; but not `prev_next`, which both links of a pager have.
fn names_say(names: &str) -> Says {
    let has_word = |word: &[u8]| names.as_bytes().windows(word.len()).any(|it| it.eq_ignore_ascii_case(word));
    if !has_word(b"next") && !has_word(b"prev") {
        return Says::Nothing;
    }
    let parts = parts(names);
    // `nextpostslink`, `pagenext`
    let has = |word: &str| parts.iter().any(|part| part.starts_with(word) || part.ends_with(word));
    match (has("next"), has("prev") || has("previous")) {
        (true, false) => Says::Next,
        (false, true) => Says::Back,
        _ => Says::Nothing,
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
