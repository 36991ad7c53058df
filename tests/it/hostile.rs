//! Hostile pages: nothing panics, and every limit that is reached is named. `cargo bench --bench hostile` measures
//! their cost.

mod pages;
mod mixed;

use pages::{Hostile, PAGES};
use pieme::learn::apply::extract;
use pieme::learn::{LearnOptions, Method, learn};
use pieme::page::encode::{EncodedPage, MAX_SYMBOLS, TagEncoding};
use pieme::page::parse_limit::{MAX_ATTRIBUTES, MAX_DEPTH, MIN_NODE_LIMIT, ParseLimit};
use pieme::page::{Tokens, Tree, charset};

/// The promise is for 1 MB, which `cargo bench --bench hostile` reads. Without optimisation that takes a minute or two
/// of CPU time; the smaller pages here reach every limit except those on nodes and symbols.
const PARSED_SIZE: usize = 100_000;
const LEARNED_SIZE: usize = 6_000;

fn tree(bytes: &[u8]) -> Tree {
    Tree::parse(&charset::decode(bytes, None).text)
}

fn named(name: &str, size: usize) -> Tree {
    let page = PAGES.iter().find(|it| it.name == name).expect("the page is in the list");
    tree(&(page.make)(size))
}

/// Every `of`-th page of the list, so that the tests share the work.
fn share(part: usize, of: usize) -> impl Iterator<Item = &'static Hostile> {
    PAGES.iter().chain(mixed::PAGES).skip(part).step_by(of)
}

fn stays_within_its_caps(page: &Hostile) {
    let tree = tree(&(page.make)(PARSED_SIZE));
    // One token may open several elements: implied ones, and formatting elements again.
    assert!(tree.len() <= MIN_NODE_LIMIT + 10_000, "{}: {} nodes", page.name, tree.len());
    let mut depths = vec![0_u32; tree.len()];
    for node in tree.subtree(tree.root()).skip(1) {
        let parent = tree.parent(node).expect("every node but the first has a parent");
        depths[node.index()] = depths[parent.index()] + 1;
        let attributes = tree.element(node).map_or(0, |it| it.attributes().len());
        assert!(attributes <= MAX_ATTRIBUTES, "{}: {attributes} attributes", page.name);
    }
    let deepest = depths.into_iter().max().unwrap_or(0);
    assert!(deepest <= MAX_DEPTH + 10, "{}: {deepest} deep", page.name);
    let tokens = Tokens::new(&tree);
    for encoding in [TagEncoding::Block, TagEncoding::Chunks] {
        let symbols = EncodedPage::new(&tokens, encoding).symbols.len();
        assert!(symbols <= MAX_SYMBOLS + 1, "{}: {symbols} symbols", page.name);
    }
}

fn is_learned_and_read(page: &Hostile) {
    let pages = [tree(&(page.make)(LEARNED_SIZE))];
    let other = tree(&(page.make)(LEARNED_SIZE / 3));
    for method in [Method::Auto, Method::Cycles, Method::Repeats] {
        let found = learn(&pages, &LearnOptions { method, top: 2, ..LearnOptions::default() });
        for candidate in found {
            assert!(candidate.score.is_finite(), "{}: {}", page.name, candidate.score);
            let read = extract(&candidate.template, &other);
            assert!((0.0..=1.0).contains(&read.similarity), "{}: {}", page.name, read.similarity);
        }
    }
}

macro_rules! shared_tests {
    ($check:ident of $of:literal: $($name:ident $part:literal),*) => {
        $(#[test] fn $name() { share($part, $of).for_each($check); })*
    };
}

shared_tests!(stays_within_its_caps of 4:
    a_hostile_page_stays_within_its_caps_first_quarter 0,
    a_hostile_page_stays_within_its_caps_second_quarter 1,
    a_hostile_page_stays_within_its_caps_third_quarter 2,
    a_hostile_page_stays_within_its_caps_last_quarter 3);

shared_tests!(is_learned_and_read of 8:
    a_hostile_page_is_learned_and_read_without_a_panic_first_eighth 0,
    a_hostile_page_is_learned_and_read_without_a_panic_second_eighth 1,
    a_hostile_page_is_learned_and_read_without_a_panic_third_eighth 2,
    a_hostile_page_is_learned_and_read_without_a_panic_fourth_eighth 3,
    a_hostile_page_is_learned_and_read_without_a_panic_fifth_eighth 4,
    a_hostile_page_is_learned_and_read_without_a_panic_sixth_eighth 5,
    a_hostile_page_is_learned_and_read_without_a_panic_seventh_eighth 6,
    a_hostile_page_is_learned_and_read_without_a_panic_last_eighth 7);

#[test]
fn the_cap_that_a_page_reached_is_named() {
    for (name, cut) in [
        ("nested div", Some(ParseLimit::TooDeep(MAX_DEPTH))),
        ("unclosed nobr and code", Some(ParseLimit::TooDeep(MAX_DEPTH))),
        ("tables in tables", Some(ParseLimit::TooDeep(MAX_DEPTH))),
        ("one tag, many attributes", Some(ParseLimit::TooManyAttributes)),
        ("body tags, new attributes", Some(ParseLimit::TooManyAttributes)),
        ("attributes of 1 MB", None),
        ("items with text", None),
        ("json, objects", None),
    ] {
        assert_eq!(named(name, PARSED_SIZE).limit, cut, "{name}");
    }
}

#[test]
fn bytes_that_are_no_text_are_read_as_something_and_are_no_list() {
    for name in ["random bytes", "nul bytes", "bytes 0xff", "utf-16 with mark"] {
        let found = learn(&[named(name, LEARNED_SIZE)], &LearnOptions::default());
        assert!(!found.first().is_some_and(pieme::learn::is_plausible), "{name}");
    }
}
