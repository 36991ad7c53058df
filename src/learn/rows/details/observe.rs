//! Extracts of the list page, and the detail pages on which each of them occurs (the paper's Table 1).

use std::collections::HashMap;

use super::slot;
use super::words::{ALPHANUMERIC, PageWord, words, words_of};
use crate::learn::view::{PageView, fingerprint};
use crate::page::tokens::{Span, Tokens};

/// Maximum number of extracts of one list page that are looked up.
const MAX_EXTRACTS: usize = 6_000;
/// Maximum number of extracts that occur on detail pages. Both solvers are linear in it, with a large factor.
pub const MAX_OBSERVED: usize = 1_500;
/// Maximum number of detail pages that are used.
pub const MAX_DETAILS: usize = 200;
/// Maximum number of positions of one extract on one detail page.
const MAX_POSITIONS: usize = 12;

/// A run of words of the list page without a separator that occurs on at least one detail page.
#[derive(Clone, Debug)]
pub struct ListExtract {
    /// Hash of the words; equal for equal extracts.
    pub text: u64,
    /// The union of the types of its words.
    pub types: u8,
    pub span: Span,
    /// Dᵢ: the detail pages that it occurs on, ascending, each with the positions (the paper's Table 3).
    pub sightings: Vec<Sighting>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sighting {
    pub page: usize,
    /// Word numbers at which it starts on the page.
    pub positions: Vec<u32>,
}

impl ListExtract {
    pub fn is_on(&self, page: usize) -> bool {
        self.sighting(page).is_some()
    }

    pub fn sighting(&self, page: usize) -> Option<&Sighting> {
        self.sightings.binary_search_by_key(&page, |it| it.page).ok().map(|i| &self.sightings[i])
    }
}

/// What the list page and the detail pages have in common.
pub struct Evidence {
    /// The part of the list page that contains the table.
    pub slot: Span,
    /// Extracts of the slot that occur on detail pages, in the order of the list.
    pub extracts: Vec<ListExtract>,
    pub details: usize,
}

impl Evidence {
    /// `others` are further list pages of the same kind.
    pub fn new(list: &PageView<'_>, others: &[PageView<'_>], details: &[PageView<'_>]) -> Evidence {
        let others: Vec<&Tokens<'_>> = others.iter().map(|view| &*view.tokens).collect();
        let pages: Vec<&Tokens<'_>> = details.iter().map(|view| &*view.tokens).collect();
        let slot = slot::table_slot(&list.tokens, &others);
        let mut extracts = observe(&list.tokens, slot, &others, &pages);
        if pages.len() == 1 {
            keep_unique_texts(&mut extracts);
        }
        Evidence { slot, extracts, details: pages.len().min(MAX_DETAILS) }
    }
}

/// With a single detail page, texts that all records share cannot be recognised by it, but by being repeated in the
/// list.
fn keep_unique_texts(extracts: &mut Vec<ListExtract>) {
    let mut texts: Vec<u64> = extracts.iter().map(|it| it.text).collect();
    texts.sort_unstable();
    let count = |text: u64| texts.partition_point(|&it| it <= text) - texts.partition_point(|&it| it < text);
    extracts.retain(|it| count(it.text) == 1);
}

/// The informative extracts of the list page's slot. Those on no detail page, on all of them, or on all other list
/// pages are left out.
fn observe(list: &Tokens<'_>, slot: Span, others: &[&Tokens<'_>], details: &[&Tokens<'_>]) -> Vec<ListExtract> {
    let details: Vec<WordIndex> = details.iter().take(MAX_DETAILS).map(|page| WordIndex::new(page)).collect();
    let others: Vec<WordIndex> = others.iter().map(|page| WordIndex::new(page)).collect();
    let words = words(list, slot);
    let mut extracts = Vec::new();
    for run in words.chunk_by(|_, next| !next.is_separated).take(MAX_EXTRACTS) {
        let everywhere = !others.is_empty() && others.iter().all(|page| !page.positions(run).is_empty());
        if everywhere || run.iter().all(|word| word.types & ALPHANUMERIC == 0) {
            continue;
        }
        let sightings = details.iter().map(|index| index.positions(run)).enumerate();
        let sightings = sightings.map(|(page, positions)| Sighting { page, positions });
        let seen: Vec<Sighting> = sightings.filter(|it| !it.positions.is_empty()).collect();
        // With a single detail page, being on all of them says nothing.
        let on_all = details.len() > 1 && seen.len() == details.len();
        if !seen.is_empty() && !on_all && extracts.len() < MAX_OBSERVED {
            let mix = |print: u64, word: &PageWord| {
                print.rotate_left(7).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ word.fingerprint
            };
            extracts.push(ListExtract {
                text: run.iter().fold(0, mix),
                types: run.iter().fold(0, |types, word| types | word.types),
                span: Span { start: run[0].token, stop: run[run.len() - 1].token + 1 },
                sightings: seen,
            });
        }
    }
    extracts
}

/// An index of the words of a page. Separators on the page are ignored, so “John Smith” is found in “John<br>Smith” as
/// well. A single word must be separated on both sides: “life” in a story is no value (on quotes-toscrape two thirds of
/// the extracts were such words).
pub struct WordIndex {
    words: Vec<u64>,
    /// Whether a separator is before the word.
    is_separated: Vec<bool>,
    starts: HashMap<(u64, Option<u64>), Vec<u32>>,
}

impl WordIndex {
    pub fn new(page: &Tokens<'_>) -> WordIndex {
        WordIndex::of(&words(page, page.all()))
    }

    pub fn of_text(text: &str) -> WordIndex {
        WordIndex::of(&words_of(text))
    }

    fn of(list: &[PageWord]) -> WordIndex {
        let words: Vec<u64> = list.iter().map(|word| word.fingerprint).collect();
        let mut starts: HashMap<(u64, Option<u64>), Vec<u32>> = HashMap::new();
        for i in 0..words.len() {
            let place = i as u32;
            starts.entry((words[i], None)).or_default().push(place);
            if let Some(&next) = words.get(i + 1) {
                starts.entry((words[i], Some(next))).or_default().push(place);
            }
        }
        WordIndex { words, is_separated: list.iter().map(|word| word.is_separated).collect(), starts }
    }

    /// Whether the page contains this word; it must be given in lower case.
    pub fn has_word(&self, word: &str) -> bool {
        self.starts.contains_key(&(fingerprint(word), None))
    }

    /// Whether every run of these words is on the page.
    pub fn has(&self, words: &[PageWord]) -> bool {
        !words.is_empty() && words.chunk_by(|_, next| !next.is_separated).all(|run| !self.positions(run).is_empty())
    }

    fn positions(&self, run: &[PageWord]) -> Vec<u32> {
        let key = (run[0].fingerprint, run.get(1).map(|word| word.fingerprint));
        let Some(starts) = self.starts.get(&key) else { return Vec::new() };
        let is_here = |&&start: &&u32| {
            let (start, stop) = (start as usize, start as usize + run.len());
            let alone = || self.is_separated[start] && self.is_separated.get(stop).is_none_or(|parted| *parted);
            let there = self.words.get(start..stop);
            there.is_some_and(|there| there.iter().zip(run).all(|(print, word)| *print == word.fingerprint))
                && (run.len() > 1 || alone())
        };
        // Bounded, because a pair of words may be repeated all over a page.
        starts.iter().take(MAX_POSITIONS * 20).filter(is_here).take(MAX_POSITIONS).copied().collect()
    }
}
