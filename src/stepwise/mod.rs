//! SHELL: a walk that is looked at step by step, in the terminal by this very process, in the browser by a sealed one.

mod watch;

use std::cell::RefCell;
use std::rc::Rc;

use serde_json::{Map, Value, json};

use crate::model::{Page, TraceLine};
use crate::page::Tree;
use crate::page::tree::collapse;
use crate::robot::{Stepper, Trouble};

pub use watch::{Watch, Watching};

/// Of a page's text, enough to know it by.
const EXCERPT: usize = 400;

/// Headers that say something about why a page is as it is.
const TELLING: &[&str] = &[
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

/// The walk as it is looked at.
pub struct Walk<'a> {
    pub stepper: Stepper<'a>,
    pub seen: Rc<RefCell<Watch>>,
    /// What had been seen before each step, to go back to.
    past: Vec<Watch>,
    /// How the last step ended, if it failed.
    pub trouble: Option<Trouble>,
}

impl<'a> Walk<'a> {
    pub fn new(stepper: Stepper<'a>, seen: Rc<RefCell<Watch>>) -> Walk<'a> {
        Walk { stepper, seen, past: Vec::new(), trouble: None }
    }

    /// Does the next step; false when there is none or it failed.
    pub async fn advance(&mut self) -> bool {
        let before = self.stepper.done();
        if before == self.stepper.steps().len() {
            return false;
        }
        self.past.truncate(before);
        self.past.push(self.seen.borrow().clone());
        self.seen.borrow_mut().begin(self.stepper.variables());
        let done = self.stepper.next().await;
        self.trouble = done.and_then(Result::err);
        self.trouble.is_none()
    }

    pub fn back(&mut self) -> bool {
        let went = self.stepper.back();
        if went && let Some(seen) = self.past.pop() {
            *self.seen.borrow_mut() = seen;
        }
        self.trouble = None;
        went
    }

    /// What a step did, and where it leads.
    pub fn as_json(&self, index: usize) -> Value {
        let watch = self.seen.borrow();
        let page = self.stepper.page().zip(self.stepper.tree()).map(|(page, tree)| {
            let headers: Map<String, Value> =
                telling(&page).map(|(name, value)| (name.to_owned(), json!(value))).collect();
            json!({
                "url": page.meta.url, "status": page.meta.status, "bytes": page.body.len(), "elapsed_ms": page.meta.elapsed_ms,
                "headers": headers, "title": self.stepper.blank(&title(tree)), "text": self.excerpt(tree),
                "rows": watch.on(tree).map(|(rows, _)| rows), "similarity": watch.on(tree).map(|(_, similarity)| similarity),
            })
        });
        let set: Map<String, Value> = self.changes().into_iter().map(|(name, _, after)| (name, json!(after))).collect();
        let failed =
            self.trouble.as_ref().map(|trouble| json!({ "cause": trouble.cause, "sentence": trouble.sentence }));
        json!({
            "step": index + 1, "verb": self.stepper.steps()[index].verb(), "implied": self.stepper.is_implied(index),
            "ok": failed.is_none(), "failed": failed, "trace": self.timed(&watch.trace), "set": set,
            "variables": self.stepper.variables(), "page": page, "new_rows": watch.new_rows, "rows": watch.rows,
        })
    }

    /// The lines of a step, each with the milliseconds since the step began.
    fn timed(&self, lines: &[TraceLine]) -> Vec<Value> {
        let since_ms = |line: &TraceLine| (line.at - self.stepper.began()).num_milliseconds().max(0);
        let timed = |line: &TraceLine| json!({ "at": line.at, "since_step_ms": since_ms(line), "step": line.step, "verb": line.verb, "text": line.text });
        lines.iter().map(timed).collect()
    }

    /// Variables that the step has set: before and after.
    pub fn changes(&self) -> Vec<(String, Option<String>, String)> {
        let watch = self.seen.borrow();
        let now = self.stepper.variables().into_iter();
        let changed = now.filter(|(name, after)| watch.variables.get(name) != Some(after));
        changed.map(|(name, after)| (name.clone(), watch.variables.get(&name).cloned(), after)).collect()
    }

    pub fn excerpt(&self, tree: &Tree) -> String {
        self.stepper.blank(&tree.text(tree.root())).chars().take(EXCERPT).collect()
    }
}

pub fn telling(page: &Page) -> impl Iterator<Item = (&str, &str)> {
    page.meta
        .headers
        .iter()
        .filter(|(name, _)| TELLING.contains(&name.as_str()))
        .map(|(name, value)| (name.as_str(), value.as_str()))
}

pub fn title(tree: &Tree) -> String {
    tree.elements("title").next().map(|node| collapse(&tree.text(node))).unwrap_or_default()
}
