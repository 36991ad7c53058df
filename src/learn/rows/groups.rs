//! Several siblings per record: a repeated symbol is the head, and a row runs from one head to the next.

use foldhash::{HashMap, HashMapExt, HashSet};

use super::row_set::RowSetCollector;
use super::siblings::Items;
use crate::learn::template::Finder;
use crate::learn::view::{PageView, count_keys, grouped};
use crate::page::NodeId;
use crate::page::text::collapse;
use crate::page::tokens::{Span, TokenKind};

/// Minimum mean gap between heads. Closer ones are single siblings, which `siblings` finds (docs/design/learning.md
/// 2.2).
const MIN_GAP: f64 = 1.5;
/// Symbols tried as heads under one parent.
const MAX_HEADS: usize = 32;
/// Maximum length of a label (“Name:”), a short text that is repeated under the same parent.
const MAX_LABEL: usize = 30;
const MIN_LABELS: usize = 3;

pub fn find(view: &PageView<'_>, items: &Items, found: &mut RowSetCollector<'_, '_>) {
    let spans: Vec<Span> = items.nodes.iter().map(|&node| view.span(node)).collect();
    let symbols: Vec<(u32, u64)> =
        items.nodes.iter().zip(&items.clusters).map(|(&node, &cluster)| (view.tag(node) * 32 + cluster, 0)).collect();
    by_heads(&spans, &symbols, Finder::Groups, found);
    let labels = labels(view, items);
    if labels.iter().any(|&label| label != 0) {
        let labelled: Vec<(u32, u64)> = symbols.iter().zip(&labels).map(|(&(symbol, _), &it)| (symbol, it)).collect();
        by_heads(&spans, &labelled, Finder::Groups, found);
    }
}

/// Tries each repeated symbol as the head of the records.
pub fn by_heads(spans: &[Span], symbols: &[(u32, u64)], finder: Finder, found: &mut RowSetCollector<'_, '_>) {
    let mut heads = grouped(symbols.iter().copied().zip(0_usize..));
    heads.retain(|places| places.len() >= 2);
    heads.sort_by_key(|places| (std::cmp::Reverse(places.len()), places[0]));
    for heads in heads.into_iter().take(MAX_HEADS) {
        let gap = (heads[heads.len() - 1] - heads[0]) as f64 / (heads.len() - 1) as f64;
        if gap < MIN_GAP {
            continue;
        }
        let (last_stop, missing) = last_row(&heads, symbols);
        let rotation = (items_before_first(&heads, symbols) / gap).min(1.0) + missing;
        let row = |first: usize, stop: usize| Span { start: spans[first].start, stop: spans[stop - 1].stop };
        let stops = heads[1..].iter().copied().chain([last_stop]);
        found.add(finder, heads.iter().zip(stops).map(|(&first, stop)| row(first, stop)), rotation);
    }
}

/// The end of the last row, which no further head marks. The row continues while its items occur in other rows, at most
/// to the length of the longest. If most rows are equal and the last one starts like them, it ends like them.
///
/// Also returns the share of the most frequent row that the last one lacks.
fn last_row(heads: &[usize], symbols: &[(u32, u64)]) -> (usize, f64) {
    let last = heads[heads.len() - 1];
    let segments: Vec<&[(u32, u64)]> = heads.windows(2).map(|pair| &symbols[pair[0]..pair[1]]).collect();
    let alphabet: HashSet<(u32, u64)> = segments.iter().flat_map(|segment| segment.iter().copied()).collect();
    let longest = segments.iter().map(|segment| segment.len()).max().unwrap_or(1);
    let tail = &symbols[last..];
    let mut length = tail.iter().take(longest).take_while(|symbol| alphabet.contains(symbol)).count().max(1);
    let counts = count_keys(segments.iter().copied());
    let commonest = segments
        .iter()
        .copied()
        .max_by_key(|segment| (counts[segment], std::cmp::Reverse(segment.len())))
        .unwrap_or(&symbols[last..=last]);
    if counts.get(commonest).is_some_and(|&count| count * 2 > segments.len()) && tail.starts_with(commonest) {
        length = commonest.len();
    }
    let missing = 1.0 - (length as f64 / commonest.len().max(1) as f64).min(1.0);
    (last + length, missing)
}

/// How many items directly before the first head occur inside rows as well.
fn items_before_first(heads: &[usize], symbols: &[(u32, u64)]) -> f64 {
    let alphabet: HashSet<(u32, u64)> = symbols[heads[0]..heads[heads.len() - 1]].iter().copied().collect();
    symbols[..heads[0]].iter().rev().take_while(|symbol| alphabet.contains(symbol)).count() as f64
}

/// The fingerprint of each item's label, or 0.
fn labels(view: &PageView<'_>, items: &Items) -> Vec<u64> {
    let texts: Vec<Vec<(u64, u32)>> = items.nodes.iter().map(|&node| first_texts(view, node)).collect();
    let counts = count_keys(texts.iter().flatten().map(|&(print, _)| print));
    let mut is_label: HashMap<u64, bool> = HashMap::new();
    texts
        .iter()
        .map(|own| {
            let label = own.iter().find(|&&(print, token)| {
                counts[&print] >= MIN_LABELS && *is_label.entry(print).or_insert_with(|| reads_as_label(view, token))
            });
            label.map_or(0, |&(print, _)| print)
        })
        .collect()
}

/// Fingerprint and token index of the first two texts.
fn first_texts(view: &PageView<'_>, node: NodeId) -> Vec<(u64, u32)> {
    let span = view.span(node);
    let texts = (span.start..span.stop).filter(|&i| view.tokens.list[i as usize].kind == TokenKind::Text);
    texts.take(2).map(|i| (view.tokens.fingerprint(i), i)).collect()
}

fn reads_as_label(view: &PageView<'_>, token: u32) -> bool {
    let text = collapse(view.tokens.raw(&view.tokens.list[token as usize]));
    text.chars().any(char::is_alphabetic) && text.chars().count() <= MAX_LABEL
}
