//! SHELL: executes a robot step by step. `pieme step` uses it in its own process, the dashboard in a sandboxed child.

use std::cell::RefCell;
use std::rc::Rc;

use serde_json::{Map, Value, json};

use crate::model::{Page, TraceLine};
use crate::page::Tree;
use crate::page::text::collapse;
use crate::robot::{Stepper, WalkError};

pub use progress::{StepInputError, StepObserver, StepProgress};

/// Length of the excerpt of a page's text.
const EXCERPT_CHARS: usize = 400;

/// Response headers that help to explain a page.
const DIAGNOSTIC_HEADERS: &[&str] = &[
    "content-type",
    "content-language",
    "last-modified",
    "etag",
    "expires",
    "retry-after",
    "www-authenticate",
    "location",
    "server",
    "x-robots-tag",
    "cf-mitigated",
];

/// A robot with its progress and the state before each step.
pub struct SteppedWalk<'a> {
    pub stepper: Stepper<'a>,
    pub progress: Rc<RefCell<StepProgress>>,
    /// The progress before each step, for going back.
    past_progress: Vec<StepProgress>,
    /// The error of the last step.
    pub error: Option<WalkError>,
}

impl<'a> SteppedWalk<'a> {
    pub fn new(stepper: Stepper<'a>, seen: Rc<RefCell<StepProgress>>) -> SteppedWalk<'a> {
        SteppedWalk { stepper, progress: seen, past_progress: Vec::new(), error: None }
    }

    /// Executes the next step; returns false if there is none or it failed.
    pub async fn advance(&mut self) -> bool {
        let before = self.stepper.steps_done();
        if before == self.stepper.steps().len() {
            return false;
        }
        self.past_progress.truncate(before);
        self.past_progress.push(self.progress.borrow().clone());
        self.progress.borrow_mut().begin(self.stepper.variables());
        let done = self.stepper.next().await;
        self.error = done.and_then(Result::err);
        self.error.is_none()
    }

    pub fn back(&mut self) -> bool {
        let went = self.stepper.back();
        if went && let Some(seen) = self.past_progress.pop() {
            *self.progress.borrow_mut() = seen;
        }
        self.error = None;
        went
    }

    /// A step as JSON: its trace, variables, rows and page.
    pub fn step_json(&self, index: usize) -> Value {
        let watch = self.progress.borrow();
        let page = self.stepper.page().zip(self.stepper.tree()).map(|(page, tree)| {
            let headers: Map<String, Value> =
                diagnostic_headers(&page).map(|(name, value)| (name.to_owned(), json!(value))).collect();
            json!({
                "url": page.meta.url, "status": page.meta.status, "bytes": page.body.len(),
                "elapsed_ms": page.meta.elapsed_ms, "headers": headers,
                "title": self.stepper.redact(&title(tree)), "text": self.excerpt(tree),
                "rows": watch.match_page(tree).map(|(rows, _)| rows),
                "similarity": watch.match_page(tree).map(|(_, similarity)| similarity),
            })
        });
        let set: Map<String, Value> = self.changes().into_iter().map(|(name, _, after)| (name, json!(after))).collect();
        let failed = self.error.as_ref().map(|trouble| json!({ "cause": trouble.cause, "sentence": trouble.sentence }));
        json!({
            "step": index + 1, "verb": self.stepper.steps()[index].verb(), "implied": self.stepper.is_implied(index),
            "ok": failed.is_none(), "failed": failed, "trace": self.trace_json(&watch.trace), "set": set,
            "variables": self.stepper.variables(), "page": page, "new_rows": watch.new_rows, "rows": watch.rows,
        })
    }

    /// The trace of a step, each line with the milliseconds since the step began.
    fn trace_json(&self, lines: &[TraceLine]) -> Vec<Value> {
        let since_ms = |line: &TraceLine| (line.at - self.stepper.step_started_at()).num_milliseconds().max(0);
        let timed = |line: &TraceLine| {
            json!({
                "at": line.at, "since_step_ms": since_ms(line), "step": line.step, "verb": line.verb, "text": line.text,
            })
        };
        lines.iter().map(timed).collect()
    }

    /// Variables that the step has set: name, value before, value after.
    pub fn changes(&self) -> Vec<(String, Option<String>, String)> {
        let watch = self.progress.borrow();
        let now = self.stepper.variables().into_iter();
        let changed = now.filter(|(name, after)| watch.variables.get(name) != Some(after));
        changed.map(|(name, after)| (name.clone(), watch.variables.get(&name).cloned(), after)).collect()
    }

    pub fn excerpt(&self, tree: &Tree) -> String {
        self.stepper.redact(&tree.text(tree.root())).chars().take(EXCERPT_CHARS).collect()
    }
}

pub fn diagnostic_headers(page: &Page) -> impl Iterator<Item = (&str, &str)> {
    page.meta
        .headers
        .iter()
        .filter(|(name, _)| DIAGNOSTIC_HEADERS.contains(&name.as_str()))
        .map(|(name, value)| (name.as_str(), value.as_str()))
}

pub fn title(tree: &Tree) -> String {
    tree.elements("title").next().map(|node| collapse(&tree.text(node))).unwrap_or_default()
}
mod progress;
