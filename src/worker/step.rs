//! A walk that waits after every step: the parent says forward or back, and is told how it stands. Nothing is harvested.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Instant;

use tokio::runtime::Runtime;

use crate::model::{Failure, Stepped, Verdict};
use crate::robot::Stepper;
use crate::stepwise::{Walk, Watch, Watching};
use crate::wire::{Assignment, MAX_FRAME, Message};

use super::parent::Parent;
use super::{Words, order, report_with};

/// A page above this is not shown; together with what is told of it, it must go into one frame.
const MAX_PACKED: usize = MAX_FRAME / 2;
const LEVEL: i32 = 3;

/// Goes on until the parent has enough, which ends this process.
pub fn run(runtime: &Runtime, assignment: &Assignment, parent: Parent, words: Words) -> Verdict {
    let watch = match Watch::new(assignment.template.as_deref(), &assignment.task.columns) {
        Ok(watch) => Rc::new(RefCell::new(watch)),
        Err(sentence) => return Verdict::failed(Failure::Config, sentence),
    };
    let mut observer = Watching(Rc::clone(&watch));
    let order = order(assignment, Instant::now() + assignment.task.limits.timeout.0);
    match Stepper::from_home(Box::new(parent), &order, &mut observer) {
        Ok(stepper) => runtime.block_on(walk(Walk::new(stepper, watch), words)),
        Err(trouble) => return Verdict::failed(trouble.cause, trouble.sentence),
    }
    Verdict::failed(Failure::Internal, "nobody looks any more")
}

async fn walk(mut walk: Walk<'_>, mut words: Words) {
    tell(&walk, None);
    while let Some(forward) = words.recv().await {
        let before = walk.stepper.done();
        if forward && before < walk.stepper.steps().len() {
            walk.advance().await;
            tell(&walk, Some(before));
        } else {
            if !forward {
                walk.back();
            }
            tell(&walk, walk.stepper.done().checked_sub(1));
        }
    }
}

/// How it stands; `last` is the step that led here.
fn tell(walk: &Walk<'_>, last: Option<usize>) {
    let steps = walk.stepper.steps().iter().map(|step| step.verb().to_owned()).collect();
    let stepped = Stepped { steps, done: walk.stepper.done(), last: last.map(|index| walk.as_json(index)) };
    let page = walk.stepper.page().and_then(|page| zstd::bulk::compress(&page.body, LEVEL).ok());
    let page = page.filter(|packed| packed.len() <= MAX_PACKED).unwrap_or_default();
    report_with(&Message::Stepped(stepped), &page);
}
