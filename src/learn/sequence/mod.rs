//! Algorithms on sequences that know nothing of pages: longest common subsequence, centre star alignment, suffix array.

pub mod center_star;
pub mod lcs;
mod suffix_array;
pub mod suffixes;
