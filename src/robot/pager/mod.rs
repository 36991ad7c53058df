//! The next link of a page. Pure: every link is scored by what it says, where it stands and where it leads.

mod url_page_number;
mod load_more;
mod previous_link;
mod words;
mod phrases;
mod numbers;
mod post_back;

use url::Url;

use super::link;
use crate::page::{NodeId, Tree};
use words::LinkMeaning;

pub use self::previous_link::NextLinkFinder;

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

/// What “next” means. A blog's “Older posts” leads on through the list, but is *previous* to those who read the blog as a diary,
/// and many blogs mark it so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextPolicy {
    /// What the page shows its readers as next: a mark in its head that no visible link shares does not count, and newer posts
    /// come after older ones unless the page marks them otherwise.
    AsShown,
    /// Where a walk through the whole list goes on: to older posts.
    ThroughList,
}

pub fn paging(tree: &Tree, url: &Url, reading: NextPolicy) -> Paging {
    if let Some(node) = next_node(tree, url, reading) {
        return Paging::Next(node);
    }
    if load_more::exists(tree) {
        return Paging::More;
    }
    if numbers::exists(tree, url, &link::base(tree, url)) { Paging::Pages } else { Paging::None }
}

/// Where a walk goes on from this page; `None` when no link says so clearly.
pub fn next_link(tree: &Tree, url: &Url) -> Option<Url> {
    NextLinkFinder::default().next_url(tree, url)
}

/// The element whose post-back leads on, where no link does.
pub fn next_post_back(tree: &Tree) -> Option<NodeId> {
    post_back::next(tree)
}

/// Where a “load more” button says that more is.
pub fn more_address(tree: &Tree, base: &Url) -> Option<Url> {
    load_more::address(tree, base)
}

/// The “load more” button, for who can press it.
pub fn more_button(tree: &Tree) -> Option<NodeId> {
    load_more::button(tree)
}

/// The link itself.
pub fn next_node(tree: &Tree, url: &Url, reading: NextPolicy) -> Option<NodeId> {
    let base = link::base(tree, url);
    let numbered = numbers::next_number(tree, url, &base);
    let page = LinkScorer { tree, url, policy: reading, rel_next: rel_next_of_head(tree, url, &base) };
    let mut best: Option<(i32, NodeId)> = None;
    for node in tree.subtree(tree.root()).filter(|&node| link::is_link(tree, node)) {
        if tree.tag(node) == "link" && reading == NextPolicy::AsShown {
            continue;
        }
        if numbered != Some(node) && !page.may_lead_on(node) {
            continue;
        }
        let Some(target) = target(tree, url, &base, node).filter(|_| !in_other_widget(tree, node)) else { continue };
        let score = page.score(node, &target) + if numbered == Some(node) { NUMBERED } else { 0 };
        // The first of equals: pagers stand above and below a list, and say the same.
        if score >= MIN_SCORE && best.as_ref().is_none_or(|(so_far, _)| score > *so_far) {
            best = Some((score, node));
        }
    }
    best.map(|(_, node)| node)
}

/// Where the page's head says that the next one is.
fn rel_next_of_head(tree: &Tree, url: &Url, base: &Url) -> Option<Url> {
    let mut marks = tree.elements("link").filter(|&node| has_rel(tree, node, &["next"]));
    marks.find_map(|node| target(tree, url, base, node))
}

fn has_rel(tree: &Tree, node: NodeId, words: &[&str]) -> bool {
    let rel = tree.attribute(node, "rel").unwrap_or_default();
    rel.split_ascii_whitespace().any(|it| words.iter().any(|word| it.eq_ignore_ascii_case(word)))
}

// Weights, set by hand on the 119 labelled pages that the test below reads. Two signs that agree are enough, one weak sign is not.
const MIN_SCORE: i32 = 8;
const REL: i32 = 9;
const TEXT: i32 = 7;
const ARROW: i32 = 4;
const ATTRIBUTE: i32 = 4;
const NUMBERED: i32 = 8;
/// Nothing but a list has older and newer posts, wherever they are: the newest are often the front page.
const BY_AGE: i32 = 12;
const IN_PAGER: i32 = 4;
const SAME_LIST: i32 = 4;
/// Under another path, but it counts one page on: a front page whose list goes on at `/news?page=2`.
const COUNTED: i32 = 2;
/// Where both lead on by their words (“Next posts”, “Previous posts”), a walk takes the one that counts up. Some lists count down.
const COUNTED_DOWN: i32 = 2;
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
    (target != here && host_without_www(&target) == host_without_www(url)).then_some(target)
}

fn host_without_www(url: &Url) -> Option<&str> {
    url.host_str().map(|host| host.strip_prefix("www.").unwrap_or(host))
}

/// What every link of a page is judged by.
struct LinkScorer<'a> {
    tree: &'a Tree,
    url: &'a Url,
    policy: NextPolicy,
    rel_next: Option<Url>,
}

impl LinkScorer<'_> {
    /// Does anything speak for this link? Most links of a page say nothing, and where they lead need not be worked out.
    fn may_lead_on(&self, node: NodeId) -> bool {
        let tree = self.tree;
        let label = link::label(tree, node);
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
        let label = link::label(tree, node);
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

/// Is the target in the same list, and not before this page?
fn leads_on_in_list(url: &Url, target: &Url) -> bool {
    same_list(url, target) && !url_page_number::is_earlier_page(url, target)
}

/// Does the address look like the same list, further on: the same path but for numbers, or the same path and other numbers in
/// its query?
fn same_list(url: &Url, target: &Url) -> bool {
    if url.path() == target.path() {
        return true;
    }
    let path = |url: &Url| strip_page(url.path());
    let (here, there) = (path(url), path(target));
    here == there || there.starts_with(&format!("{here}/")) || here.starts_with(&format!("{there}/"))
}

/// A path without its last number and the words that announce it: `/list/page/2/` and `/list` are the same list.
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
