//! A row as it is laid out: the lines a reader sees, the labels they begin with, and the heading above the row.

use foldhash::{HashMap, HashMapExt};

use super::features::sample;
use super::find::View;
use super::leaf::text;
use crate::page::tokens::{Span, TokenKind};

/// Lines of one row, or of one element, that are looked at.
const MAX_LINES: usize = 60;
/// How far before the first row a heading is looked for, in tokens.
const MAX_ABOVE: u32 = 30;
const MAX_LABEL: usize = 30;
/// A label comes back in at least this share of the rows.
const MIN_LABELLED: f64 = 0.2;
const MAX_LABELS: usize = 24;

/// The lines of a stretch: `<br>`, line ends of `<pre>` and, where `blocks` says so, block elements part them.
pub fn lines(view: &View<'_>, span: Span, blocks: bool) -> Vec<Span> {
    let mut lines = Vec::new();
    let mut start = span.start;
    for (i, token) in (span.start..span.stop).zip(view.tokens.slice(span)) {
        let tag = view.tree().tag(token.node);
        let parts = match token.kind {
            TokenKind::Line => !continues(view, i + 1, span.stop),
            TokenKind::Open => tag == "br" || blocks && is_block(tag),
            TokenKind::Close => blocks && is_block(tag),
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

/// In a listing a line that is set in goes on with the one before.
fn continues(view: &View<'_>, next: u32, stop: u32) -> bool {
    next < stop && {
        let token = &view.tokens.list[next as usize];
        token.kind == TokenKind::Text && view.tokens.raw(token).starts_with([' ', '\t'])
    }
}

fn is_block(tag: &str) -> bool {
    matches!(
        tag,
        "p" | "div"
            | "li"
            | "ul"
            | "ol"
            | "dl"
            | "dt"
            | "dd"
            | "table"
            | "tbody"
            | "tr"
            | "td"
            | "th"
            | "h1"
            | "h2"
            | "h3"
            | "h4"
            | "h5"
            | "h6"
            | "section"
            | "article"
            | "header"
            | "footer"
            | "blockquote"
            | "pre"
            | "hr"
    )
}

/// The labels that lines of these rows begin with: “Published:”.
pub fn labels(view: &View<'_>, rows: &[Span]) -> Vec<String> {
    let rows = sample(rows);
    let mut order: Vec<String> = Vec::new();
    let mut counts: HashMap<String, usize> = HashMap::new();
    for &row in &rows {
        let mut own: Vec<String> =
            lines(view, row, true).into_iter().filter_map(|line| label(&text(&view.tokens, line))).collect();
        own.sort_unstable();
        own.dedup();
        for label in own {
            let count = counts.entry(label.clone()).or_default();
            if *count == 0 {
                order.push(label);
            }
            *count += 1;
        }
    }
    order.retain(|label| counts[label] >= 3 && counts[label] as f64 >= MIN_LABELLED * rows.len() as f64);
    order.truncate(MAX_LABELS);
    order
}

fn label(line: &str) -> Option<String> {
    let (label, _) = line.split_once(':')?;
    let short = label.chars().count() <= MAX_LABEL && label.chars().any(char::is_alphabetic);
    // `http:` and `5:38` are no labels.
    let parts = line[label.len() + 1..].chars().next().is_none_or(char::is_whitespace);
    (short && parts).then(|| label.to_owned())
}

/// What stands behind the label: on its line, or, where that is empty, on the next.
pub fn labelled(lines: &[String], label: &str) -> Option<String> {
    for (i, line) in lines.iter().enumerate() {
        let Some(rest) = line.strip_prefix(label).and_then(|rest| rest.strip_prefix(':')) else { continue };
        let rest = rest.trim();
        if !rest.is_empty() {
            return Some(rest.to_owned());
        }
        return lines.get(i + 1).cloned();
    }
    None
}

/// Of each row: the heading it stands under, that is the last text outside all rows before it. A category above its
/// items belongs to each of them (PIEME).
pub fn headings(view: &View<'_>, rows: &[Span]) -> Vec<Option<String>> {
    let mut heading: Option<String> = None;
    let mut from = rows.first().map_or(0, |first| first.start.saturating_sub(MAX_ABOVE));
    let mut headings = Vec::with_capacity(rows.len());
    for row in rows {
        let last = (from..row.start).rev().find(|&i| view.tokens.list[i as usize].kind == TokenKind::Text);
        if let Some(i) = last {
            heading = Some(text(&view.tokens, Span { start: i, stop: i + 1 }));
        }
        from = row.stop;
        headings.push(heading.clone());
    }
    headings
}
