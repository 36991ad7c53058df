//! The requests that forms, buttons and POST-backs of the current page make.

use std::collections::BTreeMap;

use super::super::WalkError;
use super::super::request::{PageRequest, RequestBody, SecretNames};
use super::super::walker::Walker;
use crate::model::Failure;
use crate::page::NodeId;
use crate::page::form::{self, BrowserInput, FilledForm, Form, SubmitButton};
use crate::page::post_back::PostBack;

/// The request that a form makes, with values that were made of these secrets. The page and the address that its form
/// is sent to must both be of an origin that the secrets are granted for.
pub fn form_request(
    walker: &Walker<'_>,
    form: &Form,
    values: &BTreeMap<String, String>,
    secrets: &SecretNames,
    press: SubmitButton<'_>,
) -> Result<PageRequest, WalkError> {
    let here = walker.current_page()?;
    let name = form.describe();
    let filled = FilledForm::new(form, &here.page.meta.url, here.encoding, values, press);
    let filled = filled.map_err(|error| walker.error(Failure::Robot, format!("the form “{name}” {error}")))?;
    for url in [&here.page.meta.url, &filled.url] {
        check_secrets(walker, &name, secrets, url)?;
    }
    // The browser fills the page's own form with the same values.
    let filling = BrowserInput::new(form, &here.tree, values, press).ok().filter(|_| walker.has_browser());
    let secrets = secrets.clone();
    Ok(PageRequest { secrets, browser_input: filling, ..request_of_filled_form(walker, filled)? })
}

/// The request of a POST-back: the form around it, with two hidden fields set and no button pressed.
pub fn post_back_request(
    walker: &Walker<'_>,
    node: NodeId,
    event: &PostBack,
) -> Result<Option<PageRequest>, WalkError> {
    let here = walker.current_page()?;
    let Some(form) = form::form_of_element(&here.tree, node) else { return Ok(None) };
    let filled = FilledForm::post_back(&form, &here.page.meta.url, here.encoding, event);
    let filled = filled.map_err(|error| walker.error(Failure::Robot, format!("the post-back {error}")))?;
    request_of_filled_form(walker, filled).map(Some)
}

/// The request that pressing a button of the page makes.
pub fn button_request(walker: &Walker<'_>, node: NodeId) -> Result<Option<PageRequest>, WalkError> {
    let here = walker.current_page()?;
    let Some(form) = form::form_of_element(&here.tree, node).filter(|form| form.has_button(node)) else {
        return Ok(None);
    };
    form_request(walker, &form, &BTreeMap::new(), &SecretNames::new(), SubmitButton::Node(node)).map(Some)
}

fn request_of_filled_form(walker: &Walker<'_>, filled: FilledForm) -> Result<PageRequest, WalkError> {
    let referrer = Some(walker.current_page()?.page.meta.url.clone());
    let body = filled.body.map(|bytes| RequestBody { content_type: filled.content_type, bytes });
    Ok(PageRequest { post: filled.post, body, referrer, ..PageRequest::get(filled.url) })
}

fn check_secrets(walker: &Walker<'_>, form: &str, secrets: &SecretNames, url: &url::Url) -> Result<(), WalkError> {
    walker.session.secret_rules.check_names(secrets, url).map_err(|error| {
        let there = url.origin().ascii_serialization();
        walker.error(error.cause(), format!("the form “{form}” would send a secret to {there}; {error}"))
    })
}

pub fn no_form(wanted: &str, there: &[Form]) -> String {
    if there.is_empty() {
        return format!("the page has no form named “{wanted}”; it has no form at all");
    }
    let names: Vec<String> = there.iter().map(Form::describe).collect();
    format!("the page has no form named “{wanted}”; it has: {}", names.join(", "))
}
