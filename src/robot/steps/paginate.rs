//! `paginate`: extracts from the current page and goes to the next one, until there is none or a limit is reached.

use std::collections::HashSet;
use std::hash::{BuildHasher, Hasher};

use foldhash::quality::FixedState;

use super::super::WalkError;
use super::super::walker::Walker;
use super::paginator::{NextPage, Paginator, json_page, pages_text};
use super::{browser_actions, match_values, visit};
use crate::model::Failure;
use crate::model::address::display_url;
use crate::model::script::{PaginateStep, ScrollStep};
use crate::page::{NodeId, Tree};

pub async fn paginate(walker: &mut Walker<'_>, step: &PaginateStep) -> Result<(), WalkError> {
    let mut course = Paginator::new(walker, step);
    let mut contents: HashSet<u64> = HashSet::new();
    let mut grown = false;
    walker.return_browser_to_page().await?;
    unwrap_html(walker, step)?;
    for number in 1.. {
        let here = walker.current_page()?;
        course.visited.insert(display_url(&here.page.meta.url));
        if !contents.insert(fingerprint(&here.tree)) {
            return stop_paging(walker, number - 1, "this page has the same content as an earlier one");
        }
        walker.pages += 1;
        // A page that may not exist is requested only after a page with rows.
        let ahead = !grown && !course.may_overshoot() && visit::can_prefetch(walker);
        let next = if ahead { Some(course.next(walker, number).await?) } else { None };
        let (rows, next) = match next {
            Some(NextPage::Page(request)) if !request.post => {
                (visit::extract_while_prefetching(walker, *request).await?, Some(NextPage::AlreadyThere))
            }
            next if grown => (walker.extract_grown()?, next),
            next => (walker.extract()?, next),
        };
        if rows == 0 {
            return stop_paging(walker, number, "no new rows on this page");
        }
        let next = match next {
            Some(next) => next,
            None => course.next(walker, number).await?,
        };
        grown = matches!(next, NextPage::Click(_) | NextPage::Scroll);
        match next {
            NextPage::AlreadyThere => {}
            NextPage::Page(request) => visit::go(walker, *request, !course.may_overshoot()).await?,
            NextPage::Click(place) => browser_actions::click_element(walker, &place, true).await?,
            NextPage::Scroll => scroll(walker).await?,
            NextPage::End(why) => return stop_paging(walker, number, &why),
            NextPage::Limit(remark) => {
                walker.remark = Some(remark.clone());
                return stop_paging(walker, number, &remark);
            }
        }
        if grown {
            continue;
        }
        if course.may_overshoot() && walker.current_page()?.page.meta.status == 404 {
            return stop_paging(walker, number, "there is no page with the next number");
        }
        walker.check_status()?;
        unwrap_html(walker, step)?;
    }
    Ok(())
}

/// Scrolls to the end, a second time if nothing was added: some pages take a moment.
async fn scroll(walker: &mut Walker<'_>) -> Result<(), WalkError> {
    let before = fingerprint(&walker.current_page()?.tree);
    for _ in 0..2 {
        browser_actions::scroll(walker, &ScrollStep::default(), true).await?;
        if fingerprint(&walker.current_page()?.tree) != before {
            break;
        }
    }
    Ok(())
}

/// Replaces a JSON page by the HTML that it contains at `html`.
fn unwrap_html(walker: &mut Walker<'_>, step: &PaginateStep) -> Result<(), WalkError> {
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

fn stop_paging(walker: &mut Walker<'_>, pages: u32, why: &str) -> Result<(), WalkError> {
    walker.trace(format!("{} read; {why}", pages_text(pages)));
    Ok(())
}

/// A hash of the visible text and images. Links are left out: a page that repeats without end does so under new URLs.
fn fingerprint(tree: &Tree) -> u64 {
    let mut hasher = FixedState::default().build_hasher();
    for text in tree.visible_texts(tree.root()) {
        hasher.write(text.trim().as_bytes());
    }
    let source = |image: NodeId| tree.attribute(image, "src").unwrap_or_default();
    tree.elements("img").for_each(|image| hasher.write(source(image).as_bytes()));
    hasher.finish()
}
