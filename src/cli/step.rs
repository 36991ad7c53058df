//! `pieme step`: runs a task's robot one step at a time, forward and back.

mod commands;
mod show;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;
use tokio::runtime::Runtime;

use crate::config::Config;
use crate::daemon::child::host_limiter::SharedHostLimiter;
use crate::daemon::child::spawn::{Spawner, THIS_PROGRAM};
use crate::daemon::child::stepping::StepProcess;
use crate::daemon::runs::stepping::{StepStartError, start_stepping_in_terminal};
use crate::model::{Failure, ScriptStep, StepwiseState, Verdict};
use crate::robot::planned_steps;
use crate::stepwise::PageContents;
use crate::tasks;
use crate::tasks::{ScriptText, TaskFolder};

use super::sandboxed::kernel_refusal;
use super::{CliError, VerbResult, exit, output, task_folder, task_name};

/// Run a robot one step at a time, forward and back
///
/// Nothing is published or stored. The session (cookies) of the last run is used and not changed. The time limit of a
/// run applies to each step; all other limits apply as in a run.
#[derive(clap::Args)]
#[command(after_help = "At the prompt:
  Enter  next step              b  back: restores page, variables and cookies
  r      run the rest           p  text of the page   l  links   f  forms   v  variables
  w FILE write the page         q  quit

Examples:
  pieme step hotels
  pieme step hotels --until 4               runs three steps, then asks
  pieme step hotels --json | jq .page.url   all steps, one line of JSON each
  pieme step hotels --json --until 4")]
pub(super) struct Args {
    /// The name of the task
    task: String,
    /// Run the steps before step N without asking
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    until: Option<u32>,
    /// Keep the session (cookies) for the next run
    #[arg(long)]
    keep_session: bool,
    /// Ask nothing: run all steps and print one line of JSON each
    #[arg(long)]
    json: bool,
}

pub(super) fn run(config: &Config, args: Args) -> VerbResult {
    let name = task_name(&args.task)?;
    let folder = task_folder(config, &name)?;
    let mut walk = TerminalWalk::start(config, &folder, args.keep_session)?;
    // Steps are counted from 1, and step N itself is not run.
    let until = args.until.map(|until| until as usize - 1);
    if args.json {
        while walk.done() < until.unwrap_or(usize::MAX) && walk.json()? {}
    } else {
        show::head(&walk, &name);
        while walk.done() < until.unwrap_or(0) && walk.step()? {}
        commands::listen(&mut walk)?;
    }
    if let Some(json) = &walk.state.cookies {
        tasks::write_cookies(&folder.dir, json).map_err(CliError::config)?;
        output::note("The session was stored for the next run.");
    }
    match walk.failure().filter(|_| args.json) {
        Some((cause, sentence)) => Ok(exit::code_of(&Verdict::failed(cause, sentence))),
        None => Ok(exit::DONE),
    }
}

/// A robot in a sandboxed process, with the state after its last step.
struct TerminalWalk {
    process: StepProcess,
    runtime: Runtime,
    /// robot.toml, and the steps with those that it implies.
    text: ScriptText,
    steps: Vec<ScriptStep>,
    written_steps: usize,
    state: StepwiseState,
    /// The current page, secrets removed; empty if there is none or it is too large.
    page: Vec<u8>,
    /// The variables before the last step.
    variables_before: BTreeMap<String, String>,
}

impl TerminalWalk {
    fn start(config: &Config, folder: &TaskFolder, keep_session: bool) -> Result<TerminalWalk, CliError> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(CliError::runtime)?;
        let spawner = Spawner::start(PathBuf::from(THIS_PROGRAM)).map_err(CliError::failed)?;
        let limiter = SharedHostLimiter::new(config.per_host, None);
        let starting = start_stepping_in_terminal(config, &spawner, limiter, folder, keep_session);
        let (process, state) = runtime.block_on(starting).map_err(|error| match error {
            StepStartError::Job(sentence) => CliError::config(sentence),
            error => kernel_refusal().unwrap_or_else(|| CliError::failed(error)),
        })?;
        let steps = planned_steps(&folder.task, &folder.script);
        if state.steps.len() != steps.len() {
            return Err(CliError::failed("the robot's process does not know the script"));
        }
        Ok(TerminalWalk {
            process,
            runtime,
            text: ScriptText::of(folder),
            steps,
            written_steps: folder.script.steps.len(),
            state,
            page: Vec::new(),
            variables_before: BTreeMap::new(),
        })
    }

    /// How many steps are done; the next one has this index.
    fn done(&self) -> usize {
        self.state.done
    }

    /// A field of the last step.
    fn last(&self, field: &str) -> &Value {
        self.state.last.as_ref().map_or(&Value::Null, |last| &last[field])
    }

    /// Cause and sentence of the last step, if it failed.
    fn failure(&self) -> Option<(Failure, String)> {
        let failed = self.last("failed");
        let cause = serde_json::from_value(failed["cause"].clone()).ok()?;
        Some((cause, failed["sentence"].as_str()?.to_owned()))
    }

    fn variables(&self) -> BTreeMap<String, String> {
        serde_json::from_value(self.last("variables").clone()).unwrap_or_default()
    }

    /// Variables that the last step has set: name, value before, value after.
    fn changes(&self) -> Vec<(String, Option<String>, String)> {
        let set: BTreeMap<String, String> = serde_json::from_value(self.last("set").clone()).unwrap_or_default();
        set.into_iter().map(|(name, after)| (name.clone(), self.variables_before.get(&name).cloned(), after)).collect()
    }

    fn contents(&self) -> Option<PageContents> {
        serde_json::from_value(self.last("contents").clone()).ok()
    }

    /// Goes one step forward or back.
    fn go(&mut self, forward: bool) -> Result<(), CliError> {
        self.variables_before = self.variables();
        let gone = self.runtime.block_on(self.process.step(forward));
        let ended = "the robot's process has ended: it took too much memory or time, or crashed";
        (self.state, self.page) = gone.ok_or_else(|| CliError::failed(ended))?;
        Ok(())
    }

    /// Runs the next step; false when there is none or it failed.
    fn advance(&mut self) -> Result<bool, CliError> {
        if self.done() == self.steps.len() {
            return Ok(false);
        }
        self.go(true)?;
        Ok(self.failure().is_none())
    }

    /// Restores the state before the last step, or before the one that failed; false at the beginning.
    fn back(&mut self) -> Result<bool, CliError> {
        if self.done() == 0 && self.failure().is_none() {
            return Ok(false);
        }
        self.go(false)?;
        Ok(true)
    }

    /// Runs the next step and prints what it did; false at the end or after a failure.
    fn step(&mut self) -> Result<bool, CliError> {
        let index = self.done();
        let went_well = self.advance()?;
        if index < self.steps.len() {
            show::step(self, index);
        }
        Ok(went_well && self.done() < self.steps.len())
    }

    /// As [`TerminalWalk::step`], printing a line of JSON.
    fn json(&mut self) -> Result<bool, CliError> {
        let index = self.done();
        let went_well = self.advance()?;
        if index < self.steps.len()
            && let Some(Value::Object(mut step)) = self.state.last.clone()
        {
            step.remove("contents");
            step.insert("source".to_owned(), self.source(index).into());
            output::json(&step);
        }
        Ok(went_well && self.done() < self.steps.len())
    }

    /// The step as written in robot.toml.
    fn source(&self, index: usize) -> String {
        let step = &self.steps[index];
        if index >= self.written_steps {
            return format!("# implied\n{}", crate::draft::step_toml(step));
        }
        self.text.step(index).map_or_else(|| crate::draft::step_toml(step), str::to_owned)
    }
}
