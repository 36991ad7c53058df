//! Judgement: this run and the past ones → outcome, cause, state. Pure; knows only the model.

mod window;
mod rows;
mod columns;
mod news;
mod known;
mod verdict;
mod account;
mod tally;
mod numbers;
mod standing;

pub use account::{Account, PartMeasure, SignMeasure, SimilarityMeasure, account};
pub use columns::ColumnMeasure;
pub use known::{KnownMeasure, sketch};
pub use numbers::Numbers;
pub use rows::RowMeasure;
pub use standing::{Severity, Standing, advice, severity, since, state, stuck};
pub use tally::Tally;
pub use verdict::{Learning, Seen, verdict};
