//! An error in a file that a person wrote: place, message, source line with carets, and hint.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Serialize;

use unicode_width::UnicodeWidthChar;

use super::folder::FileError;

/// Of a longer source line only a window around the caret is shown.
const SNIPPET_CHARS: usize = 100;

/// Displayed as `file:line:column: message`, the source line with carets under the place, and the hint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
pub struct Problem {
    pub file: PathBuf,
    /// Counted from 1.
    pub line: Option<u32>,
    /// In characters, counted from 1.
    pub column: Option<u32>,
    pub message: String,
    pub hint: Option<String>,
    /// The source line, and below it the carets.
    pub snippet: Option<Box<str>>,
    /// The file could not be read because descriptors or memory ran out; the file itself is not at fault.
    #[serde(skip)]
    pub is_shortage: bool,
    /// Further problems of the same task folder, as a linked list.
    #[serde(skip)]
    pub also: Option<Box<Problem>>,
}

impl Problem {
    pub fn new(file: &Path, message: impl Into<String>) -> Problem {
        let (file, message) = (file.to_owned(), message.into());
        Problem { file, line: None, column: None, message, hint: None, snippet: None, is_shortage: false, also: None }
    }

    /// Chains several problems: the first, with the others in `also`.
    pub fn from_all(problems: Vec<Problem>) -> Result<(), Problem> {
        let flat: Vec<Problem> = problems.into_iter().flat_map(Problem::into_all).collect();
        let chained = |behind: Option<Problem>, it: Problem| Some(Problem { also: behind.map(Box::new), ..it });
        flat.into_iter().rev().fold(None, chained).map_or(Ok(()), Err)
    }

    /// This problem and all the others.
    pub fn into_all(mut self) -> Vec<Problem> {
        let also = self.also.take();
        std::iter::once(self).chain(also.into_iter().flat_map(|it| it.into_all())).collect()
    }

    /// A problem at a span of the file's text.
    pub fn at(file: &Path, text: &str, span: Range<usize>, message: impl Into<String>) -> Problem {
        let start = floor_char_boundary(text, span.start);
        let before = &text[..start];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |newline| start + newline);
        let end = floor_char_boundary(text, span.end).clamp(start, line_end);
        let line = 1 + before.matches('\n').count();
        let column = 1 + text[line_start..start].chars().count();
        Problem {
            line: u32::try_from(line).ok(),
            column: u32::try_from(column).ok(),
            snippet: Some(
                snippet(line, text[line_start..line_end].trim_end_matches('\r'), column - 1, &text[start..end]).into(),
            ),
            ..Problem::new(file, message)
        }
    }

    /// A problem at a line and column, both counted from 1.
    pub(super) fn at_line(file: &Path, text: &str, line: usize, column: usize, message: impl Into<String>) -> Problem {
        let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
        let place = start + column.saturating_sub(1);
        Problem::at(file, text, place..place, message)
    }

    /// Without the source line, which may contain a password.
    pub fn without_snippet(self) -> Problem {
        Problem { snippet: None, ..self }
    }

    pub fn hint(self, hint: impl Into<String>) -> Problem {
        Problem { hint: Some(hint.into()), ..self }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        for place in [self.line, self.column].into_iter().flatten() {
            write!(f, ":{place}")?;
        }
        write!(f, ": {}", self.message)?;
        if let Some(snippet) = &self.snippet {
            write!(f, "\n{snippet}")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\n  {hint}")?;
        }
        let task = self.file.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
        match std::iter::successors(self.also.as_deref(), |it| it.also.as_deref()).count() {
            0 => Ok(()),
            more => write!(f, "\n  and {more} more: pieme validate {task}"),
        }
    }
}

impl From<FileError> for Problem {
    fn from(error: FileError) -> Problem {
        Problem {
            hint: error.hint().map(str::to_owned),
            is_shortage: error.is_shortage(),
            ..Problem::new(error.path(), error.reason())
        }
    }
}

/// The source line and the carets. A tab stays a tab in both lines, so that they line up whatever its width.
fn snippet(number: usize, line: &str, skip: usize, marked: &str) -> String {
    let from = skip.saturating_sub(SNIPPET_CHARS * 2 / 3);
    let shown: String = line.chars().skip(from).take(SNIPPET_CHARS).map(visible).collect();
    let pad: String = line.chars().skip(from).take(skip - from).map(|c| blank(visible(c))).collect();
    let room = SNIPPET_CHARS.saturating_sub(skip - from);
    let carets: usize = marked.chars().take(room).map(|c| visible(c).width().unwrap_or(1)).sum();
    let number = number.to_string();
    let margin = " ".repeat(number.len());
    format!("  {number} | {shown}\n  {margin} | {pad}{}", "^".repeat(carets.max(1)))
}

/// Replaces control characters, which could move the cursor of a terminal.
fn visible(c: char) -> char {
    if c != '\t' && (c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c)) { '\u{fffd}' } else { c }
}

/// A blank as wide as the character: an ideograph takes two columns (U+3000), a combining mark none.
fn blank(c: char) -> char {
    match c {
        '\t' => '\t',
        c => match c.width() {
            Some(0) => '\u{200b}',
            Some(2) => '\u{3000}',
            _ => ' ',
        },
    }
}

fn floor_char_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, needle: &str, expected: &str) {
        let start = text.find(needle).expect("the needle is in the text");
        let problem = Problem::at(Path::new("t.toml"), text, start..start + needle.len(), "bad");
        assert_eq!(problem.to_string(), expected, "{text:?}");
    }

    #[test]
    fn the_caret_stands_under_the_right_character() {
        check("a = 1\nbcd = 2\n", "bcd", "t.toml:2:1: bad\n  2 | bcd = 2\n    | ^^^");
        check("\tä = xy", "xy", "t.toml:1:6: bad\n  1 | \tä = xy\n    | \t    ^^");
        check("t = \"漢字\" # é\r\nn", "#", "t.toml:1:10: bad\n  1 | t = \"漢字\" # é\n    |      \u{3000}\u{3000}  ^");
        check("end", "", "t.toml:1:1: bad\n  1 | end\n    | ^");
    }

    #[test]
    fn a_control_character_in_the_file_does_not_reach_the_terminal() {
        check("x = \u{1b}[2J", "x", "t.toml:1:1: bad\n  1 | x = \u{fffd}[2J\n    | ^");
    }

    #[test]
    fn a_very_long_line_is_shown_around_the_caret() {
        let text = format!("{}HERE{}", "a".repeat(5_000), "b".repeat(5_000));
        let problem = Problem::at(Path::new("t"), &text, 5_000..5_004, "bad");
        let snippet = problem.snippet.expect("a place has a snippet");
        let lines: Vec<&str> = snippet.lines().collect();
        assert_eq!(lines[0].find("HERE"), lines[1].find("^^^^"), "{snippet}");
        assert!(lines[0].len() < 120, "{snippet}");
    }

    #[test]
    fn a_place_beyond_the_text_or_inside_a_character_is_no_panic() {
        for (start, end) in [(0, 99), (99, 100), (1, 2), (2, 1)] {
            Problem::at(Path::new("t"), "äö", start..end, "bad");
        }
    }
}
