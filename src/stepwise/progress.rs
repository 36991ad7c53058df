//! Collects trace, rows and links while a robot is executed step by step. Publishes nothing.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

use url::Url;

use crate::learn;
use crate::learn::apply::{self, ColumnTransform, ColumnTransformError};
use crate::learn::template::TemplateError;
use crate::learn::{LearnOptions, Template};
use crate::model::{Column, Page, Row, Table, TraceLine};
use crate::page::Tree;
use crate::robot::{Arrival, LinksError, Observer, PageRows, RecordLink};

/// The progress so far. Cloned before each step, so that a step can be undone.
#[derive(Clone)]
pub struct StepProgress {
    template: Option<Rc<Template>>,
    shape: Rc<ColumnTransform>,
    /// Trace of the current step.
    pub trace: Vec<TraceLine>,
    /// Variables before the current step.
    pub variables: BTreeMap<String, String>,
    /// New rows of the current step, and all rows so far.
    pub new_rows: usize,
    pub rows: usize,
    pub pages: usize,
    pub details: usize,
    row_hashes: Rc<HashSet<u64>>,
    columns: Vec<String>,
    records: Rc<Vec<Row>>,
    bases: Vec<Url>,
    followed_records: usize,
}

/// Why a robot cannot be stepped through.
#[derive(Debug, thiserror::Error)]
pub enum StepInputError {
    #[error(transparent)]
    Template(#[from] TemplateError),
    #[error(transparent)]
    Columns(#[from] ColumnTransformError),
}

impl StepProgress {
    /// `template` is the task's template as JSON; none if it has none yet.
    pub fn new(template: Option<&str>, columns: &[Column]) -> Result<StepProgress, StepInputError> {
        let template = template.map(Template::from_json).transpose()?;
        Ok(StepProgress {
            template: template.map(Rc::new),
            shape: Rc::new(ColumnTransform::new(columns)?),
            trace: Vec::new(),
            variables: BTreeMap::new(),
            new_rows: 0,
            rows: 0,
            pages: 0,
            details: 0,
            row_hashes: Rc::default(),
            columns: Vec::new(),
            records: Rc::default(),
            bases: Vec::new(),
            followed_records: 0,
        })
    }

    pub fn begin(&mut self, variables: BTreeMap<String, String>) {
        (self.trace, self.new_rows, self.variables) = (Vec::new(), 0, variables);
    }

    pub fn has_template(&self) -> bool {
        self.template.is_some()
    }

    /// Rows and similarity that the template finds on a page; none without a template.
    pub fn match_page(&self, tree: &Tree) -> Option<(usize, f64)> {
        let found = apply::records(self.template.as_ref()?, tree);
        Some((found.table.rows.len(), found.similarity))
    }

    fn table(&mut self, tree: &Tree) -> Table {
        if self.template.is_none() && self.pages == 0 {
            let best = learn::learn(std::slice::from_ref(tree), &LearnOptions::default()).into_iter().next();
            self.template = best.filter(learn::is_plausible).map(|best| Rc::new(best.template));
        }
        match &self.template {
            Some(template) => self.shape.apply(apply::records(template, tree).table),
            None => Table::default(),
        }
    }
}

/// The robot's observer that fills [`StepProgress`].
pub struct StepObserver(pub Rc<RefCell<StepProgress>>);

impl Observer for StepObserver {
    fn page(&mut self, page: &Page, tree: &Tree, _with: &[(String, String)], _arrival: Arrival) -> PageRows {
        let mut watch = self.0.borrow_mut();
        let table = watch.table(tree);
        let index = watch.pages as u32;
        watch.pages += 1;
        watch.bases.push(page.meta.url.clone());
        watch.columns = table.columns;
        let (mut all, mut new) = (0, 0);
        for row in table.rows.into_iter().filter(|row| row.cells.iter().any(Option::is_some)) {
            let mut hasher = DefaultHasher::new();
            row.cells.hash(&mut hasher);
            all += 1;
            new += usize::from(Rc::make_mut(&mut watch.row_hashes).insert(hasher.finish()));
            Rc::make_mut(&mut watch.records).push(Row { page: index, ..row });
            watch.rows += 1;
        }
        watch.new_rows += new;
        PageRows { all, new }
    }

    fn links(&mut self, column: Option<&str>) -> Result<Vec<RecordLink>, LinksError> {
        let mut watch = self.0.borrow_mut();
        let from = watch.followed_records;
        let found = apply::detail_links(&watch.columns, &watch.records[from..], &watch.bases, column)
            .map_err(|error| LinksError(error.to_string()))?;
        watch.followed_records = watch.records.len();
        Ok(found.into_iter().map(|(row, url)| RecordLink { record: from + row, url }).collect())
    }

    fn detail(&mut self, _record: usize, _page: &Page, _tree: &Tree) {
        self.0.borrow_mut().details += 1;
    }

    fn save(&mut self, _page: &Page, _name: &str) {}

    fn trace(&mut self, line: TraceLine) {
        self.0.borrow_mut().trace.push(line);
    }
}
