//! The child process of one run: robot → pages → rows → judgement → messages on stdout.
//!
//! The child is a function from one [`Job`] on stdin to a stream of [`Message`]s on stdout. It has no database, no
//! environment and no task folder; it sends what it learns or wants stored to the parent.

mod connector;
mod detail_pages;
mod inspect;
mod message_buffer;
mod parent_host;
mod repair;
mod row_collector;
mod step;
mod values;

use std::io;
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use tokio::sync::mpsc;

use crate::judge::{self, RunObservation, TemplateOrigin};
use crate::model::{ConnectError, Failure, Verdict};
use crate::protocol;
use crate::protocol::{ChildSocket, Job, Message, PageJob, ParentAnswer};
use crate::robot::{self, BrowserPaths, WalkInput};
use crate::sandbox;

use connector::ParentConnector;
use parent_host::ParentHost;
use row_collector::RowCollector;

/// The child reports its own time-out this long before the parent would kill it.
const REPORT_TIME: Duration = Duration::from_secs(2);

/// Reads the job, enters the sandbox and does the job. Exit code 78 means that it could not start.
pub fn main() -> ExitCode {
    sandbox::harden_process();
    let Ok(stdin) = io::stdin().as_fd().try_clone_to_owned() else { return ExitCode::from(78) };
    let mut inlet = ChildSocket::new(stdin);
    let (mut job, raw) = match protocol::read::<Job>(&mut inlet) {
        Ok(Some(given)) => given,
        Ok(None) | Err(_) => return ExitCode::from(78),
    };
    // Built before the sandbox: the runtime's signal handling needs a socket pair, which the sandbox forbids.
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            let sentence = format!("the async runtime could not be started: {error}");
            report(&Message::End(Verdict::failed(Failure::Internal, sentence)));
            return ExitCode::from(78);
        }
    };
    if let Err(problem) = sandbox::apply(&job.task, job.parent_pid) {
        report(&Message::End(Verdict::failed(
            Failure::Internal,
            format!("the sandbox could not be set up: {problem}"),
        )));
        return ExitCode::from(78);
    }
    match job.page_job.take() {
        None => {}
        Some(PageJob::Repair(what)) => {
            repair::run(&job, &what, &raw);
            return ExitCode::SUCCESS;
        }
        Some(PageJob::Inspect(question)) => {
            inspect::run(*question, &raw);
            return ExitCode::SUCCESS;
        }
    }
    drop(raw);
    message_buffer::start_flusher();
    let door = ParentConnector::default();
    let (answers, words) = listen_to_parent(inlet, door.clone());
    let parent = ParentHost::new(&job, door, answers);
    let verdict = match job.stepwise {
        true => step::run(&runtime, &job, parent, words),
        false => run(&runtime, &job, parent),
    };
    report(&Message::End(verdict));
    ExitCode::SUCCESS
}

fn run(runtime: &Runtime, job: &Job, parent: ParentHost) -> Verdict {
    let limit = job.task.limits.timeout.0;
    let deadline = Instant::now() + limit.saturating_sub(REPORT_TIME).max(limit / 2);
    let mut harvest = match RowCollector::new(job) {
        Ok(harvest) => harvest,
        Err(sentence) => return Verdict::failed(Failure::Config, sentence),
    };
    let walk = runtime.block_on(robot::walk_with_host(Box::new(parent), walk_input(job, deadline), &mut harvest));
    if let Some(json) = walk.cookies {
        report(&Message::Cookies { json });
    }
    if let Some(sentence) = harvest.limit.take() {
        return Verdict { pages: harvest.pages, ..Verdict::failed(Failure::Limit, sentence) };
    }
    if let Err(trouble) = walk.result {
        if let Some(page) = &trouble.page {
            harvest.keep_failed_page(page);
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
    let mut verdict =
        judge::verdict(&job.task.expect, &job.task.columns, &run_observation(&harvest, job.confirmed), &job.past);
    let shared_keys = harvest.shared_keys_remark();
    for remark in walk.remark.into_iter().chain(harvest.remark).chain(shared_keys) {
        verdict.sentence = format!("{}; {remark}", verdict.sentence);
    }
    verdict
}

fn walk_input(job: &Job, deadline: Instant) -> WalkInput<'_> {
    WalkInput {
        task: &job.task,
        script: &job.script,
        secrets: &job.secrets.0,
        files: &job.files,
        cookies: job.cookies.as_deref(),
        deadline,
        browser_paths: BrowserPaths { program: job.browser.as_deref(), scratch: job.scratch.as_deref() },
    }
}

fn run_observation(harvest: &RowCollector, confirmed: bool) -> RunObservation {
    RunObservation {
        pages: harvest.pages,
        rows: harvest.rows,
        similarity: harvest.similarity,
        has_any_list: harvest.any_list,
        statistics: harvest.statistics(),
        template_origin: match harvest.clearly_ahead {
            Some(clearly_ahead) => TemplateOrigin::LearnedNow { clearly_ahead },
            None if confirmed => TemplateOrigin::Confirmed,
            None => TemplateOrigin::Unconfirmed,
        },
    }
}

/// Sends a message, or ends the process if the parent has closed the pipe.
fn report(message: &Message) {
    report_with(message, &[]);
}

fn report_with(message: &Message, raw: &[u8]) {
    message_buffer::send(message, raw);
}

/// Answers of the parent, with their raw bytes.
type ParentAnswers = mpsc::UnboundedReceiver<(ParentAnswer, Vec<u8>)>;

/// Commands of a stepping session: forward (true) or back.
type StepCommands = mpsc::UnboundedReceiver<bool>;

/// Reads the parent's answers in a thread. The parent keeps stdin open while it lives, so its end ends this process.
fn listen_to_parent(mut inlet: ChildSocket, door: ParentConnector) -> (ParentAnswers, StepCommands) {
    let (send, answers) = mpsc::unbounded_channel();
    let (tell, words) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        while let Ok(Some((answer, raw))) = protocol::read::<ParentAnswer>(&mut inlet) {
            match answer {
                ParentAnswer::Connected { question } => {
                    let lost = || ConnectError::Connection("the parent passed no connection on".to_owned());
                    door.complete(question, inlet.take_connection().ok_or_else(lost));
                }
                ParentAnswer::ConnectFailed { question, why } => door.complete(question, Err(why)),
                ParentAnswer::Step { forward } => drop(tell.send(forward)),
                // After the walk nobody receives answers, so a failed send is no error.
                answer => drop(send.send((answer, raw))),
            }
        }
        std::process::exit(1);
    });
    (answers, words)
}
