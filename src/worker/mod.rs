//! One run, in its own process: robot → pages → rows → judgement → report on stdout.
//!
//! The child is a function from one [`Assignment`] on stdin to a stream of [`Message`]s on stdout. It has no database, no
//! environment, no task folder; what it learns or wants kept it says to the parent.

mod harvest;
mod detail;
mod values;
mod door;
mod parent;
mod outbox;
mod mend;
mod step;
mod study;

use std::io;
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use tokio::sync::mpsc;

use crate::judge::{self, Learning, Seen};
use crate::model::{Failure, Missed, Verdict};
use crate::robot::{self, Order, Seat};
use crate::seal;
use crate::wire::{self, Answer, Assignment, Inlet, Message, Still};

use door::ParentDoor;
use harvest::Harvest;
use parent::Parent;

/// The child reports its own time-out this long before the parent would kill it.
const REPORT_TIME: Duration = Duration::from_secs(2);

/// The whole life of a run's process.
pub fn main() -> ExitCode {
    seal::early();
    let Ok(stdin) = io::stdin().as_fd().try_clone_to_owned() else { return ExitCode::from(78) };
    let mut inlet = Inlet::new(stdin);
    let (mut assignment, raw) = match wire::read::<Assignment>(&mut inlet) {
        Ok(Some(given)) => given,
        Ok(None) | Err(_) => return ExitCode::from(78),
    };
    // Made before the seal, which lets nobody make the sockets that its signals go through.
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            let sentence = format!("no runtime could be started: {error}");
            report(&Message::End(Verdict::failed(Failure::Internal, sentence)));
            return ExitCode::from(78);
        }
    };
    if let Err(problem) = seal::late(&assignment.task, assignment.parent_pid) {
        report(&Message::End(Verdict::failed(Failure::Internal, format!("the run could not be sealed: {problem}"))));
        return ExitCode::from(78);
    }
    match assignment.still.take() {
        None => {}
        Some(Still::Mend(what)) => {
            mend::run(&assignment, &what, &raw);
            return ExitCode::SUCCESS;
        }
        Some(Still::Study(question)) => {
            study::run(*question, &raw);
            return ExitCode::SUCCESS;
        }
    }
    drop(raw);
    outbox::keep_going();
    let door = ParentDoor::default();
    let (answers, words) = listen(inlet, door.clone());
    let parent = Parent::new(&assignment, door, answers);
    let verdict = match assignment.stepwise {
        true => step::run(&runtime, &assignment, parent, words),
        false => run(&runtime, &assignment, parent),
    };
    report(&Message::End(verdict));
    ExitCode::SUCCESS
}

fn run(runtime: &Runtime, assignment: &Assignment, parent: Parent) -> Verdict {
    let limit = assignment.task.limits.timeout.0;
    let deadline = Instant::now() + limit.saturating_sub(REPORT_TIME).max(limit / 2);
    let mut harvest = match Harvest::new(assignment) {
        Ok(harvest) => harvest,
        Err(sentence) => return Verdict::failed(Failure::Config, sentence),
    };
    let walk = runtime.block_on(robot::walk_from(Box::new(parent), order(assignment, deadline), &mut harvest));
    if let Some(json) = walk.cookies {
        report(&Message::Cookies { json });
    }
    if let Some(sentence) = harvest.limit.take() {
        return Verdict { pages: harvest.pages, ..Verdict::failed(Failure::Limit, sentence) };
    }
    if let Err(trouble) = walk.result {
        if let Some(page) = &trouble.page {
            harvest.keep_last(page);
        }
        return Verdict { pages: harvest.pages, ..Verdict::failed(trouble.cause, trouble.sentence) };
    }
    harvest.finish();
    if let Some(sentence) = harvest.limit.take() {
        return Verdict { pages: harvest.pages, ..Verdict::failed(Failure::Limit, sentence) };
    }
    if let Some(template) = harvest.learned_template() {
        report(&Message::Learned { template });
    }
    let mut verdict = judge::verdict(
        &assignment.task.expect,
        &assignment.task.columns,
        &seen(&harvest, assignment.confirmed),
        &assignment.past,
    );
    let shared_keys = harvest.shared_keys();
    for remark in walk.remark.into_iter().chain(harvest.remark).chain(shared_keys) {
        verdict.sentence = format!("{}; {remark}", verdict.sentence);
    }
    verdict
}

fn order(assignment: &Assignment, deadline: Instant) -> Order<'_> {
    Order {
        task: &assignment.task,
        script: &assignment.script,
        secrets: &assignment.secrets.0,
        files: &assignment.files,
        cookies: assignment.cookies.as_deref(),
        deadline,
        seat: Seat { program: assignment.browser.as_deref(), scratch: assignment.scratch.as_deref() },
    }
}

fn seen(harvest: &Harvest, confirmed: bool) -> Seen {
    Seen {
        pages: harvest.pages,
        rows: harvest.rows,
        similarity: harvest.similarity,
        any_list: harvest.any_list,
        figures: harvest.figures(),
        learning: match harvest.clearly_ahead {
            Some(clearly_ahead) => Learning::Now { clearly_ahead },
            None if confirmed => Learning::Confirmed,
            None => Learning::Unconfirmed,
        },
    }
}

/// Sends a message, or ends the process: with nobody listening there is nothing left to do.
fn report(message: &Message) {
    report_with(message, &[]);
}

fn report_with(message: &Message, raw: &[u8]) {
    outbox::say(message, raw);
}

/// What the parent answers, with the raw bytes that go with it.
type Answers = mpsc::UnboundedReceiver<(Answer, Vec<u8>)>;

/// What a walk that waits is told: forward, or back.
type Words = mpsc::UnboundedReceiver<bool>;

/// The parent holds the other end of stdin for as long as it lives: its end is ours.
fn listen(mut inlet: Inlet, door: ParentDoor) -> (Answers, Words) {
    let (send, answers) = mpsc::unbounded_channel();
    let (tell, words) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        while let Ok(Some((answer, raw))) = wire::read::<Answer>(&mut inlet) {
            match answer {
                Answer::Connected { question } => {
                    let lost = || Missed::Connection("the connection was lost on its way".to_owned());
                    door.answered(question, inlet.connection().ok_or_else(lost));
                }
                Answer::Missed { question, why } => door.answered(question, Err(why)),
                Answer::Step { forward } => drop(tell.send(forward)),
                // Nobody waits for an answer any more when the walk is over.
                answer => drop(send.send((answer, raw))),
            }
        }
        std::process::exit(1);
    });
    (answers, words)
}
