//! `follow`: a link of the current page, or a button or POST-back in place of one.

use super::super::WalkError;
use super::super::request::PageRequest;
use super::super::walker::Walker;
use super::{form_request, visit};
use crate::model::Failure;
use crate::model::script::LinkSelector;
use crate::page::links::{self, LinkQuery};
use crate::page::{NodeId, post_back};

/// How many links the error message lists.
const MAX_LISTED_LINKS: usize = 12;

pub async fn follow(walker: &mut Walker<'_>, follow: &LinkSelector, strict: bool) -> Result<(), WalkError> {
    let Some(request) = find(walker, follow)? else {
        let there = links::texts(&walker.current_page()?.tree, MAX_LISTED_LINKS);
        let there =
            if there.is_empty() { "the page has no links".to_owned() } else { format!("it has: {}", there.join(", ")) };
        return Err(walker.error(Failure::Robot, format!("the page has no link {}; {there}", describe(follow))));
    };
    visit::go(walker, request, strict).await
}

/// The request that a click on the link makes.
pub fn find(walker: &Walker<'_>, follow: &LinkSelector) -> Result<Option<PageRequest>, WalkError> {
    let css = match &follow.css {
        Some(css) => Some(walker.selector(css)?),
        None => None,
    };
    let text = follow.text.as_deref().map(|text| walker.expand(text)).transpose()?;
    let stand = walker.current_page()?;
    let wanted = LinkQuery { css: css.as_ref(), text: text.as_deref(), rel: follow.rel.as_deref() };
    if let Some(url) = links::find(&stand.tree, &stand.page.meta.url, wanted) {
        let referrer = Some(stand.page.meta.url.clone());
        return Ok(Some(PageRequest { referrer, ..PageRequest::get(url) }));
    }
    for node in links::pressable(&stand.tree, wanted) {
        if let Some(request) = click(walker, node)? {
            return Ok(Some(request));
        }
    }
    Ok(None)
}

/// The request that a click on another element makes: a POST-back, or the form of a button.
pub fn click(walker: &Walker<'_>, node: NodeId) -> Result<Option<PageRequest>, WalkError> {
    match post_back::post_back_of(&walker.current_page()?.tree, node) {
        Some(event) => form_request::post_back_request(walker, node, &event),
        None => form_request::button_request(walker, node),
    }
}

/// `with text “Orders” and rel “next”`.
pub fn describe(follow: &LinkSelector) -> String {
    let parts = [("selector", &follow.css), ("text", &follow.text), ("rel", &follow.rel)];
    let said: Vec<String> =
        parts.iter().filter_map(|(what, value)| value.as_ref().map(|value| format!("{what} “{value}”"))).collect();
    format!("with {}", said.join(" and "))
}
