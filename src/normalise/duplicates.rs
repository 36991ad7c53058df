//! Whether two records are of the same thing: names in either order, with initials, in any case, with or without accents and
//! punctuation.

mod groups;

use std::hash::{Hash, Hasher};

use siphasher::sip::SipHasher13;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

pub use groups::{CandidateFilter, DuplicateCandidates, DuplicateGroup, MatchKind};

/// Longer texts are no names: more words than this are not looked at.
const MAX_WORDS: usize = 40;

/// What is left of the texts that identify a record when their spelling is taken away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchKey {
    /// Of each text its words, sorted: the order in which a name is written does not matter.
    texts: Vec<Vec<String>>,
}

impl MatchKey {
    /// None where there is no word in any of the texts.
    pub fn of<'t>(texts: impl Iterator<Item = &'t str>) -> Option<MatchKey> {
        let texts: Vec<Vec<String>> = texts.map(words).collect();
        texts.iter().any(|words| !words.is_empty()).then_some(MatchKey { texts })
    }

    /// The same for records that are the same but for spelling and order.
    fn exact_hash(&self) -> u64 {
        hash(&self.texts)
    }

    fn has_initials(&self) -> bool {
        self.texts.iter().flatten().any(|word| is_initial(word))
    }

    /// Each word that is written out, together with the first letters of all words: what records have in common of which one is
    /// written with initials.
    fn blocking_keys(&self) -> Vec<u64> {
        let skeleton: Vec<Vec<char>> =
            self.texts.iter().map(|words| sorted(words.iter().map(|word| first(word)))).collect();
        let whole = self.texts.iter().flatten().filter(|word| !is_initial(word));
        whole.map(|word| hash(&(&skeleton, word))).collect()
    }

    /// Whether one may be the other with initials for names; a word that is written out must be in both.
    fn is_abbreviation_of(&self, other: &MatchKey) -> bool {
        let mut shares_a_word = false;
        let pairs = self.texts.iter().zip(&other.texts);
        self.texts.len() == other.texts.len()
            && pairs.into_iter().all(|(one, two)| may_be_abbreviated(one, two, &mut shares_a_word))
            && shares_a_word
    }
}

/// Words that both have in full are the same; what is left must be as many on both sides, each an initial on one of them.
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

/// The words of a text, sorted. An address is one word: its parts have an order.
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

/// Letters that are letters of their own to Unicode, but not to whoever writes without them.
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

/// A web address without what does not tell two pages apart.
fn address(text: &str) -> Option<String> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"))?;
    let rest = rest.split('#').next().unwrap_or(rest).trim_end_matches('/');
    let (host, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let host = host.to_lowercase();
    Some(format!("{}{path}", host.strip_prefix("www.").unwrap_or(&host)))
}

/// One letter of a script that has small ones: a single Chinese character is a name.
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
