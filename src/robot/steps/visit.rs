//! Goes to the next page: logs in again where the session has expired, and requests a page ahead where that is cheaper.

use std::pin::pin;
use std::task::Poll;

use super::super::WalkError;
use super::super::request::PageRequest;
use super::super::walker::Walker;
use super::super::{Arrival, PageRows};
use super::login;
use crate::model::Failure;

/// Extracting from a larger page takes longer than a site's response, and the response time would be measured wrong.
const MAX_PREFETCH_PAGE_BYTES: usize = 64 << 10;

/// Sends a request and makes its page the current one. With `strict`, a page with an error status is an error. If
/// the session has expired, logs in again, once, and repeats the request.
pub async fn go(walker: &mut Walker<'_>, request: PageRequest, strict: bool) -> Result<(), WalkError> {
    let again = repeatable_request(walker, &request);
    let arrived = walker.go_without_relogin(request, strict).await;
    retry_after_login(walker, arrived, again, strict).await
}

/// A copy of the request to repeat after a login; a form is never sent twice.
fn repeatable_request(walker: &Walker<'_>, request: &PageRequest) -> Option<PageRequest> {
    (walker.login.is_some() && !request.post).then(|| request.clone())
}

async fn retry_after_login(
    walker: &mut Walker<'_>,
    arrived: Result<(), WalkError>,
    again: Option<PageRequest>,
    strict: bool,
) -> Result<(), WalkError> {
    if walker.login.is_none() || !login::is_logged_out(walker)? {
        return arrived;
    }
    login::log_in_again(walker).await?;
    match again {
        Some(request) => walker.go_without_relogin(request, strict).await,
        None => {
            let sentence = "the session had expired when the form was sent; a form is never sent twice";
            Err(walker.error(Failure::Login, sentence))
        }
    }
}

/// Whether the next page may be requested before the rows of this one are extracted.
pub fn can_prefetch(walker: &Walker<'_>) -> bool {
    !walker.has_browser()
        && walker.current.as_ref().is_some_and(|stand| stand.page.body.len() <= MAX_PREFETCH_PAGE_BYTES)
}

/// Prefetch: requests the next page, extracts the rows of the current one meanwhile, and loads the next one unless
/// no row was new or rows are missing. A run that waits idle for every response costs a fifth more: its processor falls
/// asleep and is woken again.
pub async fn extract_while_prefetching(
    walker: &mut Walker<'_>,
    request: PageRequest,
    arrival: Arrival,
) -> Result<PageRows, WalkError> {
    let again = repeatable_request(walker, &request);
    let Some(stand) = walker.current.clone() else { return Err(walker.no_page_error()) };
    let blanked = walker.redacted_page(&stand.page);
    walker.extracted = true;
    walker.session.no_retries = walker.is_logging_in();
    let mut hops = 0;
    let (rows, sent) = {
        let mut asking = pin!(walker.session.send_after_hops(request, &mut hops));
        let early = futures_util::poll!(asking.as_mut());
        // Lets the connection, which is a task of its own, write the request now.
        tokio::task::yield_now().await;
        let page = blanked.as_ref().unwrap_or(&stand.page);
        let rows = walker.observer.page(page, &stand.tree, &walker.item_columns, arrival);
        let sent = match early {
            _ if rows.new == 0 => None,
            Poll::Ready(sent) => Some(sent),
            Poll::Pending => Some(asking.await),
        };
        (rows, sent)
    };
    walker.check_extracted(&stand, rows, arrival)?;
    if let Some(sent) = sent {
        let arrived = walker.load_following_meta_refresh(sent, hops, true).await;
        retry_after_login(walker, arrived, again, true).await?;
    }
    Ok(rows)
}
