//! Converts a segmentation into rows of the page, and measures how well other rows agree with it.

use super::constraints::Segmentation;
use super::observe::Evidence;
use crate::learn::rows::row_set::RowSet;
use crate::learn::template::Finder;
use crate::learn::view::{PageView, count_keys};
use crate::page::NodeId;
use crate::page::tokens::{Span, TokenKind};

/// A row longer than this many medians contains records without a given detail page, and is cut.
const MAX_STRETCH: usize = 2;
/// Minimum share of a record's extracts that a row must contain to be its row.
const MIN_RECORD_SHARE: f64 = 0.8;

/// Rows of the segmentation: the tokens from the first extract of a record to the next record. If the records start in
/// different children of one element, also whole siblings: a template of these finds the rows of further pages too.
pub fn row_sets(view: &PageView<'_>, evidence: &Evidence, segmentation: &Segmentation) -> Vec<RowSet> {
    let records: Vec<Span> = segmentation
        .records()
        .into_iter()
        .map(|extracts| {
            let spans = extracts.iter().map(|&i| evidence.extracts[i].span);
            spans.reduce(|a, b| Span { start: a.start, stop: a.stop.max(b.stop) }).expect("a record has an extract")
        })
        .collect();
    let mut sets = Vec::new();
    for (finder, rows) in
        [(Finder::Groups, sibling_rows(view, &records)), (Finder::Details, token_rows(view, evidence, &records))]
    {
        if rows.len() >= 2 && rows.iter().all(|&row| view.tokens.weight(row) > 0) {
            sets.push(RowSet { finder, rows, rotation: 0.0 });
        }
    }
    sets
}

/// From the tags directly before each record to those before the next.
fn token_rows(view: &PageView<'_>, evidence: &Evidence, records: &[Span]) -> Vec<Span> {
    let mut starts: Vec<u32> = Vec::new();
    for (i, record) in records.iter().enumerate() {
        let next = records.get(i + 1).map_or(u32::MAX, |next| next.start);
        let floor = starts.last().map_or(evidence.slot.start, |last| last + 1).max(evidence.slot.start);
        let mut start = record.start;
        while start > floor && opens(view, start - 1, next) {
            start -= 1;
        }
        starts.push(start);
    }
    let ends = starts.iter().skip(1).copied().chain(std::iter::once(evidence.slot.stop));
    let mut rows: Vec<Span> = starts.iter().zip(ends).map(|(&start, stop)| Span { start, stop }).collect();
    truncate_long_rows(&mut rows, records);
    let mut free = 0;
    rows.retain(|row| {
        let is_after = row.start >= free && row.start < row.stop;
        free = if is_after { row.stop } else { free };
        is_after
    });
    rows
}

/// Whether the token is an opening tag whose element contains this record only.
fn opens(view: &PageView<'_>, token: u32, next: u32) -> bool {
    let token = &view.tokens.list[token as usize];
    token.kind == TokenKind::Open && view.span(token.node).stop <= next
}

/// Shortens rows that contain more than their record, and always the last row.
fn truncate_long_rows(rows: &mut [Span], records: &[Span]) {
    let Some((_, others)) = rows.split_last() else { return };
    let mut lengths: Vec<u32> = others.iter().map(|row| row.stop - row.start).collect();
    lengths.sort_unstable();
    let middle = lengths.get(lengths.len() / 2).copied().unwrap_or(0);
    let last = rows.len() - 1;
    for (i, (row, record)) in rows.iter_mut().zip(records).enumerate() {
        let is_long = (row.stop - row.start) as usize > MAX_STRETCH * middle as usize;
        if i == last || is_long {
            row.stop = row.stop.min((row.start + middle).max(record.stop));
        }
    }
}

/// Whole children of the element that contains all records: from the child where a record starts to the next such
/// child.
fn sibling_rows(view: &PageView<'_>, records: &[Span]) -> Vec<Span> {
    let Some(parent) = common_parent(view, records) else { return Vec::new() };
    let items: Vec<Span> = view.items(parent).map(|item| view.span(item)).collect();
    let item_of = |token: u32| items.partition_point(|item| item.stop <= token);
    let starts: Vec<usize> = records.iter().map(|record| item_of(record.start)).collect();
    if !starts.is_sorted_by(|a, b| a < b) || starts.last().is_none_or(|&last| last >= items.len()) {
        return Vec::new();
    }
    let mut gaps: Vec<usize> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    gaps.sort_unstable();
    let middle = gaps.get(gaps.len() / 2).copied().unwrap_or(1);
    let row = |(i, &start): (usize, &usize)| {
        let own = item_of(records[i].stop - 1);
        let full = (start + middle - 1).max(own).min(items.len() - 1);
        let last = match starts.get(i + 1) {
            Some(&next) if next - start > MAX_STRETCH * middle => full.min(next - 1),
            Some(&next) => next - 1,
            None => full,
        };
        Span { start: items[start].start, stop: items[last].stop }
    };
    starts.iter().enumerate().map(row).collect()
}

fn common_parent(view: &PageView<'_>, records: &[Span]) -> Option<NodeId> {
    let tree = view.tree();
    let node = |record: &Span| view.first_node(*record);
    let (first, last) = (node(records.first()?), node(records.last()?));
    tree.ancestors(first).find(|&it| tree.contains(it, last))
}

/// How well rows agree with a segmentation, 0 to 1: the share of records that have a row of their own with (nearly) all
/// their extracts. Extracts of one text token are counted once, since no row can separate them.
pub fn agreement(evidence: &Evidence, segmentation: &Segmentation, rows: &[Span]) -> f64 {
    let row_of = |place: u32| {
        let row = rows.partition_point(|row| row.stop <= place);
        (row < rows.len() && rows[row].start <= place).then_some(row)
    };
    let records = segmentation.records();
    let mut found: Vec<(usize, f64)> = Vec::new();
    for record in &records {
        let mut places: Vec<u32> = record.iter().map(|&i| evidence.extracts[i].span.start).collect();
        places.dedup();
        let counts = count_keys(places.iter().filter_map(|&place| row_of(place)));
        // A single detail page does not show where the list ends, so extracts outside all rows are ignored. And a
        // single text that both pages share may be anything.
        let is_single = evidence.details == 1;
        let all = if is_single { counts.values().sum() } else { places.len() };
        let best = counts.into_iter().max_by_key(|&(row, count)| (count, std::cmp::Reverse(row)));
        let best = best.filter(|&(_, count)| count > 1 || !is_single);
        found.extend(best.map(|(row, count)| (row, count as f64 / all as f64)).filter(|it| it.1 >= MIN_RECORD_SHARE));
    }
    let taken = count_keys(found.iter().map(|&(row, _)| row));
    // A text in the wrong row counts against the rows more than one in the right row counts for them: shifted rows have
    // most texts right.
    let own = found.iter().filter(|(row, _)| taken[row] == 1).map(|(_, share)| share.powi(3));
    own.sum::<f64>() / records.len().max(1) as f64 * (1.0 - EMPTY_ROW_PENALTY * empty_share(taken.keys().copied()))
}

/// Maximum penalty for rows without a record between the first and the last record. It is small, because detail pages
/// may be given for some records only.
const EMPTY_ROW_PENALTY: f64 = 0.25;

/// Share of the rows from the first to the last that are not among these.
fn empty_share(rows: impl Iterator<Item = usize> + Clone) -> f64 {
    let (Some(first), Some(last)) = (rows.clone().min(), rows.clone().max()) else { return 0.0 };
    1.0 - rows.count() as f64 / (last - first + 1) as f64
}
