//! Rows of several formats on one page: once one variant has its rows, their free siblings are tested as rows of the
//! other variants.

use std::collections::HashSet;

use super::fit::{Fit, fit_given_rows, parents_of};
use crate::learn::template::{Template, Variant};
use crate::learn::view::{Limit, MAX_NEIGHBOURS, PageView};
use crate::page::tokens::Span;

/// Minimum quality of a neighbour as a row of another format. As for single nodes found by a scan, the fit is the only
/// evidence.
const MIN_QUALITY: f64 = 0.6;

/// The fits of the other variants that have rows. Their rows do not overlap rows of the best variant and have the same
/// parents. The layout before a redesign is no other format of the list.
pub fn fit_other_variants(template: &Template, view: &PageView<'_>, best: &Fit) -> Vec<Fit> {
    let superseded = template.variants[best.variant].superseded;
    let is_other = |(index, variant): &(usize, &Variant)| *index != best.variant && variant.superseded == superseded;
    let others: Vec<(usize, &Variant)> = template.variants.iter().enumerate().filter(is_other).collect();
    if others.is_empty() || best.rows.is_empty() {
        return Vec::new();
    }
    let mut free = free_neighbours(view, best);
    let mut found = Vec::new();
    for (index, variant) in others {
        if free.is_empty() {
            break;
        }
        let fit = fit_given_rows(variant, index, view, &free, variant.floor.max(MIN_QUALITY));
        let taken: HashSet<Span> = fit.rows.iter().map(|row| row.span).collect();
        free.retain(|span| !taken.contains(span));
        found.extend((!fit.rows.is_empty()).then_some(fit));
    }
    found
}

/// Siblings of the rows that overlap none of them.
fn free_neighbours(view: &PageView<'_>, best: &Fit) -> Vec<Span> {
    let tree = view.tree();
    let parents = parents_of(view, best.rows.iter().map(|row| row.span));
    let rows: Vec<Span> = best.rows.iter().map(|row| row.span).collect();
    let touches = |span: Span| {
        let next = rows.partition_point(|row| row.stop <= span.start);
        rows.get(next).is_some_and(|row| row.start < span.stop)
    };
    let mut known = HashSet::new();
    let items = parents.into_iter().filter(|&parent| known.insert(parent)).flat_map(|parent| view.items(parent));
    let spans = items.filter(|&node| tree.element(node).is_some()).map(|node| view.span(node));
    let mut seen = HashSet::new();
    let free = spans.filter(|&span| view.tokens.weight(span) > 0 && !touches(span) && seen.insert(span));
    let mut free: Vec<Span> = free.take(MAX_NEIGHBOURS + 1).collect();
    if free.len() > MAX_NEIGHBOURS {
        view.record_limit(Some(Limit::Neighbours));
        free.truncate(MAX_NEIGHBOURS);
    }
    free
}

#[cfg(test)]
mod tests {
    use crate::learn::apply::extract;
    use crate::learn::teach::Block;
    use crate::learn::{Help, LearnOptions, Template, learn_with};
    use crate::model::Row;
    use crate::page::Tree;

    const HOTEL: &str = "<li class=hotel><h3>Adler</h3><p>Bern</p><b>95</b></li>";
    const OFFER: &str =
        "<li class=offer><a href=/o1>Spa week</a><ul><li>pool<li>sauna</ul><i>now</i><u>3 left</u></li>";

    /// Hotels on one page, offers on another: one template with two variants.
    fn template() -> Template {
        let pages = [Tree::parse(&format!("<ul>{HOTEL}</ul>")), Tree::parse(&format!("<ul>{OFFER}</ul>"))];
        let enclosed = vec![Block::Css(".hotel".to_owned()), Block::Css(".offer".to_owned())];
        let found = learn_with(&pages, &LearnOptions::default(), &Help { enclosed, ..Help::default() });
        found.expect("both blocks are there").remove(0).template
    }

    /// Asserts that each row has its expected text, and that there are no further rows.
    fn check(page: &str, expected: &[&str]) {
        let rows = extract(&template(), &Tree::parse(page)).table.rows;
        let has = |(row, text): (&Row, &&str)| row.cells.iter().flatten().any(|cell| cell == text);
        assert_eq!(rows.len(), expected.len(), "{rows:?}");
        assert!(rows.iter().zip(expected).all(has), "{rows:?}");
    }

    #[test]
    fn rows_of_two_formats_are_read_in_page_order() {
        let other = HOTEL.replace("Adler", "Ida");
        let page = format!("<ul>{HOTEL}{OFFER}{other}<li class=ad>Buy a car</li></ul>");
        check(&page, &["Adler", "/o1", "Ida"]);
    }

    #[test]
    fn rows_elsewhere_on_the_page_are_not_mixed_in() {
        let other = HOTEL.replace("Adler", "Ida");
        let page = format!("<ul>{HOTEL}{other}</ul><div><ul>{OFFER}</ul></div>");
        check(&page, &["Adler", "Ida"]);
    }
}
