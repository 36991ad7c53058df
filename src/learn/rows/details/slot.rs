//! The page template, induced from several list pages, and its slot that contains the table.

use std::collections::HashMap;

use super::words::{NUMERIC, words};
use crate::learn::view::{class_step, fingerprint};
use crate::page::tokens::{Span, TokenKind, Tokens};

/// Maximum number of tokens of one page that are compared.
const MAX_TOKENS: usize = 100_000;
/// Minimum length of a run of template tokens. A word that happens to occur once in the table of each page is alone.
const MIN_RUN: usize = 3;
/// Minimum share of the words outside the template that the table's slot must have. With less, the template has cut the
/// table, and the whole page is used, as in the paper for numbered entries.
const MIN_SHARE: f64 = 0.5;

/// The part of the first page that contains the table: the slot with the most words between tokens that occur exactly
/// once, in the same order, on every page. The whole page if it is the only one or no good template is found.
pub fn table_slot(first: &Tokens<'_>, further: &[&Tokens<'_>]) -> Span {
    let whole = first.all();
    if further.is_empty() {
        return whole;
    }
    let marks = template_symbols(first);
    let others: Vec<Vec<TemplateSymbol>> = further.iter().map(|tokens| self::template_symbols(tokens)).collect();
    let template = template_positions(&marks, &others);
    let mut slots: Vec<(usize, Span)> = Vec::new();
    let mut from = 0;
    for &mark in template.iter().chain(std::iter::once(&marks.len())) {
        let inside = &marks[from..mark];
        if let (Some(one), Some(other)) = (inside.first(), inside.last()) {
            let words = inside.iter().filter(|mark| mark.is_word).count();
            slots.push((words, Span { start: one.token, stop: other.token + 1 }));
        }
        from = mark + 1;
    }
    let all: usize = slots.iter().map(|(words, _)| words).sum();
    let largest = slots.into_iter().fold((0, whole), |best, it| if it.0 > best.0 { it } else { best });
    if (largest.0 as f64) < MIN_SHARE * all as f64 { whole } else { largest.1 }
}

/// A tag or a word of the page template.
struct TemplateSymbol {
    fingerprint: u64,
    is_word: bool,
    /// False for numbers: numbered entries have the same numbers on every page.
    may_be_template: bool,
    token: u32,
}

fn template_symbols(tokens: &Tokens<'_>) -> Vec<TemplateSymbol> {
    let words = words(tokens, tokens.all());
    let mut words = words.iter().peekable();
    let mut marks = Vec::new();
    for (i, token) in (0_u32..).zip(&tokens.list).take(MAX_TOKENS) {
        match token.kind {
            TokenKind::Open => {
                let id = tokens.tree.attribute(token.node, "id").unwrap_or("");
                let print = fingerprint(&format!("<{}#{id}", class_step(tokens.tree, token.node)));
                marks.push(TemplateSymbol { fingerprint: print, is_word: false, may_be_template: true, token: i });
            }
            TokenKind::Text => {
                while let Some(word) = words.next_if(|word| word.token == i) {
                    let may_be_template = word.types & NUMERIC == 0;
                    marks.push(TemplateSymbol {
                        fingerprint: word.fingerprint,
                        is_word: true,
                        may_be_template,
                        token: i,
                    });
                }
            }
            TokenKind::Close | TokenKind::Line => {}
        }
    }
    marks
}

/// Indices of the first page's symbols that belong to the template.
fn template_positions(first: &[TemplateSymbol], others: &[Vec<TemplateSymbol>]) -> Vec<usize> {
    let others: Vec<HashMap<u64, usize>> = others.iter().map(|marks| unique_symbols(marks)).collect();
    let mut kept: Vec<usize> = unique_symbols(first).into_values().collect();
    kept.sort_unstable();
    for other in &others {
        kept.retain(|&mark| other.contains_key(&first[mark].fingerprint));
        let there: Vec<usize> = kept.iter().map(|&mark| other[&first[mark].fingerprint]).collect();
        kept = longest_increasing(&there).into_iter().map(|i| kept[i]).collect();
    }
    let follow = |&a: &usize, &b: &usize| {
        let there = |other: &HashMap<u64, usize>| other[&first[b].fingerprint] == other[&first[a].fingerprint] + 1;
        b == a + 1 && others.iter().all(there)
    };
    kept.chunk_by(follow).filter(|run| run.len() >= MIN_RUN).flatten().copied().collect()
}

/// Symbols that occur exactly once on the page, with their indices.
fn unique_symbols(marks: &[TemplateSymbol]) -> HashMap<u64, usize> {
    let mut counts: HashMap<u64, (usize, usize)> = HashMap::new();
    for (i, mark) in marks.iter().enumerate() {
        counts.entry(mark.fingerprint).or_insert((0, i)).0 += 1;
    }
    let single = |(print, (count, place)): (u64, (usize, usize))| {
        (count == 1 && marks[place].may_be_template).then_some((print, place))
    };
    counts.into_iter().filter_map(single).collect()
}

/// Indices of a longest strictly increasing subsequence.
fn longest_increasing(values: &[usize]) -> Vec<usize> {
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(values.len());
    for (i, value) in values.iter().enumerate() {
        let place = ends.partition_point(|&end| values[end] < *value);
        before.push(place.checked_sub(1).map(|place| ends[place]));
        if place == ends.len() {
            ends.push(i);
        } else {
            ends[place] = i;
        }
    }
    let mut rising: Vec<usize> = std::iter::successors(ends.last().copied(), |&i| before[i]).collect();
    rising.reverse();
    rising
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::view::text;
    use crate::page::Tree;

    fn check(pages: &[&str], expected: &str) {
        let trees: Vec<Tree> = pages.iter().map(|page| Tree::parse(page)).collect();
        let tokens: Vec<Tokens<'_>> = trees.iter().map(Tokens::new).collect();
        let further: Vec<&Tokens<'_>> = tokens[1..].iter().collect();
        assert_eq!(text(&tokens[0], table_slot(&tokens[0], &further)), expected);
    }

    const HEAD: &str = "<h1>White pages</h1><p>All matching listings</p>";
    const FOOT: &str = "<div id=foot><i>Terms and conditions apply</i></div>";

    #[test]
    fn what_stands_once_on_each_page_is_the_template_and_the_largest_slot_the_table() {
        let one = format!("{HEAD}Ann Ash<br>Bo Birch<br>Cy Cedar<br>{FOOT}");
        let two = format!("{HEAD}Di Dogwood<br>Ed Elm<br>Flo Fir<br>{FOOT}");
        check(&[&one, &two], "Ann Ash Bo Birch Cy Cedar");
        check(&[&one], "White pages All matching listings Ann Ash Bo Birch Cy Cedar Terms and conditions apply");
    }

    #[test]
    fn numbered_entries_and_a_chance_word_do_not_cut_the_table() {
        let one = format!("{HEAD}1. Ann Ash<br>2. Bo Birch<br>3. Cy Cedar<br>{FOOT}");
        let two = format!("{HEAD}1. Di Dogwood<br>2. Bo Elm<br>3. Flo Fir<br>{FOOT}");
        check(&[&one, &two], "1. Ann Ash 2. Bo Birch 3. Cy Cedar");
    }

    #[test]
    fn pages_without_a_common_template_are_taken_whole() {
        check(&["<p>Ann Ash<br>Bo Birch", "<ul><li>x<li>y<li>z"], "Ann Ash Bo Birch");
        check(&["", ""], "");
    }
}
