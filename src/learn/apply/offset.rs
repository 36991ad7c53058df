//! Finds the rows of a token-based template anywhere on a page, and resolves overlaps between them (Shi section 4).
//!
//! Such a template has no element to search for. Its tokens occur in the page in order and at similar distances; the
//! offset measures the difference of the distances.

use super::similarity::{THRESHOLD, TokenPattern};
use crate::learn::rows::without_overlaps;
use crate::learn::sequence::lcs;
use crate::learn::template::Variant;
use crate::learn::view::{Limit, PageView};
use crate::page::tokens::{Span, Tokens};

/// Maximum length of a row in template lengths; optional parts and long fields make it longer.
const MAX_STRETCH: usize = 2;
/// Maximum cells of all LCS tables on one page, some 100 ms. Starts beyond it are not tried and reported as a limit.
const MAX_CELLS: usize = 40_000_000;

/// The offset of a row to its template: over the matched tokens (place in the template, place in the row) the sum of
/// |(Iₙ − Iₙ₀) − (Iₜ − Iₜ₀)| / Lₜ (Shi formula 1).
pub fn offset(pairs: &[(usize, usize)], template_length: usize) -> f64 {
    let Some(&(first_in_template, first_in_row)) = pairs.first() else { return 0.0 };
    let shift = |&(in_template, in_row): &(usize, usize)| {
        (in_row - first_in_row).abs_diff(in_template - first_in_template) as f64 / template_length as f64
    };
    pairs.iter().map(shift).sum()
}

/// Of overlapping rows, drops those with the larger offset. The result is in page order.
pub fn resolve_overlaps(mut rows: Vec<(Span, f64)>) -> Vec<Span> {
    rows.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
    without_overlaps(rows.into_iter().map(|(row, _)| row))
}

/// The spans of the page with at least 0.7 of the template's tokens in order, without overlaps.
pub fn matching_rows(view: &PageView<'_>, variant: &Variant) -> Vec<Span> {
    let tokens = &view.tokens;
    let template = TokenPattern::of_variant(variant);
    let Some(first) = template.first() else { return Vec::new() };
    let window = template.len() * MAX_STRETCH;
    let starts = tokens.list.iter().enumerate().filter(|(_, token)| first.matches(tokens.tree, token));
    let most = MAX_CELLS / (window * template.len());
    let mut rows = Vec::new();
    for (place, (start, _)) in starts.enumerate() {
        if place >= most {
            view.record_limit(Some(Limit::Symbols));
            break;
        }
        rows.extend(row_at(tokens, &template, start, window));
    }
    resolve_overlaps(rows)
}

/// The row that starts here, and its offset. It ends where the F-measure of the tokens shared by template and row is
/// highest.
fn row_at(tokens: &Tokens<'_>, template: &[TokenPattern], start: usize, window: usize) -> Option<(Span, f64)> {
    let page = &tokens.list[start..tokens.list.len().min(start + window)];
    let same = |i: usize, j: usize| template[j].matches(tokens.tree, &page[i]);
    let common = lcs::lengths(page.len(), template.len(), same);
    let shared = |&i: &usize| 2.0 * common[i] as f64 / (template.len() + i + 1) as f64;
    // On ties the shortest.
    let last = (0..page.len()).rev().max_by(|a, b| shared(a).total_cmp(&shared(b)))?;
    if (common[last] as f64) < THRESHOLD * template.len() as f64 {
        return None;
    }
    let pairs = lcs::pairs(template.len(), last + 1, |i, j| same(j, i));
    let row = Span { start: start as u32, stop: (start + last + 1) as u32 };
    Some((row, offset(&pairs, template.len())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::apply::{fit, similarity};
    use crate::learn::template::{Exclusions, Finder, RowPart, TemplateElement, TrainingFit};
    use crate::learn::view::text;
    use crate::learn::{LearnOptions, Method, learn};
    use crate::page::Tree;

    /// Shi's example 3: the template of `<b>INN ON THE LAKE</b></a></td><td align=right>`, the name being a slot.
    const TEMPLATE: [&str; 6] = ["<b>", "{name}", "</b>", "</a>", "</td>", "<td align=right>"];

    fn laid(row: &[&str]) -> Vec<(usize, usize)> {
        lcs::pairs(TEMPLATE.len(), row.len(), |i, j| TEMPLATE[i] == row[j])
    }

    #[test]
    fn the_motel_without_its_link_is_a_third_off_the_template_one_sixth_for_each_shifted_token() {
        let motel = ["<b>", "MOTEL 6 PADUCAH", "</b>", "</td>", "<td align=right>"];
        let pairs = laid(&motel);
        let upto_cell: Vec<(usize, usize)> = pairs.iter().copied().filter(|&(i, _)| TEMPLATE[i] == "</td>").collect();
        let cell_alone = offset(&[pairs[0], upto_cell[0]], TEMPLATE.len());
        assert!((cell_alone - 0.167).abs() < 0.001, "|(73-70)-(4-0)|/6 = {cell_alone}");
        let row = offset(&pairs, TEMPLATE.len());
        assert!((row - 0.333).abs() < 0.001, "{row}");
    }

    fn element(tag: &str, parts: Vec<RowPart>) -> RowPart {
        RowPart::Element(TemplateElement { tag: tag.to_owned(), classes: Vec::new(), attributes: Vec::new(), parts })
    }

    #[test]
    fn seven_tenths_of_the_templates_tokens_make_a_row_and_less_does_not() {
        // li b TEXT /b i TEXT /i br /br /li: ten tokens.
        let fields =
            vec![element("b", vec![RowPart::Slot(0)]), element("i", vec![RowPart::Slot(1)]), element("br", Vec::new())];
        let parts = vec![element("li", fields)];
        let variant = Variant {
            finder: Finder::Cycles,
            rows: 3,
            floor: 0.5,
            own: TrainingFit::default(),
            header: Vec::new(),
            table: Vec::new(),
            repeats: Vec::new(),
            parts,
            slots: Vec::new(),
            sources: Vec::new(),
            rule: None,
            exclusions: Exclusions::default(),
            superseded: false,
        };
        let tree = Tree::parse("<ul><li><b>1</b><i>2</i><br></li><li><b>3</b><br></li><li>4<br></li></ul>");
        let tokens = Tokens::new(&tree);
        let items: Vec<Span> = tree.elements("li").map(|it| tokens.span(it)).collect();
        let similarity: Vec<f64> = items.iter().map(|&it| similarity::of_rows(&tokens, &variant, &[it])).collect();
        assert_eq!(similarity, [1.0, 0.7, 0.5]);
        assert_eq!(matching_rows(&PageView::new(&tree), &variant), items[..2]);
        let mean = similarity::of_rows(&tokens, &variant, &items);
        assert!((mean - 2.2 / 3.0).abs() < 1e-9, "similarity is the mean over the rows: {mean}");
    }

    #[test]
    fn rows_that_are_no_elements_are_found_again_on_the_next_page() {
        let page = |names: &[&str]| {
            let lines: String = names.iter().map(|it| format!("<b>{it}</b><i>{}</i><br>", it.len() * 7)).collect();
            Tree::parse(&format!("<h1>Codes</h1>{lines}<p>That was all.</p>"))
        };
        let first = page(&["Congo", "Egypt", "Belize", "Spain", "Fiji", "Chad"]);
        let options = LearnOptions { method: Method::Repeats, ..LearnOptions::default() };
        let template = learn(&[first], &options).remove(0).template;
        let second = page(&["Norway", "Peru"]);
        let view = PageView::new(&second);
        let fit = fit::fit(&template, &view).expect("a fit");
        let texts: Vec<String> = fit.rows.iter().map(|row| text(&view.tokens, row.span)).collect();
        assert_eq!(texts, ["Norway42", "Peru28"]);
    }

    #[test]
    fn a_row_like_its_template_has_no_offset() {
        let inn = ["<b>", "AIRPORT HOTEL HALIFAX", "</b>", "</a>", "</td>", "<td align=right>"];
        assert_eq!(offset(&laid(&inn), TEMPLATE.len()), 0.0);
        assert_eq!(offset(&[], 6), 0.0);
    }

    #[test]
    fn of_two_rows_on_the_same_part_of_the_page_the_one_with_the_larger_offset_goes() {
        let span = |start, stop| Span { start, stop };
        let rows = vec![(span(0, 5), 0.333), (span(4, 10), 0.0), (span(10, 15), 0.167), (span(12, 20), 0.5)];
        assert_eq!(resolve_overlaps(rows), [span(4, 10), span(10, 15)]);
        assert_eq!(resolve_overlaps(Vec::new()), []);
    }
}
