//! Enclosing a block on small pages: one block is enough.

use super::matching::tests::{B1, B2, B3};
use super::*;
use crate::learn::apply::extract;
use crate::learn::teach::Block;
use crate::learn::tests::{shown_rows, taught};
use crate::learn::{Candidate, Help, LearnOptions, learn_with};
use crate::page::Tree;

fn enclosed(html: &str, blocks: &[Block]) -> Vec<Candidate> {
    let help = Help { enclosed: blocks.to_vec(), ..Help::default() };
    taught(html, &help).expect("the block is on the page")
}

fn text(words: &str) -> Block {
    Block::Text(words.to_owned())
}

fn rows(candidates: &[Candidate]) -> Vec<String> {
    shown_rows(candidates.first().expect("at least one candidate"))
}

#[test]
fn figure_5_one_enclosed_block_finds_the_three_books() {
    let page = format!("<table><tr>{B1}<tr>{B2}<tr>{B3}</table>");
    let found = enclosed(&page, &[text("The Java Maid by John Brooks List price: $21.45")]);
    let table = &found[0].table;
    assert_eq!(table.rows.len(), 3);
    // Figure 6d: “List price:” is aligned with “List price:”, not with “Buy now:”.
    let column_of =
        |row: usize, text: &str| table.rows[row].cells.iter().position(|cell| cell.as_deref() == Some(text));
    assert!(column_of(0, "List price:").is_some());
    assert_eq!(column_of(0, "List price:"), column_of(1, "List price:"));
    assert_eq!(column_of(0, "$21.45"), column_of(1, "$59.99"));
    assert_eq!(column_of(0, "John Brooks"), column_of(2, "Dave Wall"));
}

const FLATS: &str = "<body><h1>Flats</h1><div class=menu><p>Home<p>Search<p>Contact</div>
    <dl><dt>Elm Row 3</dt><dd>2 rooms</dd><dd>490</dd><dt>Mill Lane 9</dt><dd>3 rooms</dd>
    <dt>Quay 1</dt><dd>1 room</dd><dd>310</dd><dt>Hill Street 77</dt><dd>4 rooms</dd><dd>820</dd></dl></body>";

#[test]
fn a_block_of_several_siblings_is_found_again_with_a_part_missing() {
    let found = enclosed(FLATS, &[text("Elm Row 3 2 rooms 490")]);
    assert_eq!(
        rows(&found),
        [
            "Elm Row 3 | 2 rooms | 490",
            "Mill Lane 9 | 3 rooms | -",
            "Quay 1 | 1 room | 310",
            "Hill Street 77 | 4 rooms | 820"
        ]
    );
}

#[test]
fn a_text_within_the_block_is_enough() {
    let found = enclosed(FLATS, &[text("Quay 1")]);
    assert_eq!(rows(&found).len(), 4);
}

#[test]
fn a_block_can_be_enclosed_by_css() {
    let page = "<ul class=nav><li>a<li>b<li>c<li>d<li>e<li>f</ul>
        <div class=x><p class=job><b>Cook</b> <i>Kiel</i></p><p class=job><b>Baker</b> <i>Bonn</i></p></div>";
    let found = enclosed(page, &[Block::Css("p.job".to_owned())]);
    assert_eq!(rows(&found), ["Cook | Kiel", "Baker | Bonn"]);
}

#[test]
fn a_block_can_be_enclosed_by_its_nodes() {
    let tree =
        Tree::parse("<p>x</p><h3>Cook</h3><p>Kiel</p><hr><h3>Baker</h3><p>Bonn</p><hr><h3>Tailor</h3><p>Ulm</p>");
    let (first, last) = (tree.elements("h3").next(), tree.elements("p").nth(1));
    let block = Block::Nodes(first.expect("a heading"), last.expect("a paragraph"));
    let help = Help { enclosed: vec![block], ..Help::default() };
    let found = learn_with(&[tree], &LearnOptions::default(), &help).expect("the nodes are there");
    assert_eq!(rows(&found), ["Cook | Kiel", "Baker | Bonn", "Tailor | Ulm"]);
}

#[test]
fn a_page_with_a_single_record_gives_one_row_and_a_template_for_the_next_page() {
    let page = |name: &str, price: &str| {
        format!(
            "<div class=top><a href=/>Shop</a></div><div class=sheet><h1>{name}</h1><p>Price</p><b>{price}</b>\
             <p>Stock</p><b>3</b></div>"
        )
    };
    let found = enclosed(&page("Oak chair", "95"), &[Block::Css(".sheet".to_owned())]);
    assert_eq!(rows(&found), ["Oak chair | Price | 95 | Stock | 3"]);
    let next = extract(&found[0].template, &Tree::parse(&page("Pine desk", "240")));
    assert_eq!(next.table.rows.len(), 1);
    assert_eq!(next.table.rows[0].cells[0].as_deref(), Some("Pine desk"));
}

/// The form of the paper's figure 3: records of labelled lines, one of them without a source.
const LISTING: &str = "<pre>\nIDENTIFIERS\n\nClone Id: 45 (5')\nSource: NCI\nDNA type: cDNA\nPolyA Tail: Unknown\n\n\
    Clone Id: TAT1A1 (5')\nDNA type: cDNA\nPolyA Tail: Unknown\n\n\
    Clone Id: IMAGE:1325797 (3')\nSource: NCI\nDNA type: mRNA\nPolyA Tail: Unknown\n</pre>";

#[test]
fn plain_text_is_matched_line_by_line() {
    let found = enclosed(LISTING, &[text("Clone Id: 45 (5') Source: NCI DNA type: cDNA PolyA Tail: Unknown")]);
    let firsts: Vec<&str> = found[0].table.rows.iter().map(|row| row.cells[0].as_deref().unwrap_or("-")).collect();
    assert_eq!(firsts, ["Clone Id: 45 (5')", "Clone Id: TAT1A1 (5')", "Clone Id: IMAGE:1325797 (3')"]);
}

#[test]
fn several_blocks_take_in_several_formats() {
    let page = "<div><p class=a><b>Oak</b> <i>95</i> <u>new</u></p><p class=a><b>Pine</b> <i>40</i> <u>new</u></p>\
        <table class=b><tr><td>Elm</td><td><img src=1.png></td><td>70</td><td>2 left</td></tr></table>\
        <p class=a><b>Ash</b> <i>60</i> <u>new</u></p>\
        <table class=b><tr><td>Fir</td><td><img src=2.png></td><td>30</td><td>9 left</td></tr></table></div>";
    let one = enclosed(page, &[text("Oak 95 new")]);
    assert_eq!(one[0].table.rows.len(), 3);
    let both = enclosed(page, &[text("Oak 95 new"), text("Elm 70 2 left")]);
    assert_eq!(both[0].table.rows.len(), 5, "{:?}", rows(&both));
}

#[test]
fn matching_is_linear_in_the_page() {
    let item = |i: usize| format!("<li><a href=/{i}>Item {i}</a> <b>{i} EUR</b> <span>in stock</span></li>");
    let page: String = (0..6_000).map(item).collect();
    let tree = Tree::parse(&format!("<ul>{page}</ul>"));
    let view = PageView::new(&tree);
    assert!(view.tokens.list.len() >= 60_000);
    let first = tree.elements("li").next().expect("an item");
    let sets = row_sets(&view, &[view.span(first)], THRESHOLD);
    assert_eq!(sets[0].rows.len(), 6_000);
}
