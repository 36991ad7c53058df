//! The end of a list whose pages pieme counts itself: nothing on the pages says where it is, so one page more is
//! requested to tell the end from a bad page.

use std::hash::{BuildHasher, Hasher};
use std::rc::Rc;

use foldhash::quality::FixedState;

use super::super::WalkError;
use super::super::loaded_page::LoadedPage;
use super::super::walker::Walker;
use super::paginator::{NextPage, Paginator, unwrap_html};
use super::visit;
use crate::model::Failure;
use crate::model::script::PaginateStep;

/// Checks that the current page, the one with this number, is behind the end of the list: the page after it has no
/// rows either. An end that looks like an earlier one of this walk is not checked again.
pub async fn check(
    walker: &mut Walker<'_>,
    course: &mut Paginator<'_>,
    step: &PaginateStep,
    number: u32,
) -> Result<(), WalkError> {
    let Some(first) = walker.current.clone() else { return Ok(()) };
    if !walker.known_ends.insert(look(&first)) {
        return Ok(());
    }
    let NextPage::Page(request) = course.next(walker, number).await? else { return Ok(()) };
    walker.trace("requests one page more, to be sure that this is the end of the list");
    let arrived = visit::go(walker, *request, false).await.and_then(|()| unwrap_html(walker, step));
    let second = walker.current.replace(Rc::clone(&first));
    walker.extracted = true;
    match arrived {
        Ok(()) => {}
        // The list may end at this limit, too.
        Err(error) if error.cause == Failure::Limit => return Ok(()),
        Err(error) => return Err(error),
    }
    let Some(second) = second.filter(|it| !Rc::ptr_eq(it, &first)) else { return Ok(()) };
    let rows = match second.page.meta.status {
        400.. => 0,
        _ => walker.observer.count_new_rows(&second.tree, &walker.item_columns),
    };
    let checked = match rows {
        0 => walker.walked.check_end(&first, &second),
        more => Err(walker.walked.gap(&first, more)),
    };
    checked.map_err(|fault| walker.page_fault(fault))
}

/// A hash of status and text without numbers.
fn look(page: &LoadedPage) -> u64 {
    let mut hasher = FixedState::default().build_hasher();
    hasher.write_u16(page.page.meta.status);
    for text in page.tree.visible_texts(page.tree.root()) {
        text.trim().chars().filter(|c| !c.is_numeric()).for_each(|c| hasher.write_u32(u32::from(c)));
    }
    hasher.finish()
}
