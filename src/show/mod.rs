//! SHELL: views of tasks, runs and rows that the command line and the dashboard share, so that both show the same words
//! and numbers.

pub mod column_series;
pub mod duplicates;
pub mod search_results;
pub mod task_status;
pub mod times;
pub mod values;
pub mod verdict;

pub use task_status::StatusLine;
