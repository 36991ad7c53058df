//! Finds the next page for `paginate`: link, page number, cursor, button or scrolling.

use std::collections::HashSet;

use serde_json::Value;
use url::Url;

use super::super::error::SessionError;
use super::super::request::{PageRequest, SecretNames};
use super::super::walker::Walker;
use super::super::{Arrival, WalkError};
use super::{browser_actions, follow, match_values};
use crate::model::Failure;
use crate::model::address::display_url;
use crate::model::script::PaginateStep;
use crate::page::form::ElementPosition;
use crate::page::{links, pager};

/// How the next rows are reached.
pub enum NextPage {
    /// The next page is loaded already (prefetch).
    AlreadyThere,
    Page(Box<PageRequest>),
    /// There is no next page, or none that may be fetched.
    End(String),
    /// `limits.max_pages` is reached.
    Limit(String),
    /// Browser engine: a button that loads more into the page.
    Click(ElementPosition),
    /// Browser engine: infinite scroll.
    Scroll,
}

/// The pagination of one list.
pub struct Paginator<'s> {
    step: &'s PaginateStep,
    counter: PageCounter,
    link_finder: pager::NextLinkFinder,
    /// The URLs of the pages so far.
    pub visited: HashSet<String>,
}

impl<'s> Paginator<'s> {
    pub fn new(walker: &Walker<'_>, step: &'s PaginateStep) -> Paginator<'s> {
        let count = PageCounter::new(walker, step);
        Paginator { step, counter: count, link_finder: pager::NextLinkFinder::default(), visited: HashSet::new() }
    }

    /// Whether the list ends with a page that does not exist: so where pieme counts the pages itself.
    pub fn may_overshoot(&self) -> bool {
        self.step.param.is_some() || self.step.url.is_some() && self.step.cursor.is_none()
    }

    /// How the walk comes to the next page. A counted page is promised, too, where the current page links to it.
    pub fn arrival(&self, walker: &Walker<'_>, next: &NextPage) -> Arrival {
        let is_linked = |to: &Url| {
            let Some(here) = &walker.current else { return false };
            let base = links::base(&here.tree, &here.page.meta.url);
            let mut targets = here.tree.elements("a").filter_map(|link| links::target(&here.tree, &base, link));
            targets.any(|target| display_url(&target) == display_url(to))
        };
        match next {
            _ if self.step.ends_empty => Arrival::Step,
            NextPage::Page(request) if self.may_overshoot() && !is_linked(&request.url) => Arrival::Counted,
            _ => Arrival::Promised,
        }
    }

    /// The next page after the one with this number.
    pub async fn next(&mut self, walker: &mut Walker<'_>, number: u32) -> Result<NextPage, WalkError> {
        let next = self.next_unchecked(walker)?;
        if let NextPage::Page(request) = &next {
            // A POST-back or form leads to the same URL with other content.
            if !request.post && self.visited.contains(&display_url(&request.url)) {
                return Ok(NextPage::End("the next link leads to a page seen before".to_owned()));
            }
            if let Err(error) = walker.session.may_reach(&request.url).await {
                return match error {
                    SessionError::Refused { .. } | SessionError::RobotsTxt { .. } => {
                        Ok(NextPage::End(format!("the next link is not followed: {error}")))
                    }
                    error => Err(walker.error(error.cause(), error.to_string())),
                };
            }
        }
        if matches!(next, NextPage::End(_)) {
            return Ok(next);
        }
        if number >= self.step.max_pages.unwrap_or(u32::MAX) {
            return Ok(NextPage::End("the step's `max_pages` is reached; there are more".to_owned()));
        }
        if walker.pages >= walker.task.limits.max_pages {
            let pages = pages_text(walker.pages);
            return Ok(NextPage::Limit(format!("stopped after {pages} (limits.max_pages); there are more")));
        }
        Ok(next)
    }

    fn next_unchecked(&mut self, walker: &mut Walker<'_>) -> Result<NextPage, WalkError> {
        if self.step.scroll {
            return Ok(NextPage::Scroll);
        }
        if let Some(request) = self.request(walker)? {
            return Ok(NextPage::Page(Box::new(request)));
        }
        let button = button(walker, self.step)?.filter(|_| walker.has_browser());
        Ok(button.map_or_else(|| NextPage::End("no next page was found".to_owned()), NextPage::Click))
    }

    /// The request for the page after this one.
    fn request(&mut self, walker: &mut Walker<'_>) -> Result<Option<PageRequest>, WalkError> {
        let request = match self.step {
            PaginateStep { url: Some(template), cursor, .. } => {
                match cursor {
                    Some(path) => match cursor_at(walker, path)? {
                        Some(value) => walker.set_variable("cursor", value),
                        None => return Ok(None),
                    },
                    None => walker.set_variable("page", self.counter.next_number().to_string()),
                }
                let mut secrets = SecretNames::new();
                let url = walker.script_url(template, &mut secrets)?;
                Some(PageRequest { secrets, ..PageRequest::get(url) })
            }
            PaginateStep { cursor: Some(path), .. } => {
                let address = cursor_at(walker, path)?;
                address.map(|address| walker.page_url(&address)).transpose()?.map(PageRequest::get)
            }
            PaginateStep { param: Some(param), .. } => Some(PageRequest::get(with_param(
                &walker.current_page()?.page.meta.url,
                param,
                self.counter.next_number(),
            ))),
            PaginateStep { next: Some(wanted), .. } => follow::find(walker, wanted)?,
            _ => self.request_from_page(walker)?,
        };
        let here = walker.current_page()?.page.meta.url.clone();
        Ok(request.map(|request| PageRequest { referrer: Some(here), ..request }))
    }

    /// The page's own pager: a next link, a POST-back, or a “load more” button with a URL.
    fn request_from_page(&mut self, walker: &Walker<'_>) -> Result<Option<PageRequest>, WalkError> {
        let here = walker.current_page()?;
        let (tree, url) = (&here.tree, &here.page.meta.url);
        if let Some(next) = self.link_finder.next_url(tree, url) {
            return Ok(Some(PageRequest::get(next)));
        }
        if let Some(node) = pager::next_post_back(tree) {
            return follow::click(walker, node);
        }
        // With the browser engine the button is clicked instead, so that the page inserts the rows itself.
        Ok(pager::more_address(tree, &links::base(tree, url)).filter(|_| !walker.has_browser()).map(PageRequest::get))
    }
}

pub fn pages_text(pages: u32) -> String {
    format!("{pages} page{}", if pages == 1 { "" } else { "s" })
}

/// The button that a browser can click where there is no next link.
fn button(walker: &Walker<'_>, step: &PaginateStep) -> Result<Option<ElementPosition>, WalkError> {
    let tree = &walker.current_page()?.tree;
    match step {
        PaginateStep { next: Some(wanted), .. } => browser_actions::find_clickable(walker, wanted),
        PaginateStep { url: None, cursor: None, param: None, .. } => {
            Ok(pager::more_button(tree).map(|node| ElementPosition::of(tree, node)))
        }
        _ => Ok(None),
    }
}

/// Counts pages or rows for a URL with a number.
struct PageCounter {
    next: u64,
    step: u64,
}

impl PageCounter {
    fn new(walker: &Walker<'_>, step: &PaginateStep) -> PageCounter {
        let by = step.step.unwrap_or(1);
        let here = step.param.as_ref().and_then(|param| {
            let url = &walker.current.as_ref()?.page.meta.url;
            url.query_pairs().find(|(name, _)| name == param.as_str())?.1.parse::<u64>().ok()
        });
        // Pages are counted from 1, rows from 0.
        let first = here.unwrap_or(if by == 1 { 1 } else { 0 });
        PageCounter { next: step.from.unwrap_or_else(|| first.saturating_add(by)), step: by }
    }

    fn next_number(&mut self) -> u64 {
        let now = self.next;
        self.next = self.next.saturating_add(self.step);
        now
    }
}

fn with_param(url: &Url, param: &str, value: u64) -> Url {
    let mut url = url.clone();
    let others: Vec<(String, String)> =
        url.query_pairs().filter(|(name, _)| name != param).map(|(name, value)| (name.into(), value.into())).collect();
    url.query_pairs_mut().clear().extend_pairs(others).append_pair(param, &value.to_string());
    url
}

/// The current page as JSON, for this key of the step.
pub fn json_page(walker: &Walker<'_>, key: &str) -> Result<Value, WalkError> {
    let text = &walker.current_page()?.text;
    serde_json::from_str(text)
        .map_err(|error| walker.error(Failure::Robot, format!("`{key}` needs a JSON page, and this is none: {error}")))
}

/// Replaces a JSON page by the HTML that it contains at `html`.
pub fn unwrap_html(walker: &mut Walker<'_>, step: &PaginateStep) -> Result<(), WalkError> {
    let Some(path) = &step.html else { return Ok(()) };
    if !walker.current_page()?.text.trim_start().starts_with(['{', '[']) {
        return Ok(());
    }
    let document = json_page(walker, "html")?;
    let Some(html) = match_values::json_at(&document, path).and_then(match_values::json_text) else {
        return Err(walker.error(Failure::Robot, format!("the JSON page has nothing at `{path}`")));
    };
    walker.load_fragment(&html)
}

/// The cursor in a JSON page; a missing value, null, false or an empty string marks the end.
fn cursor_at(walker: &Walker<'_>, path: &str) -> Result<Option<String>, WalkError> {
    let document = json_page(walker, "cursor")?;
    let value = match_values::json_at(&document, path).and_then(match_values::json_text);
    Ok(value.filter(|value| !value.is_empty() && value != "false"))
}
