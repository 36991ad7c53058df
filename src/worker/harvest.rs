//! Takes the pages as the robot brings them, and turns them into rows.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::extract;
use crate::induce::{self, LearnOptions, Template};
use crate::model::{Page, Row, TraceLine};
use crate::page::Tree;
use crate::robot::Observer;
use crate::wire::{self, Assignment, Message};

use super::{report, report_with};

/// Pages of one run that are kept to be looked at later; the rest is only read.
const MAX_KEPT_PAGES: u32 = 20;
/// A page that is larger than this when compressed is not kept: it must fit into one frame.
const MAX_KEPT_BYTES: usize = wire::MAX_FRAME / 2;

pub struct Harvest<'a> {
    assignment: &'a Assignment,
    template: Option<Template>,
    /// Set when the template was learned in this run.
    pub clearly_ahead: Option<bool>,
    pub pages: u32,
    pub rows: u64,
    pub similarity: Option<f64>,
    pub any_list: bool,
    kept: u32,
    seen: HashSet<u64>,
    columns: Vec<String>,
    batch: Vec<Row>,
    batch_bytes: usize,
}

impl<'a> Harvest<'a> {
    pub fn new(assignment: &'a Assignment) -> Result<Harvest<'a>, String> {
        let template = match &assignment.template {
            Some(json) => Some(Template::from_json(json).map_err(|error| format!("template.json: {error}"))?),
            None => None,
        };
        Ok(Harvest {
            assignment,
            template,
            clearly_ahead: None,
            pages: 0,
            rows: 0,
            similarity: None,
            any_list: false,
            kept: 0,
            seen: HashSet::new(),
            columns: Vec::new(),
            batch: Vec::new(),
            batch_bytes: 0,
        })
    }

    pub fn learned_template(&self) -> Option<String> {
        let template = self.template.as_ref().filter(|_| self.clearly_ahead.is_some())?;
        Some(template.to_json())
    }

    /// Sends the page to be kept, compressed here: the parent never unpacks a stranger's bytes.
    pub fn keep(&mut self, page: &Page) {
        if self.kept >= MAX_KEPT_PAGES {
            return;
        }
        match zstd::encode_all(&page.body[..], zstd::DEFAULT_COMPRESSION_LEVEL) {
            Ok(packed) if packed.len() <= MAX_KEPT_BYTES => {
                report_with(&Message::Page { index: self.kept, meta: page.meta.clone() }, &packed);
                self.kept += 1;
            }
            Ok(_) | Err(_) => {}
        }
    }

    /// Sends the rows that wait.
    pub fn flush(&mut self) {
        if !self.batch.is_empty() {
            self.batch_bytes = 0;
            report(&Message::Rows { columns: self.columns.clone(), rows: std::mem::take(&mut self.batch) });
        }
    }

    fn learn(&mut self, tree: &Tree) {
        let candidates = induce::learn(std::slice::from_ref(tree), &LearnOptions::default());
        self.clearly_ahead = Some(induce::clearly_ahead(&candidates));
        self.template = candidates.into_iter().next().filter(induce::is_plausible).map(|best| best.template);
    }

    fn add(&mut self, cells: Vec<Option<String>>, page: u32) -> bool {
        let mut hasher = DefaultHasher::new();
        cells.hash(&mut hasher);
        let is_new = self.seen.insert(hasher.finish());
        self.batch_bytes += cells.iter().flatten().map(String::len).sum::<usize>();
        self.batch.push(Row { cells, page });
        self.rows += 1;
        if self.batch.len() >= wire::BATCH_ROWS || self.batch_bytes >= wire::BATCH_BYTES {
            self.flush();
        }
        is_new
    }
}

impl Observer for Harvest<'_> {
    fn page(&mut self, page: &Page, tree: &Tree) -> usize {
        let index = self.pages;
        self.pages += 1;
        self.keep(page);
        if self.template.is_none() && index == 0 {
            self.learn(tree);
        }
        let Some(template) = &self.template else { return 0 };
        let extraction = extract::records(template, tree);
        let table = extract::named(extraction.table, &self.assignment.task.columns);
        if index == 0 {
            self.any_list = !table.rows.is_empty() || induce::has_list(tree);
        }
        if index == 0 || !table.rows.is_empty() {
            let least = self.similarity.map_or(extraction.similarity, |so_far| so_far.min(extraction.similarity));
            self.similarity = Some(least);
        }
        self.columns = table.columns;
        table
            .rows
            .into_iter()
            .filter(|row| row.cells.iter().any(Option::is_some))
            .map(|row| self.add(row.cells, index))
            .filter(|&is_new| is_new)
            .count()
    }

    fn trace(&mut self, line: TraceLine) {
        report(&Message::Trace(line));
    }
}
