//! Labels on small pages: they select the list, determine its rows and name its columns.

use super::tree::MatchTree;
use super::*;
use crate::learn::apply::visible;
use crate::learn::tests::{shown_rows, taught};
use crate::learn::view::PageView;
use crate::learn::{Help, HelpError};
use crate::page::{NodeId, Tree};

fn labelled(html: &str, labels: &[(&str, &str)]) -> Result<Vec<Candidate>, HelpError> {
    let labels = labels.iter().map(|&(name, text)| ValueLabel::value(name, text)).collect();
    taught(html, &Help { labels, ..Help::default() })
}

fn clicked(html: &str, records: &[&str]) -> Vec<Candidate> {
    let records = records.iter().map(|&it| it.to_owned()).collect();
    taught(html, &Help { records, ..Help::default() }).expect("the texts are on the page")
}

/// The first candidate's visible columns and rows, as `name price: Oak | 95`.
fn check(html: &str, labels: &[(&str, &str)], columns: &str, rows: &[&str]) {
    let found = labelled(html, labels).expect("the values are on the page");
    let first = found.first().expect("a candidate");
    let table = visible(&first.table, &first.template);
    assert_eq!(table.columns.join(" "), columns);
    assert_eq!(shown_rows(first), rows);
}

const SHOP: &str = "<ul class=nav><li><a href=/a>Chairs</a><li><a href=/b>Desks</a><li><a href=/c>Lamps</a></ul>
    <div id=list><div class=p><h3>Oak chair</h3><em>Sale!</em><b>95</b></div>\
    <div class=p><h3>Pine desk</h3><b>240</b></div>
    <div class=p><h3>Elm lamp</h3></div><div class=p><h3>Ash bed</h3><b>700</b></div></div>";

#[test]
fn two_values_name_two_columns_and_hide_the_rest() {
    check(
        SHOP,
        &[("name", "Pine desk"), ("price", "240")],
        "name price",
        &["Oak chair | 95", "Pine desk | 240", "Elm lamp | -", "Ash bed | 700"],
    );
}

#[test]
fn an_optional_field_is_labelled_in_the_record_that_has_it() {
    check(
        SHOP,
        &[("name", "Ash bed"), ("price", "700"), ("name", "Oak chair"), ("badge", "Sale!")],
        "name badge price",
        &["Oak chair | Sale! | 95", "Pine desk | - | 240", "Elm lamp | - | -", "Ash bed | - | 700"],
    );
}

#[test]
fn two_forms_of_a_field_are_a_column_each_under_a_name_each() {
    // The thesis lost the records of the second form. They are rows here, but one name for both forms is not supported
    // yet.
    let page = "<ul><li><i>Oak</i><b>95</b></li><li><i>Elm</i><b>70</b></li><li><i>Ash</i><s>on request</s></li>
        <li><i>Fir</i><b>30</b></li><li><i>Yew</i><s>on request</s></li></ul>";
    let found = labelled(page, &[("name", "Elm"), ("price", "70"), ("name", "Ash"), ("ask", "on request")]);
    let found = found.expect("the values are on the page");
    let table = visible(&found[0].table, &found[0].template);
    assert_eq!(table.columns, ["name", "price", "ask"]);
    assert_eq!(table.rows.len(), 5);
}

#[test]
fn a_link_can_be_labelled() {
    let page = "<ul><li><a href=/1>Oak</a><li><a href=/2>Elm</a><li><a href=/3>Ash</a></ul>";
    check(page, &[("link", "/2"), ("name", "Elm")], "link name", &["/1 | Oak", "/2 | Elm", "/3 | Ash"]);
}

#[test]
fn a_part_of_a_text_can_be_labelled() {
    let page = "<ul><li>Oak (95 EUR)<li>Elm (70 EUR)<li>Ash (60 EUR)</ul>";
    check(page, &[("name", "Elm")], "name", &["Oak", "Elm", "Ash"]);
}

#[test]
fn a_value_that_is_not_there_is_said_so() {
    let error = labelled(SHOP, &[("name", "Pine desk"), ("price", "999")]).expect_err("999 is nowhere");
    assert_eq!(error, HelpError::NotOnPage("999".to_owned()));
    assert!(error.to_string().starts_with("“999” is not on the page"));
}

/// Two lists have similar scores; the clicked records decide.
#[test]
fn two_clicked_records_pick_their_list_though_another_is_longer() {
    let news: String = (1..=9).map(|i| format!("<li><b>News {i}</b><i>Some day {i} in May</i></li>")).collect();
    let page = format!(
        "<ul>{news}</ul><table><tr><td>Oak</td><td>95</td></tr><tr><td>Elm</td><td>70</td></tr>\
         <tr><td>Fir</td><td>30</td></tr></table>"
    );
    assert_eq!(clicked(&page, &["Elm 70", "Fir 30"])[0].table.rows.len(), 3);
    assert_eq!(clicked(&page, &["News 3", "News 7"])[0].table.rows.len(), 9);
}

#[test]
fn each_clicked_record_is_a_row_of_its_own() {
    let page = "<table><tr><td><b>Oak</b><br>95</td><td><b>Elm</b><br>70</td></tr>
        <tr><td><b>Fir</b><br>30</td><td><b>Ash</b><br>60</td></tr>\
        <tr><td><b>Yew</b><br>20</td><td><b>Box</b><br>10</td></tr></table>";
    assert_eq!(clicked(page, &["Oak", "Elm"])[0].table.rows.len(), 6);
}

#[test]
fn a_list_too_small_to_be_offered_is_built_from_the_labelled_paths() {
    // Two short rows on a page of long text: far below the finders' minimum share.
    let prose = "A very long paragraph of words that nobody wants. ".repeat(8);
    let page = format!(
        "<body>{}<div><span><b>Oak</b><i>9</i></span><span><b>Elm</b><i>7</i></span></div></body>",
        format!("<p>{prose}</p><h2>{prose}</h2>").repeat(40)
    );
    check(&page, &[("name", "Elm"), ("price", "7")], "name price", &["Oak | 9", "Elm | 7"]);
}

#[test]
fn a_constant_tells_the_records_from_rows_that_only_look_like_them() {
    // Figure 6.1: “av” is in every book and in no advertisement.
    let book = |title: &str, author: &str| format!("<li><b>{title}</b> <i>av</i> <u>{author}</u></li>");
    let page = format!(
        "<ol>{}</ol><ul>{}{}{}</ul>",
        "<li><b>Buy now</b> <i>from</i> <u>Somebody</u></li>".repeat(5),
        book("Emma", "Austen"),
        book("Ulysses", "Joyce"),
        book("Momo", "Ende")
    );
    let said = |meaning: Meaning, text: &str| ValueLabel { meaning, text: text.to_owned() };
    let labels =
        vec![ValueLabel::value("title", "Ulysses"), said(Meaning::Constant, "av"), said(Meaning::Wildcard, "Joyce")];
    let help = Help { labels, ..Help::default() };
    let found = taught(&page, &help).expect("all of it is there");
    let table = visible(&found[0].table, &found[0].template);
    let titles: Vec<&str> = table.rows.iter().filter_map(|row| row.cells[0].as_deref()).collect();
    assert_eq!((table.columns.join(" ").as_str(), titles), ("title", vec!["Emma", "Ulysses", "Momo"]));
}

/// Figure 5.4 as far as the text describes it: A before each table; B, C and D all in `td`, B in a row of its own (its
/// `colspan` is ignored), C always followed by D.
fn figure_5_4(html: &str, labels: &[&str]) -> String {
    let tree = Tree::parse(html);
    let view = PageView::new(&tree);
    let node = |&wanted: &&str| -> NodeId {
        let mut texts = tree.subtree(tree.root()).filter(|&node| tree.own_text(node) == Some(wanted));
        texts.next().expect("the label is on the page")
    };
    MatchTree::of(&view, &labels.iter().map(node).collect::<Vec<_>>()).to_string()
}

#[test]
fn figure_5_12_the_match_tree_has_a_repeat_in_a_repeat_in_a_repeat() {
    let table = |n: usize| {
        let pair = |i: usize| format!("<tr><td>C{n}{i}</td><td>D{n}{i}</td></tr>");
        let group = |i: usize| format!("<tr><td colspan=2>B{n}{i}</td></tr>{}{}", pair(2 * i), pair(2 * i + 1));
        format!("<h1>A{n}</h1><table>{}{}</table>", group(0), group(1))
    };
    let page = format!("<body>{}{}</body>", table(1), table(2));
    assert_eq!(
        figure_5_4(&page, &["A1", "B10", "C10", "D10"]),
        "body((h1(A) table(tbody((tr(td(B)) (tr(td(C) td(D)))*)*)))*)"
    );
    // Beyond the thesis: the labels are in the last occurrence.
    assert_eq!(
        figure_5_4(&page, &["A2", "B21", "C23", "D23"]),
        "body((h1(A) table(tbody((tr(td(B)) (tr(td(C) td(D)))*)*)))*)"
    );
}

#[test]
fn nested_lists_give_a_row_for_each_round_of_the_innermost_repeat() {
    let page = "<body><h2>North</h2><p>Elm Row</p><p class=r>490</p><p>Mill Lane</p><p class=r>510</p>
        <h2>South</h2><p>Quay</p><p class=r>310</p></body>";
    let tree = Tree::parse(page);
    let view = PageView::new(&tree);
    let text = PageText::new(&view);
    let label = |name: &str, value: &str| (ValueLabel::value(name, value), text.positions(value));
    let instance =
        LabelledRecord { labels: vec![label("where", "South"), label("street", "Quay"), label("rent", "310")] };
    let sets = row_sets(&view, &[instance]);
    let shown: Vec<Vec<String>> = sets
        .iter()
        .map(|set| set.rows.iter().map(|&row| crate::learn::view::text(&view.tokens, row)).collect())
        .collect();
    assert!(
        shown.contains(&vec!["Elm Row 490".to_owned(), "Mill Lane 510".to_owned(), "Quay 310".to_owned()]),
        "{shown:?}"
    );
}

#[test]
fn teasers_of_one_class_at_different_depths_are_one_list() {
    let teaser =
        |name: &str| format!("<article class='teaser {name}'><h3>{name} won</h3><p>more on {name}</p></article>");
    let box_of = |names: &[&str]| names.iter().map(|name| teaser(name)).collect::<String>();
    let page = format!(
        "<div>{}</div><section><div><div>{}</div></div></section><ul><li>{}</li></ul><p>imprint</p>",
        box_of(&["oak", "elm"]),
        box_of(&["ash", "yew", "fir"]),
        box_of(&["bay"])
    );
    assert_eq!(clicked(&page, &["oak won", "yew won"])[0].table.rows.len(), 6);
}
