//! The 0.7 rule: how much of the template's tags a page's rows still show.

use super::features::sample;
use super::lcs;
use super::template::{Part, Variant};
use crate::page::NodeId;
use crate::page::tokens::{Span, TokenKind, Tokens};

/// A page below this no longer looks like its template (Shi et al.). On fitted rows, tag and class tokens: accepts 98 % of
/// pages of the same template and rejects 98 % of pages of other sites (learn-notes 3).
pub const THRESHOLD: f64 = 0.7;

/// Tokens of a row that are compared; longer rows are cut.
const MAX_TOKENS: usize = 400;

/// Mean over the rows of |LCS(template, row)| / |template|. In [0, 1]; 0 without rows.
pub fn of_rows(tokens: &Tokens<'_>, variant: &Variant, rows: &[Span]) -> f64 {
    let mut template = Vec::new();
    flatten(&variant.parts, &mut template);
    template.truncate(MAX_TOKENS);
    let rows = sample(rows);
    if rows.is_empty() || template.is_empty() {
        return 0.0;
    }
    let ratio = |&row: &Span| common(tokens, &template, row) as f64 / template.len() as f64;
    rows.iter().map(ratio).sum::<f64>() / rows.len() as f64
}

/// A token of the template.
pub(super) enum Mark<'a> {
    Open(&'a str, &'a [String]),
    Close(&'a str),
    Text,
}

/// The parts that every row has, as tokens.
pub(super) fn flatten<'a>(parts: &'a [Part], marks: &mut Vec<Mark<'a>>) {
    for part in parts {
        match part {
            Part::Element(element) => {
                marks.push(Mark::Open(&element.tag, &element.classes));
                flatten(&element.parts, marks);
                marks.push(Mark::Close(&element.tag));
            }
            Part::Slot(_) => marks.push(Mark::Text),
            Part::Optional(_) => {}
        }
    }
}

/// Length of the longest common subsequence of the template and the row.
fn common(tokens: &Tokens<'_>, template: &[Mark<'_>], row: Span) -> usize {
    let row = tokens.slice(row);
    let row = &row[..row.len().min(MAX_TOKENS)];
    lcs::length(row.len(), template.len(), |i, j| matches(tokens, &template[j], row[i].kind, row[i].node))
}

/// A tag with classes matches where at least half of the template's classes are there: one more or less says “sold” or “new”.
pub(super) fn matches(tokens: &Tokens<'_>, mark: &Mark<'_>, kind: TokenKind, node: NodeId) -> bool {
    let tree = tokens.tree;
    match (mark, kind) {
        (Mark::Open(tag, classes), TokenKind::Open) => {
            tree.tag(node) == *tag && {
                let there = classes.iter().filter(|class| tree.classes(node).any(|it| it == class.as_str())).count();
                there * 2 >= classes.len()
            }
        }
        (Mark::Close(tag), TokenKind::Close) => tree.tag(node) == *tag,
        (Mark::Text, TokenKind::Text) => true,
        _ => false,
    }
}
