//! A template's JSON text, compressed with zstd: a daemon holds ten thousand of them in memory, at 1 kB instead of 13
//! kB each.

use std::fmt;

/// Fast, because ten thousand templates are compressed when a daemon starts.
const FASTEST: i32 = 1;

/// The text was validated before.
#[derive(Clone, PartialEq, Eq)]
pub struct TemplateText(Box<[u8]>);

impl TemplateText {
    pub fn new(text: &str) -> TemplateText {
        // Not as a stream: its tables are made for megabytes, and setting them up cost more than the compression.
        let packed = zstd::bulk::compress(text.as_bytes(), FASTEST);
        TemplateText(packed.expect("memory takes what is written to it").into())
    }

    pub fn text(&self) -> String {
        let text = zstd::decode_all(&self.0[..]).expect("packed by us");
        String::from_utf8(text).expect("it was text")
    }
}

impl fmt::Debug for TemplateText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TemplateText({} bytes packed)", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_comes_back_as_it_was_and_is_equal_to_itself_only() {
        let text = "{\"name\": \"Höhe\"}".repeat(100);
        let packed = TemplateText::new(&text);
        assert_eq!(packed.text(), text);
        assert_eq!(packed, TemplateText::new(&text));
        assert_ne!(packed, TemplateText::new(&text.replace("Höhe", "Tiefe")));
        assert!(packed.0.len() * 10 < text.len());
    }
}
