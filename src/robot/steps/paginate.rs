//! `paginate`: extract from the current page, go to the one after it, and again, until a guard says enough.

use std::collections::HashSet;
use std::hash::{BuildHasher, Hasher};

use foldhash::quality::FixedState;

use super::super::Trouble;
use super::super::session::shown;
use super::super::walker::Walker;
use super::course::{Course, Next, counted, json};
use super::{live, take};
use crate::model::Failure;
use crate::model::script::{Paginate, Scroll};
use crate::page::{NodeId, Tree};

pub async fn paginate(walker: &mut Walker<'_>, step: &Paginate) -> Result<(), Trouble> {
    let mut course = Course::new(walker, step);
    let mut contents: HashSet<u64> = HashSet::new();
    let mut grown = false;
    walker.come_back().await?;
    unwrap_html(walker, step)?;
    for number in 1.. {
        let here = walker.here()?;
        course.addresses.insert(shown(&here.page.meta.url));
        if !contents.insert(fingerprint(&here.tree)) {
            return enough(walker, number - 1, "this page says the same as an earlier one");
        }
        walker.pages += 1;
        // A page that may not be there is asked for only when there are rows before it.
        let ahead = !grown && !course.guesses() && walker.can_ask_ahead();
        let next = if ahead { Some(course.next(walker, number).await?) } else { None };
        let (rows, next) = match next {
            Some(Next::Page(request)) if !request.post => (walker.extract_and_go(*request).await?, Some(Next::Here)),
            next if grown => (walker.extract_grown()?, next),
            next => (walker.extract()?, next),
        };
        if rows == 0 {
            return enough(walker, number, "no new rows on this page");
        }
        let next = match next {
            Some(next) => next,
            None => course.next(walker, number).await?,
        };
        grown = matches!(next, Next::Click(_) | Next::Scroll);
        match next {
            Next::Here => {}
            Next::Page(request) => walker.go(*request, !course.guesses()).await?,
            Next::Click(place) => live::press(walker, &place, true).await?,
            Next::Scroll => scroll(walker).await?,
            Next::End(why) => return enough(walker, number, &why),
            Next::Limit(remark) => {
                walker.remark = Some(remark.clone());
                return enough(walker, number, &remark);
            }
        }
        if grown {
            continue;
        }
        if course.guesses() && walker.here()?.page.meta.status == 404 {
            return enough(walker, number, "the next number has no page");
        }
        walker.check_status()?;
        unwrap_html(walker, step)?;
    }
    Ok(())
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
    walker.trace(format!("{} read; {why}", counted(pages)));
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
