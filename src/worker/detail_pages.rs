//! Detail pages: learns or applies their template and merges their columns into the list.

use std::collections::HashMap;

use crate::learn::apply::merge;
use crate::learn::{Limit, Template, apply, learn_pages, read_page};
use crate::model::{Row, Table};
use crate::page::Tree;

/// Pages from which the template is learned; later pages are only extracted.
const LEARN_FROM: usize = 12;

pub struct DetailPages {
    template: Option<Template>,
    learned: bool,
    /// Pages collected until there are enough to learn from, with the indices of their records.
    unlearned: Vec<(usize, Tree)>,
    /// The list page. Texts that a single detail page shares with it are not values.
    list: Option<Tree>,
    rows: HashMap<usize, Row>,
    /// The first limit that was reached; it made values of some page missing.
    limit: Option<Limit>,
}

impl DetailPages {
    pub fn new(template: Option<Template>) -> DetailPages {
        DetailPages { template, learned: false, unlearned: Vec::new(), list: None, rows: HashMap::new(), limit: None }
    }

    pub fn set_list(&mut self, list: &Tree) {
        if self.template.is_none() && self.list.is_none() {
            self.list = Some(list.clone());
        }
    }

    pub fn add_page(&mut self, record: usize, page: &Tree) {
        match &self.template {
            Some(template) => {
                if let Some((row, limit)) = read_page(template, page) {
                    self.rows.insert(record, row);
                    self.limit = self.limit.or(limit);
                }
            }
            None => {
                self.unlearned.push((record, page.clone()));
                if self.unlearned.len() >= LEARN_FROM {
                    self.learn();
                }
            }
        }
    }

    /// Returns the list with the columns of the detail pages appended, the template if it was learned in this run, and
    /// the limit that was reached.
    pub fn merge(mut self, list: &Table) -> (Table, Option<String>, Option<Limit>) {
        if !self.unlearned.is_empty() {
            self.learn();
        }
        let limit = self.limit;
        let Some(template) = self.template else { return (list.clone(), None, limit) };
        let columns: Vec<String> = template.columns().iter().map(|column| column.name.clone()).collect();
        let rows = (0..list.rows.len()).map(|record| self.rows.remove(&record));
        let details: Vec<Option<Row>> = rows.collect();
        let cells = |row: &Option<Row>| row.clone().unwrap_or(Row { cells: vec![None; columns.len()], page: 0 });
        let all = Table { rows: details.iter().map(cells).collect(), columns };
        let shown = apply::visible(&all, &template);
        let merged = merge::merge(list, &shown.columns, &shown.rows.into_iter().map(Some).collect::<Vec<_>>());
        (merged, self.learned.then(|| template.to_json()), limit)
    }

    fn learn(&mut self) {
        let pages: Vec<&Tree> = self.unlearned.iter().map(|(_, page)| page).collect();
        if let Some(learned) = learn_pages(&pages, self.list.as_slice()) {
            for ((record, _), row) in self.unlearned.iter().zip(learned.table.rows) {
                self.rows.insert(*record, row);
            }
            self.limit = self.limit.or(learned.limit);
            self.template = Some(learned.template);
            self.learned = true;
        }
        self.unlearned.clear();
    }
}
