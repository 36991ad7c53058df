//! Approximate matching: finds the spans of a page that are similar to the enclosed block (OLERA, “Using approximate
//! matching”).
//!
//! Two blocks are compared as strings of tokens by global alignment. A tag is itself; all texts are equal. A match
//! scores [`MATCH`], an unmatched token costs [`SPACE`]; since 3 > 2 × 1, different tokens are never aligned with each
//! other.

use std::collections::HashMap;

use crate::learn::view::{PageView, fingerprint, is_inline};
use crate::page::NodeId;
use crate::page::text::is_blank;
use crate::page::tokens::{Span, Token, TokenKind};

/// The paper's s and d: the example of its figure 6 uses s = 3 and d = 1.
const MATCH: i32 = 3;
const SPACE: i32 = 1;
/// The paper's θ: 0.5 was right for 18 of its 25 sites. A person may choose another.
pub const THRESHOLD: f64 = 0.5;
/// Maximum number of tokens of the block that are compared. Matching is |block| × |page|, so this keeps it linear in
/// the page. The longest record of the paper's lists has 53 tokens, of its single-record pages 466.
const MAX_BLOCK: usize = 500;
/// Maximum number of passes over the parts between matches; each is linear in what is left.
const MAX_PASSES: usize = 6;
/// Maximum length of a line's label (“Price:”).
const MAX_LABEL: usize = 30;

/// A token as it is compared.
pub type BlockSymbol = u64;

/// Which tags are compared: the paper encodes at block level where all tags are too detailed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockEncoding {
    Tags,
    /// Without links and text-level formatting.
    Blocks,
}

const TEXT: BlockSymbol = 1;
const LINE: BlockSymbol = 2;
const FIRST_TAG: BlockSymbol = 16;

/// The span as symbols. An element without content (`<br>`) is one symbol, as in the paper.
pub fn encode(view: &PageView<'_>, span: Span, encoding: BlockEncoding) -> Vec<BlockSymbol> {
    view.tokens.slice(span).iter().filter_map(|token| symbol(view, token, encoding)).collect()
}

fn symbol(view: &PageView<'_>, token: &Token, encoding: BlockEncoding) -> Option<BlockSymbol> {
    let tag = BlockSymbol::from(view.tag(token.node));
    let name = view.tree().tag(token.node);
    let counts = encoding == BlockEncoding::Tags || !(is_inline(name) || matches!(name, "a" | "span"));
    match token.kind {
        TokenKind::Open => counts.then_some(FIRST_TAG + 2 * tag),
        TokenKind::Close if is_void(name) => None,
        TokenKind::Close => counts.then_some(FIRST_TAG + 2 * tag + 1),
        TokenKind::Line => Some(LINE),
        TokenKind::Text => Some(if in_listing(view, token.node) { line_symbol(view.tokens.raw(token)) } else { TEXT }),
    }
}

fn is_void(tag: &str) -> bool {
    matches!(tag, "br" | "hr" | "img" | "input" | "wbr" | "area" | "col" | "source")
}

pub fn in_listing(view: &PageView<'_>, node: NodeId) -> bool {
    view.tree().ancestors(node).any(|it| view.tree().tag(it) == "pre")
}

/// Plain text has no tags, so lines are distinguished by their label (“Clone Id:”) or their first character.
fn line_symbol(text: &str) -> BlockSymbol {
    let line = text.trim_matches(is_blank);
    let label = line.split_once(':').map(|(label, _)| label).filter(|label| {
        label.chars().count() <= MAX_LABEL && label.chars().any(char::is_alphabetic) && !label.contains('.')
    });
    match label {
        Some(label) => fingerprint(label) | 1 << 63,
        None if text.starts_with(is_blank) => 3,
        None if line.starts_with(|c: char| c.is_ascii_digit()) => 4,
        None => TEXT,
    }
}

/// The score of the best alignment over the maximum: 1 for equal strings, below 0 for very different ones.
pub fn similarity(block: &[BlockSymbol], other: &[BlockSymbol]) -> f64 {
    let (block, other) = (&block[..block.len().min(MAX_BLOCK)], &other[..other.len().min(3 * MAX_BLOCK)]);
    let mut row: Vec<i32> = (0..=other.len() as i32).map(|j| -j * SPACE).collect();
    for (i, &mine) in block.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = -(i as i32 + 1) * SPACE;
        for (j, &theirs) in other.iter().enumerate() {
            let here = best(diagonal, row[j + 1], row[j], mine == theirs);
            diagonal = row[j + 1];
            row[j + 1] = here;
        }
    }
    ratio(row[other.len()], block.len())
}

fn best(diagonal: i32, above: i32, left: i32, same: bool) -> i32 {
    let gap = above.max(left) - SPACE;
    if same { gap.max(diagonal + MATCH) } else { gap }
}

fn ratio(value: i32, length: usize) -> f64 {
    f64::from(value) / (f64::from(MATCH) * length.max(1) as f64)
}

/// The parts between the matches.
fn gaps(found: &[(f64, usize, usize)], items: usize) -> Vec<(usize, usize)> {
    let mut from = 0;
    let mut gaps = Vec::new();
    for &(_, first, last) in found {
        gaps.push((from, first));
        from = last + 1;
    }
    gaps.push((from, items));
    gaps.retain(|&(from, to)| from < to);
    gaps
}

/// Compares one block with many spans; equal symbol strings are compared once.
pub struct Matcher<'v, 't> {
    view: &'v PageView<'t>,
    encoding: BlockEncoding,
    block: Vec<BlockSymbol>,
    similarities: HashMap<Vec<BlockSymbol>, f64>,
}

impl<'v, 't> Matcher<'v, 't> {
    pub fn new(view: &'v PageView<'t>, block: Span, encoding: BlockEncoding) -> Matcher<'v, 't> {
        Matcher { view, encoding, block: encode(view, block, encoding), similarities: HashMap::new() }
    }

    /// Returns 0 if the lengths alone rule out a match.
    pub fn similarity(&mut self, span: Span) -> f64 {
        if !self.may_match_by_length(span) {
            return 0.0;
        }
        let other = encode(self.view, span, self.encoding);
        if let Some(&known) = self.similarities.get(&other) {
            return known;
        }
        let value = similarity(&self.block, &other);
        self.similarities.insert(other, value);
        value
    }

    /// 5 m − |P| − |T| > 1.5 |P| with m ≤ |P| gives |T| < 2.5 |P|; the bounds are wider, since not all tokens are
    /// encoded.
    fn may_match_by_length(&self, span: Span) -> bool {
        let length = (span.stop - span.start) as usize;
        length <= 8 * self.block.len() && 2 * length >= self.block.len()
    }

    /// Runs of items that are similar to the block, without overlaps, in page order; better matches take precedence. A
    /// match consists of whole items and starts with a head. As in the paper, the parts between matches are searched
    /// again: a better match may have hidden a weaker one.
    pub fn stretches(&self, items: &[Span], is_head: impl Fn(usize) -> bool, threshold: f64) -> Vec<(f64, Span)> {
        let least = threshold * f64::from(MATCH) * self.compared_symbols().len() as f64;
        let mut found: Vec<(f64, usize, usize)> = Vec::new();
        let mut left: Vec<(usize, usize)> = vec![(0, items.len())];
        for _ in 0..MAX_PASSES {
            let mut fresh: Vec<(f64, usize, usize)> = Vec::new();
            for &(from, to) in &left {
                let mut ends = self.match_ends(&items[from..to], |i| is_head(from + i));
                ends.retain(|&(value, ..)| f64::from(value) > least);
                ends.sort_by_key(|&(value, first, last)| (std::cmp::Reverse(value), first, last));
                let mut taken = vec![false; to - from];
                for (value, first, last) in ends {
                    if !taken[first..=last].iter().any(|&it| it) {
                        taken[first..=last].fill(true);
                        fresh.push((ratio(value, self.compared_symbols().len()), from + first, from + last));
                    }
                }
            }
            if fresh.is_empty() {
                break;
            }
            found.extend(fresh);
            found.sort_by_key(|&(_, first, _)| first);
            left = gaps(&found, items.len());
        }
        let span = |first: usize, last: usize| Span { start: items[first].start, stop: items[last].stop };
        found.into_iter().map(|(value, first, last)| (value, span(first, last))).collect()
    }

    fn compared_symbols(&self) -> &[BlockSymbol] {
        &self.block[..self.block.len().min(MAX_BLOCK)]
    }

    /// For each item that a match may end with: the best score, and where that match starts. One pass over the items,
    /// with V(0, j) = 0 at heads only. Each cell stores the head it came from, so that no traceback is needed.
    fn match_ends(&self, items: &[Span], is_head: impl Fn(usize) -> bool) -> Vec<(i32, usize, usize)> {
        const NOWHERE: (i32, usize) = (i32::MIN / 2, 0);
        let block = self.compared_symbols();
        let mut column: Vec<(i32, usize)> = vec![NOWHERE; block.len() + 1];
        let mut ends = Vec::new();
        for (at, &item) in items.iter().enumerate() {
            if is_head(at) {
                column[0] = (0, at);
                for i in 0..block.len() {
                    column[i + 1] = column[i + 1].max((column[i].0 - SPACE, column[i].1));
                }
            }
            for token in self.view.tokens.slice(item) {
                let Some(theirs) = symbol(self.view, token, self.encoding) else { continue };
                let mut diagonal = column[0];
                column[0].0 -= SPACE;
                for (i, &mine) in block.iter().enumerate() {
                    let gap = column[i].max(column[i + 1]);
                    let gap = (gap.0 - SPACE, gap.1);
                    let here = if mine == theirs { gap.max((diagonal.0 + MATCH, diagonal.1)) } else { gap };
                    diagonal = column[i + 1];
                    column[i + 1] = here;
                }
            }
            let (value, first) = column[block.len()];
            if value > 0 {
                ends.push((value, first, at));
            }
        }
        ends
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::page::Tree;

    // The available copy of the paper lacks the tags of figure 5. These are reconstructed from its text: B1 has 13 tags
    // and 5 texts, B1 and B2 share 18 tokens and differ in 5, B1 and B3 share 14 and differ in 12, and all three make a
    // matrix of 31 columns.
    pub const B1: &str = "<td><font><b>The Java Maid</b><br>by <a href=1>John Brooks</a><br>\
        <span>List price:</span>$21.45<br></font></td>";
    pub const B2: &str = "<td><font><b>Java Black Book</b><br>by <a href=2>Steven Holzer</a><br>\
        <span>Buy now:</span>$41.99<br><span>List price:</span>$59.99<br></font></td>";
    pub const B3: &str = "<td><font><b>Discover Visual Cafe</b><br>by <a href=3>Dave Wall</a>, \
        <a href=4>Arthur Griffith</a>, <a href=5>David A. Wall</a><br><br></font></td>";

    fn figure_5() -> (Tree, [Vec<BlockSymbol>; 3]) {
        let tree = Tree::parse(&format!("<table><tr>{B1}<tr>{B2}<tr>{B3}</table>"));
        let view = PageView::new(&tree);
        let cells: Vec<NodeId> = tree.elements("td").collect();
        let encoded = [0, 1, 2].map(|i| encode(&view, view.span(cells[i]), BlockEncoding::Tags));
        drop(view);
        (tree, encoded)
    }

    #[test]
    fn figure_5_is_encoded_into_13_tags_and_5_texts() {
        let (_, [b1, ..]) = figure_5();
        assert_eq!(b1.len(), 18);
        assert_eq!(b1.iter().filter(|&&symbol| symbol == TEXT).count(), 5);
    }

    #[test]
    fn figure_6_values_are_18_matches_less_5_spaces_and_at_least_14_less_12() {
        let (_, [b1, b2, b3]) = figure_5();
        let value = |a: &[BlockSymbol], b: &[BlockSymbol]| similarity(a, b) * 3.0 * a.len() as f64;
        assert!((value(&b1, &b2) - (18.0 * 3.0 - 5.0)).abs() < 1e-9);
        // The paper also compares the words of texts, which excludes one pair (“$21.45” and a comma) that counts here.
        assert!((value(&b1, &b3) - (15.0 * 3.0 - 10.0)).abs() < 1e-9);
        assert!(similarity(&b1, &b2) > THRESHOLD && similarity(&b1, &b3) > THRESHOLD);
    }

    #[test]
    fn block_level_encoding_leaves_out_links_and_bold() {
        let tree = Tree::parse("<p>a <b>b</b> <a href=x>c</a></p>");
        let view = PageView::new(&tree);
        let p = tree.elements("p").next().expect("the page has one");
        assert_eq!(encode(&view, view.span(p), BlockEncoding::Tags).len(), 9);
        assert_eq!(encode(&view, view.span(p), BlockEncoding::Blocks).len(), 5);
    }

    #[test]
    fn stretches_of_neighbours_are_found_and_do_not_overlap() {
        let tree = Tree::parse(
            "<dl><dt>a</dt><dd>1</dd><dd>2</dd><dt>b</dt><dd>3</dd><hr><dt>c</dt><dd>4</dd><dd>5</dd></dl>",
        );
        let view = PageView::new(&tree);
        let dl = tree.elements("dl").next().expect("the page has a list");
        let items: Vec<Span> = view.items(dl).map(|item| view.span(item)).collect();
        let block = Span { start: items[0].start, stop: items[2].stop };
        let matcher = Matcher::new(&view, block, BlockEncoding::Tags);
        let head = |i: usize| view.tree().tag(view.first_node(items[i])) == "dt";
        let found: Vec<String> = matcher
            .stretches(&items, head, THRESHOLD)
            .into_iter()
            .map(|(value, span)| format!("{} {value:.2}", crate::learn::view::text(&view.tokens, span)))
            .collect();
        assert_eq!(found, ["a 1 2 1.00", "b 3 0.56", "c 4 5 1.00"]);
    }
}
