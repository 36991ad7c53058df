//! Reads the messages of a child process and writes them to the store, until the child's last message or the end of the
//! pipe.

use std::time::{Duration, Instant};

use chrono::Utc;
use tokio::sync::mpsc::UnboundedSender;

use crate::daemon::child::lifecycle::ChildMessages;
use crate::daemon::child::requests::ChildRequests;
use crate::daemon::store_handle::StoreHandle;
use crate::judge::MAX_COMPARED_ROWS;
use crate::model::{Failure, Row, RunId, Table, TaskName, TraceLine, Verdict};
use crate::protocol::bounds::cut;
use crate::protocol::{FrameError, RunMessage};
use crate::store::StoreError;
use crate::tasks;

use super::progress::ProgressEntry;

/// Trace lines of one run that are kept; a robot in a loop writes no more.
const MAX_TRACE_LINES: usize = 10_000;
/// Lines are written in batches: a transaction for each cost more than fetching the page. The delay is short enough for
/// `pieme log` to follow a run that hangs.
const TRACE_BATCH: usize = 200;
const TRACE_DELAY: Duration = Duration::from_millis(250);
/// The same limit by size, so that a site with long titles cannot fill the disk (docs/design/safety.md 6.36).
const MAX_TRACE_BYTES: usize = 1 << 20;
/// How much is said about a damaged template.
const MAX_QUOTED_BYTES: usize = 300;

/// What came out of a child's pipe.
#[derive(Debug, Default)]
pub struct RunReport {
    /// Absent when the child ended without its last message.
    pub verdict: Option<Verdict>,
    pub cookies: Option<String>,
    pub template: Option<String>,
    pub details: Option<String>,
    pub error: Option<CollectError>,
    /// Its first rows, for comparing them with the published ones.
    pub first_rows: Table,
}

/// How much text of the first rows is kept.
const MAX_FIRST_ROWS_BYTES: usize = 1 << 20;

impl RunReport {
    fn keep_first_rows(&mut self, columns: &[String], rows: &[Row]) {
        let size = |row: &Row| row.cells.iter().flatten().map(String::len).sum::<usize>();
        let mut bytes: usize = self.first_rows.rows.iter().map(size).sum();
        // Rows of later pages may have more columns.
        self.first_rows.columns = columns.to_vec();
        for row in rows.iter().take(MAX_COMPARED_ROWS.saturating_sub(self.first_rows.rows.len())) {
            bytes += size(row);
            if bytes > MAX_FIRST_ROWS_BYTES {
                break;
            }
            self.first_rows.rows.push(row.clone());
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    /// The child broke the protocol.
    #[error("the run's process was ended: it {0}")]
    Frame(#[from] FrameError),
    #[error("the run's process was ended: it sent a template that cannot be used: {0}")]
    Template(String),
    #[error("{0}")]
    Store(#[from] StoreError),
}

impl CollectError {
    /// The cause under which the run fails.
    pub fn cause(&self) -> Failure {
        match self {
            CollectError::Store(StoreError::TooManyColumns(_)) => Failure::Limit,
            CollectError::Frame(FrameError::Pipe(_)) | CollectError::Store(_) => Failure::Internal,
            CollectError::Frame(_) | CollectError::Template(_) => Failure::Crash,
        }
    }

    /// Whether the child ended in the middle of a message: how it ended says why.
    pub fn is_truncated(&self) -> bool {
        matches!(self, CollectError::Frame(FrameError::Truncated))
    }
}

/// Receives the trace while the run goes, for a person at a terminal. [`MAX_TRACE_BYTES`] bounds what waits in it.
pub type TraceListener = UnboundedSender<TraceLine>;

pub struct Collector {
    pub store: StoreHandle,
    pub run: RunId,
    pub task: TaskName,
    pub key: Vec<String>,
    pub listener: Option<TraceListener>,
    pub requests: ChildRequests,
    pub progress: ProgressEntry,
}

impl Collector {
    /// Blocks until the child closes its pipe. Never fails: an error is part of the report.
    pub fn collect(mut self, mut messages: ChildMessages<RunMessage>) -> RunReport {
        let mut report = RunReport::default();
        if let Err(error) = self.read_all(&mut messages, &mut report) {
            report.error = Some(error);
        }
        self.requests.save();
        report
    }

    fn read_all(
        &mut self,
        messages: &mut ChildMessages<RunMessage>,
        report: &mut RunReport,
    ) -> Result<(), CollectError> {
        let mut trace = TraceBuffer::default();
        let read = self.read_messages(messages, report, &mut trace);
        // Also after an error: the trace shows how far the run came.
        self.flush_trace(&mut trace)?;
        read
    }

    fn read_messages(
        &mut self,
        messages: &mut ChildMessages<RunMessage>,
        report: &mut RunReport,
        trace: &mut TraceBuffer,
    ) -> Result<(), CollectError> {
        while let Some((message, raw)) = messages.next_message()? {
            match message {
                RunMessage::Request(request) => self.requests.answer(request, Utc::now()),
                RunMessage::Trace(line) => self.buffer_line(line, trace)?,
                RunMessage::Page { index, meta } => {
                    let run = self.run;
                    self.store.call_blocking(move |store| store.store_page(run, index, &meta, &raw))?;
                }
                RunMessage::Rows { columns, values, rows } => {
                    report.keep_first_rows(&columns, &rows);
                    let (run, task, key) = (self.run, self.task.clone(), self.key.clone());
                    self.store.call_blocking(move |store| {
                        store.stage_values(run, &task, (&columns, &values), &key, &rows, Utc::now())
                    })?;
                }
                RunMessage::Progress { pages, rows } => self.progress.set_counts(pages, rows),
                RunMessage::Cookies { json } => report.cookies = Some(json),
                RunMessage::Learned { template } => report.template = Some(validated(template)?),
                RunMessage::LearnedDetails { template } => report.details = Some(validated(template)?),
                RunMessage::CachePage(page) => self.requests.keep_page(page, &raw, Utc::now()),
                RunMessage::Robots(robots) => self.requests.keep_robots(robots),
                RunMessage::End(verdict) => {
                    report.verdict = Some(verdict);
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn buffer_line(&self, line: TraceLine, trace: &mut TraceBuffer) -> Result<(), StoreError> {
        tracing::debug!(run = %self.run, task = %self.task, step = line.step, "{}: {}", line.verb, line.text);
        self.progress.set_step(&line.verb);
        if !trace.budget.admit(&line) {
            return Ok(());
        }
        if let Some(listener) = &self.listener {
            // A listener who left does not stop the run.
            let _ = listener.send(line.clone());
        }
        trace.unsaved.push(line);
        if trace.unsaved.len() >= TRACE_BATCH || trace.saved_at.elapsed() >= TRACE_DELAY {
            self.flush_trace(trace)?;
        }
        Ok(())
    }

    fn flush_trace(&self, trace: &mut TraceBuffer) -> Result<(), StoreError> {
        trace.saved_at = Instant::now();
        if trace.unsaved.is_empty() {
            return Ok(());
        }
        let (run, lines) = (self.run, std::mem::take(&mut trace.unsaved));
        self.store.call_blocking(move |store| store.append_trace(run, &lines))
    }
}

/// A template of a child is parsed before it is written to the task's folder.
fn validated(template: String) -> Result<String, CollectError> {
    match tasks::check_template(&template) {
        Ok(()) => Ok(template),
        // It may quote what the child sent.
        Err(problem) => Err(CollectError::Template(cut(problem.message, MAX_QUOTED_BYTES))),
    }
}

/// Trace lines that are not in the store yet; written in batches.
struct TraceBuffer {
    budget: TraceBudget,
    unsaved: Vec<TraceLine>,
    saved_at: Instant,
}

impl Default for TraceBuffer {
    fn default() -> TraceBuffer {
        TraceBuffer { budget: TraceBudget::default(), unsaved: Vec::new(), saved_at: Instant::now() }
    }
}

/// How much of the trace limits a run has used.
#[derive(Default)]
struct TraceBudget {
    lines: usize,
    bytes: usize,
}

impl TraceBudget {
    fn admit(&mut self, line: &TraceLine) -> bool {
        self.lines += 1;
        self.bytes += line.text.len() + line.verb.len();
        self.lines <= MAX_TRACE_LINES && self.bytes <= MAX_TRACE_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_36_a_run_writes_no_more_than_a_megabyte_of_trace() {
        let line = |len: usize| TraceLine { at: Utc::now(), step: 1, verb: String::new(), text: "x".repeat(len) };
        for (len, kept) in [(1 << 10, 1 << 10), (1, MAX_TRACE_LINES)] {
            let mut budget = TraceBudget::default();
            assert_eq!((0..20_000).filter(|_| budget.admit(&line(len))).count(), kept, "lines of {len} bytes");
        }
    }
}
