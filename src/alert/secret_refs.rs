//! Finds and fills `${secret:NAME}` references in configuration texts.

use std::collections::{BTreeMap, BTreeSet};

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use crate::model::GrantedSecret;

const PREFIX: &str = "${secret:";

/// Characters that would end the part of a URL that a secret stands in. Not `/`: a secret may be a path of several
/// parts.
const URL_ESCAPES: &AsciiSet =
    &CONTROLS.add(b' ').add(b'%').add(b'@').add(b'?').add(b'#').add(b'"').add(b'<').add(b'>');

/// The names of the secrets in a text.
pub fn names(text: &str) -> BTreeSet<String> {
    split_references(text).filter_map(|(_, name)| name).map(str::to_owned).collect()
}

/// Whether the whole text is one reference, so that nothing can be checked before the lookup.
pub(super) fn is_one_secret(text: &str) -> bool {
    text.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix('}')).is_some_and(|name| !name.contains('}'))
}

/// Fills the secrets into a URL, percent-encoded. A URL that is one secret as a whole is used as it is.
pub(super) fn fill_address(text: &str, secrets: &BTreeMap<String, GrantedSecret>) -> String {
    let whole = is_one_secret(text);
    fill(text, |name| {
        let value = secrets.get(name).map(|secret| secret.value.as_str()).unwrap_or_default();
        if whole { value.trim().to_owned() } else { utf8_percent_encode(value.trim(), URL_ESCAPES).to_string() }
    })
}

/// Fills the secrets into a value, such as a password.
pub(super) fn fill_value(text: &str, secrets: &BTreeMap<String, String>) -> String {
    fill(text, |name| secrets.get(name).cloned().unwrap_or_default())
}

fn fill(text: &str, of: impl Fn(&str) -> String) -> String {
    split_references(text)
        .fold(String::new(), |filled, (plain, name)| filled + plain + &name.map(&of).unwrap_or_default())
}

/// Plain text, each with the name of the secret that follows it, if one does.
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
        let grant = |value: &String| GrantedSecret { value: value.clone(), origins: Vec::new() };
        let granted = secrets.iter().map(|(name, value)| (name.clone(), grant(value))).collect();
        for (text, filled) in [
            ("https://h.test/${secret:hook}?x=1", "https://h.test/T0/B0/xyz?x=1"),
            ("ntfy://me:${secret:pw}@h.test/t", "ntfy://me:a%40b%3Fc@h.test/t"),
            ("${secret:url}", "https://hook.test/?a=1"),
            ("${secret:open", "${secret:open"),
            ("plain", "plain"),
        ] {
            assert_eq!(fill_address(text, &granted), filled, "{text}");
        }
        assert_eq!(fill_value("${secret:pw}", &secrets), "a@b?c");
        assert_eq!(names("${secret:a}x${secret:b}").into_iter().collect::<Vec<_>>(), ["a", "b"]);
        assert!(is_one_secret("${secret:a}") && !is_one_secret("${secret:a}${secret:b}"));
    }
}
