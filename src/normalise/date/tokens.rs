//! Splits a text into numbers, words and signs; tokens that were understood are marked.

/// Maximum length of a date; the rest of a longer text is ignored.
const MAX_TOKENS: usize = 60;
/// Numbers with more digits are not part of a date.
const MAX_DIGITS: usize = 8;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum DateToken {
    Number {
        value: u32,
        digits: usize,
    },
    /// In lower case.
    Word(String),
    Sign(char),
}

#[derive(Debug)]
pub(super) struct DateTokens {
    pub list: Vec<DateToken>,
    used: Vec<bool>,
    /// The text is longer than what was read.
    is_cut: bool,
}

impl DateTokens {
    pub fn of(text: &str) -> DateTokens {
        let mut list = Vec::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next().filter(|_| list.len() < MAX_TOKENS) {
            let end = length(rest, first);
            let (piece, behind) = rest.split_at(end);
            if first.is_ascii_digit() {
                let value = if piece.len() <= MAX_DIGITS { piece.parse().unwrap_or(u32::MAX) } else { u32::MAX };
                list.push(DateToken::Number { value, digits: piece.len() });
            } else if first.is_alphabetic() {
                list.push(DateToken::Word(piece.to_lowercase()));
            } else if !first.is_whitespace() {
                list.push(DateToken::Sign(first));
            }
            rest = behind;
        }
        let used = vec![false; list.len()];
        DateTokens { list, used, is_cut: !rest.trim().is_empty() }
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// A number that is not marked yet.
    pub fn number(&self, at: usize) -> Option<(u32, usize)> {
        match self.free(at)? {
            DateToken::Number { value, digits } => Some((*value, *digits)),
            _ => None,
        }
    }

    pub fn word(&self, at: usize) -> Option<&str> {
        match self.free(at)? {
            DateToken::Word(word) => Some(word),
            _ => None,
        }
    }

    pub fn sign(&self, at: usize) -> Option<char> {
        match self.free(at)? {
            DateToken::Sign(sign) => Some(*sign),
            _ => None,
        }
    }

    pub fn mark(&mut self, from: usize, to: usize) {
        self.used.iter_mut().take(to).skip(from).for_each(|it| *it = true);
    }

    /// True if only signs, weekdays and small words are left.
    pub fn is_used_up(&self) -> bool {
        let left = self.list.iter().zip(&self.used).filter(|(_, is_used)| !**is_used);
        !self.is_cut
            && left.into_iter().all(|(token, _)| match token {
                DateToken::Sign(_) => true,
                DateToken::Word(word) => super::names::is_filler(word),
                DateToken::Number { .. } => false,
            })
    }

    pub fn is_used(&self, at: usize) -> bool {
        self.used.get(at).copied().unwrap_or(false)
    }

    fn free(&self, at: usize) -> Option<&DateToken> {
        self.list.get(at).filter(|_| !self.used[at])
    }
}

fn length(text: &str, first: char) -> usize {
    if is_unit(first) {
        return first.len_utf8();
    }
    let goes_on = |c: char| {
        if first.is_ascii_digit() {
            c.is_ascii_digit()
        } else {
            first.is_alphabetic() && (c.is_alphabetic() || c == '\u{301}') && !is_unit(c)
        }
    };
    let end = text.char_indices().skip(1).find(|(_, c)| !goes_on(*c)).map_or(text.len(), |(at, _)| at);
    if first.is_ascii_digit() || first.is_alphabetic() { end } else { first.len_utf8() }
}

/// Ideographs that are units after a number.
fn is_unit(c: char) -> bool {
    matches!(c, '年' | '月' | '日' | '号' | '時' | '时' | '点' | '分' | '秒' | '년' | '월' | '일' | '시' | '분' | '초')
}
