//! The rough type of a value.

/// The rough type of a value: enough to distinguish a price from a name, not to parse it.
pub fn value_type(value: &str) -> u8 {
    let (mut digits, mut letters, mut others, mut blanks) = (0_u32, 0_u32, 0_u32, 0_u32);
    for c in value.chars().take(200) {
        // Fast path: nearly all letters are ASCII, and the Unicode tables are slow.
        if c.is_ascii_alphabetic() {
            letters += 1;
        } else if c.is_numeric() {
            digits += 1;
        } else if c.is_alphabetic() {
            letters += 1;
        } else if c.is_whitespace() {
            blanks += 1;
        } else {
            others += 1;
        }
    }
    let length = digits + letters + others + blanks;
    match () {
        () if length == 0 => 0,
        () if digits == length => 1,
        () if letters == 0 && digits > 0 => 2,
        () if letters == 0 => 3,
        () if digits > 0 && digits * 2 >= letters => 4,
        () if length > 80 => 5,
        () if blanks == 0 => 6,
        () if digits > 0 => 7,
        () => 8,
    }
}
