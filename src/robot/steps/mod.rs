//! The operations of a script, one file each where there is something to say.

mod ask;
mod submit;
mod login;
mod follow;
mod course;
mod paginate;
mod details;
mod for_each;
mod condition;
mod take;
mod live;

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;

use super::Trouble;
use super::walker::Walker;
use crate::model::Step;

pub use login::{LoggedIn, is_logged_out, log_in_again};
pub use paginate::paginate;
pub use take::compile;

/// Does the steps one after the other. Boxed, since `if` and `for_each` come back here.
pub fn run_all<'w, 'a: 'w>(
    walker: &'w mut Walker<'a>,
    all: &'w [Step],
) -> Pin<Box<dyn Future<Output = Result<(), Trouble>> + 'w>> {
    Box::pin(async move {
        for index in 0..all.len() {
            run_one(walker, all, index).await?;
        }
        Ok(())
    })
}

/// Does one of the steps.
pub async fn run_one(walker: &mut Walker<'_>, all: &[Step], index: usize) -> Result<(), Trouble> {
    // A bad status is this page's end, unless the script is about to look at it.
    let strict = !all.get(index + 1).is_some_and(looks_at_status);
    walker.enter(&all[index], index);
    let done = run(walker, &all[index], strict).await;
    walker.leave();
    done
}

fn looks_at_status(step: &Step) -> bool {
    match step {
        Step::Expect(condition) => condition.status.is_some(),
        Step::If(branch) => branch.when.status.is_some(),
        _ => false,
    }
}

/// Does one step. `strict`: a page with a bad status is trouble.
async fn run(walker: &mut Walker<'_>, step: &Step, strict: bool) -> Result<(), Trouble> {
    match step {
        Step::Get(ask) => ask::get(walker, ask, strict).await,
        Step::Post(ask) => ask::post(walker, ask, strict).await,
        Step::Submit(submit) => submit::submit(walker, submit, strict).await,
        Step::Login(login) => login::login(walker, login).await,
        Step::Follow(follow) => follow::follow(walker, follow, strict).await,
        Step::Paginate(paginate) => paginate::paginate(walker, paginate).await,
        Step::Extract(_) => walker.extract().map(drop),
        Step::Details(details) => details::details(walker, details).await,
        Step::ForEach(each) => for_each::for_each(walker, each).await,
        Step::If(branch) => {
            let holds = condition::complaint(walker, &branch.when)?.is_none();
            walker.trace(if holds { "it is so: `then`" } else { "it is not so: `else`" });
            run_all(walker, if holds { &branch.then } else { &branch.otherwise }).await
        }
        Step::Match(it) => take::take(walker, it),
        Step::Substitute(it) => take::substitute(walker, it),
        Step::Set(values) => set(walker, values),
        Step::Expect(condition) => condition::expect(walker, condition),
        Step::Wait(span) => {
            walker.trace(format!("waits {span}"));
            if walker.browser.is_some() { live::wait(walker, span.0).await } else { walker.pause(span.0).await }
        }
        Step::Save(name) => walker.save(name),
        Step::Click(wanted) => live::click(walker, wanted, strict).await,
        Step::Scroll(scroll) => live::scroll(walker, scroll, strict).await,
        Step::WaitFor(it) => live::wait_for(walker, it).await,
    }
}

/// All values are those from before the step, so their order does not matter.
fn set(walker: &mut Walker<'_>, values: &BTreeMap<String, String>) -> Result<(), Trouble> {
    let mut new = BTreeMap::new();
    for (name, value) in values {
        new.insert(name.clone(), walker.expand(value)?);
    }
    for (name, value) in new {
        walker.remember(&name, value);
    }
    Ok(())
}
