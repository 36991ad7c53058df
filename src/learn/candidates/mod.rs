//! Candidates: page → the best lists, each with its template and rows.

mod candidate;
mod exclusions;
mod learn;
mod record_page;

pub use candidate::{Candidate, candidate};
pub use learn::{
    LearnOptions, Method, TOKEN_REPEAT_PENALTY, UnattendedList, explain_rows, has_list, is_plausible, learn,
    learn_unattended, shown_row_sets,
};
#[cfg(test)]
pub use learn::{rank_tree_row_sets, with_token_row_sets};
pub use record_page::{RecordPages, learn_pages, read_page};
