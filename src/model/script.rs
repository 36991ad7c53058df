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

mod flow;
pub mod items;
pub mod pattern;
mod secret_origins;
pub mod variables;
mod web;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::unit::TimeSpan;

pub use flow::{Condition, ExpectCause, ForEachStep, IfStep, MatchStep, SubstituteStep, WaitForStep};
pub use secret_origins::{literal_url, secret_names, secret_origins};
pub use web::{DetailsStep, LinkSelector, LoginStep, PaginateStep, RequestStep, ScrollStep, SubmitStep};

/// The content of robot.toml. No step means: get the task's `url` and paginate automatically.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    #[serde(default, rename = "step")]
    pub steps: Vec<ScriptStep>,
}

/// One operation. In the file a step is a table with exactly one key, the verb.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ScriptStep {
    Get(RequestStep),
    Post(RequestStep),
    Submit(SubmitStep),
    Login(LoginStep),
    Follow(LinkSelector),
    Paginate(PaginateStep),
    Extract(ExtractStep),
    Details(DetailsStep),
    ForEach(ForEachStep),
    If(IfStep),
    Match(MatchStep),
    Substitute(SubstituteStep),
    Set(BTreeMap<String, String>),
    /// Fails here with cause `robot`, or the given cause, unless the current page meets the condition.
    Expect(Condition),
    Wait(TimeSpan),
    Click(LinkSelector),
    Scroll(ScrollStep),
    WaitFor(WaitForStep),
    /// Keeps the raw page beside the rows, under this name.
    Save(String),
}

/// Applies the task's template to the current page.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExtractStep {}

impl Script {
    /// Every step in the order of the file, including steps inside others.
    pub fn every_step(&self) -> Vec<&ScriptStep> {
        let mut all = Vec::new();
        let mut waiting: Vec<&ScriptStep> = self.steps.iter().rev().collect();
        while let Some(step) = waiting.pop() {
            all.push(step);
            waiting.extend(step.inner().into_iter().flat_map(|(_, steps)| steps).rev());
        }
        all
    }

    /// The addresses that its steps name, as written; they may be relative or contain variables.
    pub fn addresses(&self) -> Vec<String> {
        let address = |step: &ScriptStep| match step {
            ScriptStep::Get(ask) | ScriptStep::Post(ask) => Some(ask.url.clone()),
            ScriptStep::Login(login) => login.url.clone(),
            ScriptStep::Paginate(paginate) => paginate.url.clone(),
            _ => None,
        };
        self.every_step().into_iter().filter_map(address).collect()
    }
}

impl ScriptStep {
    /// The verb in the file.
    /// Every verb.
    pub const VERBS: [&str; 19] = [
        "get",
        "post",
        "submit",
        "login",
        "follow",
        "paginate",
        "extract",
        "details",
        "for_each",
        "if",
        "match",
        "substitute",
        "set",
        "expect",
        "wait",
        "click",
        "scroll",
        "wait_for",
        "save",
    ];

    pub fn verb(&self) -> &'static str {
        match self {
            ScriptStep::Get(_) => "get",
            ScriptStep::Post(_) => "post",
            ScriptStep::Submit(_) => "submit",
            ScriptStep::Login(_) => "login",
            ScriptStep::Follow(_) => "follow",
            ScriptStep::Paginate(_) => "paginate",
            ScriptStep::Extract(_) => "extract",
            ScriptStep::Details(_) => "details",
            ScriptStep::ForEach(_) => "for_each",
            ScriptStep::If(_) => "if",
            ScriptStep::Match(_) => "match",
            ScriptStep::Substitute(_) => "substitute",
            ScriptStep::Set(_) => "set",
            ScriptStep::Expect(_) => "expect",
            ScriptStep::Wait(_) => "wait",
            ScriptStep::Click(_) => "click",
            ScriptStep::Scroll(_) => "scroll",
            ScriptStep::WaitFor(_) => "wait_for",
            ScriptStep::Save(_) => "save",
        }
    }

    /// The steps inside this one, with the key they are under.
    pub fn inner(&self) -> Vec<(&'static str, &[ScriptStep])> {
        match self {
            ScriptStep::ForEach(each) => vec![("steps", &each.steps)],
            ScriptStep::If(branch) => vec![("then", &branch.then), ("else", &branch.otherwise)],
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;
