//! Finds the next link of a list page: scores every link by its text, its position and its target. Pure.

mod load_more;
mod numbers;
mod phrases;
mod post_back;
mod previous_link;
mod url_page_number;
mod words;

use url::Url;

use super::links;
use crate::page::{NodeId, Tree};
use phrases::LinkMeaning;

pub use load_more::{more_address, more_button};
pub use post_back::next_post_back;
pub use previous_link::NextLinkFinder;

/// The kind of pager that a page has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paging {
    /// A link to the next page.
    Next(NodeId),
    /// Numbered pages, without a link to the next one.
    Pages,
    /// A button that loads more into the same page.
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

/// What “next” means. A blog's “Older posts” leads on through the list, but in the order of time it is the *previous*
/// page, and many blogs mark it so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextPolicy {
    /// The next page as readers see it: `<link rel=next>` without a visible link does not count, and newer posts come
    /// after older ones unless the page marks them otherwise.
    AsShown,
    /// The next page of a walk through the whole list: to older posts.
    ThroughList,
}

pub fn paging(tree: &Tree, url: &Url, reading: NextPolicy) -> Paging {
    if let Some(node) = next_node(tree, url, reading) {
        return Paging::Next(node);
    }
    if more_button(tree).is_some() {
        return Paging::More;
    }
    if numbers::exists(tree, url, &links::base(tree, url)) { Paging::Pages } else { Paging::None }
}

/// The URL of the next page; `None` if no link is clearly the next one.
pub fn next_link(tree: &Tree, url: &Url) -> Option<Url> {
    NextLinkFinder::default().next_url(tree, url)
}

fn next_node(tree: &Tree, url: &Url, reading: NextPolicy) -> Option<NodeId> {
    let base = links::base(tree, url);
    let numbered = numbers::next_number(tree, url, &base);
    let page = LinkScorer { tree, url, policy: reading, rel_next: rel_next_of_head(tree, url, &base) };
    let mut best: Option<(i32, NodeId)> = None;
    for node in tree.subtree(tree.root()).filter(|&node| links::is_link(tree, node)) {
        if tree.tag(node) == "link" && reading == NextPolicy::AsShown {
            continue;
        }
        if numbered != Some(node) && !page.may_lead_on(node) {
            continue;
        }
        let Some(target) = target(tree, url, &base, node).filter(|_| !in_other_widget(tree, node)) else { continue };
        let score = page.score(node, &target) + if numbered == Some(node) { NUMBERED } else { 0 };
        // The first of equal scores: the same pager often is above and below a list.
        if score >= MIN_SCORE && best.as_ref().is_none_or(|(so_far, _)| score > *so_far) {
            best = Some((score, node));
        }
    }
    best.map(|(_, node)| node)
}

/// The target of `<link rel=next>`.
fn rel_next_of_head(tree: &Tree, url: &Url, base: &Url) -> Option<Url> {
    let mut marks = tree.elements("link").filter(|&node| has_rel(tree, node, &["next"]));
    marks.find_map(|node| target(tree, url, base, node))
}

fn has_rel(tree: &Tree, node: NodeId, words: &[&str]) -> bool {
    let rel = tree.attribute(node, "rel").unwrap_or_default();
    rel.split_ascii_whitespace().any(|it| words.iter().any(|word| it.eq_ignore_ascii_case(word)))
}

// Weights, set by hand on the 119 labelled pages of the test in `tests.rs`. Two signs that agree are enough, one weak
// sign is not.
const MIN_SCORE: i32 = 8;
const REL: i32 = 9;
const TEXT: i32 = 7;
const ARROW: i32 = 4;
const ATTRIBUTE: i32 = 4;
const NUMBERED: i32 = 8;
/// Only a list has older and newer posts, under whatever path: the newest are often the front page.
const BY_AGE: i32 = 12;
const IN_PAGER: i32 = 4;
const SAME_LIST: i32 = 4;
/// Another path, but the number of the next page: a front page whose list continues at `/news?page=2`.
const COUNTED: i32 = 2;
/// If both links fit by their words (“Next posts”, “Previous posts”), a walk takes the one that counts up; some lists
/// count down.
const COUNTED_DOWN: i32 = 2;
/// Another part of the site: the next article, the next photo.
const ELSEWHERE: i32 = -5;
const NEVER: i32 = -100;

/// The target of a link that could be the next page: another page of this host, ignoring the fragment.
fn target(tree: &Tree, url: &Url, base: &Url, node: NodeId) -> Option<Url> {
    let href = tree.attribute(node, "href")?.trim();
    if href.is_empty() || href.starts_with('#') {
        return None;
    }
    let mut target = links::resolve(base, href)?;
    let mut here = url.clone();
    here.set_fragment(None);
    target.set_fragment(None);
    (target != here && host_without_www(&target) == host_without_www(url)).then_some(target)
}

fn host_without_www(url: &Url) -> Option<&str> {
    url.host_str().map(|host| host.strip_prefix("www.").unwrap_or(host))
}

/// Scores the links of a page.
struct LinkScorer<'a> {
    tree: &'a Tree,
    url: &'a Url,
    policy: NextPolicy,
    rel_next: Option<Url>,
}

impl LinkScorer<'_> {
    /// A cheap test for any sign of a next link: most links have none, and their targets need not be resolved.
    fn may_lead_on(&self, node: NodeId) -> bool {
        let tree = self.tree;
        let label = links::label(tree, node);
        self.rel_next.is_some()
            || has_rel(tree, node, &["next"])
            || words::label_meaning(&label) != LinkMeaning::Nothing
            || label.is_empty() && words::is_drawn_arrow(tree, node)
            || words::attributes_mean(tree, node, LinkMeaning::Next)
    }

    fn score(&self, node: NodeId, target: &Url) -> i32 {
        let tree = self.tree;
        let is_next = words::attributes_mean(tree, node, LinkMeaning::Next);
        let is_back =
            has_rel(tree, node, &["prev", "previous"]) || words::attributes_mean(tree, node, LinkMeaning::Back);
        let is_marked = has_rel(tree, node, &["next"]) || self.rel_next.as_ref() == Some(target);
        let label = links::label(tree, node);
        let is_drawn = label.is_empty() && words::is_drawn_arrow(tree, node);
        let mut score = match if is_drawn { LinkMeaning::Arrow } else { words::label_meaning(&label) } {
            LinkMeaning::Older if self.policy == NextPolicy::ThroughList => return BY_AGE,
            LinkMeaning::Older if (is_next || is_marked) && !is_back => return BY_AGE,
            LinkMeaning::Newer if self.policy == NextPolicy::AsShown && !is_back => return BY_AGE,
            LinkMeaning::Older | LinkMeaning::Newer | LinkMeaning::Back | LinkMeaning::NextOther => return NEVER,
            _ if is_back => return NEVER,
            LinkMeaning::Next => TEXT,
            LinkMeaning::Arrow => ARROW,
            LinkMeaning::More if url_page_number::is_next_page(self.url, target) => TEXT,
            LinkMeaning::More | LinkMeaning::Nothing => 0,
        };
        if is_marked {
            score += REL;
        }
        if is_next {
            score += ATTRIBUTE;
        }
        if score == 0 {
            return 0;
        }
        if in_pager(tree, node) {
            score += IN_PAGER;
        }
        score
            + match () {
                () if self.policy == NextPolicy::ThroughList && url_page_number::is_earlier_page(self.url, target) => {
                    COUNTED_DOWN
                }
                () if same_list(self.url, target) => SAME_LIST,
                () if url_page_number::is_next_page(self.url, target) => COUNTED,
                () => ELSEWHERE,
            }
    }
}

/// How many ancestors of a link are tested for being its pager.
const PAGER_LEVELS: usize = 4;
const WIDGET_LEVELS: usize = 6;

fn in_pager(tree: &Tree, node: NodeId) -> bool {
    tree.ancestors(node).take(PAGER_LEVELS).any(|it| words::is_pager(tree, it))
}

/// Calendars and slide shows have next links of their own.
fn in_other_widget(tree: &Tree, node: NodeId) -> bool {
    tree.ancestors(node).take(WIDGET_LEVELS).any(|it| words::is_other_widget(tree, it))
}

/// Whether the target is a page of the same list, and not an earlier one.
fn leads_on_in_list(url: &Url, target: &Url) -> bool {
    same_list(url, target) && !url_page_number::is_earlier_page(url, target)
}

/// Whether the URL looks like another page of the same list: the same path except for numbers, or the same path with
/// other numbers in its query.
fn same_list(url: &Url, target: &Url) -> bool {
    if url.path() == target.path() {
        return true;
    }
    let path = |url: &Url| strip_page(url.path());
    let (here, there) = (path(url), path(target));
    here == there || there.starts_with(&format!("{here}/")) || here.starts_with(&format!("{there}/"))
}

/// A path without its last number and the word before it: `/list/page/2/` and `/list` are the same list.
fn strip_page(path: &str) -> String {
    let mut parts: Vec<String> = path
        .split('/')
        .filter(|part| !part.is_empty())
        .map(|part| without_ending(part).trim_end_matches(|c: char| c.is_ascii_digit()).to_lowercase())
        .collect();
    while parts.last().is_some_and(|part| {
        matches!(part.trim_end_matches(['-', '_', '.']), "" | "page" | "p" | "pg" | "seite" | "index")
    }) {
        parts.pop();
    }
    format!("/{}", parts.join("/").trim_end_matches(['-', '_', '.']))
}

/// `list-2.html` counts as `list-2` does.
fn without_ending(part: &str) -> &str {
    const ENDINGS: &[&str] = &[".html", ".htm", ".php", ".aspx", ".asp", ".jsp", ".shtml"];
    ENDINGS.iter().find_map(|ending| part.strip_suffix(ending)).unwrap_or(part)
}

#[cfg(test)]
mod tests;
