//! What an element's classes say about its contents.

use std::sync::LazyLock;

use foldhash::HashSet;

use crate::learn::view::{camel_words, word_set};

/// Shorter words in classes are abbreviations for layout: `mb`, `fl`, `hd`.
const MIN_CLASS_WORD: usize = 3;

/// Minimum length of a word that tells a column from others: `qty`, `id`.
const MIN_TELLING_WORD: usize = 2;

/// What an element's classes say about its contents. Layout words and generated ones (`css-1q2w3e`) say nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClassHint {
    /// A word that is known to name a value: `product-card__price` is a `price`.
    Semantic(String),
    /// Another word, which may also describe the layout.
    Other(String),
}

pub fn of_classes<'a>(classes: impl Iterator<Item = &'a str>) -> Option<ClassHint> {
    let mut other = None;
    for class in classes {
        if class.bytes().any(|byte| byte.is_ascii_digit()) || class.contains([':', '[', '/']) {
            continue;
        }
        let words: Vec<String> = camel_words(class).map(str::to_lowercase).collect();
        // The last word that is not layout counts: `price-wrapper` is a price, `price-alert` is not.
        let Some(last) = words.iter().rev().find(|word| !LAYOUT_WORDS.contains(word.as_str())) else { continue };
        if SEMANTIC_WORDS.contains(last.as_str()) {
            return Some(ClassHint::Semantic(last.clone()));
        }
        let is_word = last.chars().count() >= MIN_CLASS_WORD && last.chars().any(|c| VOWELS.contains(c));
        if other.is_none() && is_word && words.last() == Some(last) {
            other = Some(ClassHint::Other(last.clone()));
        }
    }
    other
}

/// Does the class say more than layout, position or state?
pub fn is_telling(class: &str) -> bool {
    let is_plain = !class.bytes().any(|byte| byte.is_ascii_digit()) && !class.contains([':', '[', '/']);
    is_plain
        && camel_words(class).map(str::to_lowercase).any(|word| {
            word.chars().count() >= MIN_TELLING_WORD
                && !LAYOUT_WORDS.contains(word.as_str())
                && !STATE_WORDS.contains(word.as_str())
        })
}

/// Words have a vowel; abbreviations such as `btn` and `clr` do not.
const VOWELS: &str = "aeiouyäöüéèàáíóúаеиоуыэюя";

/// Words that name a value, anywhere in a class.
static SEMANTIC_WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    word_set(
        "price title name headline date time author rating score votes comments location address city country region \
    district phone email description summary abstract snippet excerpt category brand rooms year mileage salary \
    company employer publisher journal isbn availability stock status discount shipping seller reviews tags genre \
    director language duration downloads license version docket court judge deadline reference currency quantity \
    distance",
    )
});

/// Words that describe the layout, or say only that there is a value.
static LAYOUT_WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    word_set(
        "absolute active align alt auto base between big black block blue bold border bottom box btn button cell \
    center class clear clearfix col color column container content cursor dark data default desktop element \
    ellipsis even \
    field first flex float font full gray green grey grid half hidden hide hover inline inner item items label large \
    last layout left light line link list main margin medium middle mobile none normal nowrap odd outer overflow \
    padding picker red relative right row section show small span strong style text top truncate value view visible \
    white width wrap wrapper",
    )
});

/// Words that describe the state of a table's column, or how its cells look.
static STATE_WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    word_set(
        "asc ascending current desc descending highlight highlighted num number numeric primary secondary selected \
         sort sortable sorted sorting td th tr table responsive xs sm md lg xl tablet mobile phone",
    )
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_that_say_what_it_is_give_names_and_those_of_the_layout_do_not() {
        let check = |classes: &str, expected: Option<&str>| {
            let said = of_classes(classes.split(' ')).map(|(ClassHint::Semantic(word) | ClassHint::Other(word))| word);
            assert_eq!(said.as_deref(), expected, "{classes}");
        };
        check("product-card__price", Some("price"));
        check("a-size-base listingTitle", Some("title"));
        check("price-wrapper", Some("price"));
        check("price-alert", Some("alert"));
        check("flex text-gray css-1q2w3e", None);
        check("mb-2 md:w-full", None);
        check("kilometers", Some("kilometers"));
    }
}
