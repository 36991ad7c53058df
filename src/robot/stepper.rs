//! A walk that stops after every step and can go back; `pieme step` drives it.
//!
//! Every step has the time limit of a whole run, since a person reads in between. The guard and all other limits are
//! those of a run.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};

use super::run_host::RunHost;
use super::steps::{self, has_extracting_step};
use super::walker::{WalkSnapshot, Walker};
use super::{Observer, WalkError, WalkInput, open_session};
use crate::model::script::{ExtractStep, PaginateStep, RequestStep};
use crate::model::{Page, Script, ScriptStep, Task};
use crate::page::Tree;

pub struct Stepper<'a> {
    walker: Walker<'a>,
    steps: Vec<ScriptStep>,
    /// How many of the steps are written in robot.toml; the others are implied.
    explicit_steps: usize,
    done: usize,
    /// The state before each step that was done, and before the one that failed.
    snapshots: Vec<WalkSnapshot>,
    step_timeout: Duration,
    step_started_at: DateTime<Utc>,
}

/// The steps of the script, and those that pieme adds by itself.
pub fn planned_steps(task: &Task, script: &Script) -> Vec<ScriptStep> {
    let mut steps = script.steps.clone();
    match &task.url {
        Some(url) if steps.is_empty() => steps
            .extend([ScriptStep::Get(RequestStep::url(url.as_str())), ScriptStep::Paginate(PaginateStep::default())]),
        _ if !has_extracting_step(&steps) => steps.push(ScriptStep::Extract(ExtractStep {})),
        _ => {}
    }
    steps
}

impl<'a> Stepper<'a> {
    /// Under a host that coordinates several runs.
    pub fn with_host(
        home: Box<dyn RunHost>,
        order: &WalkInput<'a>,
        observer: &'a mut dyn Observer,
    ) -> Result<Stepper<'a>, WalkError> {
        let session = open_session(order, home)?;
        let today = Utc::now().with_timezone(&order.task.schedule.timezone).date_naive();
        let written = order.script.steps.len();
        let steps = planned_steps(order.task, order.script);
        let walker = Walker::new(order, session, observer, today);
        Ok(Stepper {
            walker,
            steps,
            explicit_steps: written,
            done: 0,
            snapshots: Vec::new(),
            step_timeout: order.task.limits.timeout.0,
            step_started_at: Utc::now(),
        })
    }

    pub fn steps(&self) -> &[ScriptStep] {
        &self.steps
    }

    /// Whether pieme adds this step by itself, after those of robot.toml.
    pub fn is_implied(&self, index: usize) -> bool {
        index >= self.explicit_steps
    }

    /// How many steps are done; the next one has this index.
    pub fn steps_done(&self) -> usize {
        self.done
    }

    /// Runs the next step; `None` when there is none. A step that failed stays the next one and starts from the state
    /// before it.
    pub async fn next(&mut self) -> Option<Result<(), WalkError>> {
        if self.done == self.steps.len() {
            return None;
        }
        if let Some(memory) = self.snapshots.get(self.done) {
            self.walker.restore(memory.clone());
        } else {
            self.snapshots.push(self.walker.snapshot());
        }
        self.walker.session.set_deadline(Instant::now() + self.step_timeout);
        self.step_started_at = Utc::now();
        let is_done_already = self.is_implied(self.done) && self.explicit_steps > 0 && self.walker.extracted;
        let result =
            if is_done_already { Ok(()) } else { steps::run_one(&mut self.walker, &self.steps, self.done).await };
        // A person reads now, for minutes perhaps: other runs may request the host meanwhile.
        self.walker.session.run_host.release_turn();
        self.done += usize::from(result.is_ok());
        Some(result)
    }

    /// Restores the state before the last step, or before the one that failed. False at the beginning.
    pub fn back(&mut self) -> bool {
        let Some(memory) = self.snapshots.pop() else { return false };
        self.done = self.snapshots.len();
        self.walker.restore(memory);
        true
    }

    /// The current page, secrets and tokens redacted.
    pub fn page(&self) -> Option<Page> {
        let mut page = self.walker.current.as_ref()?.page.clone();
        self.walker.redactor.redact_page(&mut page);
        self.walker.tokens.redact_page(&mut page);
        Some(page)
    }

    /// The current page's tree. Text that is shown from it must pass [`Stepper::redact`].
    pub fn tree(&self) -> Option<&Tree> {
        self.walker.current.as_ref().map(|stand| &stand.tree)
    }

    pub fn redact(&self, text: &str) -> String {
        self.walker.redact(text)
    }

    /// The current variables, secrets and tokens redacted.
    pub fn variables(&self) -> BTreeMap<String, String> {
        let tokens = &self.walker.tokens;
        let is_hidden = |name: &str| tokens.is_variable(name) || !self.walker.secrets_in_variable(name).is_empty();
        let shown = |(name, value): (&String, &String)| {
            (name.clone(), if is_hidden(name) { "***".to_owned() } else { self.redact(value) })
        };
        self.walker.variables.iter().map(shown).collect()
    }

    pub fn step_started_at(&self) -> DateTime<Utc> {
        self.step_started_at
    }

    /// The current cookies as JSON.
    pub fn cookies(&self) -> Option<String> {
        self.walker.session.cookies()
    }
}
