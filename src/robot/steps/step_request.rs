//! The request that a `get` or `post` step describes, without its body.

use super::super::WalkError;
use super::super::request::{PageRequest, SecretNames};
use super::super::walker::Walker;
use crate::model::script::RequestStep;

pub fn request(walker: &mut Walker<'_>, ask: &RequestStep) -> Result<PageRequest, WalkError> {
    let mut secrets = SecretNames::new();
    let mut url = walker.script_url(&ask.url, &mut secrets)?;
    for (key, value) in &ask.query {
        let (key, value) = (walker.expand_into(key, &mut secrets)?, walker.expand_into(value, &mut secrets)?);
        url.query_pairs_mut().append_pair(&key, &value);
    }
    let mut headers = Vec::new();
    for (name, value) in &ask.headers {
        headers.push((name.clone(), walker.expand_into(value, &mut secrets)?));
    }
    Ok(PageRequest { headers, secrets, ..PageRequest::get(url) })
}
