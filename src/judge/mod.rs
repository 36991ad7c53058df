//! Judgement: this run and the past ones → outcome, cause, state. Pure; knows only the model.

mod standing;
mod verdict;

pub use standing::{Standing, advice, state};
pub use verdict::{Learning, Seen, verdict};
