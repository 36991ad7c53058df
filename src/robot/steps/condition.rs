//! Conditions on the current page or on a variable: `expect`, and `when` of an `if`.

use super::super::WalkError;
use super::super::loaded_page::LoadedPage;
use super::super::walker::Walker;
use super::match_values;
use crate::model::Failure;
use crate::model::address::display_url;
use crate::model::script::{Condition, ExpectCause};
use crate::page::text::collapse;

pub fn expect(walker: &mut Walker<'_>, condition: &Condition) -> Result<(), WalkError> {
    match unmet_part(walker, condition)? {
        None => {
            walker.trace("as expected");
            Ok(())
        }
        Some(sentence) => {
            let cause = match condition.cause.unwrap_or(ExpectCause::Robot) {
                ExpectCause::Robot => Failure::Robot,
                ExpectCause::Login => Failure::Login,
                ExpectCause::Blocked => Failure::Blocked,
            };
            Err(walker.error(cause, sentence))
        }
    }
}

pub fn holds(walker: &Walker<'_>, condition: &Condition) -> Result<bool, WalkError> {
    unmet_part(walker, condition).map(|complaint| complaint.is_none())
}

/// The first part of the condition that does not hold, as a sentence.
pub fn unmet_part(walker: &Walker<'_>, condition: &Condition) -> Result<Option<String>, WalkError> {
    let of_variable = unmet_variable_part(walker, condition)?;
    if of_variable.is_some() || !is_about_page(condition) {
        return Ok(of_variable);
    }
    let stand = walker.current_page()?;
    let url = display_url(&stand.page.meta.url);
    if let Some(status) = condition.status
        && status != stand.page.meta.status
    {
        return Ok(Some(format!("{url} answered with status {}, not {status}", stand.page.meta.status)));
    }
    if let Some(part) = &condition.url {
        let part = walker.expand(part)?;
        if !stand.page.meta.url.as_str().contains(&part) {
            return Ok(Some(format!("the page is {url}, whose address does not contain “{part}”")));
        }
    }
    if let Some(text) = &condition.text {
        let text = walker.expand(text)?;
        if !text_of(stand).to_lowercase().contains(&collapse(&text).to_lowercase()) {
            return Ok(Some(format!("the text “{text}” is not on {url}")));
        }
    }
    if let Some(css) = &condition.css
        && walker.selector(css)?.first(&stand.tree, stand.tree.root()).is_none()
    {
        return Ok(Some(format!("nothing on {url} matches `{css}`")));
    }
    if let Some(pattern) = condition.matches.as_deref().filter(|_| condition.variable.is_none())
        && !match_values::regex(walker, pattern)?.is_match(&text_of(stand))
    {
        return Ok(Some(format!("the text of {url} does not match `{pattern}`")));
    }
    Ok(None)
}

fn is_about_page(condition: &Condition) -> bool {
    condition.status.is_some()
        || condition.url.is_some()
        || condition.text.is_some()
        || condition.css.is_some()
        || condition.matches.is_some() && condition.variable.is_none()
}

fn unmet_variable_part(walker: &Walker<'_>, condition: &Condition) -> Result<Option<String>, WalkError> {
    let Some(name) = &condition.variable else { return Ok(None) };
    let value = walker.variables.get(name).map(String::as_str).unwrap_or_default();
    if let Some(wanted) = &condition.equals {
        let wanted = walker.expand(wanted)?;
        return Ok((value != wanted).then(|| format!("the variable `{name}` is “{value}”, not “{wanted}”")));
    }
    if let Some(pattern) = &condition.matches {
        let fits = match_values::regex(walker, pattern)?.is_match(value);
        return Ok((!fits).then(|| format!("the variable `{name}` is “{value}”, which does not match `{pattern}`")));
    }
    Ok(value.is_empty().then(|| format!("the variable `{name}` is empty")))
}

fn text_of(stand: &LoadedPage) -> String {
    stand.tree.text(stand.tree.root())
}
