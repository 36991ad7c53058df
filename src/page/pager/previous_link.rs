//! Reuses the signature of the last next link: from the second page on, the link with the same text and look is taken
//! without scoring all others. A crawl of small pages spent a fourteenth of its time on scoring.

use url::Url;

use super::phrases::LinkMeaning;
use super::{NextPolicy, leads_on_in_list, links, next_node, target, words};
use crate::page::{NodeId, Tree};

/// Finds the next link, and remembers its signature for the next page.
#[derive(Default)]
pub struct NextLinkFinder {
    previous: Option<LinkSignature>,
}

/// A link's text, and the attributes of the link and its parent.
#[derive(PartialEq, Eq)]
struct LinkSignature {
    label: String,
    attributes: [String; 3],
}

impl NextLinkFinder {
    /// The URL of the next page; `None` if no link is clearly the next one.
    pub fn next_url(&mut self, tree: &Tree, url: &Url) -> Option<Url> {
        if let Some(again) = self.previous.as_ref().and_then(|look| look.find_next(tree, url)) {
            return Some(again);
        }
        let node = next_node(tree, url, NextPolicy::ThroughList)?;
        self.previous = LinkSignature::of(tree, node);
        links::resolve(&links::base(tree, url), tree.attribute(node, "href")?)
    }
}

impl LinkSignature {
    /// `None` for a page number, which is different on every page.
    fn of(tree: &Tree, node: NodeId) -> Option<LinkSignature> {
        let label = links::label(tree, node).into_owned();
        let stays = matches!(words::label_meaning(&label), LinkMeaning::Next | LinkMeaning::Older);
        stays.then(|| LinkSignature { label, attributes: signature_attributes(tree, node).map(str::to_owned) })
    }

    /// The common target of all links with this signature, if it is a later page of this list.
    fn find_next(&self, tree: &Tree, url: &Url) -> Option<Url> {
        let is_like = |&node: &NodeId| {
            links::is_link(tree, node)
                && signature_attributes(tree, node).iter().zip(&self.attributes).all(|(now, then)| now == then)
                && links::label(tree, node) == self.label
        };
        let base = links::base(tree, url);
        let mut found = tree.elements("a").filter(is_like).map(|node| target(tree, url, &base, node));
        let first = found.next()??;
        (found.all(|it| it.as_ref() == Some(&first)) && leads_on_in_list(url, &first)).then_some(first)
    }
}

/// `rel`, class and the parent's class: they separate a next link from another link with the same text.
fn signature_attributes(tree: &Tree, node: NodeId) -> [&str; 3] {
    let above = tree.parent(node).and_then(|parent| tree.class(parent));
    [tree.class(node), tree.attribute(node, "rel"), above].map(Option::unwrap_or_default)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(path: &str) -> Url {
        Url::parse("http://shop.test").and_then(|url| url.join(path)).expect("an address")
    }

    fn on(way: &mut NextLinkFinder, html: &str, at: &str) -> Option<String> {
        way.next_url(&Tree::parse(html), &url(at)).map(|it| it[url::Position::BeforePath..].to_owned())
    }

    #[test]
    fn the_same_link_leads_on_again() {
        let mut way = NextLinkFinder::default();
        let page = |n: u32| {
            format!("<p><a href=/about>Next</a><div class=pager><a class=n href=/list?page={n}>Next</a></div>")
        };
        assert_eq!(on(&mut way, &page(2), "/list?page=1").as_deref(), Some("/list?page=2"));
        assert!(way.previous.is_some());
        assert_eq!(on(&mut way, &page(3), "/list?page=2").as_deref(), Some("/list?page=3"));
    }

    #[test]
    fn where_it_leads_back_or_two_ways_all_links_are_weighed_again() {
        let mut way = NextLinkFinder::default();
        let link = |to: &str| format!("<div class=pager><a href='{to}'>Next</a></div>");
        assert!(on(&mut way, &link("/list?page=2"), "/list?page=1").is_some());
        let known = way.previous.as_ref().expect("words that stay");
        let further = |html: &str| known.find_next(&Tree::parse(html), &url("/list?page=2"));
        assert!(further(&link("/list?page=3")).is_some());
        assert!(further(&link("/list?page=1")).is_none(), "it leads back");
        assert!(further(&(link("/list?page=3") + &link("/list?page=4"))).is_none(), "it leads two ways");
        assert!(further(&link("/news/today")).is_none(), "it leads out of the list");
        assert!(further("<a href=/list?page=3>Next</a>").is_none(), "it stands elsewhere");
    }

    #[test]
    fn numbers_are_weighed_on_every_page() {
        let mut way = NextLinkFinder::default();
        let html = "<div class=pager><b>1</b> <a href=/list?page=2>2</a> <a href=/list?page=3>3</a></div>";
        assert_eq!(on(&mut way, html, "/list").as_deref(), Some("/list?page=2"));
        assert!(way.previous.is_none());
    }
}
