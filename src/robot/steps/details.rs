//! `details`: fetches the detail page of each record. A detail page that fails leaves its columns empty; the run goes
//! on.

use std::collections::HashMap;
use std::rc::Rc;

use super::super::WalkError;
use super::super::loaded_page::LoadedPage;
use super::super::request::PageRequest;
use super::super::walker::Walker;
use super::visit;
use crate::model::Failure;
use crate::model::address::display_url;
use crate::model::script::DetailsStep;

/// After more failures in a row the run fails: the site is down or blocks us.
const MAX_FAILURES: u32 = 10;

pub async fn details(walker: &mut Walker<'_>, step: &DetailsStep) -> Result<(), WalkError> {
    let links = walker.observer.links(step.column.as_deref());
    let links = links.map_err(|error| walker.error(Failure::Robot, error.to_string()))?;
    let most = step.max.map_or(links.len(), |max| links.len().min(max as usize));
    if most < links.len() {
        walker.trace(format!("{} records have a detail page; the first {most} are read (`max`)", links.len()));
    }
    let list = walker.current.clone();
    let mut read: HashMap<String, Option<Rc<LoadedPage>>> = HashMap::new();
    let (mut missing, mut in_a_row, mut last) = (0, 0, None);
    for link in links.into_iter().take(most) {
        let address = display_url(&link.url);
        if !read.contains_key(&address) {
            let came = fetch_detail(walker, link.url.clone(), list.as_deref()).await;
            let stand = match came {
                Ok(stand) => {
                    in_a_row = 0;
                    Some(stand)
                }
                Err(trouble) if may_go_on(trouble.cause) && in_a_row < MAX_FAILURES => {
                    walker.trace(format!("detail page skipped: {}", trouble.sentence));
                    // A page that robots.txt disallows is no sign that the site is down.
                    let counts = u32::from(trouble.cause != Failure::RobotsTxt);
                    (missing, in_a_row) = (missing + 1, in_a_row + counts);
                    last = Some(trouble);
                    None
                }
                Err(trouble) => return Err(trouble),
            };
            // Only the previous page is likely to be needed again; all of them would fill the memory.
            read.clear();
            read.insert(address.clone(), stand);
        }
        if let Some(Some(stand)) = read.get(&address) {
            let page = walker.redacted_page(&stand.page);
            walker.observer.detail(link.record, page.as_ref().unwrap_or(&stand.page), &stand.tree);
        }
    }
    walker.current = list;
    walker.extracted = true;
    match last {
        Some(trouble) if missing == most => return Err(trouble),
        Some(_) => {
            let remark = format!("{missing} of {most} detail pages could not be fetched");
            walker.trace(&remark);
            walker.remark = Some(remark);
        }
        None => {}
    }
    Ok(())
}

async fn fetch_detail(
    walker: &mut Walker<'_>,
    url: url::Url,
    list: Option<&LoadedPage>,
) -> Result<Rc<LoadedPage>, WalkError> {
    let referrer = list.map(|list| list.page.meta.url.clone());
    visit::go(walker, PageRequest { referrer, ..PageRequest::get(url) }, true).await?;
    let here = walker.current.clone();
    here.ok_or_else(|| walker.error(Failure::Internal, "the fetched detail page is missing"))
}

/// Whether the failure concerns this page only. Time, memory, limits and login concern the whole run.
fn may_go_on(cause: Failure) -> bool {
    matches!(cause, Failure::Http | Failure::Network | Failure::RobotsTxt)
}
