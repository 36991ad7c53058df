//! Mistakes in a script, found when the folder is dropped and not at three in the morning.

mod texts;
mod steps;

use std::collections::BTreeSet;

use url::Url;

use crate::guard::Guard;
use crate::model::task::Engine;
use crate::model::{Script, Step, Task};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptProblem {
    /// Where in the file: `["step", "2", "for_each", "steps", "0", "get"]`. Empty when it is about the script as a whole.
    pub path: Vec<String>,
    pub message: String,
    pub hint: Option<String>,
}

impl ScriptProblem {
    /// The step of the script, counted from 1; 0 when it is about the script as a whole.
    pub fn step(&self) -> usize {
        self.path.get(1).and_then(|index| index.parse::<usize>().ok()).map_or(0, |index| index + 1)
    }
}

pub fn check(task: &Task, script: &Script) -> Vec<ScriptProblem> {
    let mut check = Check {
        task,
        guard: Guard::new(task, script),
        path: Vec::new(),
        known: BTreeSet::new(),
        prefixes: BTreeSet::new(),
        on_a_page: false,
        found: Vec::new(),
    };
    if script.steps.is_empty() {
        match &task.url {
            Some(url) => check.reachable(url),
            None => {
                check.problem("the task has no address", Some("write `url = \"https://…\"` in task.toml".to_owned()));
            }
        }
    }
    check.all("step", &script.steps);
    check.found
}

struct Check<'a> {
    task: &'a Task,
    guard: Guard,
    path: Vec<String>,
    /// Variables that an earlier step sets.
    known: BTreeSet<String>,
    /// Of items of files: `${town.zip}` is known only to the file.
    prefixes: BTreeSet<String>,
    /// Has a step brought a page by now?
    on_a_page: bool,
    found: Vec<ScriptProblem>,
}

/// Steps inside steps inside steps: more than anybody writes, and little enough to walk.
const MAX_DEPTH: usize = 8;

impl Check<'_> {
    fn all(&mut self, key: &str, all: &[Step]) {
        self.path.push(key.to_owned());
        for (index, step) in all.iter().enumerate() {
            self.path.extend([index.to_string(), step.verb().to_owned()]);
            self.needs(step);
            self.one(step);
            self.path.truncate(self.path.len() - 2);
        }
        self.path.pop();
    }

    /// What must be there before this step can do anything.
    fn needs(&mut self, step: &Step) {
        let brings_a_page = match step {
            Step::Get(_) | Step::Post(_) => true,
            Step::Login(login) => login.url.is_some() || login.basic,
            _ => false,
        };
        let needs_none = matches!(
            step,
            Step::Set(_) | Step::Substitute(_) | Step::Wait(_) | Step::ForEach(_) | Step::If(_) | Step::Match(_)
        );
        if !self.on_a_page && !brings_a_page && !needs_none {
            let message = format!("`{}` needs a page, and no step before it gets one", step.verb());
            self.problem(message, Some("begin with a step `get = \"https://…\"`".to_owned()));
            self.on_a_page = true; // said once
        }
        let wants_browser = matches!(step, Step::Click(_) | Step::Scroll(_) | Step::WaitFor(_))
            || matches!(step, Step::Paginate(paginate) if paginate.scroll);
        if wants_browser && self.task.fetch.engine != Engine::Browser {
            let message = format!("`{}` needs a browser", step.verb());
            self.problem(message, Some("write `engine = \"browser\"` under [fetch] in task.toml".to_owned()));
        }
    }

    fn reachable(&mut self, url: &Url) {
        if let Err(refusal) = self.guard.url(url) {
            self.problem(format!("{} cannot be fetched: {refusal}", super::session::shown(url)), None);
        }
    }

    fn problem(&mut self, message: impl Into<String>, hint: Option<String>) {
        self.found.push(ScriptProblem { path: self.path.clone(), message: message.into(), hint });
    }
}

#[cfg(test)]
mod tests;
