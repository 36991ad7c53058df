//! Judgement: this run and the past ones → outcome, cause, state. Pure; knows only the model.

mod columns;
mod standing;
mod tally;
mod verdict;
mod window;

pub use standing::{Standing, advice, state};
pub use tally::Tally;
pub use verdict::{Learning, Seen, verdict};
