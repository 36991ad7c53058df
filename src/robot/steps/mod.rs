//! The operations of a script, one file each where there is something to say.

mod submit;
mod follow;
mod paginate;
mod expect;

use std::collections::BTreeMap;

use url::Url;

use super::session::Request;
use super::walker::Walker;
use super::{Trouble, link};
use crate::model::script::Get;
use crate::model::{Failure, Step};

pub use paginate::paginate;

/// A `get` of nothing but a URL.
pub fn get(url: &str) -> Get {
    Get { url: url.to_owned(), query: BTreeMap::new(), headers: BTreeMap::new() }
}

/// Does one step. `strict`: a page with a bad status is trouble.
pub async fn run(walker: &mut Walker<'_>, step: &Step, strict: bool) -> Result<(), Trouble> {
    match step {
        Step::Get(get) => go(walker, get, strict).await,
        Step::Submit(submit) => submit::submit(walker, submit, strict).await,
        Step::Follow(follow) => follow::follow(walker, follow, strict).await,
        Step::Paginate(paginate) => paginate::paginate(walker, paginate).await,
        Step::Extract(_) => walker.extract().map(drop),
        Step::Expect(expect) => expect::expect(walker, expect),
        Step::Set(values) => set(walker, values),
    }
}

async fn go(walker: &mut Walker<'_>, get: &Get, strict: bool) -> Result<(), Trouble> {
    let text = walker.expand(&get.url)?;
    let mut url = target(walker, &text)?;
    for (key, value) in &get.query {
        let (key, value) = (walker.expand(key)?, walker.expand(value)?);
        url.query_pairs_mut().append_pair(&key, &value);
    }
    let mut request = Request::get(url);
    for (name, value) in &get.headers {
        request.headers.push((name.clone(), walker.expand(value)?));
    }
    walker.go(request, strict).await
}

/// The address of a `get`: relative to the current page, or to the task's own URL.
fn target(walker: &Walker<'_>, text: &str) -> Result<Url, Trouble> {
    let here = walker.stand.as_ref().map(|stand| link::base(&stand.tree, &stand.page.meta.url));
    let base = here.or_else(|| walker.task.url.clone());
    let url = base.map_or_else(|| Url::parse(text), |base| base.join(text));
    url.map_err(|error| walker.trouble(Failure::Config, format!("“{text}” is not an address: {error}")))
}

/// All values are those from before the step, so their order does not matter.
fn set(walker: &mut Walker<'_>, values: &BTreeMap<String, String>) -> Result<(), Trouble> {
    let mut new = BTreeMap::new();
    for (name, value) in values {
        new.insert(name.clone(), walker.expand(value)?);
    }
    for (name, value) in new {
        walker.trace(format!("{name} = {value}"));
        walker.variables.insert(name, value);
    }
    Ok(())
}
