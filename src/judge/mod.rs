//! Judgement: this run and the past ones → outcome, cause, state. Pure; knows only the model.

mod state;
mod new_signs;
mod record_overlap;
mod explanation;
mod window;
mod rows;
mod columns;
mod verdict;
mod tally;
mod numbers;

pub use self::explanation::{PartMeasure, SignMeasure, SimilarityMeasure, VerdictExplanation, explain};
pub use self::record_overlap::{OverlapMeasure, sketch};
pub use self::state::{Severity, TaskSnapshot, advice, severity, since, state, stuck_sentence};
pub use columns::ColumnMeasure;
pub use numbers::NumberTally;
pub use rows::RowMeasure;
pub use tally::Tally;
pub use verdict::{RunObservation, TemplateOrigin, verdict};
