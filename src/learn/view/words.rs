//! Converts labels and keys into names that are valid in a database.

/// Longer texts are sentences, not names.
const MAX_CHARS: usize = 40;
const MAX_WORDS: usize = 4;

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

fn split(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// `productPrice` and `product-price` are two words each.
pub fn camel_words(class: &str) -> impl Iterator<Item = &str> {
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
}
