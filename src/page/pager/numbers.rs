//! Numbered pagers: the next page is the number after the current one, which is marked or not a link.

use std::collections::BTreeMap;

use url::Url;

use super::super::links;
use super::{url_page_number, words};
use crate::page::{NodeId, Tree};

/// How far up the common ancestor of a pager's numbers may be; higher up they would not belong to one pager.
const LEVELS: usize = 5;
/// More numbers than this in one place are a calendar or an index.
const MAX_NUMBERS: usize = 25;
const MAX_PAGE: u32 = 100_000;
/// Class names of the current page's number.
const CURRENT: &[&str] = &["current", "active", "selected", "on", "cur", "thispage", "here", "currentpage"];

/// The link to the next page in a numbered pager.
pub fn next_number(tree: &Tree, url: &Url, base: &Url) -> Option<NodeId> {
    pagers(tree, base).into_iter().find_map(|(pager, numbers)| {
        let current = current(tree, url, base, pager, &numbers)?;
        numbers.iter().find(|(_, number)| *number == current + 1).map(|(node, _)| *node)
    })
}

/// Whether the page has a numbered pager for this list.
pub fn exists(tree: &Tree, url: &Url, base: &Url) -> bool {
    let same_list = |node: NodeId| links::target(tree, base, node).is_some_and(|target| super::same_list(url, &target));
    pagers(tree, base).into_iter().any(|(pager, numbers)| {
        let all_same = numbers.iter().all(|(node, _)| same_list(*node));
        all_same && (current(tree, url, base, pager, &numbers).is_some() || super::in_pager(tree, numbers[0].0))
    })
}

/// Links that are numbers, by their common ancestor.
fn pagers(tree: &Tree, base: &Url) -> BTreeMap<NodeId, Vec<(NodeId, u32)>> {
    let links: Vec<(NodeId, u32)> = tree
        .elements("a")
        .filter(|&node| links::is_link(tree, node))
        .filter(|&node| !has_letters(tree, node))
        .filter_map(|node| Some((node, number(&tree.text(node))?)))
        .filter(|&(node, _)| !super::in_other_widget(tree, node))
        .collect();
    let mut pagers: BTreeMap<NodeId, Vec<(NodeId, u32)>> = BTreeMap::new();
    for &(node, number) in &links {
        let holds_two = |it: &NodeId| {
            let before = |end: NodeId| links.partition_point(|(other, _)| *other < end);
            before(tree.end(*it)) - before(*it) >= 2
        };
        let pager = tree.ancestors(node).take(LEVELS).find(holds_two).or_else(|| tree.ancestors(node).nth(1));
        if let Some(pager) = pager {
            pagers.entry(pager).or_default().push((node, number));
        }
    }
    pagers.retain(|_, numbers| numbers.len() <= MAX_NUMBERS && share_url_pattern(tree, base, numbers));
    pagers
}

/// A cheap test: most links begin with a word, and the rest need not be read to see that they are no number.
fn has_letters(tree: &Tree, link: NodeId) -> bool {
    tree.visible_texts(link).any(|text| text.bytes().any(|b| b.is_ascii_alphabetic()))
}

/// The page number, if the text is nothing else.
pub fn number(text: &str) -> Option<u32> {
    let bare = text.trim_matches(|c: char| !c.is_alphanumeric());
    if bare.is_empty() || !bare.bytes().all(|b| b.is_ascii_digit()) || text.len() > bare.len() + 4 {
        return None;
    }
    bare.parse().ok().filter(|number| (1..=MAX_PAGE).contains(number))
}

/// The current page's number: marked, linked to this page, or plain text.
fn current(tree: &Tree, url: &Url, base: &Url, pager: NodeId, numbers: &[(NodeId, u32)]) -> Option<u32> {
    let marked = |node: NodeId| {
        tree.attribute(node, "aria-current").is_some()
            || words::has_part(tree.attribute(node, "class").unwrap_or_default(), CURRENT)
    };
    let is_marked =
        |&&(node, _): &&(NodeId, u32)| marked(node) || tree.parent(node).is_some_and(|it| it != pager && marked(it));
    let leads_here = |&&(node, _): &&(NodeId, u32)| links::target(tree, base, node).as_ref() == Some(url);
    let found = numbers.iter().find(is_marked).or_else(|| numbers.iter().find(leads_here)).map(|(_, number)| *number);
    found
        .or_else(|| {
            let is_link =
                |node: NodeId| tree.ancestors(node).take_while(|&it| it != pager).any(|it| links::is_link(tree, it));
            let texts = tree.subtree(pager).filter_map(|node| Some((node, number(tree.own_text(node)?.trim())?)));
            let plain: Vec<u32> = texts.filter(|(node, _)| !is_link(*node)).map(|(_, number)| number).collect();
            // "3 of 17" has two plain numbers: the current one is the one that no link has.
            plain.iter().copied().find(|it| {
                numbers.iter().all(|(_, linked)| linked != it) && numbers.iter().any(|(_, linked)| *linked == it + 1)
            })
        })
        .or_else(|| number_in_url(tree, url, base, numbers))
}

/// The page number in this page's URL, if the links' URLs contain the numbers that the links show.
fn number_in_url(tree: &Tree, url: &Url, base: &Url, numbers: &[(NodeId, u32)]) -> Option<u32> {
    let place = |url: &Url| url_page_number::page_number(url).and_then(|place| u32::try_from(place).ok());
    let counts = |&(node, number): &(NodeId, u32)| {
        links::target(tree, base, node).is_some_and(|target| place(&target) == Some(number))
    };
    let here = place(url)?;
    numbers.iter().any(|it| it.1 == here.saturating_add(1) && counts(it)).then_some(here)
}

/// Whether the links' URLs differ only in digits.
fn share_url_pattern(tree: &Tree, base: &Url, numbers: &[(NodeId, u32)]) -> bool {
    let shape = |node: NodeId| {
        let target = links::target(tree, base, node)?;
        Some(target.as_str().chars().filter(|c| !c.is_ascii_digit()).collect::<String>())
    };
    let shapes: Vec<Option<String>> = numbers.iter().map(|(node, _)| shape(*node)).collect();
    let most = shapes.iter().map(|it| shapes.iter().filter(|other| *other == it).count()).max().unwrap_or(0);
    // The first page often has a shorter URL.
    shapes.iter().all(Option::is_some) && most + 1 >= numbers.len()
}
