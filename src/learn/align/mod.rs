//! Alignment: rows → cells of common columns, with optional parts and inner lists.

mod aligner;
mod alignment;
pub mod assemble;
mod headings;
pub mod inner_lists;
mod positions;
mod profile;
mod scores;

pub use aligner::{AlignedRow, Aligner};
pub use alignment::align;
pub use headings::{RowHeadings, headings};
pub use positions::{SlotPositions, record_sibling_counts};
pub use profile::Profile;
