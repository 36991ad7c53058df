//! Computes the features of a row set that `rank` scores: coverage, similarity of the rows, variety, navigation and
//! others.

use foldhash::{HashMap, HashMapExt, HashSet};

use super::find::{PageView, RowSet};
use super::leaf::fingerprint;
use super::sections;
use super::signals::{RowSignals, SignalMap};
use crate::page::NodeId;
use crate::page::tokens::{Span, TokenKind};

/// Maximum rows sampled, spread over the list: more cost time and change no score visibly.
const MAX_SAMPLE: usize = 60;
/// Maximum tokens examined per row; rows have at most a few hundred. In lists nested 500 deep, each token of the
/// innermost would otherwise be read 500 times.
const MAX_ROW_TOKENS: u32 = 4_000;
/// Maximum tables for the test whether a row set spans several lists.
const MAX_TABLES: usize = 60;
/// Maximum tokens of a cell with one plain text.
const MAX_BARE_CELL_TOKENS: usize = 9;
/// Text weight of a menu entry (“Terms and conditions of use”), and of a headline, twice as long.
const MENU_TEXT_WEIGHT: f64 = 30.0;
const HEADLINE_TEXT_WEIGHT: f64 = 60.0;
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
            bare_links: self.bare_links(&sample),
            grid_lines: self.grid_lines(&sample),
            rotation: set.rotation,
            has_column_titles: self.has_column_titles(&set.rows),
            spans_different_tables: self.spans_different_tables(&set.rows),
            signals: self.signals.row_signals(self.view, &sample),
            bare_cells: self.bare_cells(&sample),
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
        let first = self.view.tokens.list[row.start as usize].node;
        let above: Vec<NodeId> = std::iter::once(first).chain(tree.ancestors(first)).take(7).collect();
        let is_tagged =
            |&(_, &node): &(usize, &NodeId)| matches!(tree.tag(node), "nav" | "footer" | "header" | "aside");
        let tagged = above.iter().enumerate().find(is_tagged);
        let mut is_named = |node: NodeId| {
            let named = self.named.entry(node);
            *named.or_insert_with(|| is_named_navigation(self.view, node))
        };
        let named = above.iter().enumerate().find(|&(_, &node)| is_named(node));
        let by_tag = tagged.map_or(0.0, |(steps, _)| if steps <= 4 { 1.0 } else { 0.6 });
        let by_name = named.map_or(0.0, |(steps, _)| if steps <= 3 { 1.0 } else { 0.5 });
        f64::max(by_tag, by_name)
    }

    /// Cached by ancestor, because many row sets share them.
    fn aside(&mut self, set: &RowSet) -> bool {
        let tree = self.view.tree();
        let first = self.view.tokens.list[set.rows[0].start as usize].node;
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
            aside = aside || is_aside(self.view, node);
            self.aside.insert(node, aside);
        }
        aside
    }

    /// The rows are `<tr>`, and their table has at least two `<th>` before them.
    fn has_column_titles(&self, rows: &[Span]) -> bool {
        let tree = self.view.tree();
        let root = self.view.tokens.list[rows[0].start as usize].node;
        if tree.tag(root) != "tr" {
            return false;
        }
        let Some(table) = tree.ancestors(root).find(|&node| tree.tag(node) == "table") else { return false };
        let before = self.view.span(table).start..rows[0].start;
        let titles = before.filter(|&i| {
            let token = &self.view.tokens.list[i as usize];
            token.kind == TokenKind::Open && tree.tag(token.node) == "th"
        });
        titles.take(2).count() == 2
    }

    /// The rows come from tables with different headers, or from two or three tables of clearly different lengths whose
    /// headers are not all equal. A list set in columns has columns of equal length, and a list in sections (pinned
    /// above not pinned, published above unpublished) repeats its header.
    fn spans_different_tables(&self, rows: &[Span]) -> bool {
        let tree = self.view.tree();
        let mut tables: Vec<(NodeId, u64, usize)> = Vec::new();
        for row in rows {
            let root = self.view.tokens.list[row.start as usize].node;
            let table = tree.ancestors(root).take(4).find(|&node| tree.tag(node) == "table");
            let Some(table) = table.filter(|_| tree.tag(root) == "tr" && tables.len() <= MAX_TABLES) else {
                return false;
            };
            match tables.last_mut().filter(|(last, _, _)| *last == table) {
                Some((_, _, count)) => *count += 1,
                None => tables.push((table, self.titles_fingerprint(table, row.start), 1)),
            }
        }
        let titles: HashSet<u64> = tables.iter().map(|&(_, titles, _)| titles).filter(|&titles| titles != 0).collect();
        let counts = || tables.iter().map(|&(_, _, count)| count);
        let uneven = counts().max().unwrap_or(0) > counts().min().unwrap_or(0) + 2;
        let same_titles = titles.len() == 1 && tables.iter().all(|&(_, titles, _)| titles != 0);
        titles.len() >= 2 || (2..=3).contains(&tables.len()) && uneven && !same_titles
    }

    /// Fingerprint of the header cells before the table's first row; 0 without any.
    fn titles_fingerprint(&self, table: NodeId, first: u32) -> u64 {
        let tree = self.view.tree();
        let before = Span { start: self.view.span(table).start, stop: first };
        let tokens = self.view.tokens.slice(before).iter().take(MAX_ROW_TOKENS as usize);
        let texts = tokens.filter(|token| token.kind == TokenKind::Text);
        let in_title = |node: NodeId| tree.ancestors(node).take(4).any(|it| tree.tag(it) == "th");
        let texts = texts.filter(|token| in_title(token.node)).map(|token| self.view.tokens.raw(token).trim());
        texts.fold(0, |print: u64, text| print.rotate_left(5) ^ fingerprint(text))
    }

    fn bare_cells(&self, sample: &[Span]) -> f64 {
        let tree = self.view.tree();
        let is_bare = |row: &&Span| {
            let tokens = self.view.tokens.slice(**row);
            let is_cell = tokens.first().is_some_and(|first| matches!(tree.tag(first.node), "td" | "th"));
            // A cell with a link or an image may be a record in a grid.
            let says_more = |node: NodeId| matches!(tree.tag(node), "a" | "img");
            is_cell
                && tokens.iter().take(MAX_BARE_CELL_TOKENS).filter(|token| token.kind == TokenKind::Text).count() == 1
                && tokens.len() <= MAX_BARE_CELL_TOKENS
                && !tokens.iter().any(|token| says_more(token.node))
        };
        sample.iter().filter(is_bare).count() as f64 / sample.len().max(1) as f64
    }

    fn bare_links(&self, sample: &[Span]) -> f64 {
        let (mut linked, mut all, mut texts) = (0, 0, 0);
        for &row in sample {
            let mut links = 0_usize;
            for i in row.start..row.stop.min(row.start + MAX_ROW_TOKENS) {
                let token = &self.view.tokens.list[i as usize];
                let is_link = self.view.tree().tag(token.node) == "a";
                match token.kind {
                    TokenKind::Open if is_link => links += 1,
                    TokenKind::Close if is_link => links = links.saturating_sub(1),
                    TokenKind::Text => {
                        let weight = self.view.tokens.weight(Span { start: i, stop: i + 1 });
                        texts += 1;
                        all += weight;
                        linked += if links > 0 { weight } else { 0 };
                    }
                    TokenKind::Open | TokenKind::Close | TokenKind::Line => {}
                }
            }
        }
        if f64::from(linked) < 0.9 * f64::from(all) || f64::from(texts) >= 2.2 * sample.len() as f64 {
            return 0.0;
        }
        let weight = f64::from(all) / sample.len().max(1) as f64;
        ((HEADLINE_TEXT_WEIGHT - weight) / (HEADLINE_TEXT_WEIGHT - MENU_TEXT_WEIGHT)).clamp(0.0, 1.0)
    }

    fn grid_lines(&self, sample: &[Span]) -> f64 {
        let lines = sample.iter().filter(|&&row| self.is_grid_line(row)).count();
        lines as f64 / sample.len().max(1) as f64
    }

    /// The row is one element and, below single children, has at least two children of equal tag and
    /// similar shape.
    fn is_grid_line(&self, row: Span) -> bool {
        let mut node = self.view.tokens.list[row.start as usize].node;
        if self.view.span(node) != row {
            return false;
        }
        loop {
            let items: Vec<NodeId> = self.view.items(node).take(40).collect();
            match items.as_slice() {
                [] => return false,
                &[only] if self.view.tree().element(only).is_some() => node = only,
                &[_] => return false,
                &[first, ref rest @ ..] => {
                    return self.view.shape_len(first) >= 3
                        && rest.iter().all(|&it| {
                            self.view.tag(it) == self.view.tag(first) && self.view.shape_overlap(first, it) >= 0.7
                        });
                }
            }
        }
    }
}

/// Which part of a text's path identifies its slot.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum PathPrecision {
    Whole,
    /// Only the last two tags: on a badly nested page (one more nested `<font>` in each row) whole paths would make
    /// every row an outlier.
    LastTwo,
    /// Only the last tag, for rows with one text each: a link inside a paragraph is still that link.
    Last,
}

/// Larger than all path numbers: pairs of tags share the map with paths.
const LAST_TWO_FLAG: u32 = 1 << 31;

struct RowSlots {
    slots: Vec<((u32, u32), u64)>,
    fingerprint: u64,
}

/// At most [`MAX_SAMPLE`] of the rows, evenly spread.
pub fn sample<T: Copy>(rows: &[T]) -> Vec<T> {
    if rows.len() <= MAX_SAMPLE {
        return rows.to_vec();
    }
    (0..MAX_SAMPLE).map(|i| rows[i * rows.len() / MAX_SAMPLE]).collect()
}

/// Minimum slots of a core that distinguishes a record from a menu entry, which has a link and its text too.
const RICH_CORE: usize = 3;

/// The slots that at least half of the rows have.
struct Core {
    counts: HashMap<(u32, u32), usize>,
    rows: usize,
    len: usize,
}

impl Core {
    fn of(rows: &[RowSlots]) -> Core {
        let mut counts: HashMap<(u32, u32), usize> = HashMap::new();
        for (slot, _) in rows.iter().flat_map(|row| &row.slots) {
            *counts.entry(*slot).or_default() += 1;
        }
        let len = counts.values().filter(|&&count| count * 2 >= rows.len()).count();
        Core { counts, rows: rows.len(), len }
    }

    fn shared(&self, row: &RowSlots) -> usize {
        row.slots.iter().filter(|(slot, _)| self.counts[slot] * 2 >= self.rows).count()
    }

    fn sameness(&self, row: &RowSlots) -> f64 {
        let shared = self.shared(row);
        let all = row.slots.len() + self.len - shared;
        if all == 0 { 1.0 } else { shared as f64 / all as f64 }
    }
}

fn variety(rows: &[RowSlots]) -> f64 {
    let mut values: HashMap<(u32, u32), Vec<u64>> = HashMap::new();
    for &(slot, print) in rows.iter().flat_map(|row| &row.slots) {
        values.entry(slot).or_default().push(print);
    }
    let n = rows.len() as f64;
    let of_slot = |prints: &mut Vec<u64>| {
        let count = prints.len();
        prints.sort_unstable();
        prints.dedup();
        let varies = (prints.len() - 1) as f64 / (count - 1) as f64;
        (count as f64 / n, varies)
    };
    let mut parts: Vec<f64> = values
        .values_mut()
        .filter(|prints| prints.len() >= 2 && prints.len() as f64 >= 0.3 * n)
        .map(|prints| {
            let (presence, varies) = of_slot(prints);
            presence * varies
        })
        .collect();
    // Summed in a fixed order, so that equal pages have bit-identical scores.
    parts.sort_unstable_by(f64::total_cmp);
    parts.iter().sum()
}

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

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Words in ids and classes that mark navigation; they matter for the top five only (docs/design/learning.md 2.3).
const NAVIGATION_WORDS: [&str; 26] = [
    "nav",
    "menu",
    "breadcrumb",
    "footer",
    "sidebar",
    "side-bar",
    "pagin",
    "pager",
    "toolbar",
    "header",
    "tagcloud",
    "tag-cloud",
    "social",
    "widget",
    "related",
    "facet",
    "filter",
    "dropdown",
    "slider",
    "ticker",
    "popular",
    "share",
    "banner",
    "carousel",
    "cookie",
    "tabs",
];

/// Fewer words for any depth: “header” and “widget” name whole pages too.
const ASIDE_WORDS: [&str; 9] =
    ["nav", "menu", "footer", "sidebar", "facet", "filter", "refine", "dropdown", "breadcrumb"];

fn is_named_navigation(view: &PageView<'_>, node: NodeId) -> bool {
    is_named(view, node, &NAVIGATION_WORDS)
}

fn is_aside(view: &PageView<'_>, node: NodeId) -> bool {
    let tree = view.tree();
    let hidden = tree.attribute(node, "style").is_some_and(|style| style.replace(' ', "").contains("display:none"));
    hidden || matches!(tree.tag(node), "nav" | "footer" | "aside") || is_named(view, node, &ASIDE_WORDS)
}

fn is_named(view: &PageView<'_>, node: NodeId, words: &[&str]) -> bool {
    let tree = view.tree();
    let names = tree.classes(node).chain(tree.attribute(node, "id"));
    let mut names = names.map(str::to_ascii_lowercase);
    names.any(|name| words.iter().any(|word| name.contains(word)))
}
