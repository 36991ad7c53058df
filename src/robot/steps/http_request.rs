//! `get` and `post`: a request that the script describes.

use serde_json::Value;
use url::form_urlencoded;

use super::super::WalkError;
use super::super::request::{RequestBody, SecretNames};
use super::super::walker::Walker;
use super::step_request::request;
use super::visit;
use crate::model::script::RequestStep;

pub async fn get(walker: &mut Walker<'_>, ask: &RequestStep, strict: bool) -> Result<(), WalkError> {
    let request = request(walker, ask)?;
    visit::go(walker, request, strict).await
}

pub async fn post(walker: &mut Walker<'_>, ask: &RequestStep, strict: bool) -> Result<(), WalkError> {
    let mut request = request(walker, ask)?;
    request.post = true;
    request.body = Some(match &ask.json {
        Some(json) => {
            let text = expand_json(walker, json, &mut request.secrets)?.to_string();
            RequestBody { content_type: "application/json".to_owned(), bytes: text.into_bytes() }
        }
        None => {
            let mut fields = form_urlencoded::Serializer::new(String::new());
            for (name, value) in &ask.form {
                let secrets = &mut request.secrets;
                fields.append_pair(&walker.expand_into(name, secrets)?, &walker.expand_into(value, secrets)?);
            }
            let content_type = "application/x-www-form-urlencoded".to_owned();
            RequestBody { content_type, bytes: fields.finish().into_bytes() }
        }
    });
    request.referrer = walker.current.as_ref().map(|stand| stand.page.meta.url.clone());
    visit::go(walker, request, strict).await
}

/// Expands variables in strings only, so a number from a variable is sent as a string.
fn expand_json(walker: &Walker<'_>, value: &Value, secrets: &mut SecretNames) -> Result<Value, WalkError> {
    Ok(match value {
        Value::String(text) => Value::String(walker.expand_into(text, secrets)?),
        Value::Array(items) => {
            Value::Array(items.iter().map(|item| expand_json(walker, item, secrets)).collect::<Result<_, _>>()?)
        }
        Value::Object(map) => {
            let entries = map.iter().map(|(key, item)| Ok((key.clone(), expand_json(walker, item, secrets)?)));
            Value::Object(entries.collect::<Result<_, WalkError>>()?)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    })
}
