//! “Load more” buttons, which load more rows into the same page.

use std::borrow::Cow;

use url::Url;

use super::super::links;
use super::words;
use crate::page::{NodeId, Tree};

/// Attributes in which buttons keep the URL that they load from.
const URL_ATTRIBUTES: &[&str] = &[
    "data-url",
    "data-href",
    "data-next-url",
    "data-next",
    "data-load-more-url",
    "data-more-url",
    "data-src",
    "hx-get",
];

/// The URL that a “load more” button loads from, if one of its attributes names it.
pub fn more_address(tree: &Tree, base: &Url) -> Option<Url> {
    buttons(tree).find_map(|node| {
        let said =
            URL_ATTRIBUTES.iter().filter_map(|name| tree.attribute(node, name)).find(|it| !it.trim().is_empty())?;
        links::resolve(base, said)
    })
}

/// The button itself, for the browser engine.
pub fn more_button(tree: &Tree) -> Option<NodeId> {
    buttons(tree).next()
}

fn buttons(tree: &Tree) -> impl Iterator<Item = NodeId> {
    let presses = |&node: &NodeId| match tree.tag(node) {
        "button" => true,
        "a" => !leads_away(tree, node),
        "input" => matches!(tree.attribute(node, "type"), Some("button" | "submit")),
        _ => false,
    };
    tree.subtree(tree.root()).filter(presses).filter(|&node| words::is_load_more_label(&label(tree, node)))
}

fn label(tree: &Tree, node: NodeId) -> Cow<'_, str> {
    if tree.tag(node) == "input" {
        return Cow::Borrowed(tree.attribute(node, "value").unwrap_or_default());
    }
    links::label(tree, node)
}

/// Whether a link has a real URL, so that it is no button whatever its text says.
fn leads_away(tree: &Tree, node: NodeId) -> bool {
    let href = tree.attribute(node, "href").unwrap_or_default().trim();
    !href.is_empty() && !href.starts_with('#') && !href.to_ascii_lowercase().starts_with("javascript:")
}
