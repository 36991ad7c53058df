//! Candidates: page → the best lists, each with its template and rows.

mod candidate;
mod from_rows;
mod learn;
mod options;
mod record_page;
mod row_sets;

pub use candidate::{Candidate, candidate, candidate_with_rule};
pub use learn::{UnattendedList, explain_rows, has_list, is_plausible, learn, learn_unattended};
pub use options::{LearnOptions, Method};
pub use record_page::{RecordPages, learn_pages, read_page};
pub use row_sets::{TOKEN_REPEAT_PENALTY, shown_row_sets};
#[cfg(test)]
pub use row_sets::{rank_tree_row_sets, with_token_row_sets};
