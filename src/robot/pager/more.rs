//! A button that fetches more into the same page: no address leads on, a browser would have to press it.

use super::super::link;
use super::words;
use crate::page::{NodeId, Tree};

pub fn is_there(tree: &Tree) -> bool {
    let presses = |&node: &NodeId| match tree.tag(node) {
        "button" => true,
        "a" => !leads_away(tree, node),
        "input" => matches!(tree.attribute(node, "type"), Some("button" | "submit")),
        _ => false,
    };
    tree.subtree(tree.root()).filter(presses).any(|node| words::says_more(&label(tree, node)))
}

fn label(tree: &Tree, node: NodeId) -> String {
    if tree.tag(node) == "input" {
        return tree.attribute(node, "value").unwrap_or_default().to_owned();
    }
    link::label(tree, node)
}

/// A link with an address is a link, whatever it says.
fn leads_away(tree: &Tree, node: NodeId) -> bool {
    let href = tree.attribute(node, "href").unwrap_or_default().trim();
    !href.is_empty() && !href.starts_with('#') && !href.to_ascii_lowercase().starts_with("javascript:")
}
