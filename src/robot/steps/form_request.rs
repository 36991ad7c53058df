//! The requests that forms, buttons and POST-backs of the current page make.

use std::collections::BTreeMap;

use super::super::WalkError;
use super::super::redirect::same_site;
use super::super::request::{PageRequest, RequestBody};
use super::super::walker::Walker;
use crate::model::Failure;
use crate::page::NodeId;
use crate::page::form::{self, BrowserInput, FilledForm, Form, SubmitButton};
use crate::page::post_back::PostBack;

/// The request that a form makes. A secret is sent only to the site of the form.
pub fn form_request(
    walker: &Walker<'_>,
    form: &Form,
    values: &BTreeMap<String, String>,
    press: SubmitButton<'_>,
) -> Result<PageRequest, WalkError> {
    let here = walker.current_page()?;
    let name = form.describe();
    let filled = FilledForm::new(form, &here.page.meta.url, here.encoding, values, press);
    let filled = filled.map_err(|error| walker.error(Failure::Robot, format!("the form “{name}” {error}")))?;
    if values.values().any(|value| walker.redactor.text_has_secret(value)) {
        check_secret_stays_on_site(walker, &name, &filled)?;
    }
    // The browser fills the page's own form with the same values.
    let filling = BrowserInput::new(form, &here.tree, values, press).ok().filter(|_| walker.has_browser());
    Ok(PageRequest { browser_input: filling, ..request_of_filled_form(walker, filled)? })
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
    form_request(walker, &form, &BTreeMap::new(), SubmitButton::Node(node)).map(Some)
}

fn request_of_filled_form(walker: &Walker<'_>, filled: FilledForm) -> Result<PageRequest, WalkError> {
    let referrer = Some(walker.current_page()?.page.meta.url.clone());
    let body = filled.body.map(|bytes| RequestBody { content_type: filled.content_type, bytes });
    Ok(PageRequest { post: filled.post, url: filled.url, headers: Vec::new(), body, referrer, browser_input: None })
}

fn check_secret_stays_on_site(walker: &Walker<'_>, name: &str, filled: &FilledForm) -> Result<(), WalkError> {
    if same_site(&walker.current_page()?.page.meta.url, &filled.url) || is_allowed_for_secrets(walker, &filled.url) {
        return Ok(());
    }
    let there = filled.url.origin().ascii_serialization();
    let sentence = format!(
        "the form “{name}” would send a secret to {there}, another site; \
         add that host to `fetch.allow_hosts` in task.toml if it belongs to the site"
    );
    Err(walker.error(Failure::Network, sentence))
}

/// Whether a person allowed this host by its exact name, and the connection is encrypted.
fn is_allowed_for_secrets(walker: &Walker<'_>, url: &url::Url) -> bool {
    let hosts = walker.task.fetch.allow_hosts.as_deref().unwrap_or_default();
    url.scheme() == "https" && url.host_str().is_some_and(|host| hosts.iter().any(|it| it.eq_ignore_ascii_case(host)))
}

pub fn no_form(wanted: &str, there: &[Form]) -> String {
    if there.is_empty() {
        return format!("the page has no form named “{wanted}”; it has no form at all");
    }
    let names: Vec<String> = there.iter().map(Form::describe).collect();
    format!("the page has no form named “{wanted}”; it has: {}", names.join(", "))
}
