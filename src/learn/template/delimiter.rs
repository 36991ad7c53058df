//! The delimiters at which a person splits a column.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::page::text::collapse;

/// The finer encodings of OLERA's hierarchy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Delimiter {
    /// A delimiter given by a person, such as the comma of the paper's figure 4.
    Text(String),
    /// Word level: blanks, brackets, quotation marks and currency signs separate.
    Words,
}

/// Maximum number of pieces of one text; the last one holds the rest. Alignment is quadratic in the number of pieces.
const MAX_PIECES: usize = 60;

impl Delimiter {
    pub fn pieces(&self, text: &str) -> Vec<String> {
        let parts: Vec<&str> = match self {
            Delimiter::Text(delimiter) if !delimiter.is_empty() => text.split(delimiter.as_str()).collect(),
            Delimiter::Text(_) => vec![text],
            Delimiter::Words => text.split(is_word_separator).collect(),
        };
        let mut pieces: Vec<String> = parts.into_iter().map(collapse).filter(|part| !part.is_empty()).collect();
        if pieces.len() > MAX_PIECES {
            let rest = pieces.split_off(MAX_PIECES - 1);
            pieces.push(rest.join(self.separator()));
        }
        pieces
    }

    /// Separator for pieces that are joined again.
    fn separator(&self) -> &str {
        match self {
            Delimiter::Text(delimiter) => delimiter,
            Delimiter::Words => " ",
        }
    }
}

fn is_word_separator(c: char) -> bool {
    c.is_whitespace()
        || matches!(c, '(' | ')' | '[' | ']' | '{' | '}' | '"' | '“' | '”' | '/' | '|' | ',' | ';' | '$' | '€' | '£')
}

impl fmt::Display for Delimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Delimiter::Text(text) => write!(f, "“{text}”"),
            Delimiter::Words => f.write_str("words"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_piece_holds_what_is_left_of_a_long_text() {
        let text: Vec<String> = (1..=80).map(|n| n.to_string()).collect();
        let pieces = Delimiter::Text(", ".to_owned()).pieces(&text.join(", "));
        assert_eq!((pieces.len(), pieces[59].as_str()), (60, text[59..].join(", ").as_str()));
        assert_eq!(Delimiter::Words.pieces(&text.join(" "))[59], text[59..].join(" "));
    }
}
