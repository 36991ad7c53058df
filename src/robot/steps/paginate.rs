//! `paginate`: extracts from the current page and goes to the next one, until there is none or a limit is reached.

use std::collections::HashSet;
use std::hash::{BuildHasher, Hasher};

use foldhash::quality::FixedState;

use super::super::walked_pages::FullPages;
use super::super::walker::Walker;
use super::super::{Arrival, PageRows, WalkError};
use super::paginator::{NextPage, Paginator, pages_text, unwrap_html};
use super::{browser_actions, end_of_count, visit};
use crate::model::address::display_url;
use crate::model::script::{PaginateStep, ScrollStep};
use crate::page::{NodeId, Tree};

pub async fn paginate(walker: &mut Walker<'_>, step: &PaginateStep) -> Result<(), WalkError> {
    let mut course = Paginator::new(walker, step);
    let mut contents: HashSet<u64> = HashSet::new();
    let mut full_pages = FullPages::default();
    let mut arrival = Arrival::Step;
    let mut grown = false;
    walker.return_browser_to_page().await?;
    unwrap_html(walker, step)?;
    for number in 1.. {
        let here = walker.current_page()?;
        course.visited.insert(display_url(&here.page.meta.url));
        if !contents.insert(fingerprint(&here.tree)) {
            return end(walker, &full_pages, number - 1, "this page has the same content as an earlier one");
        }
        let url = display_url(&walker.current_page()?.page.meta.url);
        walker.pages += 1;
        // A page that may not exist is requested only after a page with rows.
        let ahead = !grown && !course.may_overshoot() && visit::can_prefetch(walker);
        let next = if ahead { Some(course.next(walker, number).await?) } else { None };
        let (rows, next) = match next {
            Some(NextPage::Page(request)) if !request.post => {
                (visit::extract_while_prefetching(walker, *request, arrival).await?, Some(NextPage::AlreadyThere))
            }
            next if grown => (PageRows { all: 1, new: walker.extract_grown()? }, next),
            next => (walker.extract(arrival)?, next),
        };
        if rows.all == 0 && arrival == Arrival::Counted {
            end_of_count::check(walker, &mut course, step, number).await?;
        }
        if rows.new == 0 {
            return end(walker, &full_pages, number, "no new rows on this page");
        }
        full_pages.add(url, rows.all);
        let next = match next {
            Some(next) => next,
            None => course.next(walker, number).await?,
        };
        grown = matches!(next, NextPage::Click(_) | NextPage::Scroll);
        arrival = course.arrival(walker, &next);
        match next {
            NextPage::AlreadyThere => {}
            NextPage::Page(request) => visit::go(walker, *request, arrival != Arrival::Counted).await?,
            NextPage::Click(place) => browser_actions::click_element(walker, &place, true).await?,
            NextPage::Scroll => scroll(walker).await?,
            NextPage::End(why) => return end(walker, &full_pages, number, &why),
            NextPage::Limit(remark) => {
                walker.remark = Some(remark.clone());
                return end(walker, &full_pages, number, &remark);
            }
        }
        if grown {
            continue;
        }
        if arrival == Arrival::Counted && walker.current_page()?.page.meta.status == 404 {
            end_of_count::check(walker, &mut course, step, number + 1).await?;
            return end(walker, &full_pages, number, "there is no page with the next number");
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

/// Ends the pagination. Fails if one of the pages has clearly fewer rows than all others.
fn end(walker: &mut Walker<'_>, full_pages: &FullPages, pages: u32, why: &str) -> Result<(), WalkError> {
    walker.trace(format!("{} read; {why}", pages_text(pages)));
    full_pages.check().map_err(|fault| walker.page_fault(fault))
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
