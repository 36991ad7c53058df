//! `submit`: a form of the current page, filled as a person would.

use std::collections::BTreeMap;

use super::super::Trouble;
use super::super::form;
use super::super::redirect::same_site;
use super::super::session::{Body, Request};
use super::super::walker::Walker;
use crate::model::Failure;
use crate::model::script::Submit;

pub async fn submit(walker: &mut Walker<'_>, step: &Submit, strict: bool) -> Result<(), Trouble> {
    let wanted = walker.expand(&step.form)?;
    let mut values = BTreeMap::new();
    for (name, value) in &step.fields {
        values.insert(walker.expand(name)?, walker.expand(value)?);
    }
    let button = step.button.as_deref().map(|button| walker.expand(button)).transpose()?;

    let here = walker.here()?;
    let url = &here.page.meta.url;
    let Some(found) = form::find(&here.tree, &wanted) else {
        return Err(walker.trouble(Failure::Robot, no_form(&wanted, &form::all(&here.tree))));
    };
    let filled = found.fill(url, here.encoding, &values, button.as_deref());
    let filled = filled.map_err(|error| walker.trouble(Failure::Robot, format!("the form “{wanted}” {error}")))?;
    if !same_site(url, &filled.url)
        && values.values().any(|value| walker.blanks.in_text(value))
        && !told(walker, &filled.url)
    {
        let there = filled.url.origin().ascii_serialization();
        let sentence = format!(
            "the form “{wanted}” sends to {there}, another site, and would carry a secret there; \
             name that host in `fetch.allow_hosts` of task.toml if it belongs to the site"
        );
        return Err(walker.trouble(Failure::Network, sentence));
    }
    let body = filled.body.map(|text| Body { content_type: filled.enctype.to_owned(), text });
    let request =
        Request { post: filled.post, url: filled.url, headers: Vec::new(), body, referrer: Some(url.clone()) };
    walker.go(request, strict).await
}

/// Has a person named this host as one of the site's, and would the secret travel there unseen?
fn told(walker: &Walker<'_>, url: &url::Url) -> bool {
    let hosts = walker.task.fetch.allow_hosts.as_deref().unwrap_or_default();
    url.scheme() == "https" && url.host_str().is_some_and(|host| hosts.iter().any(|it| it.eq_ignore_ascii_case(host)))
}

fn no_form(wanted: &str, there: &[form::Form]) -> String {
    if there.is_empty() {
        return format!("the page has no form “{wanted}”; it has no form at all");
    }
    let names: Vec<String> = there.iter().map(form::Form::describe).collect();
    format!("the page has no form named “{wanted}”; it has: {}", names.join(", "))
}
