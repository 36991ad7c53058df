//! Converts labels and classes into names that are valid in a database.

use std::sync::LazyLock;

use foldhash::HashSet;

/// Longer texts are sentences, not names.
const MAX_CHARS: usize = 40;
const MAX_WORDS: usize = 4;
/// Shorter words in classes are abbreviations for layout: `mb`, `fl`, `hd`.
const MIN_CLASS_WORD: usize = 3;

/// “Date of filing:” → `date_of_filing`; `None` if the text is too long or has no letter.
pub fn clean(label: &str) -> Option<String> {
    join_words(label, split(label))
}

/// Like [`clean`], for names in camel case: `datePosted` → `date_posted`.
pub fn clean_key(key: &str) -> Option<String> {
    join_words(key, camel_words(key))
}

fn join_words<'a>(text: &str, words: impl Iterator<Item = &'a str>) -> Option<String> {
    if text.chars().count() > MAX_CHARS {
        return None;
    }
    let words: Vec<String> = words.map(str::to_lowercase).collect();
    let is_name = (1..=MAX_WORDS).contains(&words.len())
        && words[0].chars().next().is_some_and(char::is_alphabetic)
        && words.iter().any(|word| word.chars().count() >= 2);
    is_name.then(|| words.join("_"))
}

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

fn word_set(list: &'static str) -> HashSet<&'static str> {
    list.split(' ').collect()
}

/// Words have a vowel; abbreviations such as `btn` and `clr` do not.
const VOWELS: &str = "aeiouyäöüéèàáíóúаеиоуыэюя";

fn split(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// `productPrice` and `product-price` are two words each.
fn camel_words(class: &str) -> impl Iterator<Item = &str> {
    split(class).flat_map(|word| {
        let mut starts = vec![0];
        let mut before = 'A';
        for (at, c) in word.char_indices() {
            if c.is_uppercase() && before.is_lowercase() {
                starts.push(at);
            }
            before = c;
        }
        starts.push(word.len());
        starts.windows(2).map(|pair| &word[pair[0]..pair[1]]).collect::<Vec<_>>()
    })
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_becomes_a_name() {
        let check = |label, expected| assert_eq!(clean(label).as_deref(), expected, "{label}");
        check("Date of filing:", Some("date_of_filing"));
        check("Größe (m²)", Some("größe_m²"));
        check("価格", Some("価格"));
        check("#", None);
        check("3 stars", None);
        check("All prices are given without tax and shipping", None);
    }

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
