//! SHELL: what a person is shown of tasks, runs and rows, in the terminal and in the browser alike: the same words, the same
//! numbers.

pub mod column_series;
pub mod task_status;
pub mod search_results;
pub mod duplicates;
pub mod times;
pub mod trace;
pub mod values;
pub mod verdict;

pub use self::task_status::StatusLine;
