//! `pieme step`: runs a task's robot one step at a time, forward and back.

mod commands;
mod show;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Instant;

use crate::config::{Config, secret_use};
use crate::model::Verdict;
use crate::robot::{BrowserPaths, Stepper, WalkError, WalkInput};
use crate::stepwise::{self, StepObserver, StepProgress};
use crate::tasks;
use crate::tasks::{ScriptText, TemplateText};

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
    let failed = |error: &dyn std::fmt::Display| CliError::config(error);
    let secrets = secret_use::granted(config, &folder).map_err(|error| failed(&error))?;
    let files = tasks::read_items(&folder.dir, &folder.script)?;
    let cookies = tasks::read_cookies(&folder.dir).map_err(|error| failed(&error))?;
    let grants = config.grants.current();
    grants.check(&folder)?;
    let addresses = grants.addresses_of(&name);
    let order = WalkInput {
        task: &folder.task,
        script: &folder.script,
        addresses: &addresses,
        secrets: &secrets,
        files: &files,
        cookies: cookies.as_deref(),
        deadline: Instant::now() + folder.task.limits.timeout.0,
        browser_paths: BrowserPaths { program: config.browser.as_deref(), scratch: None },
    };
    let template = folder.template.as_ref().map(TemplateText::text);
    let watch = StepProgress::new(template.as_deref(), &folder.task.columns).map_err(|error| failed(&error))?;
    let seen = Rc::new(RefCell::new(watch));
    let mut observer = StepObserver(Rc::clone(&seen));
    let stepper = Stepper::new(&order, &mut observer).map_err(cli_error)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(CliError::runtime)?;
    let text = ScriptText::of(&folder);
    let mut walk = TerminalWalk { walk: stepwise::SteppedWalk::new(stepper, seen), text, runtime };
    // Steps are counted from 1, and step N itself is not run.
    let until = args.until.map(|until| until as usize - 1);
    if args.json {
        while walk.walk.stepper.steps_done() < until.unwrap_or(usize::MAX) && walk.step(print_json) {}
    } else {
        show::head(&walk, &name);
        while walk.walk.stepper.steps_done() < until.unwrap_or(0) && walk.step(show::step) {}
        commands::listen(&mut walk)?;
    }
    if args.keep_session
        && let Some(json) = walk.walk.stepper.cookies()
    {
        tasks::write_cookies(&folder.dir, &json).map_err(|error| failed(&error))?;
        output::note("The session was stored for the next run.");
    }
    match walk.walk.error.take().filter(|_| args.json) {
        Some(trouble) => Ok(exit::code_of(&Verdict::failed(trouble.cause, trouble.sentence))),
        None => Ok(exit::DONE),
    }
}

fn print_json(walk: &TerminalWalk<'_>, index: usize) {
    let mut step = walk.walk.step_json(index);
    step["source"] = walk.source(index).into();
    output::json(&step);
}

fn cli_error(trouble: WalkError) -> CliError {
    CliError::new(exit::code_of(&Verdict::failed(trouble.cause, "")), trouble.sentence)
}

/// The stepped walk with the script's text and a runtime.
struct TerminalWalk<'a> {
    walk: stepwise::SteppedWalk<'a>,
    text: ScriptText,
    runtime: tokio::runtime::Runtime,
}

impl TerminalWalk<'_> {
    /// Runs the next step and prints what it did; false at the end or after a failure.
    fn step(&mut self, print: impl Fn(&TerminalWalk<'_>, usize)) -> bool {
        let index = self.walk.stepper.steps_done();
        let went_well = self.runtime.block_on(self.walk.advance());
        let all = self.walk.stepper.steps().len();
        if index < all {
            print(self, index);
        }
        went_well && self.walk.stepper.steps_done() < all
    }

    /// The step as written in robot.toml.
    fn source(&self, index: usize) -> String {
        let step = &self.walk.stepper.steps()[index];
        if self.walk.stepper.is_implied(index) {
            return format!("# implied\n{}", crate::draft::step_toml(step));
        }
        self.text.step(index).map_or_else(|| crate::draft::step_toml(step), str::to_owned)
    }
}
