//! Columns: cells → columns with names, and which of them are shown.

mod class_values;
pub mod column_match;
mod custom_values;
mod filler;
pub mod grid;
pub mod header;
mod lines;
pub mod names;
mod sources;
mod split;
pub mod table_columns;

pub use custom_values::{by_css, by_pattern, drill_down_values, join_cells};
pub use filler::Filler;
pub use sources::{Columns, find};
