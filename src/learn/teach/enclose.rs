//! OLERA: a person encloses one rough block; every part of the page that is similar enough to it becomes a row.

mod formats;
mod matching;

use std::collections::HashSet;

pub use formats::{join, rows_by_format};
pub use matching::THRESHOLD;

use crate::learn::rows::{RowSet, without_overlaps};
use crate::learn::template::Finder;
use crate::learn::view::{Limit, MAX_MATCHES, PageView, sample};
use crate::page::NodeId;
use crate::page::tokens::{Span, TokenKind};
use matching::{BlockEncoding, Matcher, in_listing};

/// The smallest run of whole siblings around a span of tokens: what a person means who drags over part of a record. If
/// the run is all the text of an element, the block is that element, so that its links and images belong to the record.
pub fn block_around(view: &PageView<'_>, part: Span) -> Span {
    let tree = view.tree();
    let first = view.first_node(part);
    let last = view.tokens.list[part.stop as usize - 1].node;
    if in_listing(view, first) {
        return lines_around(view, part);
    }
    let holds = |&node: &NodeId| tree.contains(node, first) && tree.contains(node, last);
    let around = std::iter::once(first).chain(tree.ancestors(first)).find(holds).unwrap_or(tree.root());
    let mut span = if first == last { view.span(first) } else { neighbours(view, around, part) };
    let mut above = if first == last { tree.parent(first) } else { Some(around) };
    while let Some(node) = above {
        let wider = view.span(node);
        let is_page = matches!(tree.tag(node), "" | "html" | "body");
        if is_page || view.tokens.weight(wider) != view.tokens.weight(span) {
            break;
        }
        span = wider;
        above = tree.parent(node);
    }
    span
}

/// The items of `parent` from the one that contains the part's start to the one that contains its end.
fn neighbours(view: &PageView<'_>, parent: NodeId, part: Span) -> Span {
    let touched =
        view.items(parent).map(|item| view.span(item)).filter(|it| it.stop > part.start && it.start < part.stop);
    touched.fold(part, |all, it| Span { start: all.start.min(it.start), stop: all.stop.max(it.stop) })
}

/// In a listing (`<pre>`) a block consists of whole lines.
fn lines_around(view: &PageView<'_>, part: Span) -> Span {
    let is_edge = |i: u32| {
        let token = &view.tokens.list[i as usize];
        token.kind == TokenKind::Line || view.tree().tag(token.node) == "pre"
    };
    let mut span = part;
    while span.start > 0 && !is_edge(span.start - 1) {
        span.start -= 1;
    }
    while (span.stop as usize) < view.tokens.list.len() && !is_edge(span.stop) {
        span.stop += 1;
    }
    span
}

/// Row sets of everything that is similar to one of the blocks: anywhere on the page, only under the same tag path, and
/// only among the blocks' siblings. Each block is a row of each set. A match of two blocks counts for the more similar
/// one. Both encodings are tried, since the paper leaves the choice to a person.
pub fn row_sets(view: &PageView<'_>, blocks: &[Span], threshold: f64) -> Vec<RowSet> {
    let mut sets = Vec::new();
    let mut seen = HashSet::new();
    for encoding in [BlockEncoding::Tags, BlockEncoding::Blocks] {
        let found: Vec<BlockMatch> =
            blocks.iter().flat_map(|&block| matches(view, block, encoding, threshold)).collect();
        let same_path = |it: &BlockMatch| tag_path(view, it.row) == tag_path(view, it.block);
        let beside = |it: &BlockMatch| parent_of(view, it.row) == parent_of(view, it.block);
        for kept in [&(|_: &BlockMatch| true) as &dyn Fn(&BlockMatch) -> bool, &same_path, &beside] {
            let rows = resolve_overlaps(blocks, found.iter().filter(|it| kept(it)).copied().collect());
            if seen.insert(rows.clone()) {
                sets.push(RowSet { finder: finder(view, &rows), rows, rotation: 0.0 });
            }
        }
    }
    sets
}

/// Share of the rows that are similar to one of the blocks.
pub fn matching_share(view: &PageView<'_>, blocks: &[Span], rows: &[Span], threshold: f64) -> f64 {
    let mut matchers: Vec<Matcher<'_, '_>> =
        blocks.iter().map(|&block| Matcher::new(view, block, BlockEncoding::Tags)).collect();
    let mut is_like = |&row: &Span| matchers.iter_mut().any(|matcher| matcher.similarity(row) > threshold);
    let rows = sample(rows);
    rows.iter().filter(|row| is_like(row)).count() as f64 / rows.len().max(1) as f64
}

/// A span that is similar to a block.
#[derive(Clone, Copy)]
struct BlockMatch {
    value: f64,
    row: Span,
    block: Span,
}

/// Removes overlapping rows: blocks take precedence, then the more similar matches.
fn resolve_overlaps(blocks: &[Span], mut found: Vec<BlockMatch>) -> Vec<Span> {
    found.sort_by(|a, b| b.value.total_cmp(&a.value).then(a.row.cmp(&b.row)));
    without_overlaps(blocks.iter().copied().chain(found.iter().map(|it| it.row)))
}

fn finder(view: &PageView<'_>, rows: &[Span]) -> Finder {
    match rows {
        [row, ..] if in_listing(view, view.first_node(*row)) => Finder::Lines,
        rows if rows.iter().all(|&row| view.root(row).is_some()) => Finder::Grid,
        _ => Finder::Groups,
    }
}

fn matches(view: &PageView<'_>, block: Span, encoding: BlockEncoding, threshold: f64) -> Vec<BlockMatch> {
    let first = view.first_node(block);
    let mut matcher = Matcher::new(view, block, encoding);
    let found = if in_listing(view, first) {
        line_matches(view, block, &matcher, threshold)
    } else if view.span(first) == block && view.tree().element(first).is_some() {
        element_matches(view, first, &mut matcher, threshold)
    } else {
        sibling_matches(view, first, &matcher, threshold)
    };
    found.into_iter().map(|(value, row)| BlockMatch { value, row, block }).collect()
}

/// Runs of siblings under every parent that has the tag of the block's parent.
fn sibling_matches(view: &PageView<'_>, first: NodeId, matcher: &Matcher<'_, '_>, threshold: f64) -> Vec<(f64, Span)> {
    let parent = view.tree().parent(first).unwrap_or(view.tree().root());
    let mut found = Vec::new();
    for node in same_tag(view, parent) {
        let items: Vec<NodeId> = view.items(node).collect();
        let spans: Vec<Span> = items.iter().map(|&item| view.span(item)).collect();
        found.extend(matcher.stretches(&spans, |i| view.tag(items[i]) == view.tag(first), threshold));
    }
    found
}

/// All elements with the block's tag that are similar to it; of nested ones the more similar.
fn element_matches(
    view: &PageView<'_>,
    first: NodeId,
    matcher: &mut Matcher<'_, '_>,
    threshold: f64,
) -> Vec<(f64, Span)> {
    let alike = same_tag(view, first).map(|node| view.span(node)).filter(|&span| view.tokens.weight(span) > 0);
    let mut found: Vec<(f64, Span)> = Vec::new();
    for (place, span) in alike.enumerate() {
        if place >= MAX_MATCHES {
            view.record_limit(Some(Limit::Matches));
            break;
        }
        let value = matcher.similarity(span);
        if value <= threshold {
            continue;
        }
        // Elements come in document order: only the last match can contain this one.
        match found.last() {
            Some(&(other, around)) if span.stop <= around.stop => {
                if value > other {
                    found.pop();
                    found.push((value, span));
                }
            }
            _ => found.push((value, span)),
        }
    }
    found
}

fn same_tag<'v>(view: &'v PageView<'_>, like: NodeId) -> impl Iterator<Item = NodeId> + 'v {
    let tree = view.tree();
    let tag = view.tag(like);
    tree.subtree(tree.root()).filter(move |&node| view.tag(node) == tag && tree.element(node).is_some())
}

fn line_matches(view: &PageView<'_>, block: Span, matcher: &Matcher<'_, '_>, threshold: f64) -> Vec<(f64, Span)> {
    let lines: Vec<Span> = view.tree().elements("pre").flat_map(|pre| lines_of(view, view.span(pre))).collect();
    let head = matching::encode(view, block, BlockEncoding::Tags).first().copied();
    let is_head = |i: usize| matching::encode(view, lines[i], BlockEncoding::Tags).first().copied() == head;
    let found = matcher.stretches(&lines, is_head, threshold);
    found.into_iter().map(|(value, row)| (value, trim_line_end(view, row))).collect()
}

/// Each line with its line break, so that blank lines separate records.
fn lines_of(view: &PageView<'_>, listing: Span) -> Vec<Span> {
    let mut start = listing.start + 1;
    let mut lines = Vec::new();
    for i in listing.start + 1..listing.stop {
        let is_last = i + 1 == listing.stop;
        if is_last || view.tokens.list[i as usize].kind == TokenKind::Line {
            let stop = if is_last { i } else { i + 1 };
            lines.push(Span { start, stop });
            start = i + 1;
        }
    }
    lines.retain(|line| line.start < line.stop);
    lines
}

fn trim_line_end(view: &PageView<'_>, mut row: Span) -> Span {
    while row.stop > row.start && view.tokens.list[row.stop as usize - 1].kind == TokenKind::Line {
        row.stop -= 1;
    }
    row
}

fn parent_of(view: &PageView<'_>, row: Span) -> Option<NodeId> {
    view.tree().parent(view.first_node(row))
}

fn tag_path(view: &PageView<'_>, row: Span) -> Vec<u32> {
    let first = view.first_node(row);
    view.tree().ancestors(first).map(|node| view.tag(node)).collect()
}

#[cfg(test)]
mod tests;
