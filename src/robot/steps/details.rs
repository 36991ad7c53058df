//! `details`: the page behind one link of each record. One that cannot be had costs its columns, not the run.

use std::collections::HashMap;
use std::rc::Rc;

use super::super::Trouble;
use super::super::session::{Request, shown};
use super::super::walker::{Stand, Walker};
use crate::model::Failure;
use crate::model::script::Details;

/// So many failures in a row, and the site is down or has had enough of us.
const MAX_FAILURES: u32 = 10;

pub async fn details(walker: &mut Walker<'_>, step: &Details) -> Result<(), Trouble> {
    let links = walker.observer.links(step.column.as_deref());
    let links = links.map_err(|why| walker.trouble(Failure::Robot, why))?;
    let most = step.max.map_or(links.len(), |max| links.len().min(max as usize));
    if most < links.len() {
        walker.trace(format!("{} records have a detail page; the first {most} are read (`max`)", links.len()));
    }
    let list = walker.stand.clone();
    let mut read: HashMap<String, Option<Rc<Stand>>> = HashMap::new();
    let (mut missing, mut in_a_row, mut last) = (0, 0, None);
    for link in links.into_iter().take(most) {
        let address = shown(&link.url);
        if !read.contains_key(&address) {
            let came = one(walker, link.url.clone(), list.as_deref()).await;
            let stand = match came {
                Ok(stand) => {
                    in_a_row = 0;
                    Some(stand)
                }
                Err(trouble) if may_go_on(trouble.cause) && in_a_row < MAX_FAILURES => {
                    walker.trace(format!("left out: {}", trouble.sentence));
                    // What a site does not want robots to see says nothing about its health.
                    let counts = u32::from(trouble.cause != Failure::RobotsTxt);
                    (missing, in_a_row) = (missing + 1, in_a_row + counts);
                    last = Some(trouble);
                    None
                }
                Err(trouble) => return Err(trouble),
            };
            // Only the page before is likely to be wanted again; all of them would fill the memory.
            read.clear();
            read.insert(address.clone(), stand);
        }
        if let Some(Some(stand)) = read.get(&address) {
            let page = walker.blanked(&stand.page);
            walker.observer.detail(link.record, page.as_ref().unwrap_or(&stand.page), &stand.tree);
        }
    }
    walker.stand = list;
    walker.extracted = true;
    match last {
        Some(trouble) if missing == most => return Err(trouble),
        Some(_) => {
            let remark = format!("{missing} of {most} detail pages could not be had");
            walker.trace(&remark);
            walker.remark = Some(remark);
        }
        None => {}
    }
    Ok(())
}

async fn one(walker: &mut Walker<'_>, url: url::Url, list: Option<&Stand>) -> Result<Rc<Stand>, Trouble> {
    let referrer = list.map(|list| list.page.meta.url.clone());
    walker.go(Request { referrer, ..Request::get(url) }, true).await?;
    let here = walker.stand.clone();
    here.ok_or_else(|| walker.trouble(Failure::Internal, "a page that came is not there"))
}

/// What concerns this one page. Time, memory, limits and log-in concern the run.
fn may_go_on(cause: Failure) -> bool {
    matches!(cause, Failure::Http | Failure::Network | Failure::RobotsTxt)
}
