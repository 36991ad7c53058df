//! Lines of a `<pre>`: all lines, lines of one kind, and records of several lines.

use super::groups::by_heads;
use super::row_set::RowSetCollector;
use crate::learn::template::Finder;
use crate::learn::view::{PageView, grouped};
use crate::page::tokens::{Span, TokenKind};

pub fn find(view: &PageView<'_>, found: &mut RowSetCollector<'_, '_>) {
    let lines: Vec<Span> = listing_lines(view).into_iter().filter(|&line| view.tokens.weight(line) > 0).collect();
    if lines.len() < 2 {
        return;
    }
    let kinds: Vec<u32> = lines.iter().map(|&line| kind(view, line)).collect();
    found.add(Finder::Lines, lines.iter().copied(), 0.0);
    let by_kind = grouped(kinds.iter().copied().zip(lines.iter().copied()));
    let by_digit = grouped(lines.iter().map(|&line| (starts_with_digit(view, line), line)));
    for group in by_kind.into_iter().chain(by_digit) {
        found.add(Finder::Lines, group, 0.0);
    }
    let symbols: Vec<(u32, u64)> = kinds.iter().map(|&kind| (kind, 0)).collect();
    by_heads(&lines, &symbols, Finder::Lines, found);
}

/// The lines of all `<pre>` elements of the page, as spans of tokens.
pub fn listing_lines(view: &PageView<'_>) -> Vec<Span> {
    let tree = view.tree();
    let mut lines = Vec::new();
    for node in tree.subtree(tree.root()) {
        let outermost = || !tree.ancestors(node).any(|it| tree.tag(it) == "pre");
        if tree.tag(node) != "pre" || !outermost() {
            continue;
        }
        let span = view.span(node);
        if span.start == span.stop {
            continue;
        }
        let mut start = span.start + 1;
        for i in span.start + 1..span.stop - 1 {
            if view.tokens.list[i as usize].kind == TokenKind::Line {
                lines.push(Span { start, stop: i });
                start = i + 1;
            }
        }
        lines.push(Span { start, stop: span.stop - 1 });
    }
    lines
}

/// A hash of the line's tags and texts in order, and of the kind of its first character (space, digit, other).
fn kind(view: &PageView<'_>, line: Span) -> u32 {
    let mut kind: u32 = 17;
    for token in view.tokens.slice(line) {
        let part = match token.kind {
            TokenKind::Open => view.tag(token.node) * 2 + 3,
            TokenKind::Text => 1,
            TokenKind::Close | TokenKind::Line => 2,
        };
        kind = kind.wrapping_mul(1_000_003).wrapping_add(part);
    }
    let first = first_char(view, line);
    let class =
        if first.is_some_and(char::is_whitespace) { 1 } else { u32::from(first.is_some_and(char::is_numeric)) * 2 };
    kind.wrapping_mul(5).wrapping_add(class)
}

fn first_char(view: &PageView<'_>, line: Span) -> Option<char> {
    let first = view.tokens.slice(line).iter().find(|token| token.kind == TokenKind::Text)?;
    view.tokens.raw(first).chars().next()
}

fn starts_with_digit(view: &PageView<'_>, line: Span) -> bool {
    let first = view.tokens.slice(line).iter().find(|token| token.kind == TokenKind::Text);
    first.is_some_and(|token| view.tokens.raw(token).trim_start().starts_with(|c: char| c.is_ascii_digit()))
}
