//! The child of a stepping session: waits after every step for the parent's command and reports the state. No rows are
//! sent.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Instant;

use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::model::StepwiseState;
use crate::protocol::bounds::{MAX_COOKIES_BYTES, MAX_PAGE_BYTES, fits_step};
use crate::protocol::{ChildJob, ChildSocket, StepAudience, StepJob, StepMessage};
use crate::robot::{LaunchedBrowser, Stepper};
use crate::stepwise::{StepObserver, StepProgress, SteppedWalk};

use super::message_sender::MessageSender;
use super::parent_host::{ParentHost, walk_input};
use super::parent_listener::StepCommands;

const COMPRESSION_LEVEL: i32 = 3;

/// Runs until the parent closes the socket, which ends this process. If the robot cannot be started, no state is sent.
pub fn run(runtime: &Runtime, job: &StepJob, browser: Option<&LaunchedBrowser>, inlet: ChildSocket) {
    let input = &job.fetch;
    let sender = MessageSender::start(job.budget());
    let (host, commands) = ParentHost::connect(input, inlet, sender.requests(), None);
    let Ok(progress) = StepProgress::new(input.template.as_deref(), &input.task.columns) else { return };
    let progress = Rc::new(RefCell::new(progress));
    let mut observer = StepObserver(Rc::clone(&progress));
    let order = walk_input(input, browser, Instant::now() + input.task.limits.timeout.0);
    if let Ok(stepper) = Stepper::with_host(Box::new(host), &order, &mut observer) {
        let reporter = StateReporter { sender: &sender, audience: job.audience };
        runtime.block_on(walk(SteppedWalk::new(stepper, progress), commands, &reporter));
    }
}

async fn walk(mut walk: SteppedWalk<'_>, mut commands: StepCommands, reporter: &StateReporter<'_>) {
    reporter.report(&walk, None);
    while let Some(forward) = commands.recv().await {
        let before = walk.stepper.steps_done();
        if forward && before < walk.stepper.steps().len() {
            walk.advance().await;
            reporter.report(&walk, Some(before));
        } else {
            if !forward {
                walk.back();
            }
            reporter.report(&walk, walk.stepper.steps_done().checked_sub(1));
        }
    }
}

struct StateReporter<'a> {
    sender: &'a MessageSender<StepMessage>,
    audience: StepAudience,
}

impl StateReporter<'_> {
    /// Reports the state; `last` is the step that led to it. A page that is too large is not shown.
    fn report(&self, walk: &SteppedWalk<'_>, last: Option<usize>) {
        let steps = walk.stepper.steps().iter().map(|step| step.verb().to_owned()).collect();
        let last = last.map(|index| self.step_json(walk, index));
        let cookies = match self.audience {
            StepAudience::Terminal { keep_session: true } => walk.stepper.cookies(),
            StepAudience::Terminal { keep_session: false } | StepAudience::Dashboard => None,
        };
        let cookies = cookies.filter(|json| json.len() <= MAX_COOKIES_BYTES);
        let state = StepwiseState { steps, done: walk.stepper.steps_done(), last, cookies };
        let page = walk.stepper.page().and_then(|page| match self.audience {
            StepAudience::Terminal { .. } => Some(page.body),
            StepAudience::Dashboard => zstd::bulk::compress(&page.body, COMPRESSION_LEVEL).ok(),
        });
        let page = page.filter(|page| page.len() <= MAX_PAGE_BYTES).unwrap_or_default();
        // A state that is too large in other ways ends the session: nobody answers the person.
        if self.sender.send(&StepMessage::State(state), &page).is_err() {
            std::process::exit(1);
        }
    }

    fn step_json(&self, walk: &SteppedWalk<'_>, index: usize) -> Value {
        let mut step = walk.step_json(index);
        if matches!(self.audience, StepAudience::Terminal { .. }) {
            step["contents"] = json!(walk.page_contents());
        }
        shortened(step)
    }
}

/// A step of a long loop may have more trace and larger variables than fit into a frame; those are not shown then.
fn shortened(mut step: Value) -> Value {
    for (key, nothing) in
        [("contents", Value::Null), ("trace", json!([])), ("variables", json!({})), ("set", json!({}))]
    {
        if fits_step(&step) {
            break;
        }
        step[key] = nothing;
    }
    step
}
