//! Row sets: each finder proposes the rows of lists. None of them ranks (see `rank/`).

mod adjust;
mod by_rule;
pub mod cycles;
pub mod details;
mod dom;
mod grids;
mod groups;
mod lines;
mod pattern;
pub mod repeats;
mod row_set;
mod siblings;

pub use adjust::apply_adjustments;
pub use by_rule::{adjusted_row_sets, rows_by_rule};
pub use dom::{groups_under, row_sets};
pub use row_set::{MIN_COVERAGE, RowSet};

#[cfg(test)]
mod tests;
