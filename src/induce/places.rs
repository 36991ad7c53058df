//! Whether the values of a row still stand where they stood.
//!
//! Cells of one path are told apart by their order alone: `<td>Adair<td>3<td>1`. A site that puts one more before them moves
//! every value into the wrong column, and no tag of the template is missing. So of such slots it is kept how many elements a
//! row has at their path, where all rows have as many; empty ones count.

use foldhash::{HashMap, HashMapExt};

use super::columns::LaidRow;
use super::features::sample;
use super::leaf::Way;
use super::paths::{PathId, Paths};
use super::template::{Beside, Slot};
use crate::page::tokens::{Span, TokenKind, Tokens};

/// A number of cells that this share of the rows has is that of all: a heading in a table is one cell over its whole width.
const MOST: f64 = 0.9;

/// How many elements a row has at each path, without and with classes.
struct Counts {
    by_path: HashMap<PathId, u32>,
    by_class: HashMap<PathId, u32>,
}

impl Counts {
    fn of(tokens: &Tokens<'_>, row: Span, paths: &mut Paths) -> Counts {
        let mut counts = Counts { by_path: HashMap::new(), by_class: HashMap::new() };
        let mut way = Way::new(tokens, row);
        for token in tokens.slice(row) {
            match token.kind {
                TokenKind::Open => {
                    way.enter(tokens.tree, token.node, paths);
                    let (path, class) = way.here();
                    *counts.by_path.entry(path).or_default() += 1;
                    *counts.by_class.entry(class).or_default() += 1;
                }
                TokenKind::Close => way.leave(),
                TokenKind::Text | TokenKind::Line => {}
            }
        }
        counts
    }
}

/// Writes down, for slots that share their path with another one, how many elements stand there in every row.
pub fn note(tokens: &Tokens<'_>, slots: &mut [Slot], rows: &[LaidRow], paths: &mut Paths) {
    let ways: Vec<(PathId, PathId)> = slots.iter().map(|slot| way_of(slot, paths)).collect();
    let is_shared =
        |i: usize| (0..slots.len()).any(|j| j != i && slots[j].kind == slots[i].kind && ways[j].0 == ways[i].0);
    let shared: Vec<usize> = (0..slots.len()).filter(|&i| is_shared(i)).collect();
    if shared.is_empty() {
        return;
    }
    let spans: Vec<Span> = sample(&rows.iter().map(|row| row.span).collect::<Vec<_>>());
    let counts: Vec<Counts> = spans.into_iter().map(|row| Counts::of(tokens, row, paths)).collect();
    for i in shared {
        let (path, class) = ways[i];
        // Whatever else a row has may come and go.
        let share = if matches!(paths.last(path), "td" | "th") { MOST } else { 1.0 };
        let elements = common(counts.iter().map(|it| it.by_path.get(&path).copied().unwrap_or(0)), share);
        let classed = common(counts.iter().map(|it| it.by_class.get(&class).copied().unwrap_or(0)), share);
        slots[i].beside = elements.map(|elements| Beside { elements, classed });
    }
}

/// What is known of the places of a variant's slots.
pub struct Places {
    /// Of each slot that shares its path: what stood beside it, and the path without and with classes.
    known: Vec<Option<(Beside, PathId, PathId)>>,
    any: bool,
}

impl Places {
    pub fn new(slots: &[Slot], paths: &mut Paths) -> Places {
        let known: Vec<_> = slots.iter().map(|slot| Some((slot.beside?, way_of(slot, paths)))).collect();
        let known: Vec<_> = known.into_iter().map(|it| it.map(|(was, (path, class))| (was, path, class))).collect();
        Places { any: known.iter().any(Option::is_some), known }
    }

    /// The share of the rows' values that stand where they stood; 1 where nothing is told apart by order.
    pub fn kept(&self, tokens: &Tokens<'_>, rows: &[LaidRow], paths: &mut Paths) -> f64 {
        let looked_at = sample(&rows.iter().collect::<Vec<_>>());
        let moved: f64 = looked_at.iter().map(|row| self.moved(tokens, row.span, &row.cells, paths)).sum();
        1.0 - moved / looked_at.len().max(1) as f64
    }

    /// The share of a row's values that stand among more or fewer than they stood.
    pub fn moved(&self, tokens: &Tokens<'_>, row: Span, cells: &[Option<usize>], paths: &mut Paths) -> f64 {
        if !self.any {
            return 0.0;
        }
        let counts = Counts::of(tokens, row, paths);
        let count = |in_row: &HashMap<PathId, u32>, path| in_row.get(&path).copied().unwrap_or(0);
        let has_moved = |known: &Option<(Beside, PathId, PathId)>| {
            known.is_some_and(|(was, path, class)| {
                let now = count(&counts.by_path, path);
                // None at all is another matter: the value stands elsewhere.
                now > 0 && now != was.elements && was.classed != Some(count(&counts.by_class, class))
            })
        };
        let found = self.known.iter().zip(cells).filter(|(_, cell)| cell.is_some());
        let (values, moved) =
            found.fold((0_u32, 0_u32), |(all, moved), (known, _)| (all + 1, moved + u32::from(has_moved(known))));
        f64::from(moved) / f64::from(values.max(1))
    }
}

fn way_of(slot: &Slot, paths: &mut Paths) -> (PathId, PathId) {
    let mut first = |list: &[(String, u32)]| list.first().map_or(PathId::TOP, |(path, _)| paths.parse(path));
    (first(&slot.paths), first(&slot.class_paths))
}

/// The number that so many of them are.
fn common(counts: impl Iterator<Item = u32>, share: f64) -> Option<u32> {
    let mut seen: HashMap<u32, u32> = HashMap::new();
    for count in counts {
        *seen.entry(count).or_default() += 1;
    }
    let all: u32 = seen.values().sum();
    let (&count, &times) = seen.iter().max_by_key(|(_, times)| **times)?;
    (count > 0 && f64::from(times) >= share * f64::from(all)).then_some(count)
}

#[cfg(test)]
mod tests {
    use crate::extract;
    use crate::induce::{LearnOptions, learn};
    use crate::model::Likeness;
    use crate::page::Tree;

    fn page(row: impl Fn(usize) -> String) -> Tree {
        Tree::parse(&format!("<table>{}</table>", (1..=8).map(|i| format!("<tr>{}</tr>", row(i))).collect::<String>()))
    }

    fn likeness(before: &Tree, now: &Tree) -> Likeness {
        let template = learn(std::slice::from_ref(before), &LearnOptions::default()).swap_remove(0).template;
        extract::extract(&template, now).likeness
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
