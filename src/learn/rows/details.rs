//! Segments a list into records with the help of its detail pages (Lerman, Getoor, Minton, Knoblock). What the list
//! says about a record, its detail page says too. This works even where the markup does not separate the rows.

mod constraints;
mod model;
mod observe;
mod probability;
mod rows;
mod slot;
mod words;

pub use observe::{ListExtract, MAX_DETAILS, WordIndex};
pub use rows::{agreement, row_sets};
pub use words::{PageWord, words_of};

use crate::learn::view::PageView;
use crate::page::tokens::{Span, Tokens};

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
        let mut extracts = observe::observe(&list.tokens, slot, &others, &pages);
        if pages.len() == 1 {
            keep_unique_texts(&mut extracts);
        }
        Evidence { slot, extracts, details: pages.len().min(observe::MAX_DETAILS) }
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Solver {
    /// Constraint satisfaction: exact where list and detail pages agree, partial otherwise.
    Constraints,
    /// The probabilistic model: tolerates contradictions, and also finds the columns.
    Probability,
}

/// The assignment of extracts to records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segmentation {
    /// The detail page of each extract's record.
    pub record_of: Vec<Option<usize>>,
    /// The column of each extract in its record; only from the probabilistic model.
    pub column_of: Vec<Option<usize>>,
    /// Whether no observation contradicts it.
    pub is_exact: bool,
}

pub fn segment(evidence: &Evidence, solver: Solver) -> Segmentation {
    match solver {
        Solver::Constraints => constraints::segment(&evidence.extracts),
        Solver::Probability => probability::segment(&evidence.extracts),
    }
}

impl Segmentation {
    /// The extracts of each record, records in the order of the list.
    pub fn records(&self) -> Vec<Vec<usize>> {
        let mut records: Vec<(usize, Vec<usize>)> = Vec::new();
        for (i, record) in self.record_of.iter().enumerate() {
            let Some(record) = *record else { continue };
            match records.last_mut() {
                Some((last, extracts)) if *last == record => extracts.push(i),
                _ => records.push((record, vec![i])),
            }
        }
        records.into_iter().map(|(_, extracts)| extracts).collect()
    }
}

#[cfg(test)]
mod tests;
