//! SHELL: executes a robot step by step, in a sandboxed child of the dashboard or of `pieme step`.

use std::cell::RefCell;
use std::rc::Rc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::model::{Page, TraceLine};
use crate::page::Tree;
use crate::page::text::collapse;
use crate::page::{form, links};
use crate::robot::{Stepper, WalkError};

pub use progress::{StepInputError, StepObserver, StepProgress};

/// Length of the excerpt of a page's text.
const EXCERPT_CHARS: usize = 400;
/// Links, forms, fields and buttons of a page that are listed.
const MAX_LISTED: usize = 200;
/// Characters of a link, a field or a button, and of a page's text.
const MAX_LINE_CHARS: usize = 500;
const MAX_TEXT_CHARS: usize = 400_000;

/// What the terminal shows of a page.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct PageContents {
    pub text: String,
    /// Text and target of the first links.
    pub links: Vec<(String, String)>,
    pub link_count: usize,
    pub forms: Vec<FormContents>,
    pub form_count: usize,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub struct FormContents {
    pub name: String,
    pub purpose: String,
    pub method: String,
    pub action: String,
    pub fields: Vec<FieldContents>,
    pub buttons: Vec<String>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub struct FieldContents {
    pub name: String,
    pub kind: String,
    pub label: String,
    pub value: String,
}

fn field_contents(field: &form::FormField, redact: &impl Fn(&str) -> String) -> FieldContents {
    FieldContents {
        name: cut(&field.name, MAX_LINE_CHARS),
        kind: format!("{:?}", field.kind).to_lowercase(),
        label: cut(&field.label, MAX_LINE_CHARS),
        value: redact(&field.value),
    }
}

fn cut(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

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
            "pages": watch.pages, "detail_pages": watch.details,
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
    fn changes(&self) -> Vec<(String, Option<String>, String)> {
        let watch = self.progress.borrow();
        let now = self.stepper.variables().into_iter();
        let changed = now.filter(|(name, after)| watch.variables.get(name) != Some(after));
        changed.map(|(name, after)| (name.clone(), watch.variables.get(&name).cloned(), after)).collect()
    }

    /// The current page's text, links and forms, for the terminal.
    pub fn page_contents(&self) -> Option<PageContents> {
        let (page, tree) = self.stepper.page().zip(self.stepper.tree())?;
        let redact = |text: &str| cut(&self.stepper.redact(text), MAX_LINE_CHARS);
        let base = links::base(tree, &page.meta.url);
        let all: Vec<_> = tree.elements("a").filter(|&node| links::is_link(tree, node)).collect();
        let links = all.iter().take(MAX_LISTED).map(|&node| {
            let href = tree.attribute(node, "href").unwrap_or_default();
            let target = links::resolve(&base, href).map_or_else(|| href.to_owned(), String::from);
            (redact(&collapse(&tree.text(node))), redact(&target))
        });
        let forms = form::find_all(tree);
        let of_form = |it: &form::Form| FormContents {
            name: redact(&it.describe()),
            purpose: it.purpose().name().to_owned(),
            method: if it.post { "post" } else { "get" }.to_owned(),
            action: redact(it.action.as_deref().unwrap_or("")),
            fields: it.fields.iter().take(MAX_LISTED).map(|field| field_contents(field, &redact)).collect(),
            buttons: it.buttons.iter().take(MAX_LISTED).map(|button| redact(&button.text)).collect(),
        };
        Some(PageContents {
            text: cut(&self.stepper.redact(&tree.text(tree.root())), MAX_TEXT_CHARS),
            links: links.collect(),
            link_count: all.len(),
            form_count: forms.len(),
            forms: forms.iter().take(MAX_LISTED).map(of_form).collect(),
        })
    }

    fn excerpt(&self, tree: &Tree) -> String {
        self.stepper.redact(&tree.text(tree.root())).chars().take(EXCERPT_CHARS).collect()
    }
}

fn diagnostic_headers(page: &Page) -> impl Iterator<Item = (&str, &str)> {
    page.meta
        .headers
        .iter()
        .filter(|(name, _)| DIAGNOSTIC_HEADERS.contains(&name.as_str()))
        .map(|(name, value)| (name.as_str(), value.as_str()))
}

fn title(tree: &Tree) -> String {
    tree.elements("title").next().map(|node| collapse(&tree.text(node))).unwrap_or_default()
}
mod progress;
