//! A CSS selector on the first line, a page behind it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pieme::page::{Selector, Tree};

fuzz_target!(|text: &str| {
    let (css, page) = text.split_once('\n').unwrap_or((text, "<ul id=x><li class='a b'>1<li title=t>2</ul>"));
    let Ok(selector) = Selector::parse(css) else { return };
    let tree = Tree::parse(page);
    let all = selector.all(&tree, tree.root());
    assert_eq!(all.first().copied(), selector.first(&tree, tree.root()));
    assert!(all.iter().all(|&node| selector.matches(&tree, node)));
});
