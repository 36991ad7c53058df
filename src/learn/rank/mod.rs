//! Ranks row sets: computes one score for each and selects the few candidates that are shown.

mod atypical;
mod features;
mod navigation;
mod order;
mod outlier_rows;
mod row_slots;
mod score;
mod sections;
mod select;
mod superset;
mod tables;

pub use order::rank;
pub use score::{RankedRowSet, measure_all};
pub use select::select_candidates;
