//! The meaning of a link's text, attributes and class names for paging.

use std::borrow::Cow;

use super::phrases::{self, LinkMeaning};
use crate::page::{NodeId, Tree};

/// A pager's texts are short; a longer text is a sentence.
const MAX_WORDS: usize = 5;
const MAX_CHARS: usize = 40;
/// A wrapper around a single link has few nodes; a larger parent is not read again for every link in it.
const MAX_WRAPPER_NODES: u32 = 16;

/// Whether the label is that of a “load more” button, with or without an object: “Load more hotels”.
pub fn is_load_more_label(label: &str) -> bool {
    let label = label.trim().to_lowercase();
    let is_short = label.chars().count() <= MAX_CHARS && label.split_whitespace().count() <= MAX_WORDS;
    is_short && begins_with_more(&label)
}

fn begins_with_more(label: &str) -> bool {
    phrases::begins_with_more(label.trim_start_matches(|c: char| !c.is_alphanumeric()))
}

pub fn label_meaning(label: &str) -> LinkMeaning {
    let label = label.trim();
    // A character has at most four bytes.
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

/// Lower case without an allocation for short ASCII texts: this runs for every link of every page.
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

/// Whether class, id, title or label of the link, or of a wrapper around it alone, have this meaning.
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

/// The meaning of class names and ids: `btn-next`, `pageNext`; not `prev_next`, which both links of a pager have.
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

/// Whether the link is an icon of an arrow to the right, by its class: `fa-angle-right`.
pub fn is_drawn_arrow(tree: &Tree, node: NodeId) -> bool {
    const SHAPES: &[&str] = &["arrow", "chevron", "angle", "caret"];
    tree.subtree(node)
        .take(DRAWN_NODES)
        .filter_map(|it| tree.attribute(it, "class"))
        .any(|names| has_part(names, &["right"]) && has_part(names, SHAPES))
}

/// An icon is the link itself or one of its first descendants.
const DRAWN_NODES: usize = 4;

/// Whether one of the words is a part of the names.
pub fn has_part(names: &str, words: &[&str]) -> bool {
    parts(names).iter().any(|part| words.contains(&part.as_str()))
}

/// Whether the element is a pager by its class, id, role or label.
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

/// Whether the element is a widget with its own next links, such as a calendar or a carousel.
pub fn is_other_widget(tree: &Tree, node: NodeId) -> bool {
    const PARTS: &[&str] =
        &["calendar", "datepicker", "carousel", "slider", "slideshow", "gallery", "slick", "lightbox"];
    ["class", "id"].iter().filter_map(|name| tree.attribute(node, name)).any(|it| has_part(it, PARTS))
}

/// Splits `btnNext page_links` into btn, next, page, links.
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
