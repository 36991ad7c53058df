//! `${secret:NAME}` in a text of the configuration.

use std::collections::{BTreeMap, BTreeSet};

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

const PREFIX: &str = "${secret:";

/// What would end the part of an address that a secret stands in. A path of several parts may be one secret.
const URL_ESCAPES: &AsciiSet =
    &CONTROLS.add(b' ').add(b'%').add(b'@').add(b'?').add(b'#').add(b'"').add(b'<').add(b'>');

/// The names of the secrets in a text.
pub fn names(text: &str) -> BTreeSet<String> {
    split_references(text).filter_map(|(_, name)| name).map(str::to_owned).collect()
}

/// The whole text is one secret: nothing is known of it before it is looked up.
pub fn is_one_secret(text: &str) -> bool {
    text.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix('}')).is_some_and(|name| !name.contains('}'))
}

/// An address with its secrets in their places; one that is a secret as a whole is taken as it is.
pub fn fill_address(text: &str, secrets: &BTreeMap<String, String>) -> String {
    let whole = is_one_secret(text);
    fill(text, |name| {
        let value = secrets.get(name).map(String::as_str).unwrap_or_default();
        if whole { value.trim().to_owned() } else { utf8_percent_encode(value.trim(), URL_ESCAPES).to_string() }
    })
}

/// A value, such as a password, with its secrets.
pub fn fill_value(text: &str, secrets: &BTreeMap<String, String>) -> String {
    fill(text, |name| secrets.get(name).cloned().unwrap_or_default())
}

fn fill(text: &str, of: impl Fn(&str) -> String) -> String {
    split_references(text)
        .fold(String::new(), |filled, (plain, name)| filled + plain + &name.map(&of).unwrap_or_default())
}

/// Plain text with the secret's name that comes after it, if one does.
fn split_references(text: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let found = text.split_once(PREFIX).and_then(|(plain, after)| Some((plain, after.split_once('}')?)));
        match found {
            Some((plain, (name, after))) => {
                rest = Some(after);
                Some((plain, Some(name)))
            }
            None => {
                rest = None;
                Some((text, None))
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_stand_where_they_are_named_and_end_no_part_of_an_address() {
        let secrets = BTreeMap::from([
            ("hook".to_owned(), "T0/B0/xyz".to_owned()),
            ("pw".to_owned(), "a@b?c".to_owned()),
            ("url".to_owned(), "https://hook.test/?a=1\n".to_owned()),
        ]);
        for (text, filled) in [
            ("https://h.test/${secret:hook}?x=1", "https://h.test/T0/B0/xyz?x=1"),
            ("ntfy://me:${secret:pw}@h.test/t", "ntfy://me:a%40b%3Fc@h.test/t"),
            ("${secret:url}", "https://hook.test/?a=1"),
            ("${secret:open", "${secret:open"),
            ("plain", "plain"),
        ] {
            assert_eq!(fill_address(text, &secrets), filled, "{text}");
        }
        assert_eq!(fill_value("${secret:pw}", &secrets), "a@b?c");
        assert_eq!(names("${secret:a}x${secret:b}").into_iter().collect::<Vec<_>>(), ["a", "b"]);
        assert!(is_one_secret("${secret:a}") && !is_one_secret("${secret:a}${secret:b}"));
    }
}
