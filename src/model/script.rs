//! The robot's script: how to reach the pages, one operation a step.
//!
//! ```toml
//! [[step]]
//! login = { url = "https://example.org/login", user = "anna", password = "${secret:shop}" }
//!
//! [[step]]
//! follow = { text = "My orders" }
//!
//! [[step]]
//! paginate = { max_pages = 20 }
//! ```
//!
//! `for_each` and `if` hold steps of their own: `[[step.for_each.steps]]`, `[[step.if.then]]`, `[[step.if.else]]`.

mod web;
mod flow;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::unit::Span;

pub use flow::{Condition, ExpectCause, ForEach, If, Match, Substitute, WaitFor};
pub use web::{Ask, Details, Follow, Login, Paginate, Scroll, Submit};

/// What robot.toml says. No step at all means: get the task's `url`, page on automatically.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    #[serde(default, rename = "step")]
    pub steps: Vec<Step>,
}

/// One operation. In the file a step is a table with exactly one key, the verb.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    Get(Ask),
    Post(Ask),
    Submit(Submit),
    Login(Login),
    Follow(Follow),
    Paginate(Paginate),
    Extract(Extract),
    Details(Details),
    ForEach(ForEach),
    If(If),
    Match(Match),
    Substitute(Substitute),
    Set(BTreeMap<String, String>),
    /// Fails here with cause `robot`, or the cause given, unless the current page is as said.
    Expect(Condition),
    Wait(Span),
    Click(Follow),
    Scroll(Scroll),
    WaitFor(WaitFor),
    /// Keeps the raw page beside the rows, under this name.
    Save(String),
}

/// Applies the task's template to the current page.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Extract {}

impl Script {
    /// Every step, those inside others too, in the order of the file.
    pub fn every_step(&self) -> Vec<&Step> {
        let mut all = Vec::new();
        let mut waiting: Vec<&Step> = self.steps.iter().rev().collect();
        while let Some(step) = waiting.pop() {
            all.push(step);
            waiting.extend(step.inner().into_iter().flat_map(|(_, steps)| steps).rev());
        }
        all
    }
}

impl Step {
    /// The verb as it stands in the file.
    pub fn verb(&self) -> &'static str {
        match self {
            Step::Get(_) => "get",
            Step::Post(_) => "post",
            Step::Submit(_) => "submit",
            Step::Login(_) => "login",
            Step::Follow(_) => "follow",
            Step::Paginate(_) => "paginate",
            Step::Extract(_) => "extract",
            Step::Details(_) => "details",
            Step::ForEach(_) => "for_each",
            Step::If(_) => "if",
            Step::Match(_) => "match",
            Step::Substitute(_) => "substitute",
            Step::Set(_) => "set",
            Step::Expect(_) => "expect",
            Step::Wait(_) => "wait",
            Step::Click(_) => "click",
            Step::Scroll(_) => "scroll",
            Step::WaitFor(_) => "wait_for",
            Step::Save(_) => "save",
        }
    }

    /// The steps inside this one, with the key that they stand under.
    pub fn inner(&self) -> Vec<(&'static str, &[Step])> {
        match self {
            Step::ForEach(each) => vec![("steps", &each.steps)],
            Step::If(branch) => vec![("then", &branch.then), ("else", &branch.otherwise)],
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;
