//! `submit`: a form of the current page, filled as a person would.

use std::collections::BTreeMap;

use super::super::Trouble;
use super::super::form::{self, Filled, Form, Press};
use super::super::post_back::PostBack;
use super::super::redirect::same_site;
use super::super::session::{Body, Request};
use super::super::walker::Walker;
use crate::model::Failure;
use crate::model::script::Submit;
use crate::page::NodeId;

pub async fn submit(walker: &mut Walker<'_>, step: &Submit, strict: bool) -> Result<(), Trouble> {
    walker.come_back().await?;
    let wanted = walker.expand(&step.form)?;
    let mut values = BTreeMap::new();
    for (name, value) in &step.fields {
        values.insert(walker.expand(name)?, walker.expand(value)?);
    }
    let button = step.button.as_deref().map(|button| walker.expand(button)).transpose()?;
    let here = walker.here()?;
    let Some(found) = form::find(&here.tree, &wanted) else {
        return Err(walker.trouble(Failure::Robot, no_form(&wanted, &form::all(&here.tree))));
    };
    walker.trace(format!("fills the form “{}”", found.describe()));
    let press = button.as_deref().map_or(Press::First, Press::Named);
    let request = request(walker, &found, &values, press)?;
    walker.go(request, strict).await
}

/// The request that a form makes. A secret goes nowhere but to the site that asked for it.
pub fn request(
    walker: &Walker<'_>,
    form: &Form,
    values: &BTreeMap<String, String>,
    press: Press<'_>,
) -> Result<Request, Trouble> {
    let here = walker.here()?;
    let name = form.describe();
    let filled = form.fill(&here.page.meta.url, here.encoding, values, press);
    let filled = filled.map_err(|error| walker.trouble(Failure::Robot, format!("the form “{name}” {error}")))?;
    if values.values().any(|value| walker.blanks.in_text(value)) {
        stays_here(walker, &name, &filled)?;
    }
    // What could be filled above can be filled on the page itself.
    let filling = form.filling(&here.tree, values, press).ok().filter(|_| walker.has_browser());
    Ok(Request { filling, ..sent(walker, filled)? })
}

/// The request that a script's post-back makes: the form it stands in, with two hidden fields set and no button pressed.
pub fn post_back(walker: &Walker<'_>, node: NodeId, event: &PostBack) -> Result<Option<Request>, Trouble> {
    let here = walker.here()?;
    let Some(form) = form::around(&here.tree, node) else { return Ok(None) };
    let filled = form.post_back(&here.page.meta.url, here.encoding, event);
    let filled = filled.map_err(|error| walker.trouble(Failure::Robot, format!("the post-back {error}")))?;
    sent(walker, filled).map(Some)
}

/// The request that pressing a button of the page makes.
pub fn press(walker: &Walker<'_>, node: NodeId) -> Result<Option<Request>, Trouble> {
    let here = walker.here()?;
    let Some(form) = form::around(&here.tree, node).filter(|form| form.has_button(node)) else { return Ok(None) };
    request(walker, &form, &BTreeMap::new(), Press::Node(node)).map(Some)
}

fn sent(walker: &Walker<'_>, filled: Filled) -> Result<Request, Trouble> {
    let referrer = Some(walker.here()?.page.meta.url.clone());
    let body = filled.body.map(|bytes| Body { content_type: filled.content_type, bytes });
    Ok(Request { post: filled.post, url: filled.url, headers: Vec::new(), body, referrer, filling: None })
}

fn stays_here(walker: &Walker<'_>, name: &str, filled: &Filled) -> Result<(), Trouble> {
    if same_site(&walker.here()?.page.meta.url, &filled.url) || told(walker, &filled.url) {
        return Ok(());
    }
    let there = filled.url.origin().ascii_serialization();
    let sentence = format!(
        "the form “{name}” sends to {there}, another site, and would carry a secret there; \
         name that host in `fetch.allow_hosts` of task.toml if it belongs to the site"
    );
    Err(walker.trouble(Failure::Network, sentence))
}

/// Has a person named this host as one of the site's, and would the secret travel there unseen?
fn told(walker: &Walker<'_>, url: &url::Url) -> bool {
    let hosts = walker.task.fetch.allow_hosts.as_deref().unwrap_or_default();
    url.scheme() == "https" && url.host_str().is_some_and(|host| hosts.iter().any(|it| it.eq_ignore_ascii_case(host)))
}

pub fn no_form(wanted: &str, there: &[Form]) -> String {
    if there.is_empty() {
        return format!("the page has no form “{wanted}”; it has no form at all");
    }
    let names: Vec<String> = there.iter().map(Form::describe).collect();
    format!("the page has no form named “{wanted}”; it has: {}", names.join(", "))
}
