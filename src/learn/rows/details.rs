//! Segments a list into records with the help of its detail pages (Lerman, Getoor, Minton, Knoblock). What the list
//! says about a record, its detail page says too. This works even where the markup does not separate the rows.

mod constraints;
mod model;
mod observe;
mod probability;
mod rows;
mod slot;
mod words;

pub use constraints::Segmentation;
pub use observe::{Evidence, MAX_DETAILS, WordIndex};
pub use rows::{agreement, row_sets};
pub use words::{PageWord, words_of};

/// Segments by constraint satisfaction if all constraints can hold, otherwise by the probabilistic model, as the paper
/// recommends.
pub fn segment(evidence: &Evidence) -> Segmentation {
    let exact = constraints::segment(&evidence.extracts);
    if exact.is_exact { exact } else { probability::segment(&evidence.extracts) }
}

#[cfg(test)]
mod tests;
