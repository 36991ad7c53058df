//! PURE: judges a run against past runs: outcome, cause and task state. Depends on the model only.

mod columns;
mod explanation;
mod new_signs;
mod numbers;
mod record_overlap;
mod rows;
mod state;
mod tally;
mod verdict;
mod window;

pub use columns::ColumnMeasure;
pub use explanation::{PartMeasure, SignMeasure, SimilarityMeasure, VerdictExplanation, explain};
pub use numbers::NumberTally;
pub use record_overlap::{OverlapMeasure, sketch};
pub use rows::RowMeasure;
pub use state::{Severity, TaskSnapshot, advice, severity, since, state, stuck_sentence};
pub use tally::Tally;
pub use verdict::{RunObservation, TemplateOrigin, verdict};
