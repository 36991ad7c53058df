//! The visual layout of a row: its lines, the labels at their start, and the headings above the row.

use std::borrow::Cow;
use std::rc::Rc;

use foldhash::{HashMap, HashMapExt};

use super::features::sample;
use super::find::PageView;
use super::leaf::{text, text_borrowed};
use super::paths::class_step;
use crate::page::tokens::{Span, TokenKind};

/// Maximum lines of a row or element.
const MAX_LINES: usize = 60;
/// Maximum distance of a heading before the first row, in tokens.
const MAX_ABOVE: u32 = 30;
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

/// In a listing, an indented line continues the previous one.
fn continues(view: &PageView<'_>, next: u32, stop: u32) -> bool {
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
pub fn labels(view: &PageView<'_>, rows: &[Span]) -> Vec<String> {
    let rows = sample(rows);
    let mut order: Vec<String> = Vec::new();
    let mut counts: HashMap<String, usize> = HashMap::new();
    for &row in &rows {
        let mut own: Vec<String> =
            lines(view, row, true).into_iter().filter_map(|line| label(&text_borrowed(&view.tokens, line))).collect();
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

/// Headings above a row, outside all rows: a category above its items belongs to each of them (PIEME).
#[derive(Debug, Default, Clone)]
pub struct RowHeadings {
    /// The last text above.
    pub last: Option<String>,
    /// Its element: tag and classes.
    pub element: String,
    /// It was the only text between two rows, as a category is; headers and advertisements have several texts.
    pub is_alone: bool,
    /// The last text of each kind of element (tag and classes): categories and sub-categories. The second of a kind in
    /// one gap is `td#2`, because a category may be beside column titles.
    pub levels: Vec<(String, String)>,
}

/// Maximum kinds of headings, and texts examined between two rows.
const MAX_LEVELS: usize = 6;
const MAX_TEXTS: usize = 12;

/// The headings above each row.
pub fn headings(view: &PageView<'_>, rows: &[Span]) -> Vec<Rc<RowHeadings>> {
    let mut above = Rc::new(RowHeadings::default());
    let mut from = rows.first().map_or(0, |first| first.start.saturating_sub(MAX_ABOVE));
    let mut headings = Vec::with_capacity(rows.len());
    for row in rows {
        let between = from..row.start.max(from);
        let is_text = |&i: &u32| view.tokens.list[i as usize].kind == TokenKind::Text;
        let mut texts: Vec<u32> = between.rev().filter(is_text).take(MAX_TEXTS).collect();
        texts.reverse();
        if !texts.is_empty() {
            // The texts above the first row include the rest of the page.
            let alone = texts.len() == 1 || headings.is_empty();
            let mut next = RowHeadings { is_alone: alone, ..RowHeadings::clone(&above) };
            let mut before: Vec<String> = Vec::new();
            for i in texts {
                let text = text(&view.tokens, Span { start: i, stop: i + 1 });
                let element = element_kind(view, i);
                let nth = before.iter().filter(|it| **it == element).count() + 1;
                next.set(if nth == 1 { element.clone() } else { format!("{element}#{nth}") }, &text);
                next.last = Some(text);
                next.element.clone_from(&element);
                before.push(element);
            }
            above = Rc::new(next);
        }
        from = row.stop;
        headings.push(Rc::clone(&above));
    }
    headings
}

impl RowHeadings {
    pub fn level(&self, element: &str) -> Option<&str> {
        self.levels.iter().find(|(it, _)| it == element).map(|(_, text)| text.as_str())
    }

    fn set(&mut self, element: String, text: &str) {
        match self.levels.iter().position(|(it, _)| *it == element) {
            Some(i) => text.clone_into(&mut self.levels[i].1),
            None if self.levels.len() < MAX_LEVELS => self.levels.push((element, text.to_owned())),
            None => {}
        }
    }
}

/// Tag and classes of a text's element.
fn element_kind(view: &PageView<'_>, text: u32) -> String {
    let tree = view.tree();
    let parent = tree.parent(view.tokens.list[text as usize].node);
    parent.map(|node| class_step(tree, node)).unwrap_or_default()
}
