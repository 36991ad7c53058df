//! How `paginate` comes from one page to the next.

use std::collections::HashSet;

use serde_json::Value;
use url::Url;

use super::super::form::Place;
use super::super::session::{Request, shown};
use super::super::trouble::SessionError;
use super::super::walker::Walker;
use super::super::{Trouble, link, pager};
use super::{ask, follow, live, take};
use crate::model::Failure;
use crate::model::script::Paginate;

/// What brings more rows.
pub enum Next {
    /// We stand there already.
    Here,
    Page(Box<Request>),
    /// Nothing does, or nothing that may be followed.
    End(String),
    /// The task wants no more.
    Limit(String),
    /// In a browser: a button that fetches more into the page.
    Click(Place),
    /// In a browser: the end of the page does.
    Scroll,
}

/// The way through a list, as the step wants it.
pub struct Course<'s> {
    step: &'s Paginate,
    count: Count,
    way: pager::Way,
    /// Where it has been.
    pub addresses: HashSet<String>,
}

impl<'s> Course<'s> {
    pub fn new(walker: &Walker<'_>, step: &'s Paginate) -> Course<'s> {
        let count = Count::new(walker, step);
        Course { step, count, way: pager::Way::default(), addresses: HashSet::new() }
    }

    /// Who counts by himself comes to the end of the list by asking for a page that is not there.
    pub fn guesses(&self) -> bool {
        self.step.param.is_some() || self.step.url.is_some() && self.step.cursor.is_none()
    }

    /// How to come to the rows after these, which are those of the page with this number.
    pub async fn next(&mut self, walker: &mut Walker<'_>, number: u32) -> Result<Next, Trouble> {
        let next = self.onward(walker)?;
        if let Next::Page(request) = &next {
            // A post-back and a form lead to the same address with another content.
            if !request.post && self.addresses.contains(&shown(&request.url)) {
                return Ok(Next::End("the next link leads to a page seen before".to_owned()));
            }
            if let Err(error) = walker.session.may_reach(&request.url).await {
                return match error {
                    SessionError::Refused { .. } | SessionError::RobotsTxt { .. } => {
                        Ok(Next::End(format!("the next link is not followed: {error}")))
                    }
                    error => Err(walker.trouble(error.cause(), error.to_string())),
                };
            }
        }
        if matches!(next, Next::End(_)) {
            return Ok(next);
        }
        if number >= self.step.max_pages.unwrap_or(u32::MAX) {
            return Ok(Next::End("that is the most this step reads (`max_pages`); there are more".to_owned()));
        }
        if walker.pages >= walker.task.limits.max_pages {
            let pages = counted(walker.pages);
            return Ok(Next::Limit(format!("stopped after {pages} (limits.max_pages); there are more")));
        }
        Ok(next)
    }

    fn onward(&mut self, walker: &mut Walker<'_>) -> Result<Next, Trouble> {
        if self.step.scroll {
            return Ok(Next::Scroll);
        }
        if let Some(request) = self.request(walker)? {
            return Ok(Next::Page(Box::new(request)));
        }
        let button = button(walker, self.step)?.filter(|_| walker.has_browser());
        Ok(button.map_or_else(|| Next::End("nothing leads on from here".to_owned()), Next::Click))
    }

    /// The request for the page after this one.
    fn request(&mut self, walker: &mut Walker<'_>) -> Result<Option<Request>, Trouble> {
        let request = match self.step {
            Paginate { url: Some(template), cursor, .. } => {
                match cursor {
                    Some(path) => match cursor_at(walker, path)? {
                        Some(value) => walker.remember("cursor", value),
                        None => return Ok(None),
                    },
                    None => walker.remember("page", self.count.take().to_string()),
                }
                Some(Request::get(ask::target(walker, &walker.expand(template)?)?))
            }
            Paginate { cursor: Some(path), .. } => {
                let address = cursor_at(walker, path)?;
                address.map(|address| ask::target(walker, &address)).transpose()?.map(Request::get)
            }
            Paginate { param: Some(param), .. } => {
                Some(Request::get(with_param(&walker.here()?.page.meta.url, param, self.count.take())))
            }
            Paginate { next: Some(wanted), .. } => follow::find(walker, wanted)?,
            _ => self.found(walker)?,
        };
        let here = walker.here()?.page.meta.url.clone();
        Ok(request.map(|request| Request { referrer: Some(here), ..request }))
    }

    /// What the page itself offers: a next link, a post-back, or a button that knows where more is.
    fn found(&mut self, walker: &Walker<'_>) -> Result<Option<Request>, Trouble> {
        let here = walker.here()?;
        let (tree, url) = (&here.tree, &here.page.meta.url);
        if let Some(next) = self.way.on(tree, url) {
            return Ok(Some(Request::get(next)));
        }
        if let Some(node) = pager::next_post_back(tree) {
            return follow::click(walker, node);
        }
        // A browser presses the button itself, so that what it fetches comes to its place.
        Ok(pager::more_address(tree, &link::base(tree, url)).filter(|_| !walker.has_browser()).map(Request::get))
    }
}

pub fn counted(pages: u32) -> String {
    format!("{pages} page{}", if pages == 1 { "" } else { "s" })
}

/// What a browser can press where nothing leads on.
fn button(walker: &Walker<'_>, step: &Paginate) -> Result<Option<Place>, Trouble> {
    let tree = &walker.here()?.tree;
    match step {
        Paginate { next: Some(wanted), .. } => live::find(walker, wanted),
        Paginate { url: None, cursor: None, param: None, .. } => {
            Ok(pager::more_button(tree).map(|node| Place::of(tree, node)))
        }
        _ => Ok(None),
    }
}

/// Counts pages or rows for an address that wants a number.
struct Count {
    next: u64,
    step: u64,
}

impl Count {
    fn new(walker: &Walker<'_>, step: &Paginate) -> Count {
        let by = step.step.unwrap_or(1);
        let here = step.param.as_ref().and_then(|param| {
            let url = &walker.stand.as_ref()?.page.meta.url;
            url.query_pairs().find(|(name, _)| name == param.as_str())?.1.parse::<u64>().ok()
        });
        // Pages are counted from 1, rows from 0.
        let first = here.unwrap_or(if by == 1 { 1 } else { 0 });
        Count { next: step.from.unwrap_or_else(|| first.saturating_add(by)), step: by }
    }

    fn take(&mut self) -> u64 {
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

/// The page as JSON, for this key of the step.
pub fn json(walker: &Walker<'_>, key: &str) -> Result<Value, Trouble> {
    let text = &walker.here()?.text;
    serde_json::from_str(text).map_err(|error| {
        walker.trouble(Failure::Robot, format!("`{key}` wants a JSON page, and this is none: {error}"))
    })
}

/// What a JSON answer gives to go on with; nothing, null, false and the empty text say that this was the end.
fn cursor_at(walker: &Walker<'_>, path: &str) -> Result<Option<String>, Trouble> {
    let document = json(walker, "cursor")?;
    let value = take::at(&document, path).and_then(take::plain);
    Ok(value.filter(|value| !value.is_empty() && value != "false"))
}
