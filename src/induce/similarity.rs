//! The 0.7 rule: how much of the template's tags a page's rows still show.

use std::cell::OnceCell;

use foldhash::HashSet;

use super::features::sample;
use super::lcs;
use super::leaf::class_step;
use super::template::{Part, Variant};
use crate::page::tokens::{Span, Token, TokenKind, Tokens};
use crate::page::{NodeId, Tree};

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
    let known = known_steps(variant);
    let rows = sample(rows);
    if rows.is_empty() || template.is_empty() {
        return 0.0;
    }
    let ratio = |&row: &Span| common(tokens, &template, &known, row) as f64 / template.len() as f64;
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
            // Of a list inside the row there is one unit at least.
            Part::Repeat(parts) => flatten(parts, marks),
            Part::Optional(_) | Part::Choice(_) => {}
        }
    }
}

/// Tags with classes that the slots have been seen under: `tr.odd` and `tr.even` are both at home.
fn known_steps(variant: &Variant) -> HashSet<&str> {
    let paths = variant.slots.iter().flat_map(|slot| &slot.class_paths);
    paths.flat_map(|(path, _)| path.split('/')).collect()
}

/// Length of the longest common subsequence of the template and the row.
fn common(tokens: &Tokens<'_>, template: &[Mark<'_>], known: &HashSet<&str>, row: Span) -> usize {
    let row = tokens.slice(row);
    let row = &row[..row.len().min(MAX_TOKENS)];
    let is_at_home = |token: &Token| known.contains(class_step(tokens.tree, token.node).as_str());
    let at_home = vec![OnceCell::new(); row.len()];
    lcs::length(row.len(), template.len(), |i, j| match &template[j] {
        Mark::Open(tag, classes) => {
            row[i].kind == TokenKind::Open
                && tokens.tree.tag(row[i].node) == *tag
                && (i == 0 && classes.is_empty()
                    || wears(tokens.tree, row[i].node, classes)
                    || *at_home[i].get_or_init(|| is_at_home(&row[i])))
        }
        mark => matches(tokens, mark, row[i].kind, row[i].node),
    })
}

pub(super) fn matches(tokens: &Tokens<'_>, mark: &Mark<'_>, kind: TokenKind, node: NodeId) -> bool {
    let tree = tokens.tree;
    match (mark, kind) {
        (Mark::Open(tag, classes), TokenKind::Open) => tree.tag(node) == *tag && wears(tree, node, classes),
        (Mark::Close(tag), TokenKind::Close) => tree.tag(node) == *tag,
        (Mark::Text, TokenKind::Text) => true,
        _ => false,
    }
}

/// Up to so many classes are looked for one by one. An element with 1 MB of them took 48 s so.
const FEW_CLASSES: usize = 8;

/// At least half of the classes are there: one more or less says “sold” or “new”. Where the template has none, there is
/// none: another site's bare tags match everything otherwise.
fn wears(tree: &Tree, node: NodeId, classes: &[String]) -> bool {
    if classes.is_empty() {
        return tree.classes(node).next().is_none();
    }
    let wears = |class: &str| tree.classes(node).any(|it| it == class);
    let there = if classes.len() <= FEW_CLASSES {
        classes.iter().filter(|class| wears(class)).count()
    } else {
        let own: HashSet<&str> = tree.classes(node).collect();
        classes.iter().filter(|class| own.contains(class.as_str())).count()
    };
    there * 2 >= classes.len()
}
