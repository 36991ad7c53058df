//! `expect`: the current page is as said, or the walk ends here with a named cause.

use super::super::Trouble;
use super::super::walker::Walker;
use super::follow::selector;
use crate::model::Failure;
use crate::model::script::{Expect, ExpectCause};
use crate::page::tree::collapse;

pub fn expect(walker: &mut Walker<'_>, expect: &Expect) -> Result<(), Trouble> {
    match complaint(walker, expect)? {
        None => {
            walker.trace("as expected");
            Ok(())
        }
        Some(sentence) => {
            let cause = match expect.cause.unwrap_or(ExpectCause::Robot) {
                ExpectCause::Robot => Failure::Robot,
                ExpectCause::Login => Failure::Login,
                ExpectCause::Blocked => Failure::Blocked,
            };
            Err(walker.trouble(cause, sentence))
        }
    }
}

/// The first thing that is not as said.
fn complaint(walker: &Walker<'_>, expect: &Expect) -> Result<Option<String>, Trouble> {
    let stand = walker.here()?;
    let meta = &stand.page.meta;
    let url = super::super::session::shown(&meta.url);
    if let Some(status) = expect.status
        && status != meta.status
    {
        return Ok(Some(format!("{url} answered with status {}, not {status}", meta.status)));
    }
    if let Some(part) = &expect.url {
        let part = walker.expand(part)?;
        if !meta.url.as_str().contains(&part) {
            return Ok(Some(format!("the page is {url}, which has no “{part}” in it")));
        }
    }
    if let Some(text) = &expect.text {
        let text = walker.expand(text)?;
        let wanted = collapse(&text).to_lowercase();
        if !stand.tree.text(stand.tree.root()).to_lowercase().contains(&wanted) {
            return Ok(Some(format!("the text “{text}” is not on {url}")));
        }
    }
    if let Some(css) = &expect.css
        && selector(walker, css)?.first(&stand.tree, stand.tree.root()).is_none()
    {
        return Ok(Some(format!("nothing on {url} matches `{css}`")));
    }
    Ok(None)
}
