//! The child of a stepping session: waits after every step for the parent's command and reports the state. No rows are
//! sent.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Instant;

use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::model::StepwiseState;
use crate::protocol::bounds::{MAX_PAGE_BYTES, fits_step};
use crate::protocol::{ChildJob, ChildSocket, StepJob, StepMessage};
use crate::robot::Stepper;
use crate::stepwise::{StepObserver, StepProgress, SteppedWalk};

use super::message_sender::MessageSender;
use super::parent_host::{ParentHost, walk_input};
use super::parent_listener::StepCommands;

const COMPRESSION_LEVEL: i32 = 3;

/// Runs until the parent closes the socket, which ends this process. If the robot cannot be started, no state is sent.
pub fn run(runtime: &Runtime, job: &StepJob, inlet: ChildSocket) {
    let input = &job.fetch;
    let sender = MessageSender::start(job.budget());
    let (host, commands) = ParentHost::connect(input, inlet, sender.requests(), None);
    let Ok(progress) = StepProgress::new(input.template.as_deref(), &input.task.columns) else { return };
    let progress = Rc::new(RefCell::new(progress));
    let mut observer = StepObserver(Rc::clone(&progress));
    let order = walk_input(input, Instant::now() + input.task.limits.timeout.0);
    if let Ok(stepper) = Stepper::with_host(Box::new(host), &order, &mut observer) {
        runtime.block_on(walk(SteppedWalk::new(stepper, progress), commands, &sender));
    }
}

async fn walk(mut walk: SteppedWalk<'_>, mut commands: StepCommands, sender: &MessageSender<StepMessage>) {
    report_state(&walk, None, sender);
    while let Some(forward) = commands.recv().await {
        let before = walk.stepper.steps_done();
        if forward && before < walk.stepper.steps().len() {
            walk.advance().await;
            report_state(&walk, Some(before), sender);
        } else {
            if !forward {
                walk.back();
            }
            report_state(&walk, walk.stepper.steps_done().checked_sub(1), sender);
        }
    }
}

/// Reports the state; `last` is the step that led to it. A page that is too large is not shown.
fn report_state(walk: &SteppedWalk<'_>, last: Option<usize>, sender: &MessageSender<StepMessage>) {
    let steps = walk.stepper.steps().iter().map(|step| step.verb().to_owned()).collect();
    let last = last.map(|index| shortened(walk.step_json(index)));
    let state = StepwiseState { steps, done: walk.stepper.steps_done(), last };
    let page = walk.stepper.page().and_then(|page| zstd::bulk::compress(&page.body, COMPRESSION_LEVEL).ok());
    let page = page.filter(|packed| packed.len() <= MAX_PAGE_BYTES).unwrap_or_default();
    // A state that is too large in other ways ends the session: nobody answers the person.
    if sender.send(&StepMessage::State(state), &page).is_err() {
        std::process::exit(1);
    }
}

/// A step of a long loop may have more trace and larger variables than fit into a frame; those are not shown then.
fn shortened(mut step: Value) -> Value {
    for (key, nothing) in [("trace", json!([])), ("variables", json!({})), ("set", json!({}))] {
        if fits_step(&step) {
            break;
        }
        step[key] = nothing;
    }
    step
}
