//! Learns the template of single-record pages from several of them (RoadRunner, EXALG).
//!
//! What all pages share is the template; what differs are values. The part that differs is cut out of each page, and
//! the parts are placed side by side as the rows of a list, so that all learning from rows applies.

use std::collections::{HashMap, HashSet};

use super::candidate::learn_row_set;
use crate::learn::apply::{THRESHOLD, fit, table};
use crate::learn::rows::RowSet;
use crate::learn::template::{Finder, Template};
use crate::learn::view::{Limit, PageView, PathInterner, class_step, count_keys, first_leaves, grouped};
use crate::model::{Row, Table};
use crate::page::tokens::{Span, TokenKind, Tokens};
use crate::page::{NodeId, Tree};

/// Maximum pages to learn from; further ones are only read.
const MAX_PAGES: usize = 60;
/// Minimum share of the values in the part that is cut out. The rest is breadcrumbs, a basket, “last seen”.
const MIN_VALUE_SHARE: f64 = 0.8;
/// The minimum share for a part with at least [`LARGE_PART_LEAVES`] leaves.
const MIN_LARGE_PART_SHARE: f64 = 0.5;
const LARGE_PART_LEAVES: usize = 300;

/// Template and records of single-record pages.
#[derive(Clone, Debug)]
pub struct RecordPages {
    pub template: Template,
    /// One row per page, in the order of the pages; only empty cells for a page that does not fit.
    pub table: Table,
    /// The limit that was reached: values of the pages may be missing.
    pub limit: Option<Limit>,
}

/// The template of single-record pages. One page alone has nothing to differ from; then the values are the texts that
/// `elsewhere` (list pages of the same site) does not have. `None` if the pages have no text of their own.
pub fn learn_pages(pages: &[&Tree], elsewhere: &[Tree]) -> Option<RecordPages> {
    let learned = &pages[..pages.len().min(MAX_PAGES)];
    let tokens: Vec<Tokens<'_>> = learned.iter().map(|page| Tokens::new(page)).collect();
    let own = PageValues::new(&tokens, elsewhere);
    let parts = own.value_part(&tokens)?;
    let together = Tree::side_by_side(learned.iter().copied().zip(parts));
    let view = PageView::new(&together);
    let rows: Vec<Span> = together.children(together.root()).map(|part| view.span(part)).collect();
    let set = RowSet { finder: Finder::Page, rows, rotation: 0.0 };
    let (template, mut table) = learn_row_set(&view, &set);
    for page in &pages[table.rows.len()..] {
        let none = || (Row { cells: vec![None; table.columns.len()], page: 0 }, None);
        let (row, reached) = read_page(&template, page).unwrap_or_else(none);
        view.record_limit(reached);
        table.rows.push(row);
    }
    Some(RecordPages { template, table, limit: view.take_limit() })
}

/// The record of a page and the limit reached, if the page fits the template.
pub fn read_page(template: &Template, page: &Tree) -> Option<(Row, Option<Limit>)> {
    let view = PageView::new(page);
    let mut fit = fit(template, &view).filter(|fit| fit.similarity >= THRESHOLD)?;
    let mut table = table(&view, template, fit.variant, &template.every_column(), &mut fit.rows, &mut fit.cache.paths);
    let limit = fit.limit(template, &view);
    (!table.rows.is_empty()).then(|| (table.rows.swap_remove(0), limit))
}

/// The values: texts that are not on every page.
struct PageValues {
    /// For each page: prefix sums of the values' text weight, by token.
    weights: Vec<Vec<u32>>,
}

impl PageValues {
    fn new(pages: &[Tokens<'_>], elsewhere: &[Tree]) -> PageValues {
        let everywhere: HashSet<u64> = if let [_] = pages {
            elsewhere.iter().flat_map(|page| text_fingerprints(&Tokens::new(page))).collect()
        } else {
            let counts = count_keys(pages.iter().flat_map(text_fingerprints));
            counts.into_iter().filter(|&(_, count)| count == pages.len()).map(|(print, _)| print).collect()
        };
        PageValues { weights: pages.iter().map(|page| value_weights(page, &everywhere)).collect() }
    }

    fn weight(&self, page: usize, span: Span) -> f64 {
        f64::from(self.weights[page][span.stop as usize] - self.weights[page][span.start as usize])
    }

    /// The element of each page that holds most of its values: descends as long as one child, equal on every page, has
    /// most of them.
    fn value_part(&self, pages: &[Tokens<'_>]) -> Option<Vec<NodeId>> {
        let mut parts: Vec<NodeId> =
            pages.iter().map(|page| page.tree.elements("body").next()).collect::<Option<Vec<_>>>()?;
        let all: Vec<f64> = (0..pages.len()).map(|i| self.weight(i, pages[i].all())).collect();
        if all.iter().all(|&weight| weight == 0.0) {
            return None;
        }
        let headings: Vec<Option<NodeId>> = (0..pages.len()).map(|i| self.heading(i, &pages[i])).collect();
        let holds_headings = |nodes: &Vec<NodeId>| {
            let mut pairs = pages.iter().zip(nodes.iter().zip(&headings));
            pairs.all(|(page, (&node, heading))| heading.is_none_or(|heading| page.tree.contains(node, heading)))
        };
        loop {
            let share = |(i, node): (usize, &NodeId)| self.weight(i, pages[i].span(*node)) / all[i].max(1.0);
            let mean = |nodes: &[NodeId]| nodes.iter().enumerate().map(share).sum::<f64>() / nodes.len() as f64;
            let below = children(pages, &parts);
            let best = below
                .into_iter()
                .filter(holds_headings)
                .map(|nodes| (mean(&nodes), nodes))
                .fold((0.0, Vec::new()), |best, it| if it.0 > best.0 { it } else { best });
            let enough = if self.is_large(pages, &parts) { MIN_LARGE_PART_SHARE } else { MIN_VALUE_SHARE };
            if best.0 < enough {
                return Some(parts);
            }
            parts = best.1;
        }
    }

    /// The main heading, if it is a value. The part must contain it: it is the record's name, however short.
    fn heading(&self, page: usize, tokens: &Tokens<'_>) -> Option<NodeId> {
        let is_alone = self.weights.len() == 1;
        let is_value = |&node: &NodeId| {
            let span = tokens.span(node);
            self.weight(page, span) > 0.0 || is_alone && tokens.weight(span) > 0
        };
        tokens.tree.elements("h1").find(is_value)
    }

    fn is_large(&self, pages: &[Tokens<'_>], parts: &[NodeId]) -> bool {
        let mut paths = PathInterner::default();
        let is_large = |(page, &part): (&Tokens<'_>, &NodeId)| {
            first_leaves(page, page.span(part), &mut paths, LARGE_PART_LEAVES).len() >= LARGE_PART_LEAVES
        };
        pages.iter().zip(parts).any(is_large)
    }
}

fn text_fingerprints(page: &Tokens<'_>) -> HashSet<u64> {
    let texts = (0_u32..).zip(&page.list).filter(|(_, token)| token.kind == TokenKind::Text);
    texts.map(|(i, _)| page.fingerprint(i)).collect()
}

fn value_weights(page: &Tokens<'_>, everywhere: &HashSet<u64>) -> Vec<u32> {
    let mut sum = 0;
    let mut weights = vec![0];
    for i in 0..page.list.len() as u32 {
        if page.list[i as usize].kind == TokenKind::Text && !everywhere.contains(&page.fingerprint(i)) {
            sum += page.weight(Span { start: i, stop: i + 1 });
        }
        weights.push(sum);
    }
    weights
}

/// The children that all pages have, matched by tag, classes and ordinal.
fn children(pages: &[Tokens<'_>], parts: &[NodeId]) -> Vec<Vec<NodeId>> {
    let elements = pages.iter().zip(parts).flat_map(|(page, &part)| {
        let mut nths: HashMap<String, usize> = HashMap::new();
        let elements = page.tree.children(part).filter(|&node| page.tree.element(node).is_some());
        elements.map(move |node| {
            let step = class_step(page.tree, node);
            let nth = nths.entry(step.clone()).or_default();
            *nth += 1;
            ((step, *nth), node)
        })
    });
    grouped(elements).into_iter().filter(|nodes| nodes.len() == pages.len()).collect()
}
