//! The robot's observer in a run: extracts rows from the fetched pages and sends them to the parent in batches.

mod observer;

use std::hash::BuildHasher;

use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};
use url::Url;

use crate::judge::{self, Tally};
use crate::learn;
use crate::learn::apply::{self, ColumnTransform, Extraction, TemplateReader};
use crate::learn::{Limit, Template, UnattendedList};
use crate::model::script::ScriptStep;
use crate::model::{
    ByteSize, Page, PageMeta, Row, RunStatistics, Signs, SimilarityParts, Table, TableChanges, ValueColumn,
};
use crate::page::Tree;
use crate::protocol::bounds::{
    BATCH_BYTES, BATCH_CELLS, BATCH_ROWS, MAX_KEPT_PAGES, MAX_NAME_BYTES, MAX_PAGE_BYTES, MAX_ROW_BYTES, cut,
};
use crate::protocol::{FrameError, OverBudget, RunJob, RunMessage};
use crate::robot::Arrival;

use super::detail_pages::DetailPages;
use super::message_sender::MessageSender;
use super::values::RowValues;

/// What is said of a table whose columns have moved.
const MOVED_COLUMNS: &str = "the columns of the table have moved; they are read by their headers or classes";

pub struct RowCollector {
    sender: MessageSender<RunMessage>,
    /// Applies the template.
    reader: Option<TemplateReader>,
    /// Set if the template was learned in this run.
    pub clearly_ahead: Option<bool>,
    pub pages: u32,
    pub rows: u64,
    pub similarity: Option<f64>,
    /// `expect.similarity`
    least_similarity: f64,
    pub any_list: bool,
    likeness: Option<SimilarityParts>,
    signs: Signs,
    tally: Tally,
    /// Splits, joins, patterns and defaults of task.toml.
    shape: ColumnTransform,
    values: RowValues,
    kept_pages: u32,
    saved_pages: u32,
    hashes: foldhash::quality::RandomState,
    row_hashes: HashSet<u64>,
    /// How often each row is on the current page: a page that grows shows its old rows again.
    page_row_counts: HashMap<u64, u32>,
    /// The template's columns, followed by those of `for_each`.
    columns: Vec<String>,
    /// Columns that `for_each` steps add.
    item_columns: Vec<String>,
    batch: Vec<Row>,
    batch_bytes: usize,
    /// Address of each page, the base of its rows' links.
    bases: Vec<Url>,
    /// Set if the script has a `details` step: then rows wait for the columns of their detail pages.
    details: Option<DetailPages>,
    /// Records whose detail links were returned already.
    followed_records: usize,
    /// Why rows cannot be extracted completely: then none is published.
    pub limit: Option<String>,
    /// Address of the current page.
    page_url: String,
    table_changes: TableChanges,
    /// A remark for the run's sentence.
    pub remark: Option<String>,
}

impl RowCollector {
    pub fn new(job: &RunJob, sender: MessageSender<RunMessage>) -> Result<RowCollector, String> {
        let read = |file: &str, json: &Option<String>| {
            let template = json.as_ref().map(|json| Template::from_json(json)).transpose();
            template.map_err(|error| format!("{file}: {error}"))
        };
        let input = &job.fetch;
        let task = &input.task;
        let steps = input.script.every_step();
        let with = steps.iter().filter_map(|step| match step {
            ScriptStep::ForEach(each) => each.column.clone(),
            _ => None,
        });
        let follows = steps.iter().any(|step| matches!(step, ScriptStep::Details(_)));
        let details = read("details.json", &job.details)?;
        Ok(RowCollector {
            sender,
            reader: read("template.json", &input.template)?.map(TemplateReader::new),
            clearly_ahead: None,
            pages: 0,
            rows: 0,
            similarity: None,
            least_similarity: task.expect.similarity,
            any_list: false,
            likeness: None,
            signs: Signs::default(),
            tally: Tally::comparing(judge::known_records(&task.data.key, &job.past)).with_key(&task.data.key),
            shape: ColumnTransform::new(&task.columns).map_err(|error| format!("task.toml: {error}"))?,
            values: RowValues::new(&task.columns, task.schedule.timezone),
            kept_pages: 0,
            saved_pages: 0,
            hashes: foldhash::quality::RandomState::default(),
            row_hashes: HashSet::new(),
            page_row_counts: HashMap::new(),
            columns: Vec::new(),
            item_columns: with.collect(),
            batch: Vec::new(),
            batch_bytes: 0,
            bases: Vec::new(),
            details: follows.then(|| DetailPages::new(details)),
            followed_records: 0,
            limit: None,
            page_url: String::new(),
            table_changes: TableChanges::default(),
            remark: None,
        })
    }

    /// Remarks that rows share a key.
    pub fn shared_keys_remark(&self) -> Option<String> {
        self.tally.shared_keys(self.rows)
    }

    pub fn learned_template(&self) -> Option<String> {
        let reader = self.reader.as_ref().filter(|_| self.clearly_ahead.is_some())?;
        Some(reader.template().to_json())
    }

    /// Statistics that the judge compares later runs with.
    pub fn statistics(&self) -> RunStatistics {
        RunStatistics {
            similarity_parts: self.likeness,
            columns: self.tally.statistics(),
            numbers: self.values.numbers(),
            records: self.tally.records(),
            table: self.table_changes.clone(),
            cells: self.tally.cells(),
            known: self.tally.known(),
            signs: self.signs,
            ..RunStatistics::default()
        }
    }

    /// Sends the page to be stored. It is compressed here, since the parent never decompresses untrusted bytes.
    pub fn keep_page(&mut self, page: &Page) {
        if self.kept_pages < MAX_KEPT_PAGES && self.send_page(self.kept_pages, page, None) {
            self.kept_pages += 1;
        }
    }

    /// Stores the page on which the run failed, even if [`MAX_KEPT_PAGES`] is reached.
    pub fn keep_failed_page(&mut self, page: &Page) {
        self.kept_pages = self.kept_pages.min(MAX_KEPT_PAGES - 1);
        self.keep_page(page);
    }

    /// Sends a page to be stored. Returns false if it is too large, or the run has stored too much.
    fn send_page(&self, index: u32, page: &Page, name: Option<&str>) -> bool {
        match zstd::encode_all(&page.body[..], zstd::DEFAULT_COMPRESSION_LEVEL) {
            Ok(packed) if packed.len() <= MAX_PAGE_BYTES => {
                let saved_as = name.map(|name| cut(name.to_owned(), MAX_NAME_BYTES));
                let meta = PageMeta { saved_as, ..page.meta.clone() };
                self.sender.send(&RunMessage::Page { index, meta }, &packed).is_ok()
            }
            Ok(_) | Err(_) => false,
        }
    }

    /// Sends the remaining rows, merged with their detail pages, after the last page.
    pub fn finish(&mut self) {
        if let Some(details) = self.details.take() {
            let list = Table { columns: std::mem::take(&mut self.columns), rows: std::mem::take(&mut self.batch) };
            let (table, learned, limit) = details.merge(&list);
            self.columns = table.columns;
            let missing = limit.map(|limit| format!("some values of the detail pages are missing: {limit}"));
            self.remark = missing.or(self.remark.take());
            self.check_width();
            if let Some(template) = learned
                && let Err(error) = self.sender.send(&RunMessage::LearnedDetails { template }, &[])
            {
                self.limit = Some(format!("the learned template of the detail pages is too large: the run {error}"));
            }
            for row in table.rows {
                self.push_row(row);
            }
        }
        self.flush();
    }

    /// Sends the rows of the batch.
    fn flush(&mut self) {
        if !self.batch.is_empty() {
            self.batch_bytes = 0;
            let mut rows = std::mem::take(&mut self.batch);
            let tally = &mut self.tally;
            let values = self.values.append_values(&self.columns, &mut rows, |column| tally.count_unread(column));
            self.send_rows(values, rows);
        }
    }

    /// Sends rows, in two messages if they do not fit into one: text with many quotes or controls is longer as JSON.
    fn send_rows(&mut self, values: Vec<ValueColumn>, rows: Vec<Row>) {
        let message = RunMessage::Rows { columns: self.columns.clone(), values, rows };
        let Err(error) = self.sender.send(&message, &[]) else { return };
        let RunMessage::Rows { values, mut rows, .. } = message else { return };
        let is_too_large = matches!(
            error,
            FrameError::TooLarge(_)
                | FrameError::OverBudget(OverBudget::TooLarge { .. } | OverBudget::TooManyValues { .. })
        );
        if is_too_large && rows.len() > 1 {
            let second = rows.split_off(rows.len() / 2);
            self.send_rows(values.clone(), rows);
            self.send_rows(values, second);
        } else if self.limit.is_none() {
            self.limit = Some(format!("{}: the rows are too large: the run {error}", self.page_url));
        }
    }

    fn learn(&mut self, tree: &Tree) {
        let UnattendedList { template, clearly_ahead, limit } = learn::learn_unattended(tree);
        self.clearly_ahead = Some(clearly_ahead);
        self.reader = template.map(TemplateReader::new);
        self.record_limit(limit);
    }

    fn record_limit(&mut self, limit: Option<Limit>) {
        if let (None, Some(limit)) = (&self.limit, limit) {
            self.limit = Some(format!("{}: {limit}", self.page_url));
        }
    }

    /// Checks the number of columns. The store checks again, including the columns of typed values.
    fn check_width(&mut self) {
        let (columns, most) = (self.columns.len(), Table::MAX_COLUMNS);
        if columns > most && self.limit.is_none() {
            self.limit = Some(format!(
                "{}: the list has {columns} columns; a published table can have {most} (SQLite allows 2,000, \
                 PostgreSQL 1,600). Drop some: `pieme label TASK --names a,b,-`",
                self.page_url
            ));
        }
    }

    /// Adds a row. Returns whether it is new in this run.
    fn add_row(&mut self, cells: Vec<Option<String>>, page: u32) -> bool {
        let hash = self.hashes.hash_one(&cells);
        *self.page_row_counts.entry(hash).or_default() += 1;
        let is_new = self.row_hashes.insert(hash);
        self.rows += 1;
        self.tally.add(&cells);
        self.push_row(Row { cells, page });
        is_new
    }

    /// Extracts the rows of a page and appends the columns of `for_each`.
    fn read_rows(
        &mut self,
        tree: &Tree,
        with: &[(String, String)],
        arrival: Arrival,
    ) -> Option<Vec<Vec<Option<String>>>> {
        let reader = self.reader.as_mut()?;
        let Extraction { similarity, likeness, table, limit, moved_columns, .. } =
            reader.published_rows(&self.shape, tree);
        // Further pages of a list are like the first one. On anything else the template finds whatever it can.
        if arrival != Arrival::Step && similarity < self.least_similarity {
            return Some(Vec::new());
        }
        if let Some(changes) = moved_columns {
            self.remark.get_or_insert_with(|| MOVED_COLUMNS.to_owned());
            if self.table_changes.is_empty() {
                self.table_changes = changes;
            }
        }
        if self.pages == 1 {
            self.any_list |= !table.rows.is_empty() || learn::has_list(tree);
        }
        if (self.pages == 1 || !table.rows.is_empty()) && self.similarity.is_none_or(|it| similarity < it) {
            self.similarity = Some(similarity);
            self.likeness = Some(likeness);
        }
        if !self.tally.has_columns() {
            let are_texts =
                self.shape.map_slot_flags(&apply::visible_text_columns(reader.template()).collect::<Vec<_>>());
            self.tally.set_columns(table.columns.iter().cloned().zip(are_texts));
        }
        self.columns = table.columns;
        self.columns.extend(self.item_columns.iter().cloned());
        self.record_limit(limit);
        self.check_width();
        if self.limit.is_some() {
            return None;
        }
        Some(self.with_item_columns(table.rows, with))
    }

    /// The cells of rows that are not empty, followed by the columns of `for_each`.
    fn with_item_columns(&self, rows: Vec<Row>, with: &[(String, String)]) -> Vec<Vec<Option<String>>> {
        let value = |name: &String| with.iter().rev().find(|(it, _)| it == name).map(|(_, value)| value.clone());
        let added: Vec<Option<String>> = self.item_columns.iter().map(value).collect();
        let with_added = |mut row: Row| {
            row.cells.extend_from_slice(&added);
            row.cells
        };
        rows.into_iter().map(with_added).collect()
    }

    fn push_row(&mut self, row: Row) {
        let bytes = row.cells.iter().flatten().map(String::len).sum::<usize>();
        if bytes > MAX_ROW_BYTES && self.limit.is_none() {
            self.limit = Some(format!(
                "{}: record {} has {:.1} MB of text; the limit is {}. Name the columns that you want: \
                 `pieme label TASK --row-css CSS --column NAME=CSS`",
                self.page_url,
                self.rows,
                bytes as f64 / 1e6,
                ByteSize(MAX_ROW_BYTES as u64)
            ));
        }
        if self.limit.is_some() {
            return;
        }
        if self.batch_bytes + bytes > BATCH_BYTES && self.details.is_none() {
            self.flush();
        }
        self.batch_bytes += bytes;
        let cells = row.cells.len();
        self.batch.push(row);
        let is_full = self.batch.len() >= BATCH_ROWS || self.batch.len() * cells >= BATCH_CELLS;
        if is_full && self.details.is_none() {
            self.flush();
        }
    }
}
