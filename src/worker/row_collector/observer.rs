//! What the robot tells the collector: pages, detail pages, pages to save and trace lines.

use std::hash::BuildHasher;

use foldhash::{HashMap, HashMapExt};

use super::RowCollector;
use crate::learn::apply::{self, Extraction};
use crate::model::{Page, TraceLine};
use crate::page::{Tree, signs};
use crate::protocol::RunMessage;
use crate::protocol::bounds::{FIRST_SAVED_INDEX, MAX_SAVED_PAGES, MAX_TRACE_TEXT_BYTES, cut, cut_verbs};
use crate::robot::{Arrival, LinksError, Observer, PageRows, RecordLink};

impl Observer for RowCollector {
    fn page(&mut self, page: &Page, tree: &Tree, with: &[(String, String)], arrival: Arrival) -> PageRows {
        let index = self.pages;
        self.pages += 1;
        self.page_url = page.meta.url.to_string();
        self.keep_page(page);
        self.values.add_page(page, tree);
        if self.details.is_some() {
            self.bases.push(page.meta.url.clone());
        }
        if index == 0 {
            self.signs = signs::detect(tree, &page.body);
            if self.reader.is_none() {
                self.learn(tree);
            }
        }
        let Some(rows) = self.read_rows(tree, with, arrival) else { return PageRows::default() };
        if let Some(details) = &mut self.details {
            details.set_list(tree);
        }
        self.page_row_counts.clear();
        let all = rows.len();
        let new = rows.into_iter().map(|cells| self.add_row(cells, index)).filter(|&is_new| is_new).count();
        if self.tally.misses_records(self.similarity.unwrap_or(0.0)) {
            apply::page_values(tree).for_each(|value| self.tally.see_value(&value));
        }
        self.sender.set_progress(RunMessage::Progress { pages: self.pages, rows: self.rows });
        PageRows { all, new }
    }

    fn page_grown(&mut self, page: &Page, tree: &Tree, with: &[(String, String)]) -> usize {
        self.page_url = page.meta.url.to_string();
        let Some(rows) = self.read_rows(tree, with, Arrival::Step) else { return 0 };
        let index = self.pages.saturating_sub(1);
        let mut now: HashMap<u64, u32> = HashMap::new();
        let mut new = 0;
        for cells in rows {
            let hash = self.hashes.hash_one(&cells);
            let count = now.entry(hash).or_default();
            *count += 1;
            if *count > self.page_row_counts.get(&hash).copied().unwrap_or(0) {
                self.add_row(cells, index);
                new += 1;
            }
        }
        new
    }

    fn count_new_rows(&mut self, tree: &Tree, with: &[(String, String)]) -> usize {
        let Some(reader) = &mut self.reader else { return 0 };
        let Extraction { similarity, table, .. } = reader.published_rows(&self.shape, tree);
        if similarity < self.least_similarity {
            return 0;
        }
        let rows = self.with_item_columns(table.rows, with);
        rows.iter().filter(|cells| !self.row_hashes.contains(&self.hashes.hash_one(*cells))).count()
    }

    fn links(&mut self, column: Option<&str>) -> Result<Vec<RecordLink>, LinksError> {
        let from = std::mem::replace(&mut self.followed_records, self.batch.len());
        let rows = &self.batch[from.min(self.batch.len())..];
        let found = apply::detail_links(&self.columns, rows, &self.bases, column)
            .map_err(|error| LinksError(error.to_string()))?;
        Ok(found.into_iter().map(|(row, url)| RecordLink { record: from + row, url }).collect())
    }

    fn detail(&mut self, record: usize, page: &Page, tree: &Tree) {
        self.keep_page(page);
        if let Some(details) = &mut self.details {
            details.add_page(record, tree);
        }
    }

    fn save(&mut self, page: &Page, name: &str) {
        if self.saved_pages < MAX_SAVED_PAGES && self.send_page(FIRST_SAVED_INDEX + self.saved_pages, page, Some(name))
        {
            self.saved_pages += 1;
        }
    }

    fn trace(&mut self, line: TraceLine) {
        let line = TraceLine { verb: cut_verbs(line.verb), text: cut(line.text, MAX_TRACE_TEXT_BYTES), ..line };
        self.sender.send_soon(&RunMessage::Trace(line));
    }
}
