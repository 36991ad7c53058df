//! The next link of a page. Pure: every link is scored by what it says, where it stands and where it leads.

mod words;
mod numbers;
mod more;

use url::Url;

use super::link;
use crate::page::{NodeId, Tree};
use words::Says;

/// How a page leads on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paging {
    /// By a link to the page after it.
    Next(NodeId),
    /// By numbers of pages, none of which is the one after it.
    Pages,
    /// By a button that fetches more into the same page.
    More,
    None,
}

impl Paging {
    pub fn word(self) -> &'static str {
        match self {
            Paging::Next(_) => "next",
            Paging::Pages => "pages",
            Paging::More => "more",
            Paging::None => "none",
        }
    }
}

pub fn paging(tree: &Tree, url: &Url) -> Paging {
    if let Some(node) = next_node(tree, url) {
        return Paging::Next(node);
    }
    if more::is_there(tree) {
        return Paging::More;
    }
    if numbers::are_there(tree, url, &link::base(tree, url)) { Paging::Pages } else { Paging::None }
}

/// Where the page after this one is; `None` when no link says so clearly.
pub fn next_link(tree: &Tree, url: &Url) -> Option<Url> {
    let node = next_node(tree, url)?;
    link::resolve(&link::base(tree, url), tree.attribute(node, "href")?)
}

/// The link itself.
pub fn next_node(tree: &Tree, url: &Url) -> Option<NodeId> {
    let base = link::base(tree, url);
    let numbered = numbers::after_current(tree, url, &base);
    let mut best: Option<(i32, NodeId)> = None;
    for node in tree.subtree(tree.root()).filter(|&node| link::is_link(tree, node)) {
        let Some(target) = target(tree, url, &base, node).filter(|_| !in_other_widget(tree, node)) else { continue };
        let score = score(tree, url, node, &target) + if numbered == Some(node) { NUMBERED } else { 0 };
        // The first of equals: pagers stand above and below a list, and say the same.
        if score >= ENOUGH && best.as_ref().is_none_or(|(so_far, _)| score > *so_far) {
            best = Some((score, node));
        }
    }
    best.map(|(_, node)| node)
}

// Weights, set by hand on the 119 labelled pages that the test below reads. Two signs that agree are enough, one weak sign is not.
const ENOUGH: i32 = 8;
const REL: i32 = 9;
const TEXT: i32 = 7;
const ARROW: i32 = 4;
const ATTRIBUTE: i32 = 4;
const NUMBERED: i32 = 8;
const IN_PAGER: i32 = 4;
const SAME_LIST: i32 = 4;
/// Another part of the site: the next article, the next photo.
const ELSEWHERE: i32 = -5;
const NEVER: i32 = -100;

/// A link that could be a next page at all: another page of this host, whatever its fragment.
fn target(tree: &Tree, url: &Url, base: &Url, node: NodeId) -> Option<Url> {
    let href = tree.attribute(node, "href")?.trim();
    if href.is_empty() || href.starts_with('#') {
        return None;
    }
    let mut target = link::resolve(base, href)?;
    let mut here = url.clone();
    here.set_fragment(None);
    target.set_fragment(None);
    (target != here && site(&target) == site(url)).then_some(target)
}

fn site(url: &Url) -> Option<&str> {
    url.host_str().map(|host| host.strip_prefix("www.").unwrap_or(host))
}

fn score(tree: &Tree, url: &Url, node: NodeId, target: &Url) -> i32 {
    let rel = tree.attribute(node, "rel").unwrap_or_default().to_ascii_lowercase();
    let mut score = if rel.split_ascii_whitespace().any(|it| it == "next") { REL } else { 0 };
    if rel.split_ascii_whitespace().any(|it| it == "prev" || it == "previous") {
        return NEVER;
    }
    score += match words::text(&link::label(tree, node)) {
        Says::Next => TEXT,
        Says::Arrow => ARROW,
        Says::Back | Says::NextOther => return NEVER,
        Says::Nothing => 0,
    };
    if words::attributes(tree, node, Says::Next) {
        score += ATTRIBUTE;
    }
    if words::attributes(tree, node, Says::Back) {
        return NEVER;
    }
    if score == 0 {
        return 0;
    }
    if in_pager(tree, node) {
        score += IN_PAGER;
    }
    score + if same_list(url, target) { SAME_LIST } else { ELSEWHERE }
}

/// How many elements around a link may be its pager.
const PAGER_LEVELS: usize = 4;
const WIDGET_LEVELS: usize = 6;

fn in_pager(tree: &Tree, node: NodeId) -> bool {
    tree.ancestors(node).take(PAGER_LEVELS).any(|it| words::is_pager(tree, it))
}

/// Calendars and picture shows have next links of their own.
fn in_other_widget(tree: &Tree, node: NodeId) -> bool {
    tree.ancestors(node).take(WIDGET_LEVELS).any(|it| words::is_other_widget(tree, it))
}

/// Does the address look like the same list, further on: the same path but for numbers, or the same path and other numbers in
/// its query?
fn same_list(url: &Url, target: &Url) -> bool {
    let path = |url: &Url| strip_page(url.path());
    let (here, there) = (path(url), path(target));
    here == there || there.starts_with(&format!("{here}/")) || here.starts_with(&format!("{there}/"))
}

/// A path without its last number and the words that announce it: `/list/page/2/` and `/list` are the same list.
fn strip_page(path: &str) -> String {
    let mut parts: Vec<String> = path
        .split('/')
        .filter(|part| !part.is_empty())
        .map(|part| part.trim_end_matches(|c: char| c.is_ascii_digit()).to_lowercase())
        .collect();
    while parts.last().is_some_and(|part| {
        matches!(part.trim_end_matches(['-', '_', '.']), "" | "page" | "p" | "pg" | "seite" | "index")
    }) {
        parts.pop();
    }
    format!("/{}", parts.join("/").trim_end_matches(['-', '_', '.']))
}

#[cfg(test)]
mod tests;
