//! Counts with the right plural.

use std::fmt::Display;

/// `1 row`, `2 rows`: for nouns whose plural ends in s.
pub fn counted<N: Display + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    let ending = if count == N::from(1) { "" } else { "s" };
    format!("{count} {noun}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular_and_all_else_plural() {
        assert_eq!(
            [counted(0_usize, "row"), counted(1_u64, "row"), counted(2_u32, "row")],
            ["0 rows", "1 row", "2 rows"]
        );
    }
}
