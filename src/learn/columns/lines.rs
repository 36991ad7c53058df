//! The lines of a row, and the labels at their start.

use std::borrow::Cow;
use std::sync::LazyLock;

use foldhash::HashSet;

use crate::learn::view::{PageView, grouped, sample, text_borrowed, word_set};
use crate::page::tokens::{Span, TokenKind};

/// Maximum lines of a row or element.
const MAX_LINES: usize = 60;
const MAX_LABEL: usize = 30;
/// Minimum share of the rows with the label.
const MIN_LABELLED: f64 = 0.2;
const MAX_LABELS: usize = 24;

/// The lines of a span, separated by `<br>`, line ends in `<pre>` and, if `blocks`, block elements.
pub fn lines(view: &PageView<'_>, span: Span, blocks: bool) -> Vec<Span> {
    let mut lines = Vec::new();
    let mut start = span.start;
    for (i, token) in (span.start..span.stop).zip(view.tokens.slice(span)) {
        let tag = view.tree().tag(token.node);
        let parts = match token.kind {
            TokenKind::Line => !continues(view, i + 1, span.stop),
            TokenKind::Open => tag == "br" || blocks && BLOCKS.contains(tag),
            TokenKind::Close => blocks && BLOCKS.contains(tag),
            TokenKind::Text => false,
        };
        if parts {
            lines.push(Span { start, stop: i });
            start = i + 1;
        }
        if lines.len() > MAX_LINES {
            break;
        }
    }
    lines.push(Span { start, stop: span.stop });
    lines.retain(|&line| line.start < line.stop && view.tokens.weight(line) > 0);
    lines.truncate(MAX_LINES);
    lines
}

/// In a listing, an indented line continues the previous one.
fn continues(view: &PageView<'_>, next: u32, stop: u32) -> bool {
    next < stop && {
        let token = &view.tokens.list[next as usize];
        token.kind == TokenKind::Text && view.tokens.raw(token).starts_with([' ', '\t'])
    }
}

static BLOCKS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    word_set(
        "p div li ul ol dl dt dd table tbody tr td th h1 h2 h3 h4 h5 h6 section article header footer blockquote pre \
         hr",
    )
});

/// The labels that lines of these rows begin with: “Published:”.
pub fn labels(view: &PageView<'_>, rows: &[Span]) -> Vec<String> {
    let rows = sample(rows);
    let labels = rows.iter().flat_map(|&row| {
        let mut own: Vec<String> =
            lines(view, row, true).into_iter().filter_map(|line| label(&text_borrowed(&view.tokens, line))).collect();
        own.sort_unstable();
        own.dedup();
        own
    });
    let mut groups = grouped(labels.map(|label| (label.clone(), label)));
    groups.retain(|group| group.len() >= 3 && group.len() as f64 >= MIN_LABELLED * rows.len() as f64);
    groups.truncate(MAX_LABELS);
    groups.into_iter().filter_map(|mut group| group.pop()).collect()
}

fn label(line: &str) -> Option<String> {
    let (label, _) = line.split_once(':')?;
    let short = label.chars().count() <= MAX_LABEL && label.chars().any(char::is_alphabetic);
    // `http:` and `5:38` are not labels.
    let parts = line[label.len() + 1..].chars().next().is_none_or(char::is_whitespace);
    (short && parts).then(|| label.to_owned())
}

/// The value after the label: on its line, or on the next if that is empty.
pub fn value_after_label(lines: &[Cow<'_, str>], label: &str) -> Option<String> {
    for (i, line) in lines.iter().enumerate() {
        let Some(rest) = line.strip_prefix(label).and_then(|rest| rest.strip_prefix(':')) else { continue };
        let rest = rest.trim();
        if !rest.is_empty() {
            return Some(rest.to_owned());
        }
        return lines.get(i + 1).map(|next| next.clone().into_owned());
    }
    None
}
