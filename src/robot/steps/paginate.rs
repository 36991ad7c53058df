//! `paginate`: extract from the current page, go to the one after it, and again, until a guard says enough.

use std::collections::HashSet;
use std::hash::{BuildHasher, Hasher};

use foldhash::quality::FixedState;
use serde_json::Value;
use url::Url;

use super::super::form::Place;
use super::super::session::{Request, shown};
use super::super::trouble::SessionError;
use super::super::walker::Walker;
use super::super::{Trouble, link, pager};
use super::{ask, follow, live, take};
use crate::model::Failure;
use crate::model::script::{Paginate, Scroll};
use crate::page::{NodeId, Tree};

pub async fn paginate(walker: &mut Walker<'_>, step: &Paginate) -> Result<(), Trouble> {
    let most = step.max_pages.unwrap_or(u32::MAX);
    let mut count = Count::new(walker, step);
    let mut addresses: HashSet<String> = HashSet::new();
    let mut contents: HashSet<u64> = HashSet::new();
    let mut grown = false;
    walker.come_back().await?;
    unwrap_html(walker, step)?;
    for number in 1.. {
        let here = walker.here()?;
        addresses.insert(shown(&here.page.meta.url));
        if !contents.insert(fingerprint(&here.tree)) {
            return enough(walker, number - 1, "this page says the same as an earlier one");
        }
        walker.pages += 1;
        let rows = if grown { walker.extract_grown()? } else { walker.extract()? };
        if rows == 0 {
            return enough(walker, number, "no new rows on this page");
        }
        let Some(next) = next(walker, step, &mut count)? else {
            return enough(walker, number, "nothing leads on from here");
        };
        if let Next::Page(next) = &next {
            // A post-back and a form lead to the same address with another content.
            if !next.post && addresses.contains(&shown(&next.url)) {
                return enough(walker, number, "the next link leads to a page seen before");
            }
            if let Err(error) = walker.session.may_reach(&next.url).await {
                return match error {
                    SessionError::Refused { .. } | SessionError::RobotsTxt { .. } => {
                        enough(walker, number, &format!("the next link is not followed: {error}"))
                    }
                    error => Err(walker.trouble(error.cause(), error.to_string())),
                };
            }
        }
        if number >= most {
            return enough(walker, number, "that is the most this step reads (`max_pages`); there are more");
        }
        if walker.pages >= walker.task.limits.max_pages {
            let remark = format!("stopped after {} pages (limits.max_pages); there are more", walker.pages);
            walker.remark = Some(remark.clone());
            return enough(walker, number, &remark);
        }
        let next = match next {
            Next::Page(request) => *request,
            Next::Click(place) => {
                live::press(walker, &place, true).await?;
                grown = true;
                continue;
            }
            Next::Scroll => {
                scroll(walker).await?;
                grown = true;
                continue;
            }
        };
        grown = false;
        // Who counts by himself comes to the end of the list by asking for a page that is not there.
        let is_guess = step.param.is_some() || step.url.is_some() && step.cursor.is_none();
        walker.go(next, !is_guess).await?;
        if is_guess && walker.here()?.page.meta.status == 404 {
            return enough(walker, number, "the next number has no page");
        }
        walker.check_status()?;
        unwrap_html(walker, step)?;
    }
    Ok(())
}

/// What brings more rows.
enum Next {
    Page(Box<Request>),
    /// In a browser: a button that fetches more into the page.
    Click(Place),
    /// In a browser: the end of the page does.
    Scroll,
}

/// Scrolls to the end; where that brings nothing, once more, since some pages take a moment.
async fn scroll(walker: &mut Walker<'_>) -> Result<(), Trouble> {
    let before = fingerprint(&walker.here()?.tree);
    for _ in 0..2 {
        live::scroll(walker, &Scroll::default(), true).await?;
        if fingerprint(&walker.here()?.tree) != before {
            break;
        }
    }
    Ok(())
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

/// How to come to the rows after these.
fn next(walker: &mut Walker<'_>, step: &Paginate, count: &mut Count) -> Result<Option<Next>, Trouble> {
    if step.scroll {
        return Ok(Some(Next::Scroll));
    }
    if let Some(request) = request(walker, step, count)? {
        return Ok(Some(Next::Page(Box::new(request))));
    }
    Ok(button(walker, step)?.filter(|_| walker.has_browser()).map(Next::Click))
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

/// The request for the page after this one.
fn request(walker: &mut Walker<'_>, step: &Paginate, count: &mut Count) -> Result<Option<Request>, Trouble> {
    let request = match step {
        Paginate { url: Some(template), cursor, .. } => {
            match cursor {
                Some(path) => match cursor_at(walker, path)? {
                    Some(value) => walker.remember("cursor", value),
                    None => return Ok(None),
                },
                None => walker.remember("page", count.take().to_string()),
            }
            Some(Request::get(ask::target(walker, &walker.expand(template)?)?))
        }
        Paginate { cursor: Some(path), .. } => {
            let address = cursor_at(walker, path)?;
            address.map(|address| ask::target(walker, &address)).transpose()?.map(Request::get)
        }
        Paginate { param: Some(param), .. } => {
            Some(Request::get(with_param(&walker.here()?.page.meta.url, param, count.take())))
        }
        Paginate { next: Some(wanted), .. } => follow::find(walker, wanted)?,
        _ => found(walker)?,
    };
    let here = walker.here()?.page.meta.url.clone();
    Ok(request.map(|request| Request { referrer: Some(here), ..request }))
}

/// What the page itself offers: a next link, a post-back, or a button that knows where more is.
fn found(walker: &Walker<'_>) -> Result<Option<Request>, Trouble> {
    let here = walker.here()?;
    let (tree, url) = (&here.tree, &here.page.meta.url);
    if let Some(next) = pager::next_link(tree, url) {
        return Ok(Some(Request::get(next)));
    }
    if let Some(node) = pager::next_post_back(tree) {
        return follow::click(walker, node);
    }
    // A browser presses the button itself, so that what it fetches comes to its place.
    Ok(pager::more_address(tree, &link::base(tree, url)).filter(|_| !walker.has_browser()).map(Request::get))
}

fn with_param(url: &Url, param: &str, value: u64) -> Url {
    let mut url = url.clone();
    let others: Vec<(String, String)> =
        url.query_pairs().filter(|(name, _)| name != param).map(|(name, value)| (name.into(), value.into())).collect();
    url.query_pairs_mut().clear().extend_pairs(others).append_pair(param, &value.to_string());
    url
}

fn json(walker: &Walker<'_>, key: &str) -> Result<Value, Trouble> {
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

/// Stands on the HTML that a JSON answer holds.
fn unwrap_html(walker: &mut Walker<'_>, step: &Paginate) -> Result<(), Trouble> {
    let Some(path) = &step.html else { return Ok(()) };
    if !walker.here()?.text.trim_start().starts_with(['{', '[']) {
        return Ok(());
    }
    let document = json(walker, "html")?;
    let Some(html) = take::at(&document, path).and_then(take::plain) else {
        return Err(walker.trouble(Failure::Robot, format!("the JSON page has nothing at `{path}`")));
    };
    walker.stand_on_part(&html)
}

fn enough(walker: &mut Walker<'_>, pages: u32, why: &str) -> Result<(), Trouble> {
    walker.trace(format!("{pages} pages read; {why}"));
    Ok(())
}

/// What a person sees of a page: its text and its pictures. Addresses are left out, since a page that repeats itself without
/// end does so under new ones.
fn fingerprint(tree: &Tree) -> u64 {
    let mut hasher = FixedState::default().build_hasher();
    for text in tree.shown_texts(tree.root()) {
        hasher.write(text.trim().as_bytes());
    }
    let source = |image: NodeId| tree.attribute(image, "src").unwrap_or_default();
    tree.elements("img").for_each(|image| hasher.write(source(image).as_bytes()));
    hasher.finish()
}
