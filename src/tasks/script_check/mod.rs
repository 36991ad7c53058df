//! Validates a script when the task folder is read, so that mistakes do not wait for the next run.

mod steps;
mod texts;

use std::collections::BTreeSet;

use url::Url;

use crate::guard::Guard;
use crate::model::address::display_url;
use crate::model::task::Engine;
use crate::model::{AddressGrants, Script, ScriptStep, Task};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptProblem {
    /// The path in the file: `["step", "2", "for_each", "steps", "0", "get"]`. Empty for the script as a whole.
    pub path: Vec<String>,
    pub message: String,
    pub hint: Option<String>,
}

impl ScriptProblem {
    /// The step's number, from 1; 0 for the script as a whole.
    pub fn step(&self) -> usize {
        self.path.get(1).and_then(|index| index.parse::<usize>().ok()).map_or(0, |index| index + 1)
    }
}

pub fn check(task: &Task, script: &Script) -> Vec<ScriptProblem> {
    let mut check = ScriptChecker {
        task,
        guard: Guard::new(task, script, &AddressGrants::default()),
        path: Vec::new(),
        known_variables: BTreeSet::new(),
        known_prefixes: BTreeSet::new(),
        has_page: false,
        problems: Vec::new(),
    };
    if script.steps.is_empty() {
        match &task.url {
            Some(url) => check.check_reachable(url),
            None => {
                check.report("the task has no `url`", Some("write `url = \"https://…\"` in task.toml".to_owned()));
            }
        }
    }
    check.check_steps("step", &script.steps);
    check.problems
}

struct ScriptChecker<'a> {
    task: &'a Task,
    guard: Guard,
    path: Vec<String>,
    /// Variables that an earlier step sets.
    known_variables: BTreeSet<String>,
    /// Prefixes of variables from item files: which `${town.…}` exist is known only from the file.
    known_prefixes: BTreeSet<String>,
    /// Whether an earlier step fetches a page.
    has_page: bool,
    problems: Vec<ScriptProblem>,
}

/// The deepest nesting of steps: more than anybody writes, and bounded for the recursion.
const MAX_DEPTH: usize = 8;

impl ScriptChecker<'_> {
    fn check_steps(&mut self, key: &str, all: &[ScriptStep]) {
        self.path.push(key.to_owned());
        for (index, step) in all.iter().enumerate() {
            self.path.extend([index.to_string(), step.verb().to_owned()]);
            self.check_preconditions(step);
            self.check_step(step);
            self.path.truncate(self.path.len() - 2);
        }
        self.path.pop();
    }

    /// Checks that a page and a browser are there if the step needs them.
    fn check_preconditions(&mut self, step: &ScriptStep) {
        let brings_a_page = match step {
            ScriptStep::Get(_) | ScriptStep::Post(_) => true,
            ScriptStep::Login(login) => login.url.is_some() || login.basic,
            _ => false,
        };
        let needs_none = matches!(
            step,
            ScriptStep::Set(_)
                | ScriptStep::Substitute(_)
                | ScriptStep::Wait(_)
                | ScriptStep::ForEach(_)
                | ScriptStep::If(_)
                | ScriptStep::Match(_)
        );
        if !self.has_page && !brings_a_page && !needs_none {
            let message = format!("`{}` needs a page, and no step before it gets one", step.verb());
            self.report(message, Some("begin with a step `get = \"https://…\"`".to_owned()));
            self.has_page = true; // reported once
        }
        let wants_browser = matches!(step, ScriptStep::Click(_) | ScriptStep::Scroll(_) | ScriptStep::WaitFor(_))
            || matches!(step, ScriptStep::Paginate(paginate) if paginate.scroll);
        if wants_browser && self.task.fetch.engine != Engine::Browser {
            let message = format!("`{}` needs the browser engine", step.verb());
            self.report(message, Some("write `engine = \"browser\"` under [fetch] in task.toml".to_owned()));
        }
    }

    /// Not what its address is: that depends on config.toml (`address_check.rs`).
    fn check_reachable(&mut self, url: &Url) {
        if let Err(refusal) = self.guard.check_host_of(url) {
            self.report(format!("{} cannot be fetched: {refusal}", display_url(url)), None);
        }
    }

    fn report(&mut self, message: impl Into<String>, hint: Option<String>) {
        self.problems.push(ScriptProblem { path: self.path.clone(), message: message.into(), hint });
    }
}

#[cfg(test)]
mod tests;
