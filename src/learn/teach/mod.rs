//! Learning with a person's help: what they enclose, label, click, adjust and edit.

mod edits;
mod enclose;
mod error;
mod help;
mod label;
mod list_and_detail;
mod located_help;

pub(super) use edits::apply_edits;
pub use edits::{CandidateEdits, ColumnSelector, RequestedColumn, SpreadsheetStep, coalesce_columns};
pub use error::HelpError;
pub use help::{Block, Help};
pub use label::{Meaning, ValueLabel};
pub use list_and_detail::{DetailPage, JoinedCandidate, ListAndDetail, learn_with_details};
pub use located_help::learn_with;
