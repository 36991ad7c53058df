//! PURE: judges a run against past runs: outcome, cause and task state. Depends on the model only.

mod columns;
mod explanation;
mod identity;
mod kind_shift;
mod moved_values;
mod numbers;
mod record_overlap;
mod record_tally;
mod rows;
mod state;
mod tally;
mod verdict;
mod window;

pub use columns::ColumnMeasure;
pub use explanation::{PartMeasure, SignMeasure, SimilarityMeasure, VerdictExplanation, explain};
pub use moved_values::{MAX_COMPARED_ROWS, moved_values};
pub use numbers::NumberTally;
pub use record_overlap::{OverlapMeasure, known_records};
pub use rows::RowMeasure;
pub use state::{Severity, TaskSnapshot, advice, severity, since, state, stuck_sentence};
pub use tally::Tally;
pub use verdict::{RunObservation, TemplateOrigin, verdict};

#[cfg(test)]
fn past_run(verdict: crate::model::Verdict) -> crate::model::PastRun {
    let then = chrono::DateTime::from_timestamp(1_800_000_000, 0).expect("a time of this century");
    crate::model::PastRun { run: crate::model::RunId::new(), started_at: then, ended_at: then, verdict }
}
