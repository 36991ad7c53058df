//! Where a script would send its secrets, as far as one can tell without a run. Pure.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use url::Url;

use super::Script;
use crate::model::Origin;

/// Every secret that the script names, with the origins of the addresses beside it: in the same step, or else in the
/// last step before it that has one, or else `url`.
pub fn secret_origins(script: &Script, url: Option<&Url>) -> BTreeMap<String, Vec<Origin>> {
    let mut found: BTreeMap<String, Vec<Origin>> = BTreeMap::new();
    let mut last: Vec<Origin> = url.and_then(Origin::of).into_iter().collect();
    // Via JSON, so that new steps and keys are covered automatically.
    for step in script.steps.iter().filter_map(|step| serde_json::to_value(step).ok()) {
        let (mut names, mut origins) = (BTreeSet::new(), Vec::new());
        for_each_text(&step, &mut |text| {
            names.extend(secret_names(text).map(str::to_owned));
            let is_web = text.starts_with("http://") || text.starts_with("https://");
            origins.extend(literal_url(text).filter(|_| is_web).as_ref().and_then(Origin::of));
        });
        if !origins.is_empty() {
            last = origins;
        }
        for name in names {
            let list = found.entry(name).or_default();
            let new: Vec<Origin> = last.iter().filter(|it| !list.contains(it)).cloned().collect();
            list.extend(new);
        }
    }
    found
}

/// The names of the `${secret:NAME}` references in a text.
pub fn secret_names(text: &str) -> impl Iterator<Item = &str> {
    text.split("${secret:").skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name)
}

/// The address with a word for each variable and secret; `None` if its host is not written out.
pub fn literal_url(text: &str) -> Option<Url> {
    const WORD: &str = "x-variable-x";
    let mut parts = text.split("${");
    let mut plain = parts.next()?.to_owned();
    for part in parts {
        plain.push_str(WORD);
        plain.push_str(part.split_once('}')?.1);
    }
    Url::parse(&plain).ok().filter(|url| url.host_str().is_some_and(|host| !host.contains(WORD)))
}

fn for_each_text(value: &Value, visit: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => visit(text),
        Value::Array(items) => items.iter().for_each(|item| for_each_text(item, visit)),
        Value::Object(map) => map.values().for_each(|item| for_each_text(item, visit)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_would_go_where_the_addresses_beside_it_are() {
        let script: Script = toml::from_str(
            "[[step]]\nlogin = { user = 'me', password = '${secret:one}' }\n\
             [[step]]\nget = { url = 'https://b.example:8443/${today}', headers = { k = '${secret:two}' } }\n\
             [[step]]\nsubmit = { form = 'f', fields = { k = '${secret:two}', l = '${secret:three}' } }\n\
             [[step]]\nget = 'https://${host}/${secret:three}'\n",
        )
        .expect("a script");
        let url = Url::parse("https://a.example/list").expect("a URL");
        let found = secret_origins(&script, Some(&url));
        let found: Vec<(&str, String)> = found
            .iter()
            .map(|(name, origins)| (name.as_str(), origins.iter().map(Origin::as_str).collect::<Vec<_>>().join(" ")))
            .collect();
        let expected =
            [("one", "https://a.example"), ("three", "https://b.example:8443"), ("two", "https://b.example:8443")];
        assert_eq!(found, expected.map(|(name, origins)| (name, origins.to_owned())));
    }
}
