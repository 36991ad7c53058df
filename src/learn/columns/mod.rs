//! Columns: cells → columns with names, and which of them are shown.

mod class_values;
mod custom_values;
mod filler;
pub mod header;
mod lines;
pub mod names;
mod sources;
mod split;

pub use custom_values::{by_css, by_pattern, drill_down_values, join_cells};
pub use filler::Filler;
pub use sources::{Columns, find};
