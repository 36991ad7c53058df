//! Builds the tree with html5ever's tree builder, within limits on depth, nodes and attributes.

mod capped_builder;
mod character_references;
mod html_tokenizer;
mod name_arena;
mod sink;

use capped_builder::CappedTreeBuilder;
use html_tokenizer::tokenize;
use memchr::memchr2;
use name_arena::NameArena;

use super::parse_limit::ParseLimit;
use super::tree::Tree;

pub(super) fn parse(html: &str) -> Tree {
    let names = NameArena::default();
    let guard = CappedTreeBuilder::new(&names, html.len());
    let report = if memchr2(b'\r', b'\0', html.as_bytes()).is_some() {
        // Browsers drop NUL characters from texts; attributes are treated the same way here.
        tokenize(&html.replace("\r\n", "\n").replace('\r', "\n").replace('\0', ""), &guard)
    } else {
        tokenize(html, &guard)
    };
    if !report.kept_all_attributes {
        guard.limit.set(guard.limit.get().or(Some(ParseLimit::TooManyAttributes)));
    }
    Tree { ending: report.ending, ..guard.tree() }
}

#[cfg(test)]
mod tests;
