//! The child of a run: robot → pages → rows → judgement.

use std::time::{Duration, Instant};

use tokio::runtime::Runtime;

use crate::judge::{self, RunObservation, TemplateOrigin};
use crate::model::{Failure, Verdict};
use crate::protocol::bounds::{MAX_COOKIES_BYTES, MAX_SENTENCE_BYTES, cut};
use crate::protocol::{ChildJob, ChildSocket, RunJob, RunMessage};
use crate::robot;
use crate::robot::LaunchedBrowser;

use super::message_sender::MessageSender;
use super::parent_host::{ParentHost, walk_input};
use super::row_collector::RowCollector;

/// The child reports its own time-out this long before the parent would kill it.
const REPORT_TIME: Duration = Duration::from_secs(2);

/// Runs the job and sends its messages, the verdict last.
pub fn run(runtime: &Runtime, job: &RunJob, browser: Option<&LaunchedBrowser>, inlet: ChildSocket) {
    let sender = MessageSender::start(job.budget());
    let (host, _) = ParentHost::connect(&job.fetch, inlet, sender.requests(), Some(sender.clone()));
    let mut verdict = walk(runtime, job, browser, host, &sender);
    verdict.sentence = cut(verdict.sentence, MAX_SENTENCE_BYTES);
    if let Err(error) = sender.send(&RunMessage::End(verdict), &[]) {
        let sentence = format!("the run's statistics are too large: it {error}");
        let failed = Verdict::failed(Failure::Limit, sentence);
        // A message of a few words is within every limit.
        let _ = sender.send(&RunMessage::End(failed), &[]);
    }
}

fn walk(
    runtime: &Runtime,
    job: &RunJob,
    browser: Option<&LaunchedBrowser>,
    host: ParentHost,
    sender: &MessageSender<RunMessage>,
) -> Verdict {
    let task = &job.fetch.task;
    let limit = task.limits.timeout.0;
    let deadline = Instant::now() + limit.saturating_sub(REPORT_TIME).max(limit / 2);
    let mut harvest = match RowCollector::new(job, sender.clone()) {
        Ok(harvest) => harvest,
        Err(sentence) => return Verdict::failed(Failure::Config, sentence),
    };
    let input = walk_input(&job.fetch, browser, deadline);
    let walk = runtime.block_on(robot::walk_with_host(Box::new(host), input, &mut harvest));
    // A larger jar could not be read again; without one the next run begins a new session.
    if let Some(json) = walk.cookies.filter(|json| json.len() <= MAX_COOKIES_BYTES) {
        // Without its session the next run begins a new one.
        let _ = sender.send(&RunMessage::Cookies { json }, &[]);
    }
    if let Some(sentence) = harvest.limit.take() {
        return Verdict { pages: harvest.pages, ..Verdict::failed(Failure::Limit, sentence) };
    }
    let mut missing_rows = None;
    if let Err(trouble) = walk.result {
        if let Some(page) = &trouble.page {
            harvest.keep_failed_page(page);
        }
        if !trouble.is_incomplete {
            return Verdict { pages: harvest.pages, ..Verdict::failed(trouble.cause, trouble.sentence) };
        }
        missing_rows = Some(trouble.sentence);
    }
    harvest.finish();
    if let Some(sentence) = harvest.limit.take() {
        return Verdict { pages: harvest.pages, ..Verdict::failed(Failure::Limit, sentence) };
    }
    if let Some(template) = harvest.learned_template()
        && let Err(error) = sender.send(&RunMessage::Learned { template }, &[])
    {
        let sentence = format!("the learned template is too large: the run {error}");
        return Verdict { pages: harvest.pages, ..Verdict::failed(Failure::Limit, sentence) };
    }
    let mut verdict =
        judge::verdict(&task.expect, &task.columns, &run_observation(&harvest, job.confirmed, missing_rows), &job.past);
    let shared_keys = harvest.shared_keys_remark();
    for remark in walk.remark.into_iter().chain(harvest.remark).chain(shared_keys) {
        verdict.sentence = format!("{}; {remark}", verdict.sentence);
    }
    verdict
}

fn run_observation(harvest: &RowCollector, confirmed: bool, missing_rows: Option<String>) -> RunObservation {
    RunObservation {
        pages: harvest.pages,
        rows: harvest.rows,
        similarity: harvest.similarity,
        has_any_list: harvest.any_list,
        statistics: harvest.statistics(),
        missing_rows,
        template_origin: match harvest.clearly_ahead {
            Some(clearly_ahead) => TemplateOrigin::LearnedNow { clearly_ahead },
            None if confirmed => TemplateOrigin::Confirmed,
            None => TemplateOrigin::Unconfirmed,
        },
    }
}
