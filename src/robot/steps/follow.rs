//! `follow`: a link of the current page.

use url::Url;

use super::super::Trouble;
use super::super::link::{self, Wanted};
use super::super::session::Request;
use super::super::walker::Walker;
use crate::model::Failure;
use crate::model::script::Follow;
use crate::page::Selector;

/// How many links a message lists, so that the right one can be seen.
const LISTED: usize = 12;

pub async fn follow(walker: &mut Walker<'_>, follow: &Follow, strict: bool) -> Result<(), Trouble> {
    let Some(url) = find(walker, follow)? else {
        let there = link::texts(&walker.here()?.tree, LISTED);
        let there =
            if there.is_empty() { "the page has no links".to_owned() } else { format!("it has: {}", there.join(", ")) };
        return Err(walker.trouble(Failure::Robot, format!("the page has no link {}; {there}", describe(follow))));
    };
    let mut request = Request::get(url);
    request.referrer = Some(walker.here()?.page.meta.url.clone());
    walker.go(request, strict).await
}

/// Where the wanted link of the current page leads.
pub fn find(walker: &Walker<'_>, follow: &Follow) -> Result<Option<Url>, Trouble> {
    let css = match &follow.css {
        Some(css) => Some(selector(walker, css)?),
        None => None,
    };
    let text = follow.text.as_deref().map(|text| walker.expand(text)).transpose()?;
    let stand = walker.here()?;
    let wanted = Wanted { css: css.as_ref(), text: text.as_deref(), rel: follow.rel.as_deref() };
    Ok(link::find(&stand.tree, &stand.page.meta.url, wanted))
}

pub fn selector(walker: &Walker<'_>, css: &str) -> Result<Selector, Trouble> {
    let css = walker.expand(css)?;
    Selector::parse(&css).map_err(|error| walker.trouble(Failure::Config, error.to_string()))
}

/// `with text “Orders” and rel “next”`.
fn describe(follow: &Follow) -> String {
    let parts = [("selector", &follow.css), ("text", &follow.text), ("rel", &follow.rel)];
    let said: Vec<String> =
        parts.iter().filter_map(|(what, value)| value.as_ref().map(|value| format!("{what} “{value}”"))).collect();
    format!("with {}", said.join(" and "))
}
