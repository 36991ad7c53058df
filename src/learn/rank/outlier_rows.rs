//! Finds outlier rows among records: titles, pagers, totals.

use super::atypical::{atypical_rows, unrelated_rows};
use crate::learn::view::{PageView, count_keys};
use crate::page::tokens::{Span, TokenKind};

/// Maximum similarity with the rows' core for a row to be an outlier.
const MAX_OUTLIER_SAMENESS: f64 = 0.1;

/// Maximum similarity of a repeated row (a pager above and below, titles in each section), relative to the mean, for it
/// to be an outlier. A repeated record is as similar as the other records.
const MAX_REPEATED_SAMENESS: f64 = 0.6;

/// Minimum share of table rows with the same number of cells, for the others to be outliers.
const SAME_CELLS_SHARE: f64 = 0.75;

/// For each row: is it an outlier? `sameness` is its similarity with the rows' core. A row with the classes and
/// contents of a record is an atypical record, however low its similarity.
pub fn find_outliers(view: &PageView<'_>, rows: &[Span], sameness: &[f64]) -> Vec<bool> {
    let mean = sameness.iter().sum::<f64>() / sameness.len().max(1) as f64;
    let prints: Vec<u64> = rows.iter().map(|&row| row_fingerprint(view, row)).collect();
    let counts = count_keys(prints.iter().copied());
    let misfits = table_outliers(view, rows);
    let unlike: Vec<bool> = sameness.iter().map(|&sameness| sameness <= MAX_OUTLIER_SAMENESS).collect();
    let special = if unlike.contains(&true) { atypical_rows(view, rows, &unlike) } else { vec![false; rows.len()] };
    let strangers = unrelated_rows(view, rows, sameness);
    (0..rows.len())
        .map(|i| {
            let repeated = counts[&prints[i]] > 1 && sameness[i] <= MAX_REPEATED_SAMENESS * mean;
            unlike[i] && !special[i] || repeated || misfits[i] || strangers[i]
        })
        .collect()
}

fn row_fingerprint(view: &PageView<'_>, row: Span) -> u64 {
    let prints = (row.start..row.stop).map(|i| view.tokens.fingerprint(i)).filter(|&print| print != 0);
    prints.fold(0, |all, print| all.rotate_left(7) ^ print)
}

/// Table rows with fewer cells than nearly all others (a month above its cases, a pager, a total), header rows, and
/// totals.
fn table_outliers(view: &PageView<'_>, rows: &[Span]) -> Vec<bool> {
    let tree = view.tree();
    let cells: Vec<Option<(usize, usize)>> = rows.iter().map(|&row| cells(view, row)).collect();
    let counts = count_keys(cells.iter().flatten().map(|(data, titles)| data + titles));
    let Some((&usual, &count)) = counts.iter().max_by_key(|&(&cells, &count)| (count, cells)) else {
        return vec![false; rows.len()];
    };
    if (count as f64) < SAME_CELLS_SHARE * rows.len() as f64 || usual < 2 {
        return vec![false; rows.len()];
    }
    let titled = cells.iter().flatten().filter(|(data, _)| *data == 0).count();
    let last = rows.len() - 1;
    let of_row = |(i, cells): (usize, &Option<(usize, usize)>)| {
        cells.is_some_and(|(data, titles)| data + titles < usual || data == 0 && titled * 4 <= rows.len())
            || (i == last && tree.tag(view.first_node(rows[i])) == "tr" && is_total(view, rows[i]))
    };
    cells.iter().enumerate().map(of_row).collect()
}

/// Number of data and header cells of a row that is one `<tr>`.
fn cells(view: &PageView<'_>, row: Span) -> Option<(usize, usize)> {
    let tree = view.tree();
    let node = view.root(row).filter(|&node| tree.tag(node) == "tr")?;
    let count = |tag: &str| tree.children(node).filter(|&cell| tree.tag(cell) == tag).count();
    Some((count("td"), count("th")))
}

/// First words of a total row, in several languages.
const TOTAL_WORDS: [&str; 9] = ["total", "gesamt", "summe", "insgesamt", "итого", "всего", "totaal", "razem", "celkem"];

fn is_total(view: &PageView<'_>, row: Span) -> bool {
    let first = view.tokens.slice(row).iter().find(|token| token.kind == TokenKind::Text);
    let text = first.map_or("", |token| view.tokens.raw(token).trim()).to_lowercase();
    TOTAL_WORDS.iter().any(|word| text.starts_with(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::rank::features::Meter;
    use crate::learn::rank::row_slots::PathPrecision;
    use crate::page::Tree;

    /// First words of the outliers among all elements of the tag.
    fn check(html: &str, tag: &str, expected: &[&str]) {
        let tree = Tree::parse(html);
        let view = PageView::new(&tree);
        let rows: Vec<Span> = tree.elements(tag).map(|node| view.span(node)).collect();
        let sameness = Meter::new(&view).row_sameness(&rows, PathPrecision::LastTwo);
        let odd = find_outliers(&view, &rows, &sameness);
        let words = rows.iter().zip(odd).filter(|(_, odd)| *odd).map(|(&row, _)| {
            let text = view.tokens.slice(row).iter().find(|token| token.kind == TokenKind::Text);
            text.map_or("", |token| view.tokens.raw(token))
        });
        assert_eq!(words.collect::<Vec<_>>(), expected);
    }

    fn cases() -> String {
        (1..9).map(|i| format!("<tr><td>{i} May</td><td><a>Case {i}</a></td><td>{i}00</td></tr>")).collect()
    }

    #[test]
    fn titles_months_and_totals_of_a_table_are_odd() {
        let html = format!(
            "<table><tr><th>Date</th><th>Name</th><th>Fee</th></tr><tr><td colspan=3>May</td></tr>{}\
             <tr><td>Total</td><td><a>8 cases</a></td><td>3600</td></tr></table>",
            cases()
        );
        check(&html, "tr", &["Date", "May", "Total"]);
    }

    #[test]
    fn a_record_named_total_in_the_middle_is_none() {
        let html = format!("<table>{}<tr><td>Total<td><a>War</a><td>9</tr>{}</table>", cases(), cases());
        check(&html, "tr", &[]);
    }

    #[test]
    fn a_pager_above_and_below_is_odd_and_a_record_that_stands_there_twice_is_not() {
        let item = |name: &str| format!("<li><h3><a>{name}</a></h3><p>of wood</p><p>in stock</p></li>");
        let pager = "<li><p>1</p><b>2</b><i>3</i><u>4</u></li>";
        let items: String = ["chair", "lamp", "lamp", "sofa", "table", "bed", "desk", "shelf"].map(item).concat();
        check(&format!("<ul>{pager}{items}{pager}</ul>"), "li", &["1", "1"]);
    }
}
