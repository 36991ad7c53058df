use super::*;
use crate::page::Tree;

/// Rows by CSS, or by their heads if a row has several siblings; expects the texts of the rows after the steps.
fn check(html: &str, rows: &str, steps: &[RowAdjustment], expected: &[&str]) {
    let tree = Tree::parse(html);
    let view = PageView::new(&tree);
    let nodes = Selector::parse(rows).expect("a selector of the table").all(&tree, tree.root());
    let set = row_set_of(&view, &nodes);
    let found = match apply_adjustments(&view, &set, steps) {
        Ok((set, _)) => set.rows.iter().map(|&row| text(&view.tokens, row)).collect(),
        Err(step) => vec![format!("not {}", step.past_participle())],
    };
    assert_eq!(found, expected, "{steps:?}");
}

const PAIRS: &str = "<dl><dt>a<dd>1<dd>x<dt>b<dd>2<dd>y<dt>c<dd>3<dd>z</dl>";

#[test]
fn rows_are_widened_to_an_element_of_their_own_and_no_further() {
    let page = "<main><p><i><b>a</b></i> 1</p><p><i><b>b</b></i> 2</p></main>";
    check(page, "b", &[RowAdjustment::Widen], &["a", "b"]);
    check(page, "b", &[RowAdjustment::Widen, RowAdjustment::Widen], &["a 1", "b 2"]);
    check(page, "p", &[RowAdjustment::Widen], &["not widened"]);
}

#[test]
fn siblings_are_taken_in_where_they_are_free() {
    check(PAIRS, "dt", &[RowAdjustment::Widen], &["a 1", "b 2", "c 3"]);
    check(PAIRS, "dt", &[RowAdjustment::Widen, RowAdjustment::Widen], &["a 1 x", "b 2 y", "c 3 z"]);
    check(PAIRS, "dt", &[RowAdjustment::WidenPrevious], &["a", "x b", "y c"]);
    check(PAIRS, "dt", &[RowAdjustment::Widen, RowAdjustment::Widen, RowAdjustment::WidenNext], &["not widened"]);
}

#[test]
fn rows_are_narrowed_from_either_end_and_to_what_they_hold() {
    let wide = [RowAdjustment::WidenNext, RowAdjustment::WidenNext];
    check(PAIRS, "dt", &[&wide[..], &[RowAdjustment::Narrow]].concat(), &["a 1", "b 2", "c 3"]);
    check(PAIRS, "dt", &[&wide[..], &[RowAdjustment::NarrowFirst]].concat(), &["1 x", "2 y", "3 z"]);
    check("<ul><li><p>one</p><i>x</i><li><p>two</p><i>y</i></ul>", "li", &[RowAdjustment::Narrow], &["one", "two"]);
    check("<ul><li>one<li>two</ul>", "li", &[RowAdjustment::Narrow], &["not narrowed"]);
}

#[test]
fn a_rotated_cut_begins_one_item_later_or_earlier() {
    let wide = [RowAdjustment::WidenNext, RowAdjustment::WidenNext];
    check(PAIRS, "dt", &[&wide[..], &[RowAdjustment::Rotate]].concat(), &["1 x b", "2 y c", "3 z"]);
    check(PAIRS, "dt", &[&wide[..], &[RowAdjustment::RotateBack]].concat(), &["a 1", "x b 2", "y c 3"]);
    // Rotating forward loses the end of the last row.
    check(
        PAIRS,
        "dt",
        &[&wide[..], &[RowAdjustment::Rotate, RowAdjustment::RotateBack]].concat(),
        &["a 1 x", "b 2 y", "c 3"],
    );
    check(PAIRS, "dt", &[RowAdjustment::Rotate], &["not rotated"]);
}
