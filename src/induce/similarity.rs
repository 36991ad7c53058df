//! The 0.7 rule: how much of the template's tags a page's rows still show.

use std::cell::OnceCell;

use foldhash::HashSet;

use super::features::sample;
use super::lcs;
use super::leaf::{class_step, is_dress};
use super::template::{Part, Variant};
use crate::model::SIMILARITY_LINE;
use crate::page::tokens::{Span, Token, TokenKind, Tokens};
use crate::page::{Name, NodeId, Tree};

/// A page below this no longer looks like its template (Shi et al.). On fitted rows, tag and class tokens: accepts 98 % of
/// pages of the same template and rejects 98 % of pages of other sites (learn-notes 3).
pub const THRESHOLD: f64 = SIMILARITY_LINE;

/// Tokens of a row that are compared; longer rows are cut.
const MAX_TOKENS: usize = 400;

/// Mean over the rows of |LCS(template, row)| / |template|. In [0, 1]; 0 without rows.
pub fn of_rows(tokens: &Tokens<'_>, variant: &Variant, rows: &[Span]) -> f64 {
    compared(tokens, variant, rows, Classes::Count)
}

/// The same where classes say nothing: a build of the site has given them new names.
pub fn without_classes(tokens: &Tokens<'_>, variant: &Variant, rows: &[Span]) -> f64 {
    compared(tokens, variant, rows, Classes::Ignored)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Classes {
    Count,
    Ignored,
}

fn compared(tokens: &Tokens<'_>, variant: &Variant, rows: &[Span], classes: Classes) -> f64 {
    let mut template = Vec::new();
    flatten(&variant.parts, &mut template);
    template.truncate(MAX_TOKENS);
    let rows = sample(rows);
    if rows.is_empty() || template.is_empty() {
        return 0.0;
    }
    let mut looks = Looks::new(tokens.tree, variant, template, classes);
    let length = looks.template.len() as f64;
    let ratio = |&row: &Span| looks.common(tokens.slice(row)) as f64 / length;
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
            Part::Element(element) if element.classes.is_empty() && is_dress(&element.tag) => {
                flatten(&element.parts, marks);
            }
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

/// A token of the template as it is looked for in many rows: names are compared as numbers, and as a rule an element's
/// classes are those of the template, word for word.
struct Sought<'a> {
    kind: TokenKind,
    name: Option<Name>,
    classes: &'a [String],
    written: String,
}

impl<'a> Sought<'a> {
    fn new(mark: Mark<'a>) -> Sought<'a> {
        let (kind, tag, classes) = match mark {
            Mark::Open(tag, classes) => (TokenKind::Open, Some(tag), classes),
            Mark::Close(tag) => (TokenKind::Close, Some(tag), &[][..]),
            Mark::Text => (TokenKind::Text, None, &[][..]),
        };
        Sought { kind, name: tag.map(Name::from), classes, written: classes.join(" ") }
    }

    /// Kind and tag are those of the token.
    fn names(&self, tree: &Tree, token: &Token) -> bool {
        self.kind == token.kind && (self.name.is_none() || tree.name(token.node) == self.name.as_ref())
    }

    fn is_worn(&self, tree: &Tree, node: NodeId) -> bool {
        tree.class(node).unwrap_or("") == self.written || wears(tree, node, self.classes)
    }
}

/// What tokens look like, and for each look where in the template it stands. Rows have few looks.
struct Looks<'t> {
    tree: &'t Tree,
    variant: &'t Variant,
    classes: Classes,
    template: Vec<Sought<'t>>,
    known_steps: OnceCell<HashSet<&'t str>>,
    seen: Vec<Look<'t>>,
    /// Of each look: the places of the template that it stands for, a bit each.
    places: Vec<Vec<u64>>,
}

#[derive(PartialEq)]
struct Look<'t> {
    kind: TokenKind,
    name: Option<&'t Name>,
    class: &'t str,
    is_first: bool,
}

/// Looks that are remembered from row to row.
const MAX_LOOKS: usize = 64;

impl<'t> Looks<'t> {
    fn new(tree: &'t Tree, variant: &'t Variant, template: Vec<Mark<'t>>, classes: Classes) -> Looks<'t> {
        let template = template.into_iter().map(Sought::new).collect();
        Looks { tree, variant, classes, template, known_steps: OnceCell::new(), seen: Vec::new(), places: Vec::new() }
    }

    /// Length of the longest common subsequence of the template and the row.
    fn common(&mut self, row: &[Token]) -> usize {
        if self.seen.len() > MAX_LOOKS {
            self.seen.clear();
            self.places.clear();
        }
        let row = &row[..row.len().min(MAX_TOKENS)];
        let looks: Vec<usize> = row.iter().enumerate().map(|(i, token)| self.look(token, i == 0)).collect();
        lcs::length(self.template.len(), looks.into_iter().map(|look| self.places[look].as_slice()))
    }

    fn look(&mut self, token: &Token, is_first: bool) -> usize {
        let is_open = token.kind == TokenKind::Open;
        let class = if is_open { self.tree.class(token.node).unwrap_or("") } else { "" };
        let look = Look { kind: token.kind, name: self.tree.name(token.node), class, is_first };
        if let Some(known) = self.seen.iter().position(|it| *it == look) {
            return known;
        }
        self.seen.push(look);
        let mut places = vec![0_u64; self.template.len().div_ceil(64)];
        for (j, sought) in self.template.iter().enumerate() {
            let same = sought.names(self.tree, token)
                && (!is_open
                    || self.classes == Classes::Ignored
                    || is_first && sought.classes.is_empty()
                    || sought.is_worn(self.tree, token.node)
                    || self.is_at_home(token.node));
            places[j / 64] |= u64::from(same) << (j % 64);
        }
        self.places.push(places);
        self.places.len() - 1
    }

    fn is_at_home(&self, node: NodeId) -> bool {
        let known = self.known_steps.get_or_init(|| known_steps(self.variant));
        known.contains(class_step(self.tree, node).as_str())
    }
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
