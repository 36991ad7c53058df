use super::super::leaf::text;
use super::*;
use crate::page::{Selector, Tree};

/// Rows by CSS, or by their heads where several siblings make one; the rows' texts after the step.
fn check(html: &str, rows: &str, steps: &[Adjust], expected: &[&str]) {
    let tree = Tree::parse(html);
    let view = View::new(&tree);
    let nodes = Selector::parse(rows).expect("a selector of the table").all(&tree, tree.root());
    let set = of_elements(&view, &nodes);
    let found = match adjusted(&view, &set, steps) {
        Ok((set, _)) => set.rows.iter().map(|&row| text(&view.tokens, row)).collect(),
        Err(step) => vec![format!("not {}", step.done())],
    };
    assert_eq!(found, expected, "{steps:?}");
}

const PAIRS: &str = "<dl><dt>a<dd>1<dd>x<dt>b<dd>2<dd>y<dt>c<dd>3<dd>z</dl>";

#[test]
fn rows_are_widened_to_an_element_of_their_own_and_no_further() {
    let page = "<main><p><i><b>a</b></i> 1</p><p><i><b>b</b></i> 2</p></main>";
    check(page, "b", &[Adjust::Widen], &["a", "b"]);
    check(page, "b", &[Adjust::Widen, Adjust::Widen], &["a 1", "b 2"]);
    check(page, "p", &[Adjust::Widen], &["not widened"]);
}

#[test]
fn siblings_are_taken_in_where_they_are_free() {
    check(PAIRS, "dt", &[Adjust::Widen], &["a 1", "b 2", "c 3"]);
    check(PAIRS, "dt", &[Adjust::Widen, Adjust::Widen], &["a 1 x", "b 2 y", "c 3 z"]);
    check(PAIRS, "dt", &[Adjust::WidenPrevious], &["a", "x b", "y c"]);
    check(PAIRS, "dt", &[Adjust::Widen, Adjust::Widen, Adjust::WidenNext], &["not widened"]);
}

#[test]
fn rows_are_narrowed_from_either_end_and_to_what_they_hold() {
    let wide = [Adjust::WidenNext, Adjust::WidenNext];
    check(PAIRS, "dt", &[&wide[..], &[Adjust::Narrow]].concat(), &["a 1", "b 2", "c 3"]);
    check(PAIRS, "dt", &[&wide[..], &[Adjust::NarrowFirst]].concat(), &["1 x", "2 y", "3 z"]);
    check("<ul><li><p>one</p><i>x</i><li><p>two</p><i>y</i></ul>", "li", &[Adjust::Narrow], &["one", "two"]);
    check("<ul><li>one<li>two</ul>", "li", &[Adjust::Narrow], &["not narrowed"]);
}

#[test]
fn a_rotated_cut_begins_one_item_later_or_earlier() {
    let wide = [Adjust::WidenNext, Adjust::WidenNext];
    check(PAIRS, "dt", &[&wide[..], &[Adjust::Rotate]].concat(), &["1 x b", "2 y c", "3 z"]);
    check(PAIRS, "dt", &[&wide[..], &[Adjust::RotateBack]].concat(), &["a 1", "x b 2", "y c 3"]);
    // The last row cannot know again where it ended.
    check(PAIRS, "dt", &[&wide[..], &[Adjust::Rotate, Adjust::RotateBack]].concat(), &["a 1 x", "b 2 y", "c 3"]);
    check(PAIRS, "dt", &[Adjust::Rotate], &["not rotated"]);
}
