//! Learns which rows a template must leave out, so that it reads the page that it was learned from as it was learned.

use std::collections::{BTreeMap, BTreeSet};

use crate::learn::apply::exclusions::{features, features_of, first_text};
use crate::learn::apply::{Extraction, extract};
use crate::learn::template::{Exclusions, Template};
use crate::learn::view::PageView;
use crate::page::tokens::Span;
use crate::page::{NodeId, Tree};

/// Maximum texts and elements of a variant. More neighbours that are no records are a list of their own.
const MAX_TEXTS: usize = 4;
const MAX_ELEMENTS: usize = 8;

/// The template with the exclusions by which it reads these rows on its own page, and no others; unchanged if none
/// brings it closer to them.
pub fn with_exclusions(template: &Template, page: &Tree, rows: &[Span]) -> Template {
    let is_simple = |template: &Template| {
        template.variants.iter().filter(|it| !it.superseded).count() == 1 && template.variants[0].rule.is_none()
    };
    if !is_simple(template) || rows.is_empty() {
        return template.clone();
    }
    let Extraction { row_spans: found, moved_columns, .. } = extract(template, page);
    // Then the spans are those of the rearranged page.
    if moved_columns.is_some() {
        return template.clone();
    }
    let view = PageView::new(page);
    let extra: Vec<Span> = found.iter().copied().filter(|span| !overlaps(rows, *span)).collect();
    if extra.is_empty() {
        return template.clone();
    }
    let mut excluding = template.clone();
    excluding.variants[0].exclusions = exclusions(&view, rows, &extra);
    let read = extract(&excluding, page).row_spans;
    if distance(&read, rows) < distance(&found, rows) { excluding } else { template.clone() }
}

/// Number of rows that only one of the two has. Both are in page order.
fn distance(one: &[Span], other: &[Span]) -> usize {
    let (one, other): (BTreeSet<&Span>, BTreeSet<&Span>) = (one.iter().collect(), other.iter().collect());
    one.symmetric_difference(&other).count()
}

/// Whether the span overlaps one of the rows, which are in page order.
fn overlaps(rows: &[Span], span: Span) -> bool {
    let next = rows.partition_point(|row| row.stop <= span.start);
    rows.get(next).is_some_and(|row| row.start < span.stop)
}

fn exclusions(view: &PageView<'_>, rows: &[Span], extra: &[Span]) -> Exclusions {
    let tree = view.tree();
    let parent = |row: &Span| tree.parent(view.first_node(*row));
    let parents: BTreeSet<Option<NodeId>> = rows.iter().map(parent).collect();
    let (beside, elsewhere): (Vec<Span>, Vec<Span>) = extra.iter().partition(|row| parents.contains(&parent(row)));
    let mut texts = first_texts(view, &beside);
    let known: BTreeSet<String> = first_texts(view, rows).into_iter().collect();
    texts.retain(|text| !known.contains(text));
    texts.sort();
    texts.dedup();
    let are_texts_enough = beside.len() <= MAX_TEXTS && texts.len() == beside.len();
    let mut open = elsewhere;
    if !are_texts_enough {
        texts.clear();
        open.extend(beside);
    }
    let (elements, rest) = separating_elements(view, rows, open);
    let one_parent = parents.len() == 1 && rest.iter().any(|row| !parents.contains(&parent(row)));
    Exclusions { texts, elements, one_parent }
}

/// Elements in or under which these rows stand and no row of the list does, and the rows for which there is none.
fn separating_elements(view: &PageView<'_>, rows: &[Span], mut open: Vec<Span>) -> (Vec<String>, Vec<Span>) {
    if open.is_empty() {
        return (Vec::new(), open);
    }
    let mut known: BTreeSet<String> = BTreeSet::new();
    let mut seen: BTreeSet<NodeId> = BTreeSet::new();
    for &row in rows {
        let node = view.first_node(row);
        known.extend(features_of(view.tree(), node));
        for above in view.tree().ancestors(node).take_while(|above| seen.insert(*above)) {
            known.extend(features_of(view.tree(), above));
        }
    }
    let own = |row: &Span| -> BTreeSet<String> {
        features(view.tree(), view.first_node(*row)).filter(|it| !known.contains(it)).collect()
    };
    let mut found: Vec<String> = Vec::new();
    while !open.is_empty() && found.len() < MAX_ELEMENTS {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        open.iter().flat_map(&own).for_each(|feature| *counts.entry(feature).or_default() += 1);
        // The element with most of the rows; of equals the first by name.
        let Some((best, _)) = counts.into_iter().rev().max_by_key(|(_, count)| *count) else { break };
        open.retain(|row| !own(row).contains(&best));
        found.push(best);
    }
    (found, open)
}

/// The first text of each row that has one.
fn first_texts(view: &PageView<'_>, rows: &[Span]) -> Vec<String> {
    rows.iter().filter_map(|&row| first_text(view, row)).collect()
}
