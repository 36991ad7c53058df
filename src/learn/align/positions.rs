//! Detects moved values: slots that are distinguished only by their order.
//!
//! Cells with one path are distinguished only by order: `<td>Adair<td>3<td>1`. If the site inserts a cell before them,
//! every value moves into the wrong column, and no tag of the template is missing. For such slots the template stores
//! how many elements a row has at the path, empty ones included, if all rows have the same number.

use super::aligner::AlignedRow;
use crate::learn::template::{SiblingCounts, Slot};
use crate::learn::view::{OpenPath, PathId, PathInterner, count_keys, sample};
use crate::page::tokens::{Span, TokenKind, Tokens};

/// Minimum share of rows with the same number of cells; a heading row in a table is one cell over the whole width.
const MIN_SAME_COUNT_SHARE: f64 = 0.9;

/// A path without and with classes.
type PathPair = (PathId, PathId);

/// How many elements a row has at each of these paths, without and with classes.
fn counts(tokens: &Tokens<'_>, row: Span, ways: &[PathPair], paths: &mut PathInterner) -> Vec<(u32, u32)> {
    let mut counts = vec![(0, 0); ways.len()];
    let mut way = OpenPath::new(tokens, row);
    for token in tokens.slice(row) {
        match token.kind {
            TokenKind::Open => {
                way.enter(tokens.tree, token.node, paths);
                let (path, class) = way.current();
                for (ways, count) in ways.iter().zip(&mut counts) {
                    count.0 += u32::from(ways.0 == path);
                    count.1 += u32::from(ways.1 == class);
                }
            }
            TokenKind::Close => way.leave(),
            TokenKind::Text | TokenKind::Line => {}
        }
    }
    counts
}

/// Records, for slots that share their path with another slot, how many elements every row has there.
pub fn record_sibling_counts(tokens: &Tokens<'_>, slots: &mut [Slot], rows: &[AlignedRow], paths: &mut PathInterner) {
    let ways: Vec<PathPair> = slots.iter().map(|slot| slot_paths(slot, paths)).collect();
    let is_shared =
        |i: usize| (0..slots.len()).any(|j| j != i && slots[j].kind == slots[i].kind && ways[j].0 == ways[i].0);
    let shared: Vec<usize> = (0..slots.len()).filter(|&i| is_shared(i)).collect();
    if shared.is_empty() {
        return;
    }
    let (places, ways) = deduplicated(shared.iter().map(|&i| ways[i]));
    let spans: Vec<Span> = sample(&rows.iter().map(|row| row.span).collect::<Vec<_>>());
    let counts: Vec<Vec<(u32, u32)>> = spans.into_iter().map(|row| counts(tokens, row, &ways, paths)).collect();
    for (i, place) in shared.into_iter().zip(places) {
        // Elements that are not cells may be absent, so all rows must agree.
        let share = if matches!(paths.last(ways[place].0), "td" | "th") { MIN_SAME_COUNT_SHARE } else { 1.0 };
        let elements = common_count(counts.iter().map(|it| it[place].0), share);
        let classed = common_count(counts.iter().map(|it| it[place].1), share);
        slots[i].beside = elements.map(|elements| SiblingCounts { elements, classed });
    }
}

/// The expected positions of a variant's slots.
pub struct SlotPositions {
    /// For each slot that shares its path: expected counts, and the index into `paths`.
    expected: Vec<Option<(SiblingCounts, usize)>>,
    paths: Vec<PathPair>,
}

impl SlotPositions {
    pub fn new(slots: &[Slot], paths: &mut PathInterner) -> SlotPositions {
        let (places, ways) =
            deduplicated(slots.iter().filter(|slot| slot.beside.is_some()).map(|slot| slot_paths(slot, paths)));
        let mut places = places.into_iter();
        let known = slots.iter().map(|slot| Some((slot.beside?, places.next()?))).collect();
        SlotPositions { expected: known, paths: ways }
    }

    /// Is any slot distinguished only by order?
    pub fn is_order_dependent(&self) -> bool {
        !self.paths.is_empty()
    }

    /// The share of a row's values whose path has more or fewer elements than expected.
    pub fn moved_share(
        &self,
        tokens: &Tokens<'_>,
        row: Span,
        cells: &[Option<usize>],
        paths: &mut PathInterner,
    ) -> f64 {
        if !self.is_order_dependent() {
            return 0.0;
        }
        let counts = counts(tokens, row, &self.paths, paths);
        let has_moved = |known: &Option<(SiblingCounts, usize)>| {
            known.is_some_and(|(was, place)| {
                let (now, classed) = counts[place];
                // No element at all means that the value is elsewhere, which other measures detect.
                now > 0 && now != was.elements && was.classed != Some(classed)
            })
        };
        let found = self.expected.iter().zip(cells).filter(|(_, cell)| cell.is_some());
        let (values, moved) =
            found.fold((0_u32, 0_u32), |(all, moved), (known, _)| (all + 1, moved + u32::from(has_moved(known))));
        f64::from(moved) / f64::from(values.max(1))
    }
}

/// The distinct paths, and for each given path its index among them.
fn deduplicated(given: impl Iterator<Item = PathPair>) -> (Vec<usize>, Vec<PathPair>) {
    let mut ways: Vec<PathPair> = Vec::new();
    let places = given.map(|it| {
        ways.iter().position(|way| *way == it).unwrap_or_else(|| {
            ways.push(it);
            ways.len() - 1
        })
    });
    (places.collect(), ways)
}

fn slot_paths(slot: &Slot, paths: &mut PathInterner) -> PathPair {
    let mut first = |list: &[(String, u32)]| list.first().map_or(PathId::TOP, |(path, _)| paths.parse(path));
    (first(&slot.paths), first(&slot.class_paths))
}

/// The commonest count, if at least this share has it.
fn common_count(counts: impl Iterator<Item = u32>, share: f64) -> Option<u32> {
    let seen = count_keys(counts);
    let all: usize = seen.values().sum();
    let (&count, &times) = seen.iter().max_by_key(|(_, times)| **times)?;
    (count > 0 && times as f64 >= share * all as f64).then_some(count)
}

#[cfg(test)]
mod tests {
    use crate::learn::{LearnOptions, apply, learn};
    use crate::model::SimilarityParts;
    use crate::page::Tree;

    fn page(row: impl Fn(usize) -> String) -> Tree {
        Tree::parse(&format!("<table>{}</table>", (1..=8).map(|i| format!("<tr>{}</tr>", row(i))).collect::<String>()))
    }

    fn likeness(before: &Tree, now: &Tree) -> SimilarityParts {
        let template = learn(std::slice::from_ref(before), &LearnOptions::default()).swap_remove(0).template;
        apply::extract(&template, now).likeness
    }

    #[test]
    fn a_cell_more_moves_every_value_and_an_empty_one_moves_none() {
        let counties = page(|i| format!("<td>County {i}</td><td>{}</td><td>{i}</td>", i * 7));
        let deaths_unknown = page(|i| format!("<td>County {i}</td><td>{}</td><td></td>", i * 9));
        assert_eq!(likeness(&counties, &deaths_unknown).places, 1.0, "an empty cell is a cell");
        let one_more = page(|i| format!("<td>County {i}</td><td>{}</td><td>{i}</td><td>{}</td>", i * 7, i * 3));
        let moved = likeness(&counties, &one_more);
        assert!(moved.similarity() < 0.7, "{moved:?}");
    }

    #[test]
    fn values_that_classes_tell_apart_do_not_move() {
        let named = |i: usize| format!("<td><p class=name>House {i}</p><p class=price>{} EUR</p></td>", i * 11);
        let badge = |i: usize| {
            format!("<td><p class=badge>new</p><p class=name>House {i}</p><p class=price>{} EUR</p></td>", i * 11)
        };
        assert_eq!(likeness(&page(named), &page(badge)).places, 1.0);
    }
}
