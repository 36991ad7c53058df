//! `get` and `post`: a request that the script describes.

use serde_json::Value;
use url::{Url, form_urlencoded};

use super::super::session::{PageRequest, RequestBody};
use super::super::walker::Walker;
use super::super::{WalkError, link};
use crate::model::Failure;
use crate::model::script::RequestStep;

pub async fn get(walker: &mut Walker<'_>, ask: &RequestStep, strict: bool) -> Result<(), WalkError> {
    let request = request(walker, ask)?;
    walker.go(request, strict).await
}

pub async fn post(walker: &mut Walker<'_>, ask: &RequestStep, strict: bool) -> Result<(), WalkError> {
    let mut request = request(walker, ask)?;
    request.post = true;
    request.body = Some(match &ask.json {
        Some(json) => {
            let text = expand_json(walker, json)?.to_string();
            RequestBody { content_type: "application/json".to_owned(), bytes: text.into_bytes() }
        }
        None => {
            let mut fields = form_urlencoded::Serializer::new(String::new());
            for (name, value) in &ask.form {
                fields.append_pair(&walker.expand(name)?, &walker.expand(value)?);
            }
            let content_type = "application/x-www-form-urlencoded".to_owned();
            RequestBody { content_type, bytes: fields.finish().into_bytes() }
        }
    });
    request.referrer = walker.current.as_ref().map(|stand| stand.page.meta.url.clone());
    walker.go(request, strict).await
}

fn request(walker: &Walker<'_>, ask: &RequestStep) -> Result<PageRequest, WalkError> {
    let mut url = resolve_url(walker, &walker.expand(&ask.url)?)?;
    for (key, value) in &ask.query {
        let (key, value) = (walker.expand(key)?, walker.expand(value)?);
        url.query_pairs_mut().append_pair(&key, &value);
    }
    let mut request = PageRequest::get(url);
    for (name, value) in &ask.headers {
        request.headers.push((name.clone(), walker.expand(value)?));
    }
    Ok(request)
}

/// Resolves a URL of the script against the current page, or against the task's `url`.
pub fn resolve_url(walker: &Walker<'_>, text: &str) -> Result<Url, WalkError> {
    let here = walker.current.as_ref().map(|stand| link::base(&stand.tree, &stand.page.meta.url));
    let base = here.or_else(|| walker.task.url.clone());
    let url = base.map_or_else(|| Url::parse(text), |base| base.join(text));
    url.map_err(|error| walker.error(Failure::Config, format!("“{text}” is not a URL: {error}")))
}

/// Expands variables in strings only, so a number from a variable is sent as a string.
fn expand_json(walker: &Walker<'_>, value: &Value) -> Result<Value, WalkError> {
    Ok(match value {
        Value::String(text) => Value::String(walker.expand(text)?),
        Value::Array(items) => {
            Value::Array(items.iter().map(|item| expand_json(walker, item)).collect::<Result<_, _>>()?)
        }
        Value::Object(map) => {
            let entries = map.iter().map(|(key, item)| Ok((key.clone(), expand_json(walker, item)?)));
            Value::Object(entries.collect::<Result<_, WalkError>>()?)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    })
}
