//! Segments a list into records with the help of its detail pages (Lerman, Getoor, Minton, Knoblock). What the list
//! says about a record, its detail page says too. This works even where the markup does not separate the rows.

mod constraints;
mod evidence;
mod model;
mod observe;
mod probability;
mod rows;
mod segmentation;
mod slot;
mod words;

pub use evidence::Evidence;
pub use observe::{MAX_DETAILS, WordIndex};
pub use rows::{agreement, row_sets};
pub use segmentation::Segmentation;
pub use words::{PageWord, words_of};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Solver {
    /// Constraint satisfaction: exact where list and detail pages agree, partial otherwise.
    Constraints,
    /// The probabilistic model: tolerates contradictions, and also finds the columns.
    Probability,
}

pub fn segment(evidence: &Evidence, solver: Solver) -> Segmentation {
    match solver {
        Solver::Constraints => constraints::segment(&evidence.extracts),
        Solver::Probability => probability::segment(&evidence.extracts),
    }
}

#[cfg(test)]
mod tests;
