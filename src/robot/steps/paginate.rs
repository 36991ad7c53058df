//! `paginate`: extract from the current page, follow its next link, and again, until a guard says enough.

use std::collections::HashSet;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use url::Url;

use super::super::session::{Request, shown};
use super::super::walker::Walker;
use super::super::{Trouble, pager};
use super::follow;
use crate::model::script::Paginate;
use crate::page::Tree;

pub async fn paginate(walker: &mut Walker<'_>, step: &Paginate) -> Result<(), Trouble> {
    let most = step.max_pages.unwrap_or(u32::MAX).min(walker.task.limits.max_pages);
    let mut addresses: HashSet<String> = HashSet::new();
    let mut contents: HashSet<u64> = HashSet::new();
    for number in 1.. {
        let here = walker.here()?;
        addresses.insert(shown(&here.page.meta.url));
        if !contents.insert(fingerprint(&here.tree)) {
            return enough(walker, number - 1, "this page says the same as an earlier one");
        }
        if walker.extract()? == 0 {
            return enough(walker, number, "no new rows on this page");
        }
        let Some(next) = next(walker, step)? else {
            return enough(walker, number, "no next link");
        };
        if addresses.contains(&shown(&next)) {
            return enough(walker, number, "the next link leads to a page seen before");
        }
        if let Err(refusal) = walker.session.may_reach(&next) {
            return enough(walker, number, &format!("the next link is not followed: {refusal}"));
        }
        if number >= most {
            return enough(walker, number, "that is the most this task reads (`max_pages`); there is a next link");
        }
        let mut request = Request::get(next);
        request.referrer = Some(walker.here()?.page.meta.url.clone());
        walker.go(request, true).await?;
    }
    Ok(())
}

fn next(walker: &Walker<'_>, step: &Paginate) -> Result<Option<Url>, Trouble> {
    match &step.next {
        Some(wanted) => follow::find(walker, wanted),
        None => {
            let here = walker.here()?;
            Ok(pager::next_link(&here.tree, &here.page.meta.url))
        }
    }
}

fn enough(walker: &mut Walker<'_>, pages: u32, why: &str) -> Result<(), Trouble> {
    walker.trace(format!("{pages} pages read; {why}"));
    Ok(())
}

/// What a person sees of a page: its text and its pictures. Addresses are left out, since a page that repeats itself without
/// end does so under new ones.
fn fingerprint(tree: &Tree) -> u64 {
    let mut hasher = DefaultHasher::new();
    tree.text(tree.root()).hash(&mut hasher);
    for image in tree.elements("img") {
        tree.attribute(image, "src").hash(&mut hasher);
    }
    hasher.finish()
}
