//! PURE: learning: page → row sets → the five best candidates → templates. No clock, no files, no network.
//!
//! Each folder uses only those above it, and no two modules of a folder use each other in a circle.

mod sequence;
mod view;
pub mod template;
mod rows;
mod rank;
mod align;
mod columns;
pub mod apply;
mod candidates;
pub mod teach;
pub mod repair;

pub use candidates::{
    Candidate, LearnOptions, Method, RecordPages, UnattendedList, explain_rows, has_list, is_plausible, learn,
    learn_pages, learn_unattended, read_page,
};
pub use teach::{DetailPage, Help, HelpError, ListAndDetail, learn_with, learn_with_details};
pub use template::Template;
pub use view::{Limit, PageView};

#[cfg(test)]
mod tests;
