//! Computes the features of a row set that `rank` scores: coverage, similarity of the rows, variety, navigation and
//! others.

use foldhash::{HashMap, HashMapExt, HashSet};

use super::row_slots::{Core, MAX_ROW_TOKENS, PathPrecision, RICH_CORE, RowSlots, mean, variety};
use super::{navigation, sections, tables};
use crate::learn::rows::RowSet;
use crate::learn::view::{PageView, RowSignals, SignalMap, sample};
use crate::page::NodeId;
use crate::page::tokens::{Span, TokenKind};
/// A row counts in the coverage at most as this many median rows.
const MAX_ROW_WEIGHT: f64 = 2.5;

#[derive(Clone, Debug)]
pub struct Features {
    pub rows: usize,
    /// Share of the page's text weight.
    pub coverage: f64,
    /// Mean share of slots that a row has in common with the rows' core.
    pub sameness: f64,
    /// Number of slots that vary from row to row.
    pub variety: f64,
    /// Share of distinct row texts.
    pub distinct: f64,
    /// Row tokens per token between the first row's start and the last row's end.
    pub compact: f64,
    /// Standard deviation over mean of the rows' token lengths (Shi's dispersion).
    pub dispersion: f64,
    /// 1 inside a menu, footer or the like; less if that element is a more distant ancestor.
    pub navigation: f64,
    /// Rows are little more than the text of one link: from 1 for short texts, as in a menu, to 0 for headlines.
    pub bare_links: f64,
    /// Share of rows that are lines of a grid; the cells are the records.
    pub grid_lines: f64,
    pub rotation: f64,
    /// The rows are in a table with a header row.
    pub has_column_titles: bool,
    /// The rows come from two or three tables of different lengths: probably several lists.
    pub spans_different_tables: bool,
    pub signals: RowSignals,
    /// Share of rows that are table cells with one plain text: values, not records.
    pub bare_cells: f64,
    /// Share of rows that are sections: most of their text is an inner list.
    pub sections: f64,
    /// Some ancestor is a menu, a footer, a filter, or hidden at first.
    pub is_aside: bool,
}

/// Computes features of the row sets of one page, with shared caches.
pub struct Meter<'v, 't> {
    view: &'v PageView<'t>,
    page_weight: f64,
    paths: HashMap<(u32, u32), u32>,
    /// Occurrences of each path in the current row. All 0 between rows.
    ordinals: Vec<u32>,
    /// Buffer for the open elements of the current row, reused to save allocations.
    open: Vec<(u32, u32)>,
    signals: &'v SignalMap,
    aside: HashMap<NodeId, bool>,
    named: HashMap<NodeId, bool>,
}

impl<'v, 't> Meter<'v, 't> {
    pub fn new(view: &'v PageView<'t>) -> Meter<'v, 't> {
        let page_weight = f64::from(view.tokens.weight(view.tokens.all()).max(1));
        Meter {
            view,
            page_weight,
            paths: HashMap::new(),
            ordinals: Vec::new(),
            open: Vec::new(),
            signals: view.signals(),
            aside: HashMap::new(),
            named: HashMap::new(),
        }
    }

    pub fn view(&self) -> &'v PageView<'t> {
        self.view
    }

    pub fn measure(&mut self, set: &RowSet) -> Features {
        let sample = sample(&set.rows);
        let slots: Vec<RowSlots> = sample.iter().map(|&row| self.slots(row, PathPrecision::Whole)).collect();
        let core = Core::of(&slots);
        Features {
            rows: set.rows.len(),
            coverage: self.coverage(&set.rows),
            sameness: mean(&slots.iter().map(|row| core.sameness(row)).collect::<Vec<_>>()),
            variety: variety(&slots),
            distinct: slots.iter().map(|it| it.fingerprint).collect::<HashSet<_>>().len() as f64
                / slots.len().max(1) as f64,
            compact: compact(&set.rows),
            dispersion: dispersion(&set.rows),
            navigation: self.navigation(set),
            bare_links: navigation::bare_links(self.view, &sample),
            grid_lines: tables::grid_lines(self.view, &sample),
            rotation: set.rotation,
            has_column_titles: tables::has_column_titles(self.view, &set.rows),
            spans_different_tables: tables::spans_different_tables(self.view, &set.rows),
            signals: self.signals.row_signals(&self.view.tokens, &sample),
            bare_cells: tables::bare_cells(self.view, &sample),
            sections: sections::share(self.view, &sample),
            is_aside: self.aside(set),
        }
    }

    /// For each row: similarity with the rows' core. A row that has the whole core and much more (a forum with forty
    /// child forums) counts at least 0.5, so it is never an outlier.
    pub fn row_sameness(&mut self, rows: &[Span], paths: PathPrecision) -> Vec<f64> {
        let mut slots: Vec<RowSlots> = rows.iter().map(|&row| self.slots(row, paths)).collect();
        let mut core = Core::of(&slots);
        if core.len == 1 && paths == PathPrecision::LastTwo {
            slots = rows.iter().map(|&row| self.slots(row, PathPrecision::Last)).collect();
            core = Core::of(&slots);
        }
        let has_core = |row: &RowSlots| core.len >= RICH_CORE && core.shared(row) == core.len;
        slots.iter().map(|row| core.sameness(row).max(if has_core(row) { 0.5 } else { 0.0 })).collect()
    }

    fn coverage(&self, rows: &[Span]) -> f64 {
        let mut weights: Vec<f64> = rows.iter().map(|&row| f64::from(self.view.tokens.weight(row))).collect();
        let middle = weights.len() / 2;
        let (_, &mut median, _) = weights.select_nth_unstable_by(middle, f64::total_cmp);
        let most = MAX_ROW_WEIGHT * median;
        weights.iter().map(|weight| weight.min(most)).sum::<f64>() / self.page_weight
    }

    /// The slots of a row. A slot is a tag path inside the row and its ordinal.
    fn slots(&mut self, row: Span, paths: PathPrecision) -> RowSlots {
        let mut open = std::mem::take(&mut self.open);
        open.clear();
        // About one text per three tokens. Default growth would reserve four for each of 500,000 short lines.
        let room = (row.stop.saturating_sub(row.start) as usize / 3).clamp(1, 16);
        let mut slots: Vec<((u32, u32), u64)> = Vec::with_capacity(room);
        let mut print: u64 = 0;
        for i in row.start..row.stop.min(row.start + MAX_ROW_TOKENS) {
            let token = &self.view.tokens.list[i as usize];
            match token.kind {
                TokenKind::Open => {
                    let tag = self.view.tag(token.node);
                    let next = self.paths.len() as u32 + 1;
                    let above = open.last().copied().unwrap_or((0, 0));
                    let above = match paths {
                        PathPrecision::Whole => above.0,
                        PathPrecision::LastTwo => LAST_TWO_FLAG + above.1,
                        PathPrecision::Last => LAST_TWO_FLAG,
                    };
                    open.push((*self.paths.entry((above, tag)).or_insert(next), tag));
                }
                TokenKind::Close => {
                    open.pop();
                }
                TokenKind::Text => {
                    let path = open.last().map_or(0, |&(path, _)| path);
                    if self.ordinals.len() <= path as usize {
                        self.ordinals.resize(self.paths.len() + 1, 0);
                    }
                    let ordinal = &mut self.ordinals[path as usize];
                    slots.push(((path, *ordinal), self.view.tokens.fingerprint(i)));
                    *ordinal += 1;
                    print = print.rotate_left(7) ^ self.view.tokens.fingerprint(i);
                }
                TokenKind::Line => {}
            }
        }
        slots.iter().for_each(|&((path, _), _)| self.ordinals[path as usize] = 0);
        self.open = open;
        RowSlots { slots, fingerprint: print }
    }

    /// The maximum of the first and the last row: a list may begin with a box elsewhere on the page.
    fn navigation(&mut self, set: &RowSet) -> f64 {
        f64::max(self.row_navigation(set.rows[0]), self.row_navigation(set.rows[set.rows.len() - 1]))
    }

    fn row_navigation(&mut self, row: Span) -> f64 {
        let tree = self.view.tree();
        let first = self.view.first_node(row);
        let above: Vec<NodeId> = std::iter::once(first).chain(tree.ancestors(first)).take(7).collect();
        let is_tagged =
            |&(_, &node): &(usize, &NodeId)| matches!(tree.tag(node), "nav" | "footer" | "header" | "aside");
        let tagged = above.iter().enumerate().find(is_tagged);
        let mut is_named = |node: NodeId| {
            let named = self.named.entry(node);
            *named.or_insert_with(|| navigation::is_named_navigation(self.view, node))
        };
        let named = above.iter().enumerate().find(|&(_, &node)| is_named(node));
        let by_tag = tagged.map_or(0.0, |(steps, _)| if steps <= 4 { 1.0 } else { 0.6 });
        let by_name = named.map_or(0.0, |(steps, _)| if steps <= 3 { 1.0 } else { 0.5 });
        f64::max(by_tag, by_name)
    }

    /// Cached by ancestor, because many row sets share them.
    fn aside(&mut self, set: &RowSet) -> bool {
        let tree = self.view.tree();
        let first = self.view.first_node(set.rows[0]);
        let mut above: Vec<NodeId> = Vec::new();
        let mut aside = false;
        for node in tree.ancestors(first) {
            if let Some(&known) = self.aside.get(&node) {
                aside = known;
                break;
            }
            above.push(node);
        }
        for &node in above.iter().rev() {
            aside = aside || navigation::is_aside(self.view, node);
            self.aside.insert(node, aside);
        }
        aside
    }
}

/// Larger than all path numbers: pairs of tags share the map with paths.
const LAST_TWO_FLAG: u32 = 1 << 31;

fn compact(rows: &[Span]) -> f64 {
    let covered: u32 = rows.iter().map(|row| row.stop - row.start).sum();
    let start = rows.iter().map(|row| row.start).min().unwrap_or(0);
    let stop = rows.iter().map(|row| row.stop).max().unwrap_or(1);
    f64::from(covered) / f64::from((stop - start).max(1))
}

fn dispersion(rows: &[Span]) -> f64 {
    let lengths: Vec<f64> = rows.iter().map(|row| f64::from(row.stop - row.start)).collect();
    let mean = mean(&lengths);
    let variance = lengths.iter().map(|length| (length - mean).powi(2)).sum::<f64>() / lengths.len().max(1) as f64;
    if mean > 0.0 { variance.sqrt() / mean } else { 0.0 }
}
