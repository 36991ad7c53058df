//! Query syntax of the search: words, "phrases", beginn*, -not, column:word. Everything else is read as words.

use std::iter::Peekable;
use std::ops::Range;
use std::str::Chars;

use super::words::{self, FoldedWord};
use crate::model::Row;

/// Longer texts are refused.
const MAX_CHARS: usize = 1_000;
const MAX_TERMS: usize = 40;

/// A parsed query: all terms must match, except the excluded ones, which must not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    pub(in crate::store) terms: Vec<Term>,
}

/// Consecutive words within one cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::store) struct Term {
    pub words: Vec<String>,
    /// The last word is a prefix.
    pub is_prefix: bool,
    /// Rows that match it are left out.
    pub is_excluded: bool,
    /// Only in this column, its name folded by [`words::folded`].
    pub column: Option<String>,
}

/// Why a query cannot be searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    #[error("a search needs at least one word that is not excluded")]
    NoWord,
    #[error("the search is too long: at most {MAX_TERMS} words and {MAX_CHARS} characters")]
    TooLong,
}

/// The matches in a row: which cell, and the byte ranges of its text, in order.
pub type Highlights = Vec<(usize, Vec<Range<usize>>)>;

impl Query {
    /// `column`: where words without a column of their own are searched.
    pub fn parse(text: &str, column: Option<&str>) -> Result<Query, QueryError> {
        if text.chars().count() > MAX_CHARS {
            return Err(QueryError::TooLong);
        }
        let text: String = text.chars().map(|c| if is_quote(c) { '"' } else { c }).collect();
        let mut rest = text.chars().peekable();
        let mut terms = Vec::new();
        while rest.peek().is_some() {
            terms.extend(parse_term(&mut rest));
        }
        let column = column.map(words::folded);
        terms.iter_mut().filter(|term| term.column.is_none()).for_each(|term| term.column.clone_from(&column));
        match terms.iter().any(|term| !term.is_excluded) {
            false => Err(QueryError::NoWord),
            true if terms.len() > MAX_TERMS => Err(QueryError::TooLong),
            true => Ok(Query { terms }),
        }
    }

    /// The matches in a row; none where the row does not match.
    pub fn highlights(&self, columns: &[String], row: &Row) -> Option<Highlights> {
        let names: Vec<String> = columns.iter().map(|name| words::folded(name)).collect();
        let cells: Vec<Vec<FoldedWord>> =
            row.cells.iter().map(|cell| words::words(cell.as_deref().unwrap_or_default())).collect();
        let mut marks: Vec<Vec<Range<usize>>> = vec![Vec::new(); cells.len()];
        for term in &self.terms {
            let mut is_there = false;
            for (at, cell) in cells.iter().enumerate() {
                if term.column.as_ref().is_some_and(|column| names.get(at) != Some(column)) {
                    continue;
                }
                let found = term.matches(cell);
                is_there |= !found.is_empty();
                marks[at].extend(found);
            }
            if is_there == term.is_excluded {
                return None;
            }
        }
        let found = marks.into_iter().enumerate().filter(|(_, marks)| !marks.is_empty());
        Some(found.map(|(at, marks)| (at, merge_overlapping(marks))).collect())
    }
}

impl Term {
    fn matches(&self, cell: &[FoldedWord]) -> Vec<Range<usize>> {
        let last = self.words.len() - 1;
        let is_it = |(at, word): (usize, &FoldedWord)| match at == last && self.is_prefix {
            true => word.folded.starts_with(&self.words[at]),
            false => word.folded == self.words[at],
        };
        let all = cell.windows(self.words.len()).filter(|words| words.iter().enumerate().all(is_it));
        all.map(|words| words[0].at.start..words[last].at.end).collect()
    }
}

/// Sorts ranges and merges those that overlap.
fn merge_overlapping(mut marks: Vec<Range<usize>>) -> Vec<Range<usize>> {
    marks.sort_by_key(|mark| (mark.start, mark.end));
    let mut joined: Vec<Range<usize>> = Vec::with_capacity(marks.len());
    for mark in marks {
        match joined.last_mut() {
            Some(last) if mark.start < last.end => last.end = last.end.max(mark.end),
            _ => joined.push(mark),
        }
    }
    joined
}

/// The next term; none for blanks and for text without letters or digits.
fn parse_term(rest: &mut Peekable<Chars<'_>>) -> Option<Term> {
    while rest.next_if(|c| c.is_whitespace()).is_some() {}
    let is_not = rest.next_if_eq(&'-').is_some();
    let mut piece = parse_piece(rest);
    let mut column = None;
    if piece.is_quoted {
        if rest.next_if_eq(&':').is_some() {
            column = Some(std::mem::replace(&mut piece, self::parse_piece(rest)).text);
        }
    } else if let Some((name, said)) = split_column(&piece.text) {
        // A colon at the end names a column only before a quote.
        let is_before_quote = rest.peek() == Some(&'"');
        let (name, said) = (name.to_owned(), said.to_owned());
        match said.is_empty() {
            true if is_before_quote => (column, piece) = (Some(name), self::parse_piece(rest)),
            true => {}
            false => (column, piece.text) = (Some(name), said),
        }
    }
    let goes_on = if piece.is_quoted { rest.next_if_eq(&'*').is_some() } else { piece.text.ends_with('*') };
    let words: Vec<String> = words::words(&piece.text).into_iter().map(|word| word.folded).collect();
    let column = column.map(|name| words::folded(&name)).filter(|name| !name.is_empty());
    (!words.is_empty()).then_some(Term { words, is_prefix: goes_on, is_excluded: is_not, column })
}

struct Piece {
    text: String,
    is_quoted: bool,
}

/// The text between quotes, or up to the next blank or quote. A quote that is never closed extends to the end.
fn parse_piece(rest: &mut Peekable<Chars<'_>>) -> Piece {
    let is_quoted = rest.next_if_eq(&'"').is_some();
    let mut text = String::new();
    while let Some(c) = rest.next_if(|&c| c != '"' && (is_quoted || !c.is_whitespace())) {
        text.push(c);
    }
    if is_quoted {
        rest.next();
    }
    Piece { text, is_quoted }
}

/// `price:95`, and `price:` before a quote. Times of day and addresses contain colons too.
fn split_column(text: &str) -> Option<(&str, &str)> {
    let (name, said) = text.split_once(':')?;
    (name.chars().any(char::is_alphabetic) && !said.starts_with("//")).then_some((name, said))
}

fn is_quote(c: char) -> bool {
    matches!(c, '“' | '”' | '„' | '‟' | '«' | '»' | '＂' | '「' | '」')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Terms in short: `-column:a b*`.
    fn short(text: &str) -> String {
        let term = |it: &Term| {
            let not = if it.is_excluded { "-" } else { "" };
            let column = it.column.as_ref().map(|name| format!("{name}:")).unwrap_or_default();
            format!("{not}{column}{}{}", it.words.join(" "), if it.is_prefix { "*" } else { "" })
        };
        match Query::parse(text, None) {
            Ok(query) => query.terms.iter().map(term).collect::<Vec<_>>().join(" | "),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn what_a_person_types_is_words_phrases_beginnings_and_columns() {
        for (typed, meant) in [
            ("Grand hôtel", "grand | hotel"),
            ("\"Grand Hôtel\" bar", "grand hotel | bar"),
            ("“Grand Hôtel” „am See”", "grand hotel | am see"),
            ("hot* \"grand ho\"*", "hot* | grand ho*"),
            ("hotel -bar -\"am see\"", "hotel | -bar | -am see"),
            ("price:95 -name:adler", "price:95 | -name:adler"),
            ("name:\"grand hotel\" \"nightly rate\":95", "name:grand hotel | nightly rate:95"),
            ("14:05 https://example.org/x", "14 05 | https example org x"),
            ("東京ホテル", "東 京 ホ テ ル"),
            ("o'neil 95.00", "o neil | 95 00"),
        ] {
            assert_eq!(short(typed), meant, "{typed}");
        }
    }

    #[test]
    fn nothing_that_is_typed_is_an_error_of_syntax() {
        for (typed, meant) in [
            ("AND OR NOT NEAR(a b, 2)", "and | or | not | near a | b | 2"),
            ("\"unclosed phrase", "unclosed phrase"),
            ("a\"b\"c (((", "a | b | c"),
            ("^x + {y z} : w", "x | y | z | w"),
            ("name:", "name"),
            (":x x: *", "x | x"),
            ("'; DROP TABLE _task; --", "drop | table | task"),
            ("- -- \"\" * \"*", "a search needs at least one word that is not excluded"),
            ("-hotel", "a search needs at least one word that is not excluded"),
            ("", "a search needs at least one word that is not excluded"),
        ] {
            assert_eq!(short(typed), meant, "{typed}");
        }
        assert_eq!(Query::parse(&"a ".repeat(41), None), Err(QueryError::TooLong));
        assert_eq!(Query::parse(&"a".repeat(1_001), None), Err(QueryError::TooLong));
    }

    #[test]
    fn a_row_is_marked_where_the_words_stand() {
        let columns = ["name", "Text"].map(str::to_owned);
        let cells = ["Le Grand Hôtel, grand", "hotel am See"].map(|it| Some(it.to_owned())).to_vec();
        let row = Row { cells, page: 0 };
        let marked = |typed: &str| {
            let marks = Query::parse(typed, None).expect("words").highlights(&columns, &row)?;
            let shown = |(at, marks): &(usize, Vec<Range<usize>>)| {
                let text = row.cells[*at].as_deref().unwrap_or_default();
                marks.iter().map(|mark| format!("{at}:{}", &text[mark.clone()])).collect::<Vec<_>>().join(" ")
            };
            Some(marks.iter().map(shown).collect::<Vec<_>>().join(" "))
        };
        assert_eq!(marked("hotel").as_deref(), Some("0:Hôtel 1:hotel"));
        assert_eq!(marked("\"grand hotel\" GRAND").as_deref(), Some("0:Grand Hôtel 0:grand"));
        assert_eq!(marked("text:hot*").as_deref(), Some("1:hotel"));
        assert_eq!(marked("\"grand hotel am\""), None, "no phrase goes from one cell into the next");
        assert_eq!((marked("hotel -see"), marked("hotel -name:see").is_some()), (None, true));
        assert_eq!(marked("price:hotel"), None);
    }
}
