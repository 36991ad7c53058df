//! Direct fit: examines only elements like the template's root, without computing the row sets of the page.
//!
//! It compares the same groups of these elements as the exhaustive fit: the children of one parent, the cells of one
//! grid, and all of them. If the result is not convincing, it returns `None`, and the exhaustive fit follows.

use std::rc::Rc;

use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};

use super::fitter::{Fitter, MIN_CLASS_ROWS_SHARE, MIN_QUALITY, MIN_SCAN_QUALITY, SCAN_BONUS, shares_class};
use crate::learn::align::{AlignedRow, headings};
use crate::learn::rows::{MIN_COVERAGE, groups_under};
use crate::learn::template::{Finder, RowPart, TemplateElement, Variant};
use crate::learn::view::{Leaf, PageView, count_keys, fingerprint, grouped};
use crate::page::tokens::Span;
use crate::page::{NodeId, Tree};

/// Minimum mean quality of the rows. With this quality no better rows were missed: rows under another tag reach 0.67 at
/// most, since all their paths are new. On the corpus, with the first candidate's template, both fits find the same
/// rows on all 66 pages but one, where the exhaustive fit takes a heading for a record.
const MIN_MEAN_QUALITY: f64 = 0.75;
/// Minimum quality of each row that is not a sibling of the others; below it, the rows must look alike as well. With
/// 0.5, rows of neighbouring lists came in on 15 pages of the corpus.
const MIN_ROW_QUALITY: f64 = 0.7;
const MIN_ROWS: usize = 2;
/// Maximum number of elements that are examined, per learned row. With more, the tag says nothing.
const MAX_ELEMENTS_PER_ROW: usize = 40;

/// An element that fits the template, with its leaves and their columns.
struct FittedElement {
    node: NodeId,
    span: Span,
    quality: f64,
    /// Its weight by the header above it.
    weight: f64,
    leaves: Vec<Leaf>,
    cells: Vec<Option<usize>>,
}

/// The rows and their gain, if they are convincing.
pub(super) fn rows(fitter: &mut Fitter<'_, '_>, variant: &Variant) -> Option<(f64, Vec<AlignedRow>)> {
    let rows = match (variant.finder, variant.parts.as_slice()) {
        (Finder::Siblings | Finder::Grid, [RowPart::Element(root)]) => elements(fitter, variant, root)?,
        (Finder::Groups, [RowPart::Element(head), ..]) => groups(fitter, variant, head)?,
        _ => return None,
    };
    let total: f64 = rows.iter().map(|row| row.quality).sum();
    let convincing = rows.len() >= MIN_ROWS
        // … and the row count is at least about a third of the learned one.
        && rows.len() as f64 >= MIN_CLASS_ROWS_SHARE * f64::from(variant.rows)
        && total >= MIN_MEAN_QUALITY * rows.len() as f64;
    if !convincing {
        return None;
    }
    let gain = total - MIN_QUALITY * rows.len() as f64;
    let spans: Vec<Span> = rows.iter().map(|row| row.span).collect();
    let above = if variant.uses_headings() { headings(fitter.view, &spans) } else { vec![Rc::default(); spans.len()] };
    let lay = |(row, above): (FittedElement, _)| AlignedRow {
        span: row.span,
        leaves: row.leaves,
        cells: row.cells,
        headings: above,
    };
    Some((gain, rows.into_iter().zip(above).map(lay).collect()))
}

/// Rows that are one element each.
fn elements(fitter: &mut Fitter<'_, '_>, variant: &Variant, root: &TemplateElement) -> Option<Vec<FittedElement>> {
    let seen = fitting_elements(fitter, variant, root)?;
    let sure = |chosen: &[usize], least: f64| chosen.iter().all(|&i| seen[i].quality >= least);
    let (mut chosen, least) = choose_list(fitter, variant, root, &seen, GridMatching::ByPath);
    if !sure(&chosen, least) {
        (chosen, _) = choose_list(fitter, variant, root, &seen, GridMatching::ByPathAndLooks);
        if !sure(&chosen, MIN_QUALITY) {
            return None;
        }
    }
    let mut chosen = chosen.into_iter().peekable();
    Some(seen.into_iter().enumerate().filter(|(i, _)| chosen.next_if_eq(i).is_some()).map(|(_, it)| it).collect())
}

/// How elements under several parents are grouped into grids.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GridMatching {
    /// Sufficient if all rows fit well.
    ByPath,
    /// As in the exhaustive fit.
    ByPathAndLooks,
}

/// Number of lists of groups that are read completely, after an estimate for all.
const MAX_READ: usize = 3;

/// Rows of several siblings, under parents with enough children like the first element of a row.
fn groups(fitter: &mut Fitter<'_, '_>, variant: &Variant, head: &TemplateElement) -> Option<Vec<FittedElement>> {
    let view = fitter.view;
    let tree = view.tree();
    let is_head = |node: NodeId| tree.tag(node) == head.tag && resembles_root(tree, head, node);
    let parents = tree.subtree(tree.root()).filter(|&node| is_head(node)).map(|node| tree.parent(node));
    let heads = count_keys(parents.collect::<Option<Vec<NodeId>>>()?);
    let enough = |count: usize| count >= MIN_ROWS && count as f64 >= MIN_CLASS_ROWS_SHARE * f64::from(variant.rows);
    let mut parents: Vec<NodeId> = heads.into_iter().filter(|&(_, count)| enough(count)).map(|(it, _)| it).collect();
    parents.sort_unstable();
    let begins = |row: &Span| is_head(view.first_node(*row));
    // A list whose rows begin elsewhere fits worse and is not read.
    let lists = parents.into_iter().flat_map(|parent| groups_under(&view.restricted_to(parent), parent));
    let lists = lists.filter(|rows| rows.first().is_some_and(begins));
    fitter.read_rows = Some(HashMap::new());
    let mut sets: Vec<(f64, Vec<Span>)> = lists.into_iter().map(|rows| (fitter.estimate_gain(&rows).0, rows)).collect();
    sets.sort_by(|a, b| b.0.total_cmp(&a.0));
    sets.truncate(MAX_READ);
    let gains: Vec<(f64, Vec<Span>)> = sets.iter().map(|(_, rows)| fitter.gain(rows, variant.floor)).collect();
    let (_, best) = gains.into_iter().reduce(|best, it| if it.0 > best.0 { it } else { best })?;
    let mut kept = fitter.read_rows.take()?;
    let read = |span: Span| {
        let (quality, leaves, cells) = kept.remove(&span)?;
        let node = view.first_node(span);
        (quality >= MIN_QUALITY).then_some(FittedElement { node, span, quality, weight: 1.0, leaves, cells })
    };
    best.into_iter().map(read).collect()
}

/// The elements that fit, in page order: those with the root's tag and one of its classes, and those with the tag that
/// are their siblings or have a parent on the same path.
fn fitting_elements(
    fitter: &mut Fitter<'_, '_>,
    variant: &Variant,
    root: &TemplateElement,
) -> Option<Vec<FittedElement>> {
    let tree = fitter.view.tree();
    let most = MAX_ELEMENTS_PER_ROW * (variant.rows as usize).max(10);
    let same_tag = tree.elements(&root.tag);
    let (known, mut others): (Vec<NodeId>, Vec<NodeId>) = same_tag.partition(|&node| resembles_root(tree, root, node));
    // Counted before any is read: with lists nested 50 deep, half of 1.3 s was spent on rows that were then discarded.
    if known.len() > most {
        return None;
    }
    let mut seen: Vec<FittedElement> = Vec::new();
    let mut parents: HashSet<NodeId> = HashSet::new();
    for &node in &known {
        if let Some(it) = fit_element(fitter, node, variant.floor) {
            parents.extend(tree.parent(node));
            seen.push(it);
        }
    }
    let mut ways: HashMap<NodeId, u64> = HashMap::new();
    let mut way = |parent: NodeId| *ways.entry(parent).or_insert_with(|| path_fingerprint(tree, parent));
    let beside: HashSet<u64> = parents.iter().map(|&parent| way(parent)).collect();
    others.retain(|&node| {
        let Some(parent) = tree.parent(node) else { return false };
        parents.contains(&parent) || beside.contains(&way(parent))
    });
    if known.len() + others.len() > most {
        return None;
    }
    seen.extend(others.into_iter().filter_map(|node| fit_element(fitter, node, variant.floor)));
    seen.sort_by_key(|it| it.node);
    Some(seen)
}

fn resembles_root(tree: &Tree, root: &TemplateElement, node: NodeId) -> bool {
    root.classes.is_empty() || shares_class(tree, root, node)
}

fn fit_element(fitter: &mut Fitter<'_, '_>, node: NodeId, floor: f64) -> Option<FittedElement> {
    let span = fitter.view.span(node);
    if fitter.view.tokens.weight(span) == 0 {
        return None;
    }
    let (quality, leaves, cells) = fitter.read(span)?;
    (quality >= floor).then(|| FittedElement { node, span, quality, weight: fitter.header_weight(span), leaves, cells })
}

/// Chooses the list among the elements that fit: the siblings, or the cells under several parents, with the highest
/// gain; or all of them, if that is clearly more.
///
/// Also returns the quality that each row must have to leave no doubt; for siblings it is the normal minimum.
fn choose_list(
    fitter: &Fitter<'_, '_>,
    variant: &Variant,
    root: &TemplateElement,
    seen: &[FittedElement],
    kind: GridMatching,
) -> (Vec<usize>, f64) {
    let tree = fitter.view.tree();
    let page_weight = fitter.view.tokens.weight(fitter.view.tokens.all());
    let is_list = |places: &[usize]| {
        let weight: u32 = places.iter().map(|&i| fitter.view.tokens.weight(seen[i].span)).sum();
        places.len() >= MIN_ROWS && f64::from(weight) >= f64::from(page_weight) * MIN_COVERAGE
    };
    let gain = |places: &[usize]| {
        places.iter().map(|&i| seen[i].weight * (seen[i].quality - MIN_QUALITY).max(0.0)).sum::<f64>()
    };
    let siblings = grouped(seen.iter().map(|it| tree.parent(it.node).unwrap_or(tree.root())).zip(0_usize..));
    let mut cells = grouped(seen.iter().map(|it| path_fingerprint(tree, it.node)).zip(0_usize..));
    if kind == GridMatching::ByPathAndLooks {
        cells = cells.into_iter().flat_map(|places| group_alike(fitter.view, seen, &places)).collect();
    }
    let mut best: (f64, Vec<usize>, f64) = (0.0, Vec::new(), MIN_ROW_QUALITY);
    // If the learned rows were siblings, cells under several parents must gain clearly more.
    let scattered = if variant.finder == Finder::Siblings { 1.0 / SCAN_BONUS } else { 1.0 };
    let siblings = siblings.into_iter().map(|it| (it, MIN_QUALITY, 1.0));
    let one_parent = variant.exclusions.one_parent;
    let cells = if one_parent { Vec::new() } else { cells };
    let lists = siblings.chain(cells.into_iter().map(|it| (it, MIN_ROW_QUALITY, scattered)));
    for (places, least, weight) in lists.filter(|(places, _, _)| is_list(places)) {
        let gain = gain(&places) * weight;
        if gain > best.0 {
            best = (gain, places, least);
        }
    }
    let mut inside = NodeId(0);
    let mut scanned: Vec<usize> = Vec::new();
    for (i, it) in seen.iter().enumerate() {
        if it.node >= inside && it.quality >= variant.floor.max(MIN_SCAN_QUALITY) && shares_class(tree, root, it.node) {
            inside = tree.end(it.node);
            scanned.push(i);
        }
    }
    if !one_parent && gain(&scanned) > best.0 * SCAN_BONUS { (scanned, MIN_ROW_QUALITY) } else { (best.1, best.2) }
}

/// Groups the indices by the cluster of their elements.
fn group_alike(view: &PageView<'_>, seen: &[FittedElement], places: &[usize]) -> Vec<Vec<usize>> {
    let nodes: Vec<NodeId> = places.iter().map(|&i| seen[i].node).collect();
    grouped(view.clusters(&nodes).into_iter().zip(places.iter().copied()))
}

/// Equal for nodes with the same tag path from the root.
fn path_fingerprint(tree: &Tree, node: NodeId) -> u64 {
    std::iter::once(node).chain(tree.ancestors(node)).fold(0, |print: u64, above| {
        print.rotate_left(5).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ fingerprint(tree.tag(above))
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::{Fit, FitCache, fit, fit_directly};
    use super::*;
    use crate::learn::template::Template;
    use crate::learn::tests::{failing_sites, site_pages, template};
    use crate::learn::view::PathInterner;

    fn directly(template: &Template, view: &PageView<'_>) -> Option<Fit> {
        let variant = &template.variants[0];
        fit_directly(variant, 0, view, FitCache::new(variant, PathInterner::default()))
    }

    fn fit_exhaustively(template: &Template, view: &PageView<'_>) -> Option<Fit> {
        let variants: Vec<(usize, &Variant)> = template.variants.iter().enumerate().collect();
        super::super::fit_exhaustively(&variants, view)
    }

    fn spans(rows: &[AlignedRow]) -> Vec<Span> {
        rows.iter().map(|row| row.span).collect()
    }

    /// The values of the rows. Their spans may still differ in parts without leaves.
    fn said(rows: &[AlignedRow]) -> Vec<Vec<&str>> {
        rows.iter().map(|row| row.leaves.iter().map(|leaf| leaf.value.as_str()).collect()).collect()
    }

    fn items(names: &[&str]) -> String {
        let item = |name: &&str| {
            format!("<li class=item><a href=/{name}>{name}</a><i>{} kg</i><p>It is {name}</p></li>", name.len())
        };
        names.iter().map(item).collect()
    }

    fn shop(names: &[&str]) -> Tree {
        Tree::parse(&format!("<ul class=nav><li>Home<li>Shop</ul><h1>Fruit</h1><ul>{}</ul><p>Bye", items(names)))
    }

    #[test]
    fn rows_of_the_same_template_are_found_directly() {
        let template = template(&shop(&["fig", "pear", "apple", "melon"])).expect("the shop has a list");
        let page = shop(&["plum", "cherry", "lime"]);
        let view = PageView::new(&page);
        let direct = directly(&template, &view).expect("the rows leave no doubt");
        let full = fit_exhaustively(&template, &view).expect("the template fits");
        assert_eq!(direct.rows.len(), 3);
        assert_eq!(spans(&direct.rows), spans(&full.rows));
    }

    #[test]
    fn a_page_with_few_of_the_rows_is_looked_at_in_full() {
        let template =
            template(&shop(&["fig", "pear", "apple", "melon", "lemon", "grape"])).expect("the shop has a list");
        let page = shop(&["plum"]);
        assert!(directly(&template, &PageView::new(&page)).is_none());
        let found = fit(&template, &PageView::new(&page)).expect("the template fits");
        assert_eq!(found.rows.len(), 1);
    }

    /// Maximum size of the corpus pages in this test.
    const MAX_BYTES: usize = 400 * 1024;

    /// Maximum number of pages with different rows: on lists of several kinds of rows each fit may find a few more or
    /// fewer (66 pages, today two: the exhaustive fit takes two headings and four links for players, and three films of
    /// a neighbouring list).
    const MAX_APART: usize = 2;

    fn agree(site: &Path) -> bool {
        let pages = site_pages(site, MAX_BYTES);
        let Some(template) = pages[0].as_ref().and_then(template) else { return true };
        let mut agree = true;
        for page in pages.iter().flatten() {
            let view = PageView::new(page);
            if let Some(direct) = directly(&template, &view) {
                let full = fit_exhaustively(&template, &view).expect("what fits directly fits");
                agree &= said(&direct.rows) == said(&full.rows) && (direct.similarity - full.similarity).abs() < 1e-9;
            }
        }
        agree
    }

    #[test]
    fn both_ways_find_the_same_rows_on_the_corpus() {
        let apart = failing_sites(agree);
        assert!(apart.len() <= MAX_APART, "{apart:?}");
    }
}
