//! The operations of a script, one file each where there is something to say.

mod match_values;
mod browser_actions;
mod paginator;
mod http_request;
mod submit;
mod login;
mod follow;
mod paginate;
mod details;
mod for_each;
mod condition;

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;

use super::WalkError;
use super::walker::Walker;
use crate::model::ScriptStep;

pub use self::match_values::compile_regex;
pub use login::{LoginState, is_logged_out, log_in_again};
pub use paginate::paginate;

/// Does the steps one after the other. Boxed, since `if` and `for_each` come back here.
pub fn run_all<'w, 'a: 'w>(
    walker: &'w mut Walker<'a>,
    all: &'w [ScriptStep],
) -> Pin<Box<dyn Future<Output = Result<(), WalkError>> + 'w>> {
    Box::pin(async move {
        for index in 0..all.len() {
            run_one(walker, all, index).await?;
        }
        Ok(())
    })
}

/// Does one of the steps.
pub async fn run_one(walker: &mut Walker<'_>, all: &[ScriptStep], index: usize) -> Result<(), WalkError> {
    // A bad status is this page's end, unless the script is about to look at it.
    let strict = !all.get(index + 1).is_some_and(looks_at_status);
    walker.enter_step(&all[index], index);
    let done = run(walker, &all[index], strict).await;
    walker.leave_step();
    done
}

fn looks_at_status(step: &ScriptStep) -> bool {
    match step {
        ScriptStep::Expect(condition) => condition.status.is_some(),
        ScriptStep::If(branch) => branch.when.status.is_some(),
        _ => false,
    }
}

/// Does one step. `strict`: a page with a bad status is trouble.
async fn run(walker: &mut Walker<'_>, step: &ScriptStep, strict: bool) -> Result<(), WalkError> {
    match step {
        ScriptStep::Get(ask) => http_request::get(walker, ask, strict).await,
        ScriptStep::Post(ask) => http_request::post(walker, ask, strict).await,
        ScriptStep::Submit(submit) => submit::submit(walker, submit, strict).await,
        ScriptStep::Login(login) => login::login(walker, login).await,
        ScriptStep::Follow(follow) => follow::follow(walker, follow, strict).await,
        ScriptStep::Paginate(paginate) => paginate::paginate(walker, paginate).await,
        ScriptStep::Extract(_) => walker.extract().map(drop),
        ScriptStep::Details(details) => details::details(walker, details).await,
        ScriptStep::ForEach(each) => for_each::for_each(walker, each).await,
        ScriptStep::If(branch) => {
            let holds = condition::unmet_part(walker, &branch.when)?.is_none();
            walker.trace(if holds { "it is so: `then`" } else { "it is not so: `else`" });
            run_all(walker, if holds { &branch.then } else { &branch.otherwise }).await
        }
        ScriptStep::Match(it) => match_values::run_match(walker, it),
        ScriptStep::Substitute(it) => match_values::substitute(walker, it),
        ScriptStep::Set(values) => set(walker, values),
        ScriptStep::Expect(condition) => condition::expect(walker, condition),
        ScriptStep::Wait(span) => {
            walker.trace(format!("waits {span}"));
            if walker.browser.is_some() {
                browser_actions::wait(walker, span.0).await
            } else {
                walker.pause(span.0).await
            }
        }
        ScriptStep::Save(name) => walker.save(name),
        ScriptStep::Click(wanted) => browser_actions::click(walker, wanted, strict).await,
        ScriptStep::Scroll(scroll) => browser_actions::scroll(walker, scroll, strict).await,
        ScriptStep::WaitFor(it) => browser_actions::wait_for(walker, it).await,
    }
}

/// All values are those from before the step, so their order does not matter.
fn set(walker: &mut Walker<'_>, values: &BTreeMap<String, String>) -> Result<(), WalkError> {
    let mut new = BTreeMap::new();
    for (name, value) in values {
        new.insert(name.clone(), walker.expand(value)?);
    }
    for (name, value) in new {
        walker.set_variable(&name, value);
    }
    Ok(())
}
