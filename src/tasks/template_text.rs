//! A template's JSON text, packed: ten thousand of them are in a daemon's memory at once, 13 kB each as text and 1 kB so.

use std::fmt;

/// Ten thousand templates are packed at the start of a daemon.
const FASTEST: i32 = 1;

/// The text is checked before it is packed.
#[derive(Clone, PartialEq, Eq)]
pub struct TemplateText(Box<[u8]>);

impl TemplateText {
    pub fn new(text: &str) -> TemplateText {
        // In one piece: a stream's tables are made for megabytes, and setting them up cost more than the packing.
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
