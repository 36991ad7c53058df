//! Snippets: the part of a long text around the matches.

use std::ops::Range;

/// Longest snippet: as much of a cell as is read at a glance.
const MAX_SNIPPET_CHARS: usize = 160;
/// Longest text before the first match.
const MAX_LEAD_CHARS: usize = 40;

/// A text, or a part of it, with the positions of the matches.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Snippet {
    pub text: String,
    /// Start and end, in characters of the text.
    pub marks: Vec<(usize, usize)>,
}

impl Snippet {
    /// `marks` are byte ranges in order, as the query found them.
    pub fn of(text: &str, marks: &[Range<usize>]) -> Snippet {
        let place = |byte: usize| text.get(..byte).map_or(0, |before| before.chars().count());
        let marks: Vec<(usize, usize)> = marks.iter().map(|mark| (place(mark.start), place(mark.end))).collect();
        let all = text.chars().count();
        if all <= MAX_SNIPPET_CHARS {
            return Snippet { text: text.to_owned(), marks };
        }
        let first = marks.first().map_or(0, |mark| mark.0);
        let from = first.saturating_sub(MAX_LEAD_CHARS).min(all - MAX_SNIPPET_CHARS);
        let to = from + MAX_SNIPPET_CHARS;
        let (before, after) = (if from > 0 { "…" } else { "" }, if to < all { "…" } else { "" });
        let part: String = text.chars().skip(from).take(MAX_SNIPPET_CHARS).collect();
        let shift = before.chars().count();
        let inside = marks.into_iter().filter(|mark| mark.0 < to);
        let moved = |(start, end): (usize, usize)| (start - from + shift, end.min(to) - from + shift);
        Snippet { text: format!("{before}{part}{after}"), marks: inside.map(moved).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, word: &str) -> Snippet {
        let at = text.find(word).expect("the word is there");
        let mark = at..at + word.len();
        let snippet = Snippet::of(text, std::slice::from_ref(&mark));
        let (from, to) = snippet.marks[0];
        assert_eq!(snippet.text.chars().skip(from).take(to - from).collect::<String>(), word);
        assert!(snippet.text.chars().count() <= MAX_SNIPPET_CHARS + 2);
        snippet
    }

    #[test]
    fn a_long_text_is_cut_around_what_was_found() {
        assert_eq!(check("ein Hôtel", "Hôtel").text, "ein Hôtel");
        let long = format!("{} HERE {}", "ä".repeat(500), "ö".repeat(500));
        let snippet = check(&long, "HERE");
        assert!(snippet.text.starts_with('…') && snippet.text.ends_with('…'));
        assert!(check(&format!("{} END", "x".repeat(500)), "END").text.ends_with("END"));
        assert!(check(&format!("TOP {}", "x".repeat(500)), "TOP").text.starts_with("TOP"));
    }
}
