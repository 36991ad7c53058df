//! Counts the values of a JSON text before it is parsed: with its length they bound what parsing allocates.

use memchr::memchr2;

/// At least the number of values and keys of a JSON text: what follows a bracket, comma or colon outside of strings.
pub fn count_values(json: &[u8]) -> usize {
    let (mut count, mut at) = (1, 0);
    while let Some(&byte) = json.get(at) {
        at += 1;
        match byte {
            b'[' | b'{' | b',' | b':' => count += 1,
            b'"' => at = end_of_string(json, at),
            _ => {}
        }
    }
    count
}

/// The position after the closing quote of a string that begins here.
fn end_of_string(json: &[u8], mut at: usize) -> usize {
    while let Some(found) = memchr2(b'"', b'\\', json.get(at..).unwrap_or_default()) {
        match json[at + found] {
            b'"' => return at + found + 1,
            _ => at += found + 2,
        }
    }
    json.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_outside_of_strings_and_never_too_few() {
        for (text, count) in [
            ("1", 1),
            (r#"["a","b\"],[","c"]"#, 4),
            (r#"{"a":[1,2],"b":null}"#, 7),
            (r#"["\\","x"]"#, 3),
            (r#"["never closed, [[["#, 2),
            ("[\"\\", 2),
            ("[[[[", 5),
        ] {
            assert_eq!(count_values(text.as_bytes()), count, "{text}");
        }
    }
}
