//! Finds values encoded in class names: `<p class="star-rating Three">`.

use foldhash::{HashSet, HashSetExt};

use crate::learn::template::Recipe;
use crate::learn::view::{PageView, PathId, PathInterner, count_keys, elements_in, grouped};
use crate::page::NodeId;
use crate::page::tokens::Span;

/// Maximum share of distinct classes among the elements: beyond it, the classes are generated names.
const MAX_DISTINCT: f64 = 0.7;
/// Maximum elements examined per row.
const MAX_ELEMENTS: usize = 120;
/// Maximum columns from classes.
const MAX_CLASS_COLUMNS: usize = 8;
/// Classes that describe the position or state of a row, not its content.
const POSITION_CLASSES: [&str; 10] = ["odd", "even", "alt", "first", "last", "row", "active", "hover", "left", "right"];

/// Recipes for elements with one class that differs from row to row.
pub fn find(view: &PageView<'_>, rows: &[Span], paths: &mut PathInterner) -> Vec<Recipe> {
    let found: Vec<ClassedElements> = rows.iter().map(|&row| elements(view, row, paths)).collect();
    let by_place = grouped(found.into_iter().flatten().map(|(place, node)| (place, (place, node))));
    let coded = by_place.into_iter().filter_map(|elements| {
        let (places, nodes): (Vec<(PathId, u32)>, Vec<NodeId>) = elements.into_iter().unzip();
        let shared = shared_classes(view, &nodes, rows.len())?;
        Some((paths.path_text(places[0].0), places[0].1, shared))
    });
    let recipe = |(path, nth, shared): (String, u32, Vec<String>)| {
        let whole = (!shared.is_empty()).then(|| Recipe::Class { path: path.clone(), nth, without: Vec::new() });
        std::iter::once(Recipe::Class { path, nth, without: shared }).chain(whole)
    };
    coded.flat_map(recipe).take(MAX_CLASS_COLUMNS).collect()
}

/// The classes of the element without those that all rows share.
pub fn value(
    view: &PageView<'_>,
    elements: &ClassedElements,
    path: PathId,
    nth: u32,
    without: &[String],
) -> Option<String> {
    let &(_, node) = elements.iter().find(|&&(place, _)| place == (path, nth))?;
    let own = view.tree().classes(node).filter(|class| !without.iter().any(|it| it == class));
    let own: Vec<&str> = own.collect();
    (!own.is_empty()).then(|| own.join(" "))
}

/// The classes that all these elements share, if the rest is a value: one class, from a small recurring set.
fn shared_classes(view: &PageView<'_>, nodes: &[NodeId], rows: usize) -> Option<Vec<String>> {
    let tree = view.tree();
    let counts = count_keys(nodes.iter().flat_map(|&node| tree.classes(node)));
    let is_shared = |class: &str| counts[class] == nodes.len();
    let mut values: HashSet<&str> = HashSet::new();
    let mut coded = 0;
    for &node in nodes {
        let own: Vec<&str> = tree.classes(node).filter(|class| !is_shared(class)).collect();
        match own[..] {
            [] => {}
            [class] if !POSITION_CLASSES.contains(&class) => {
                values.insert(class);
                coded += 1;
            }
            _ => return None,
        }
    }
    let few = values.len() >= 2 && values.len() as f64 <= MAX_DISTINCT * nodes.len() as f64;
    let most = nodes.len() * 2 >= rows && coded * 2 >= nodes.len();
    let shared = nodes.first().map(|&node| tree.classes(node).filter(|class| is_shared(class)));
    (few && most).then(|| shared.into_iter().flatten().map(str::to_owned).collect())
}

/// Elements of a row: tag path, ordinal among elements with this path, and the element.
pub type ClassedElements = Vec<((PathId, u32), NodeId)>;

/// The row's elements that have classes.
pub fn elements(view: &PageView<'_>, row: Span, paths: &mut PathInterner) -> ClassedElements {
    let has_class = |node: NodeId| view.tree().classes(node).next().is_some();
    let found =
        elements_in(&view.tokens, row, paths, |way| way.current().0, has_class, |found| found.len() >= MAX_ELEMENTS);
    found.into_iter().map(|(path, nth, node)| ((path, nth), node)).collect()
}

#[cfg(test)]
mod tests {
    use crate::learn::tests::first;

    #[test]
    fn a_rating_that_stands_in_a_class_is_a_column() {
        let stars = ["One", "Three", "Five", "Three", "One", "Five", "One"];
        let rows: String = stars
            .iter()
            .enumerate()
            .map(|(i, star)| format!("<li class=odd{i}><b>Book {i}</b><p class='star-rating {star}'>rated</p></li>"))
            .collect();
        let first = first(&format!("<ul>{rows}</ul>"));
        let column = |wanted: &[&str]| {
            let is_it = |j: &usize| {
                first.table.rows.iter().map(|row| row.cells[*j].as_deref()).eq(wanted.iter().map(|&it| Some(it)))
            };
            (0..first.table.columns.len()).find(is_it)
        };
        assert!(column(&stars).is_some(), "{:?}", first.table);
        assert!(column(&stars.map(|star| format!("star-rating {star}")).each_ref().map(String::as_str)).is_some());
    }
}
