//! Finds records that describe the same thing: names in any order, with initials, in any case, with or without accents
//! and punctuation.

mod groups;

use std::hash::{Hash, Hasher};

use siphasher::sip::SipHasher13;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

pub use groups::{CandidateFilter, DuplicateCandidates, DuplicateGroup, MatchKind};

/// Words of a name that are compared; the rest of a longer text is ignored.
const MAX_WORDS: usize = 40;

/// The identifying texts of a record, normalised for spelling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchKey {
    /// The words of each text, sorted: the order of the parts of a name does not matter.
    texts: Vec<Vec<String>>,
}

impl MatchKey {
    /// `None` if no text has a word.
    pub fn of<'t>(texts: impl Iterator<Item = &'t str>) -> Option<MatchKey> {
        let texts: Vec<Vec<String>> = texts.map(words).collect();
        texts.iter().any(|words| !words.is_empty()).then_some(MatchKey { texts })
    }

    /// Equal for records that differ only in spelling and word order.
    fn exact_hash(&self) -> u64 {
        hash(&self.texts)
    }

    fn has_initials(&self) -> bool {
        self.texts.iter().flatten().any(|word| is_initial(word))
    }

    /// Each full word combined with the first letters of all words. A record with initials has such a key in common
    /// with its full form.
    fn blocking_keys(&self) -> Vec<u64> {
        let skeleton: Vec<Vec<char>> =
            self.texts.iter().map(|words| sorted(words.iter().map(|word| first(word)))).collect();
        let whole = self.texts.iter().flatten().filter(|word| !is_initial(word));
        whole.map(|word| hash(&(&skeleton, word))).collect()
    }

    /// True if one may be the other with initials instead of names. They must share a full word.
    fn is_abbreviation_of(&self, other: &MatchKey) -> bool {
        let mut shares_a_word = false;
        let pairs = self.texts.iter().zip(&other.texts);
        self.texts.len() == other.texts.len()
            && pairs.into_iter().all(|(one, two)| may_be_abbreviated(one, two, &mut shares_a_word))
            && shares_a_word
    }
}

/// Full words on both sides must be equal; the rest must be equally many, each an initial on one side.
fn may_be_abbreviated(one: &[String], two: &[String], shares_a_word: &mut bool) -> bool {
    let (mut one, mut two): (Vec<&String>, Vec<&String>) = (one.iter().collect(), two.iter().collect());
    one.retain(|word| match two.iter().position(|it| it == word && !is_initial(word)) {
        Some(place) => {
            two.remove(place);
            *shares_a_word = true;
            false
        }
        None => true,
    });
    let letters = |words: &[&String]| sorted(words.iter().map(|word| first(word)));
    let whole =
        |words: &[&String], letter: char| words.iter().filter(|it| first(it) == letter && !is_initial(it)).count();
    let of_letter = |words: &[&String], letter: char| words.iter().filter(|it| first(it) == letter).count();
    letters(&one) == letters(&two)
        && letters(&one).into_iter().all(|it| whole(&one, it) + whole(&two, it) <= of_letter(&one, it))
}

/// The words of a text, sorted. A web address is one word, because its parts are ordered.
fn words(text: &str) -> Vec<String> {
    if let Some(address) = address(text.trim()) {
        return vec![address];
    }
    let plain: String = text
        .nfkd()
        .filter(|c| !is_combining_mark(*c) && !matches!(c, '\'' | '’' | 'ʼ' | '`'))
        .flat_map(char::to_lowercase)
        .collect();
    let words = plain.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    sorted(words.take(MAX_WORDS).map(unaccented))
}

/// Replaces letters that have no decomposition in Unicode but are often written without their stroke or ligature.
fn unaccented(word: &str) -> String {
    let mut plain = String::with_capacity(word.len());
    for c in word.chars() {
        match c {
            'ß' => plain.push_str("ss"),
            'æ' => plain.push_str("ae"),
            'œ' => plain.push_str("oe"),
            'ø' => plain.push('o'),
            'đ' | 'ð' => plain.push('d'),
            'ł' => plain.push('l'),
            'ı' => plain.push('i'),
            'þ' => plain.push_str("th"),
            other => plain.push(other),
        }
    }
    plain
}

/// A web address without the parts that do not distinguish pages.
fn address(text: &str) -> Option<String> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"))?;
    let rest = rest.split('#').next().unwrap_or(rest).trim_end_matches('/');
    let (host, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let host = host.to_lowercase();
    Some(format!("{}{path}", host.strip_prefix("www.").unwrap_or(&host)))
}

/// True for one letter of a script with lower case: a single Chinese character is a full name.
fn is_initial(word: &str) -> bool {
    let mut letters = word.chars();
    letters.next().is_some_and(char::is_lowercase) && letters.next().is_none()
}

fn first(word: &str) -> char {
    word.chars().next().unwrap_or_default()
}

fn sorted<T: Ord>(of: impl Iterator<Item = T>) -> Vec<T> {
    let mut all: Vec<T> = of.collect();
    all.sort_unstable();
    all
}

fn hash(of: &impl Hash) -> u64 {
    let mut hasher = SipHasher13::new();
    of.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests;
