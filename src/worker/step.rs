//! The child of a stepping session: waits after every step for the parent's command and reports the state. No rows are
//! sent.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Instant;

use tokio::runtime::Runtime;

use crate::model::{Failure, StepwiseState, Verdict};
use crate::protocol::{Job, MAX_FRAME, Message};
use crate::robot::Stepper;
use crate::stepwise::{StepObserver, StepProgress, SteppedWalk};

use super::parent_host::ParentHost;
use super::{StepCommands, report_with, walk_input};

/// A larger page is not shown: it must fit into one frame together with the state.
const MAX_PACKED: usize = MAX_FRAME / 2;
const COMPRESSION_LEVEL: i32 = 3;

/// Runs until the parent closes the socket, which ends this process.
pub fn run(runtime: &Runtime, job: &Job, parent: ParentHost, words: StepCommands) -> Verdict {
    let watch = match StepProgress::new(job.template.as_deref(), &job.task.columns) {
        Ok(watch) => Rc::new(RefCell::new(watch)),
        Err(sentence) => return Verdict::failed(Failure::Config, sentence),
    };
    let mut observer = StepObserver(Rc::clone(&watch));
    let order = walk_input(job, Instant::now() + job.task.limits.timeout.0);
    match Stepper::with_host(Box::new(parent), &order, &mut observer) {
        Ok(stepper) => runtime.block_on(walk(SteppedWalk::new(stepper, watch), words)),
        Err(trouble) => return Verdict::failed(trouble.cause, trouble.sentence),
    }
    Verdict::failed(Failure::Internal, "the stepping session was ended")
}

async fn walk(mut walk: SteppedWalk<'_>, mut words: StepCommands) {
    report_state(&walk, None);
    while let Some(forward) = words.recv().await {
        let before = walk.stepper.steps_done();
        if forward && before < walk.stepper.steps().len() {
            walk.advance().await;
            report_state(&walk, Some(before));
        } else {
            if !forward {
                walk.back();
            }
            report_state(&walk, walk.stepper.steps_done().checked_sub(1));
        }
    }
}

/// Reports the state; `last` is the step that led to it.
fn report_state(walk: &SteppedWalk<'_>, last: Option<usize>) {
    let steps = walk.stepper.steps().iter().map(|step| step.verb().to_owned()).collect();
    let stepped =
        StepwiseState { steps, done: walk.stepper.steps_done(), last: last.map(|index| walk.step_json(index)) };
    let page = walk.stepper.page().and_then(|page| zstd::bulk::compress(&page.body, COMPRESSION_LEVEL).ok());
    let page = page.filter(|packed| packed.len() <= MAX_PACKED).unwrap_or_default();
    report_with(&Message::StepState(stepped), &page);
}
