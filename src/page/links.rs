//! The links of a page: finds them by selector, text or `rel`, and resolves their URLs. Pure.

use std::borrow::Cow;

use url::Url;

use super::text::collapse;
use super::{NodeId, Selector, Tree};
use crate::model::address::MAX_URL_BYTES;

/// The base URL of the page: its `<base href>`, or its own URL.
pub fn base(tree: &Tree, url: &Url) -> Url {
    let href = tree.elements("base").find_map(|base| tree.attribute(base, "href"));
    href.and_then(|href| url.join(href.trim()).ok()).unwrap_or_else(|| url.clone())
}

/// The absolute URL of an `href`. `None` if it cannot be fetched: `javascript:`, `mailto:`, invalid or too long.
pub fn resolve(base: &Url, href: &str) -> Option<Url> {
    let href = href.trim();
    if href.len() > MAX_URL_BYTES {
        return None;
    }
    base.join(href).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.as_str().len() <= MAX_URL_BYTES)
}

/// The absolute URL of a link.
pub fn target(tree: &Tree, base: &Url, node: NodeId) -> Option<Url> {
    resolve(base, tree.attribute(node, "href")?)
}

/// The conditions of a step for the link it wants; all of them must hold.
#[derive(Clone, Copy, Default)]
pub struct LinkQuery<'a> {
    pub css: Option<&'a Selector>,
    pub text: Option<&'a str>,
    pub rel: Option<&'a str>,
}

/// The first link that meets all conditions.
pub fn find(tree: &Tree, url: &Url, wanted: LinkQuery<'_>) -> Option<Url> {
    let base = base(tree, url);
    let chosen: Option<Vec<NodeId>> =
        wanted.css.map(|css| css.all(tree, tree.root()).into_iter().filter_map(|node| link_at(tree, node)).collect());
    let all = tree.subtree(tree.root()).filter(|&node| is_link(tree, node));
    let fits = |&node: &NodeId| has_text(tree, node, wanted.text) && has_rel(tree, node, wanted.rel);
    let target = |node: NodeId| target(tree, &base, node);
    match chosen {
        Some(nodes) => nodes.into_iter().filter(fits).find_map(target),
        None => all.filter(fits).find_map(target),
    }
}

/// Buttons and `javascript:` links that meet all conditions.
pub fn pressable(tree: &Tree, wanted: LinkQuery<'_>) -> Vec<NodeId> {
    let is_pressed = |&node: &NodeId| match tree.tag(node) {
        "button" | "a" => true,
        "input" => matches!(tree.attribute(node, "type"), Some("submit" | "image" | "button")),
        _ => false,
    };
    let has_text = |&node: &NodeId| {
        let value = tree.attribute(node, "value").filter(|_| tree.tag(node) == "input");
        has_text(tree, node, wanted.text)
            || value.zip(wanted.text).is_some_and(|(value, text)| value.to_lowercase().contains(&text.to_lowercase()))
    };
    let all: Vec<NodeId> = match wanted.css {
        Some(css) => css
            .all(tree, tree.root())
            .into_iter()
            .filter_map(|node| tree.subtree(node).find(|it| is_pressed(it)))
            .collect(),
        None => tree.subtree(tree.root()).filter(is_pressed).collect(),
    };
    all.into_iter().filter(has_text).filter(|&node| has_rel(tree, node, wanted.rel)).collect()
}

/// The element to click in a browser: the one that the selector names, or a button or link with that text.
pub fn clickable(tree: &Tree, wanted: LinkQuery<'_>) -> Option<NodeId> {
    let fits = |&node: &NodeId| has_text(tree, node, wanted.text) && has_rel(tree, node, wanted.rel);
    match wanted.css {
        Some(css) => css.all(tree, tree.root()).into_iter().find(fits),
        None => {
            let pressed = pressable(tree, wanted).into_iter().next();
            // Any element may listen to clicks: takes the innermost one with the text.
            let inside = |&node: &NodeId| tree.children(node).filter(|&it| tree.element(it).is_some()).find(fits);
            let any = || std::iter::successors(inside(&tree.root()), inside).last();
            pressed.or_else(|| any().filter(|_| wanted.text.is_some()))
        }
    }
}

/// The texts of the page's links, for an error that lists what there is.
pub fn texts(tree: &Tree, most: usize) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    for node in tree.elements("a").filter(|&node| is_link(tree, node)) {
        let text = label(tree, node).into_owned();
        if !text.is_empty() && !texts.contains(&text) {
            texts.push(text);
        }
        if texts.len() == most {
            break;
        }
    }
    texts
}

/// The link that a selector means: the element itself, or a link around it or inside it.
fn link_at(tree: &Tree, node: NodeId) -> Option<NodeId> {
    let inside = tree.subtree(node).find(|&it| is_link(tree, it));
    inside.or_else(|| tree.ancestors(node).find(|&it| is_link(tree, it)))
}

pub fn is_link(tree: &Tree, node: NodeId) -> bool {
    matches!(tree.tag(node), "a" | "area" | "link") && tree.attribute(node, "href").is_some()
}

/// The link's label: its text, or else the text of its image or attributes.
pub fn label(tree: &Tree, node: NodeId) -> Cow<'_, str> {
    let text = tree.collapsed_text(node);
    if !text.is_empty() {
        return text;
    }
    let alt = tree.subtree(node).find_map(|it| tree.attribute(it, "alt").filter(|alt| !alt.trim().is_empty()));
    let said = alt.or_else(|| tree.attribute(node, "aria-label")).or_else(|| tree.attribute(node, "title"));
    Cow::Owned(collapse(said.unwrap_or_default()))
}

fn has_text(tree: &Tree, node: NodeId, wanted: Option<&str>) -> bool {
    wanted.is_none_or(|text| label(tree, node).to_lowercase().contains(&collapse(text).to_lowercase()))
}

fn has_rel(tree: &Tree, node: NodeId, wanted: Option<&str>) -> bool {
    let rels = || tree.attribute(node, "rel").unwrap_or_default().split_ascii_whitespace();
    wanted.is_none_or(|rel| rels().any(|it| it.eq_ignore_ascii_case(rel.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_found_by_what_is_said_of_it() {
        let tree = Tree::parse(
            "<base href=/shop/><link rel=next href=?p=2><a href='javascript:x()'>Orders</a>\
             <a href=orders>My  Orders</a><p id=top><a href=top><img alt='To the top'></a></p>\
             <a href=mailto:a@b>Mail</a><a rel='nofollow next' href=?p=3>more</a>",
        );
        let url = Url::parse("http://shop.test/a/b").expect("a URL");
        let found = |css: Option<&str>, text, rel| {
            let css = css.map(|css| Selector::parse(css).expect("a selector of the test"));
            find(&tree, &url, LinkQuery { css: css.as_ref(), text, rel }).map(String::from)
        };
        assert_eq!(found(None, Some("orders"), None).as_deref(), Some("http://shop.test/shop/orders"));
        assert_eq!(found(None, Some("the top"), None).as_deref(), Some("http://shop.test/shop/top"));
        assert_eq!(found(Some("#top"), None, None).as_deref(), Some("http://shop.test/shop/top"));
        assert_eq!(found(Some("#top img"), None, None).as_deref(), Some("http://shop.test/shop/top"));
        assert_eq!(found(None, None, Some("next")).as_deref(), Some("http://shop.test/shop/?p=2"));
        assert_eq!(found(None, Some("more"), Some("NEXT")).as_deref(), Some("http://shop.test/shop/?p=3"));
        assert_eq!(found(None, Some("mail"), None), None);
    }
}
