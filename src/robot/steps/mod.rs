//! The steps of a script: runs them in order and dispatches each to its file.

mod browser_actions;
mod condition;
mod details;
mod end_of_count;
mod follow;
mod for_each;
mod form_request;
mod http_request;
mod login;
mod match_values;
mod paginate;
mod paginator;
mod step_request;
mod submit;
mod visit;

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;

use super::request::{PageRequest, SecretNames};
use super::walker::Walker;
use super::{Arrival, WalkError};
use crate::model::script::PaginateStep;
use crate::model::{Failure, ScriptStep};

/// Runs a whole script. The implied script of a task without robot.toml: get `url`, paginate.
pub async fn run_script(walker: &mut Walker<'_>, all: &[ScriptStep]) -> Result<(), WalkError> {
    if !all.is_empty() {
        run_all(walker, all).await?;
        return extract_by_default(walker, all);
    }
    let Some(url) = walker.task.url.clone() else {
        return Err(walker.error(Failure::Config, "the task has no `url`, neither in task.toml nor in robot.toml"));
    };
    visit::go(walker, PageRequest::get(url), true).await?;
    paginate::paginate(walker, &PaginateStep::default()).await
}

/// Extracts from the last page if no step of the script says where to extract.
fn extract_by_default(walker: &mut Walker<'_>, all: &[ScriptStep]) -> Result<(), WalkError> {
    if !has_extracting_step(all) && !walker.extracted && walker.current.is_some() {
        walker.extract(Arrival::Step)?;
    }
    Ok(())
}

/// Whether one of these steps extracts rows.
pub fn has_extracting_step(all: &[ScriptStep]) -> bool {
    all.iter().any(|step| {
        matches!(step, ScriptStep::Extract(_) | ScriptStep::Paginate(_) | ScriptStep::ForEach(_))
            || step.inner().into_iter().any(|(_, inner)| has_extracting_step(inner))
    })
}

/// Runs the steps in order. Boxed, since `if` and `for_each` recurse.
fn run_all<'w, 'a: 'w>(
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

pub async fn run_one(walker: &mut Walker<'_>, all: &[ScriptStep], index: usize) -> Result<(), WalkError> {
    // An error status is an error, unless the next step checks the status itself.
    let strict = !all.get(index + 1).is_some_and(looks_at_status);
    walker.enter_step(&all[index], index);
    let done = match &all[index] {
        ScriptStep::Login(login) => login::login(walker, login, all.get(index + 1)).await,
        step => run(walker, step, strict).await,
    };
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

/// Runs one step. With `strict`, a page with an error status is an error.
async fn run(walker: &mut Walker<'_>, step: &ScriptStep, strict: bool) -> Result<(), WalkError> {
    match step {
        ScriptStep::Get(ask) => http_request::get(walker, ask, strict).await,
        ScriptStep::Post(ask) => http_request::post(walker, ask, strict).await,
        ScriptStep::Submit(submit) => submit::submit(walker, submit, strict).await,
        ScriptStep::Login(login) => login::login(walker, login, None).await,
        ScriptStep::Follow(follow) => follow::follow(walker, follow, strict).await,
        ScriptStep::Paginate(paginate) => paginate::paginate(walker, paginate).await,
        ScriptStep::Extract(_) => walker.extract(Arrival::Step).map(drop),
        ScriptStep::Details(details) => details::details(walker, details).await,
        ScriptStep::ForEach(each) => for_each::for_each(walker, each).await,
        ScriptStep::If(branch) => {
            let holds = condition::unmet_part(walker, &branch.when)?.is_none();
            walker.trace(if holds { "the condition holds: `then`" } else { "the condition does not hold: `else`" });
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

/// Expands all values with the variables from before the step, so their order does not matter.
fn set(walker: &mut Walker<'_>, values: &BTreeMap<String, String>) -> Result<(), WalkError> {
    let mut new = BTreeMap::new();
    for (name, value) in values {
        let mut secrets = SecretNames::new();
        new.insert(name.clone(), (walker.expand_into(value, &mut secrets)?, secrets));
    }
    for (name, (value, secrets)) in new {
        walker.set_variable_with(&name, value, secrets);
    }
    Ok(())
}
