//! SHELL: what a person is shown of tasks, runs and rows, in the terminal and in the browser alike: the same words, the same
//! numbers.

pub mod found;
pub mod duplicates;
pub mod lines;
pub mod numbers;
pub mod times;
pub mod trace;
pub mod values;
pub mod verdict;

pub use lines::Line;
