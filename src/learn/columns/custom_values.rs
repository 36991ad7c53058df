//! Columns defined by a person: one field with several structures, joined or split columns (OLERA's roll up and drill
//! down), and, as the last resort, a CSS selector or a regular expression.

use regex::Regex;

use crate::learn::align::{Aligner, Profile, align};
use crate::learn::template::{Delimiter, Slot};
use crate::learn::view::{Leaf, LeafKind, PageView, PathId, PathInterner, text};
use crate::page::tokens::{Span, TokenKind};
use crate::page::{NodeId, Selector};

/// Joins the non-empty cells; empty ones add no delimiter.
pub fn join_cells(cells: impl IntoIterator<Item = Option<String>>, with: &str) -> Option<String> {
    let parts: Vec<String> = cells.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(with))
}

/// Splits the values and aligns the pieces: the profile of each column of pieces, and the pieces of each value.
pub fn drill_down_values(values: &[Option<&str>], at: &Delimiter) -> (Vec<Slot>, Vec<Vec<Option<String>>>) {
    let mut paths = PathInterner::default();
    let pieces: Vec<Vec<Leaf>> =
        values.iter().map(|value| value.iter().flat_map(|it| at.pieces(it)).map(leaf).collect()).collect();
    let alignment = align(&pieces, &mut paths);
    let rows: Vec<Vec<Option<String>>> = pieces
        .iter()
        .zip(&alignment.cells)
        .map(|(pieces, cells)| cells.iter().map(|cell| cell.map(|leaf| pieces[leaf].value.clone())).collect())
        .collect();
    (alignment.slots(&pieces, &paths), rows)
}

fn leaf(value: String) -> Leaf {
    Leaf::new(LeafKind::Text, (PathId::TOP, PathId::TOP), value, NodeId(0))
}

/// The piece aligned to the nth column of pieces.
pub fn piece(slots: &[Slot], pieces: &[String], nth: usize) -> Option<String> {
    let mut paths = PathInterner::default();
    let mut aligner = Aligner::new(slots.iter().map(|slot| Profile::from_slot(slot, &mut paths)).collect());
    let leaves: Vec<Leaf> = pieces.iter().cloned().map(leaf).collect();
    let place = aligner.align(&leaves, &mut paths).get(nth).copied().flatten()?;
    Some(pieces[place].clone())
}

/// Text or attribute of the first match in the row. `:scope` is the row, if it is one element.
pub fn by_css(view: &PageView<'_>, row: Span, selector: &Selector, attribute: Option<&str>) -> Option<String> {
    let tree = view.tree();
    let tokens = view.tokens.slice(row);
    let elements = tokens.iter().filter(|token| token.kind == TokenKind::Open).map(|token| token.node);
    let scope = tokens.first().map(|first| first.node).filter(|&first| view.span(first) == row);
    let node = selector.first_of(tree, elements, scope)?;
    let value = match attribute {
        Some(name) => tree.attribute(node, name)?.trim().to_owned(),
        None => text(&view.tokens, view.span(node)),
    };
    (!value.is_empty()).then_some(value)
}

/// The first group that matched, or the whole match.
pub fn by_pattern(pattern: &Regex, text: &str) -> Option<String> {
    let found = pattern.captures(text)?;
    let group = found.iter().skip(1).flatten().next().or_else(|| found.get(0))?;
    let value = group.as_str().trim();
    (!value.is_empty()).then(|| value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drilled(values: &[&str], at: &Delimiter) -> Vec<Vec<Option<String>>> {
        drill_down_values(&values.iter().copied().map(Some).collect::<Vec<_>>(), at).1
    }

    fn shown(rows: &[Vec<Option<String>>]) -> Vec<String> {
        let row = |row: &Vec<Option<String>>| {
            row.iter().map(|cell| cell.as_deref().unwrap_or("-")).collect::<Vec<_>>().join(" | ")
        };
        rows.iter().map(row).collect()
    }

    /// Two values have two parts and one has three; the page counts are aligned.
    #[test]
    fn figure_4_drills_down_at_the_comma() {
        let values = ["Paperback, 1000pp.", "Paperback, 750pp.", "Hardcover, 1st ed., 488pp."];
        assert_eq!(
            shown(&drilled(&values, &Delimiter::Text(",".to_owned()))),
            ["Paperback | - | 1000pp.", "Paperback | - | 750pp.", "Hardcover | 1st ed. | 488pp."]
        );
    }

    #[test]
    fn word_level_parts_a_label_from_its_price() {
        let values = ["Retail Price: $89.99", "Retail Price: $5.10"];
        assert_eq!(shown(&drilled(&values, &Delimiter::Words)), ["Retail | Price: | 89.99", "Retail | Price: | 5.10"]);
    }

    #[test]
    fn roll_up_is_the_way_back() {
        let values = ["Paperback, 1000pp.", "Hardcover, 1st ed., 488pp."];
        let rows = drilled(&values, &Delimiter::Text(",".to_owned()));
        let rolled: Vec<Option<String>> = rows.into_iter().map(|row| join_cells(row, ", ")).collect();
        assert_eq!(rolled, values.map(|value| Some(value.to_owned())));
    }
}
