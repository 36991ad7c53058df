//! Pagers with POST-backs: `<a href="javascript:__doPostBack('grid','Page$2')">2</a>`.

use std::borrow::Cow;

use super::super::{links, post_back};
use super::numbers::number;
use super::phrases::LinkMeaning;
use super::words;
use crate::page::{NodeId, Tree};

/// How many ancestors of a link are searched for the current page's number.
const LEVELS: usize = 4;

/// The element whose POST-back leads to the next page.
pub fn next_post_back(tree: &Tree) -> Option<NodeId> {
    let links: Vec<NodeId> = tree
        .subtree(tree.root())
        .filter(|&node| is_post_back(tree, node) && post_back::post_back_of(tree, node).is_some())
        .collect();
    let says_next = |node: &&NodeId| {
        words::label_meaning(&label(tree, **node)) == LinkMeaning::Next || argument(tree, **node) == "Page$Next"
    };
    let is_arrow = |node: &&NodeId| {
        words::label_meaning(&label(tree, **node)) == LinkMeaning::Arrow && super::in_pager(tree, **node)
    };
    let numbered = || links.iter().find(|node| is_after_current(tree, **node));
    links.iter().find(says_next).or_else(numbered).or_else(|| links.iter().find(is_arrow)).copied()
}

/// Whether the link's number is one more than a number beside it that is no link.
fn is_after_current(tree: &Tree, node: NodeId) -> bool {
    let own = number(&tree.text(node)).or_else(|| {
        // `…` leads to the next block of numbers: its argument says to which page.
        let text = tree.text(node);
        matches!(text.trim(), "..." | "…").then(|| argument(tree, node).rsplit('$').next()?.parse().ok()).flatten()
    });
    let Some(own) = own else { return false };
    let is_plain = |text: NodeId| tree.ancestors(text).take(LEVELS).all(|it| !is_post_back(tree, it));
    tree.ancestors(node).take(LEVELS).any(|around| {
        let texts = tree.subtree(around).filter_map(|it| Some((it, number(tree.own_text(it)?.trim())?)));
        texts.filter(|(it, _)| is_plain(*it)).any(|(_, current)| current + 1 == own)
    })
}

fn argument(tree: &Tree, node: NodeId) -> String {
    post_back::post_back_of(tree, node).map(|event| event.argument).unwrap_or_default()
}

fn is_post_back(tree: &Tree, node: NodeId) -> bool {
    matches!(tree.tag(node), "a" | "button" | "input")
}

fn label(tree: &Tree, node: NodeId) -> Cow<'_, str> {
    match tree.attribute(node, "value").filter(|_| tree.tag(node) == "input") {
        Some(value) => Cow::Borrowed(value),
        None => links::label(tree, node),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_after_the_current_one_is_pressed() {
        let link = |argument: &str, text: &str| {
            format!("<td><a href=\"javascript:__doPostBack('grid','{argument}')\">{text}</a></td>")
        };
        for (pager, pressed) in [
            (format!("<td><span>1</span></td>{}{}", link("Page$2", "2"), link("Page$3", "3")), Some("Page$2")),
            (format!("{}<td><span>2</span></td>{}", link("Page$1", "1"), link("Page$3", "3")), Some("Page$3")),
            (format!("{}<td><span>3</span></td>", link("Page$2", "2")), None),
            (format!("<td><span>10</span></td>{}", link("Page$11", "...")), Some("Page$11")),
            (format!("{}{}", link("Page$Prev", "Previous"), link("Page$Next", "Next")), Some("Page$Next")),
            (link("Sort$Name", "Name"), None),
        ] {
            let tree = Tree::parse(&format!("<form><table><tr>{pager}</tr></table></form>"));
            let found = next_post_back(&tree).map(|node| argument(&tree, node));
            assert_eq!(found.as_deref(), pressed, "{pager}");
        }
    }
}
