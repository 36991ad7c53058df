//! Reads what a child reports and puts it into the store, until the child is done or the pipe is.

use std::io::Read;
use std::process::{ChildStderr, ChildStdout};
use std::time::{Duration, Instant};

use chrono::Utc;
use tokio::sync::mpsc::UnboundedSender;

use crate::model::{Failure, RunId, TaskName, TraceLine, Verdict};
use crate::store::StoreError;
use crate::wire::{self, MAX_MESSAGES, Message, WireError};

use super::desk::Desk;
use super::keeper::Keeper;
use super::progress::Entry;

/// How much of a child's stderr is remembered: enough for a panic message.
const STDERR_KEPT: usize = 8 << 10;
/// Trace lines of one run that are kept; a robot in a loop writes no more.
const MAX_TRACE_LINES: usize = 10_000;
/// A transaction of its own for each line cost more than fetching the page; but `pieme log` follows a run that hangs.
const TRACE_BATCH: usize = 200;
const TRACE_DELAY: Duration = Duration::from_millis(250);
/// The same by size: a site that writes long titles fills no disk (safety.md input 36).
const MAX_TRACE_BYTES: usize = 1 << 20;

/// What came out of a child's pipe.
#[derive(Debug, Default)]
pub struct Report {
    /// Absent when the child ended without its last message.
    pub verdict: Option<Verdict>,
    pub cookies: Option<String>,
    pub template: Option<String>,
    pub details: Option<String>,
    pub trouble: Option<CollectError>,
}

#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    #[error("the run's process broke the protocol: {0}")]
    Wire(#[from] WireError),
    #[error("the run's process sent more than {MAX_MESSAGES} messages")]
    Flood,
    #[error("{0}")]
    Store(#[from] StoreError),
}

impl CollectError {
    /// What the run's end is called.
    pub fn cause(&self) -> Failure {
        match self {
            CollectError::Store(StoreError::TooManyColumns(_)) => Failure::Limit,
            CollectError::Wire(_) | CollectError::Flood | CollectError::Store(_) => Failure::Internal,
        }
    }
}

/// Who listens in while the run goes: a person at a terminal.
pub type Listener = UnboundedSender<TraceLine>;

pub struct Collector {
    pub keeper: Keeper,
    pub run: RunId,
    pub task: TaskName,
    pub key: Vec<String>,
    pub listener: Option<Listener>,
    pub desk: Desk,
    pub progress: Entry,
}

impl Collector {
    /// Blocks until the child closes its pipe; never fails, but says what went wrong.
    pub fn collect(mut self, mut pipe: ChildStdout) -> Report {
        let mut report = Report::default();
        if let Err(error) = self.read_all(&mut pipe, &mut report) {
            report.trouble = Some(error);
        }
        self.desk.close();
        report
    }

    fn read_all(&mut self, pipe: &mut ChildStdout, report: &mut Report) -> Result<(), CollectError> {
        let mut trace = Trace::default();
        let read = self.read_messages(pipe, report, &mut trace);
        // Whatever went wrong, the trace says how far it came.
        self.keep_trace(&mut trace)?;
        read
    }

    fn read_messages(
        &mut self,
        pipe: &mut ChildStdout,
        report: &mut Report,
        trace: &mut Trace,
    ) -> Result<(), CollectError> {
        for _ in 0..MAX_MESSAGES {
            let Some((message, raw)) = wire::read::<Message>(pipe)? else { return Ok(()) };
            match message {
                Message::Trace(line) => self.trace(line, trace)?,
                Message::Page { index, meta } => {
                    let run = self.run;
                    self.keeper.ask_blocking(move |store| store.keep_page(run, index, &meta, &raw))?;
                }
                Message::Rows { columns, values, rows } => {
                    let (run, task, key) = (self.run, self.task.clone(), self.key.clone());
                    self.keeper.ask_blocking(move |store| {
                        store.stage_values(run, &task, (&columns, &values), &key, &rows, Utc::now())
                    })?;
                }
                Message::SoFar { pages, rows } => self.progress.so_far(pages, rows),
                Message::Cookies { json } => report.cookies = Some(json),
                Message::Learned { template } => report.template = Some(template),
                Message::LearnedDetails { template } => report.details = Some(template),
                Message::Turn { host, delay_ms } => self.desk.turn(&host, delay_ms),
                Message::Over { pause_ms } => self.desk.over(pause_ms, Utc::now()),
                Message::Keep(page) => self.desk.keep(page, &raw, Utc::now()),
                Message::Body { url } => self.desk.body(&url, Utc::now()),
                Message::Connect { question, host, port } => self.desk.broker.connect(question, host, port),
                Message::Robots(robots) => self.desk.robots(robots),
                // Nobody has asked a run for that.
                Message::Mended(_) | Message::Stepped(_) | Message::Studied { .. } => {}
                Message::End(verdict) => {
                    report.verdict = Some(verdict);
                    return Ok(());
                }
            }
        }
        Err(CollectError::Flood)
    }

    fn trace(&self, line: TraceLine, trace: &mut Trace) -> Result<(), StoreError> {
        tracing::debug!(run = %self.run, task = %self.task, step = line.step, "{}: {}", line.verb, line.text);
        self.progress.step(&line.verb);
        if !trace.budget.takes(&line) {
            return Ok(());
        }
        if let Some(listener) = &self.listener {
            // A listener who left does not stop the run.
            let _ = listener.send(line.clone());
        }
        trace.waiting.push(line);
        if trace.waiting.len() >= TRACE_BATCH || trace.kept_at.elapsed() >= TRACE_DELAY {
            self.keep_trace(trace)?;
        }
        Ok(())
    }

    fn keep_trace(&self, trace: &mut Trace) -> Result<(), StoreError> {
        trace.kept_at = Instant::now();
        if trace.waiting.is_empty() {
            return Ok(());
        }
        let (run, lines) = (self.run, std::mem::take(&mut trace.waiting));
        self.keeper.ask_blocking(move |store| store.trace(run, &lines))
    }
}

/// Lines that wait for the store, which takes many as cheaply as one.
struct Trace {
    budget: TraceBudget,
    waiting: Vec<TraceLine>,
    kept_at: Instant,
}

impl Default for Trace {
    fn default() -> Trace {
        Trace { budget: TraceBudget::default(), waiting: Vec::new(), kept_at: Instant::now() }
    }
}

/// What is left of a run's trace.
#[derive(Default)]
struct TraceBudget {
    lines: usize,
    bytes: usize,
}

impl TraceBudget {
    fn takes(&mut self, line: &TraceLine) -> bool {
        self.lines += 1;
        self.bytes += line.text.len() + line.verb.len();
        self.lines <= MAX_TRACE_LINES && self.bytes <= MAX_TRACE_BYTES
    }
}

/// The last words of a child, control characters made visible.
pub fn last_words(mut pipe: ChildStderr) -> String {
    let mut kept: Vec<u8> = Vec::new();
    let mut chunk = [0; 4096];
    while let Ok(n) = pipe.read(&mut chunk) {
        if n == 0 {
            break;
        }
        kept.extend_from_slice(&chunk[..n]);
        if kept.len() > 2 * STDERR_KEPT {
            kept.drain(..kept.len() - STDERR_KEPT);
        }
    }
    String::from_utf8_lossy(&kept)
        .chars()
        .map(|c| if c.is_control() && c != '\n' { char::REPLACEMENT_CHARACTER } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_36_a_run_writes_no_more_than_a_megabyte_of_trace() {
        let line = |len: usize| TraceLine { at: Utc::now(), step: 1, verb: String::new(), text: "x".repeat(len) };
        for (len, kept) in [(1 << 10, 1 << 10), (1, MAX_TRACE_LINES)] {
            let mut budget = TraceBudget::default();
            assert_eq!((0..20_000).filter(|_| budget.takes(&line(len))).count(), kept, "lines of {len} bytes");
        }
    }
}
