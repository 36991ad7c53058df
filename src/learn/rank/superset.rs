//! Promotes a candidate that contains the best one plus a few atypical records, which are often first or last.

use super::atypical;
use super::features::Meter;
use super::outlier_rows;
use super::row_slots::PathPrecision;
use super::score::RankedRowSet;
use super::select::overlap;
use crate::learn::view::PageView;
use crate::page::tokens::{Span, TokenKind, Tokens};

/// Maximum score loss of a superset that is still preferred.
const MAX_SCORE_LOSS: f64 = 0.35;

/// Maximum loss of compactness: a superset may include neighbours, but nothing elsewhere on the page.
const MAX_COMPACTNESS_LOSS: f64 = 0.02;

/// Moves a superset to the front if it has all rows of the best list, at most half as many again, no outliers, and
/// nearly the same score.
pub fn promote(view: &PageView<'_>, meter: &mut Meter<'_, '_>, ranked: &mut Vec<RankedRowSet>) {
    let Some(best) = ranked.first() else { return };
    let mut fullest = 0;
    for (i, it) in ranked.iter().enumerate().skip(1).take_while(|(_, it)| it.score >= best.score - MAX_SCORE_LOSS) {
        let is_fuller = it.set.rows.len() > ranked[fullest].set.rows.len()
            && it.features.compact >= best.features.compact - MAX_COMPACTNESS_LOSS
            && is_subset(&view.tokens, &best.set.rows, &it.set.rows)
            && it.set.rows.len() * 2 <= best.set.rows.len() * 3
            && atypical::are_related(view, &best.set.rows, &it.set.rows)
            && all_rows_informative(view, &best.set.rows, &it.set.rows)
            && has_no_outliers(view, meter, &it.set.rows);
        if is_fuller {
            fullest = i;
        }
    }
    let mut it = ranked.remove(fullest);
    it.score = it.score.max(ranked.first().map_or(f64::NEG_INFINITY, |next| next.score));
    ranked.insert(0, it);
}

fn has_no_outliers(view: &PageView<'_>, meter: &mut Meter<'_, '_>, rows: &[Span]) -> bool {
    let sameness = meter.row_sameness(rows, PathPrecision::Whole);
    !outlier_rows::find_outliers(view, rows, &sameness).contains(&true)
}

/// Does every row of the superset have enough texts: three, half of the median, or the minimum of the best list? A
/// total (“6 departures”) is as similar as an atypical record, but has fewer texts. A row with the common contents
/// passes too.
fn all_rows_informative(view: &PageView<'_>, best: &[Span], fuller: &[Span]) -> bool {
    let texts = |&row: &Span| view.tokens.slice(row).iter().filter(|token| token.kind == TokenKind::Text).count();
    let mut counts: Vec<usize> = fuller.iter().map(texts).collect();
    counts.sort_unstable();
    let poorest = best.iter().map(texts).min().unwrap_or(0);
    let enough = poorest.min(counts[counts.len() / 2].div_ceil(2)).min(3);
    if counts[0] >= enough {
        return true;
    }
    let shown = atypical::common_contents(view, best);
    let shows_it = |row: &Span| shown.is_some_and(|shown| atypical::content_flags(view, *row) & shown == shown);
    fuller.iter().all(|row| texts(row) >= enough || shows_it(row))
}

/// Are all rows of `few` rows of `many`?
fn is_subset(tokens: &Tokens<'_>, few: &[Span], many: &[Span]) -> bool {
    let shared = overlap(tokens, few, many) * (few.len() + many.len()) as f64 / 2.0;
    shared + 0.5 >= few.len() as f64
}

#[cfg(test)]
mod tests {
    use crate::learn::tests::first;

    fn check(html: &str, expected: usize) {
        assert_eq!(first(html).table.rows.len(), expected);
    }

    #[test]
    fn what_is_pinned_above_the_threads_under_the_same_titles_is_of_the_list() {
        let line = |i: usize| format!("<tr><td><a href=/t{i}>Thread number {i}</a><td>author{i}<td>{i}00</tr>");
        let table = |lines: std::ops::Range<usize>| {
            format!("<table><tr><th>Topic<th>Author<th>Views</tr>{}</table>", lines.map(line).collect::<String>())
        };
        check(&format!("<body>{}<p>All threads</p>{}", table(0..2), table(2..14)), 14);
    }

    #[test]
    fn a_record_that_says_less_but_shows_as_much_is_of_the_list() {
        let offer = |i: usize| {
            let rest = if i == 3 {
                String::new()
            } else {
                format!("<p>Brand {i}</p><p>{i} reviews</p><b>{i}.50</b><i>in stock</i>")
            };
            format!("<li class=offer><img src=/{i}.png><h3><a href=/{i}>Lamp number {i}</a></h3>{rest}</li>")
        };
        check(&format!("<body><ul>{}</ul>", (0..10).map(offer).collect::<String>()), 10);
    }
}
