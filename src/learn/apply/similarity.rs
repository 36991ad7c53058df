//! Similarity of a page to its template (Shi's 0.7 rule): the share of the template's tags that the rows still have, by
//! LCS.

use std::cell::OnceCell;

use foldhash::HashSet;

use crate::learn::sequence::lcs;
use crate::learn::template::{RowPart, Variant};
use crate::learn::view::{class_step, sample};
use crate::model::SIMILARITY_THRESHOLD;
use crate::page::tokens::{Span, Token, TokenKind, Tokens};
use crate::page::{Name, NodeId, Tree};

/// A page below this no longer looks like its template (Shi et al.). On fitted rows, tag and class tokens: accepts 98 %
/// of pages of the same template and rejects 98 % of pages of other sites (docs/design/learning.md 3).
pub const THRESHOLD: f64 = SIMILARITY_THRESHOLD;

/// Maximum tokens compared per row.
const MAX_TOKENS: usize = 400;

/// Mean over the rows of |LCS(template, row)| / |template|. In [0, 1]; 0 without rows.
pub fn of_rows(tokens: &Tokens<'_>, variant: &Variant, rows: &[Span]) -> f64 {
    TokenMatcher::new(variant, ClassComparison::Count).of_rows(tokens, variant, rows)
}

/// The same without classes: a new build of the site may have renamed them.
pub fn without_classes(tokens: &Tokens<'_>, variant: &Variant, rows: &[Span]) -> f64 {
    TokenMatcher::new(variant, ClassComparison::Ignored).of_rows(tokens, variant, rows)
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub enum ClassComparison {
    #[default]
    Count,
    Ignored,
}

/// The parts that every row has, as tokens.
fn flatten(parts: &[RowPart], tokens: &mut Vec<TokenPattern>) {
    for part in parts {
        match part {
            // Editors add and remove spans.
            RowPart::Element(element) if element.classes.is_empty() && element.tag == "span" => {
                flatten(&element.parts, tokens);
            }
            RowPart::Element(element) => {
                tokens.push(TokenPattern::new(TokenKind::Open, Some(&element.tag), &element.classes));
                flatten(&element.parts, tokens);
                tokens.push(TokenPattern::new(TokenKind::Close, Some(&element.tag), &[]));
            }
            RowPart::Slot(_) => tokens.push(TokenPattern::new(TokenKind::Text, None, &[])),
            // An inner list has at least one unit.
            RowPart::Repeat(parts) => flatten(parts, tokens),
            RowPart::Optional(_) | RowPart::Choice(_) => {}
        }
    }
}

/// Tags with classes on the slots' paths: both `tr.odd` and `tr.even` are known.
fn known_steps(variant: &Variant) -> HashSet<String> {
    let paths = variant.slots.iter().flat_map(|slot| &slot.class_paths);
    paths.flat_map(|(path, _)| path.split('/')).map(str::to_owned).collect()
}

/// A token of the template, prepared for many comparisons: names are compared as numbers, and usually the class
/// attribute is equal to that of the template.
pub(super) struct TokenPattern {
    kind: TokenKind,
    name: Option<Name>,
    classes: Vec<String>,
    class_attribute: String,
}

impl TokenPattern {
    fn new(kind: TokenKind, tag: Option<&str>, classes: &[String]) -> TokenPattern {
        TokenPattern { kind, name: tag.map(Name::from), classes: classes.to_vec(), class_attribute: classes.join(" ") }
    }

    /// The tokens that every row has, as far as they are compared.
    pub fn of_variant(variant: &Variant) -> Vec<TokenPattern> {
        let mut tokens = Vec::new();
        flatten(&variant.parts, &mut tokens);
        tokens.truncate(MAX_TOKENS);
        tokens
    }

    pub fn matches(&self, tree: &Tree, token: &Token) -> bool {
        self.matches_tag(tree, token) && (token.kind != TokenKind::Open || self.classes_match(tree, token.node))
    }

    /// Are kind and tag equal to those of the token?
    fn matches_tag(&self, tree: &Tree, token: &Token) -> bool {
        self.kind == token.kind && (self.name.is_none() || tree.name(token.node) == self.name.as_ref())
    }

    fn classes_match(&self, tree: &Tree, node: NodeId) -> bool {
        tree.class(node).unwrap_or("") == self.class_attribute || has_classes(tree, node, &self.classes)
    }
}

/// Compares rows with one variant. Caches, for each distinct token appearance, its positions in the template: rows have
/// few appearances, and pages of a template have the same.
#[derive(Default)]
pub struct TokenMatcher {
    template: Vec<TokenPattern>,
    classes: ClassComparison,
    known_steps: OnceCell<HashSet<String>>,
    appearances: Vec<TokenAppearance>,
    /// For each appearance: bit set of the matching template positions.
    template_bits: Vec<Vec<u64>>,
    /// The appearances of the previous row, one per token: usually the next row has the same.
    previous_row: Vec<usize>,
}

struct TokenAppearance {
    kind: TokenKind,
    name: Option<Name>,
    class: String,
    is_first: bool,
}

/// Maximum cached appearances.
const MAX_APPEARANCES: usize = 64;
/// Maximum bytes of class names cached between pages.
const MAX_CLASS_BYTES: usize = 64 << 10;

impl TokenMatcher {
    pub fn new(variant: &Variant, classes: ClassComparison) -> TokenMatcher {
        TokenMatcher { template: TokenPattern::of_variant(variant), classes, ..TokenMatcher::default() }
    }

    /// As [`of_rows`]; `variant` is the one that the matcher was made for.
    pub fn of_rows(&mut self, tokens: &Tokens<'_>, variant: &Variant, rows: &[Span]) -> f64 {
        let rows = sample(rows);
        if rows.is_empty() || self.template.is_empty() {
            return 0.0;
        }
        let length = self.template.len() as f64;
        let ratio = |&row: &Span| self.common(tokens.tree, variant, tokens.slice(row)) as f64 / length;
        rows.iter().map(ratio).sum::<f64>() / rows.len() as f64
    }

    /// Clears the cache before the next page if it holds too many class names.
    pub fn reset_for_page(&mut self) {
        if self.appearances.iter().map(|it| it.class.len()).sum::<usize>() > MAX_CLASS_BYTES {
            self.forget();
        }
    }

    fn forget(&mut self) {
        self.appearances.clear();
        self.template_bits.clear();
        self.previous_row.clear();
    }

    /// Length of the longest common subsequence of the template and the row.
    fn common(&mut self, tree: &Tree, variant: &Variant, row: &[Token]) -> usize {
        if self.appearances.len() > MAX_APPEARANCES {
            self.forget();
        }
        let row = &row[..row.len().min(MAX_TOKENS)];
        let mut looks = std::mem::take(&mut self.previous_row);
        looks.truncate(row.len());
        for (i, token) in row.iter().enumerate() {
            let look = self.appearance_index(tree, variant, token, i == 0, looks.get(i).copied());
            match looks.get_mut(i) {
                Some(before) => *before = look,
                None => looks.push(look),
            }
        }
        let length = lcs::length(self.template.len(), looks.iter().map(|&look| self.template_bits[look].as_slice()));
        self.previous_row = looks;
        length
    }

    /// `likely` is the index to try first.
    fn appearance_index(
        &mut self,
        tree: &Tree,
        variant: &Variant,
        token: &Token,
        is_first: bool,
        likely: Option<usize>,
    ) -> usize {
        let is_open = token.kind == TokenKind::Open;
        let class = if is_open { tree.class(token.node).unwrap_or("") } else { "" };
        let name = tree.name(token.node);
        let is_it = |it: &TokenAppearance| {
            it.kind == token.kind && it.name.as_ref() == name && it.is_first == is_first && it.class == class
        };
        if let Some(likely) = likely.filter(|&it| is_it(&self.appearances[it])) {
            return likely;
        }
        if let Some(known) = self.appearances.iter().position(is_it) {
            return known;
        }
        self.appearances.push(TokenAppearance {
            kind: token.kind,
            name: name.cloned(),
            class: class.to_owned(),
            is_first,
        });
        let mut places = vec![0_u64; self.template.len().div_ceil(64)];
        for (j, sought) in self.template.iter().enumerate() {
            let same = sought.matches_tag(tree, token)
                && (!is_open
                    || self.classes == ClassComparison::Ignored
                    || is_first && sought.classes.is_empty()
                    || sought.classes_match(tree, token.node)
                    || self.is_known_step(tree, variant, token.node));
            places[j / 64] |= u64::from(same) << (j % 64);
        }
        self.template_bits.push(places);
        self.template_bits.len() - 1
    }

    fn is_known_step(&self, tree: &Tree, variant: &Variant, node: NodeId) -> bool {
        self.known_steps.get_or_init(|| known_steps(variant)).contains(class_step(tree, node).as_str())
    }
}

/// Maximum classes compared one by one. An element with 1 MB of classes took 48 s that way.
const FEW_CLASSES: usize = 8;

/// Does the element have at least half of the classes? One more or less means “sold” or “new”. If the template has
/// none, the element must have none: otherwise the bare tags of another site match everything.
fn has_classes(tree: &Tree, node: NodeId, classes: &[String]) -> bool {
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
