//! Tests of the two token-based finders with hostile pages.

use proptest::prelude::*;

use super::{cycles, repeats};
use crate::learn::candidates::{rank_tree_row_sets, with_token_row_sets};
use crate::learn::rank::RankedRowSet;
use crate::learn::view::PageView;
use crate::learn::{LearnOptions, Method, learn};
use crate::page::Tree;

/// Rows of the best set of each method. A test that takes too long is reported as hung by the test runner.
fn best(html: &str) -> (usize, usize) {
    let tree = Tree::parse(html);
    let view = PageView::new(&tree);
    let rows = |sets: Vec<super::RowSet>| sets.first().map_or(0, |set| set.rows.len());
    (rows(cycles::find(&view, None)), rows(repeats::find(&view)))
}

#[test]
fn an_empty_page_and_a_page_of_one_token_have_no_rows() {
    for html in ["", "word", "<br>", "<p>"] {
        assert_eq!(best(html), (0, 0), "{html:?}");
    }
}

#[test]
fn a_periodic_page_of_sixty_thousand_tokens_ends() {
    let html = format!("<ul>{}</ul>", "<li><b>a</b><i>b</i></li>".repeat(7_500));
    let (_, repeats) = best(&html);
    assert_eq!(repeats, 7_500);
}

#[test]
fn a_page_of_one_tag_repeated_two_hundred_thousand_times_ends() {
    assert_eq!(best(&"<br>".repeat(200_000)), (0, 0));
}

#[test]
fn a_page_of_nested_periods_ends() {
    // Fibonacci words have as many different repeats as a page can have.
    let (mut a, mut b) = ("<p>x</p>".to_owned(), "<p>x</p><hr>".to_owned());
    while b.len() < 200_000 {
        (a, b) = (b.clone(), b + &a);
    }
    best(&b);
}

#[test]
fn auto_asks_the_readers_of_tokens_only_where_the_tree_shows_no_list() {
    let html: String = (0..8).map(|i| format!("<li><b>Name {i}</b><i>{i}.50</i></li>")).collect();
    let tree = Tree::parse(&format!("<ul>{html}</ul>"));
    let view = PageView::new(&tree);
    let by_tokens = |ranked: &[RankedRowSet]| ranked.iter().filter(|it| it.set.finder.is_token_based()).count();
    let listed = with_token_row_sets(&view, rank_tree_row_sets(&view, Method::Auto));
    assert_eq!(by_tokens(&listed), 0);
    let unlisted = with_token_row_sets(&view, Vec::new());
    assert!(by_tokens(&unlisted) > 0);
    assert!(listed[0].score > unlisted[0].score + 1.0, "and pays for it");
}

proptest! {
    #[test]
    fn token_soup_gives_rows_or_none_but_never_a_panic(
        parts in proptest::collection::vec(
            prop::sample::select(vec![
                "<li>", "</li>", "<td>", "<tr>", "<table>", "</table>", "<b>", "</b>", "<br>", "<p class=x>", "<pre>",
                "</pre>",
                "word", "a: b", "\n", "1,200.50", "<img src=1>", "<a href=2>", "</a>", "<script>", "</script>", "|",
            ]),
            0..160,
        ),
    ) {
        let page = [Tree::parse(&parts.concat())];
        for method in [Method::Cycles, Method::Repeats, Method::Auto] {
            for candidate in learn(&page, &LearnOptions { method, ..LearnOptions::default() }) {
                prop_assert!(candidate.table.rows.len() >= 2);
            }
        }
    }
}

#[test]
fn teasers_of_one_class_in_unlike_places_are_one_row_set() {
    let teaser = |name: &str| format!("<div class=teaser><h3>{name}</h3><p>what it says of {name}</p></div>");
    let html = format!(
        "<main>{}<section>{}</section><section><div>{}{}</div></section></main>",
        teaser("one"),
        teaser("two"),
        teaser("three"),
        teaser("four")
    );
    let tree = Tree::parse(&html);
    let view = PageView::new(&tree);
    let teasers: Vec<_> = tree
        .elements("div")
        .filter(|&node| tree.classes(node).any(|class| class == "teaser"))
        .map(|node| view.span(node))
        .collect();
    assert!(super::row_sets(&view).iter().any(|set| set.rows == teasers));
}

#[test]
fn a_list_is_told_from_a_menu_of_the_same_tags_by_what_is_named_above() {
    let list = |words: [&str; 2]| words.map(|word| format!("<ul><li><a>{word} x</a><li><a>{word} y</a></ul>")).concat();
    let html = format!("<div id=menu>{}</div><div id=list>{}</div>", list(["go", "see"]), list(["case", "court"]));
    let tree = Tree::parse(&html);
    let view = PageView::new(&tree);
    let cases: Vec<_> = tree.elements("li").skip(4).map(|node| view.span(node)).collect();
    assert!(super::row_sets(&view).iter().any(|set| set.rows == cases));
}
