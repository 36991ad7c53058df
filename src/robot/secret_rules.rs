//! Where the secrets of a walk may be sent: to the origins of their grants, and nowhere else. Pure.
//!
//! A request is checked by the names of the secrets that went into it, whatever became of them on the way, and by their
//! values, in case a page sent one back.

use std::collections::BTreeMap;
use std::sync::Arc;

use url::Url;

use super::error::SessionError;
use super::redact::Redactor;
use super::request::{PageRequest, SecretNames};
use crate::model::GrantedSecret;
use crate::model::address::origin;

/// A shorter value, such as a user's name, would be in addresses by chance. What a script sends is followed by name.
const MIN_VALUE_LEN: usize = 6;

#[derive(Clone, Default)]
pub struct SecretRules(Arc<BTreeMap<String, SecretRule>>);

struct SecretRule {
    secret: GrantedSecret,
    spellings: Redactor,
}

impl SecretRules {
    pub fn new(secrets: &BTreeMap<String, GrantedSecret>) -> SecretRules {
        let rule = |secret: &GrantedSecret| SecretRule {
            secret: secret.clone(),
            spellings: Redactor::new(Some(&secret.value).filter(|value| value.len() >= MIN_VALUE_LEN)),
        };
        SecretRules(Arc::new(secrets.iter().map(|(name, secret)| (name.clone(), rule(secret))).collect()))
    }

    /// Fails if one of these secrets must not be sent to the origin of this address, or filled into its page.
    pub fn check_names(&self, names: &SecretNames, url: &Url) -> Result<(), SessionError> {
        names.iter().try_for_each(|name| match self.0.get(name) {
            Some(rule) if rule.secret.may_go_to(url) => Ok(()),
            rule => Err(refusal(name, rule, url)),
        })
    }

    /// Fails if the request has a secret that must not be sent to its origin.
    pub fn check_request(&self, request: &PageRequest) -> Result<(), SessionError> {
        self.check_names(&request.secrets, &request.url)?;
        let headers = request.headers.iter().map(|(_, value)| value.as_bytes());
        let body = request.body.iter().map(|body| &body.bytes[..]);
        self.check_bytes(headers.chain(body).chain([request.url.as_str().as_bytes()]), &request.url)
    }

    /// Fails if one of these parts of a request contains a secret that must not be sent to the origin of this address.
    pub fn check_bytes<'b>(&self, parts: impl Iterator<Item = &'b [u8]>, url: &Url) -> Result<(), SessionError> {
        let mut foreign = self.0.iter().filter(|(_, rule)| !rule.secret.may_go_to(url)).peekable();
        if foreign.peek().is_none() {
            return Ok(());
        }
        let parts: Vec<&[u8]> = parts.collect();
        let is_in = |rule: &SecretRule| parts.iter().any(|part| rule.spellings.bytes_have_secret(part));
        match foreign.find(|(_, rule)| is_in(rule)) {
            Some((name, rule)) => Err(refusal(name, Some(rule), url)),
            None => Ok(()),
        }
    }
}

fn refusal(name: &str, rule: Option<&SecretRule>, url: &Url) -> SessionError {
    SessionError::SecretElsewhere {
        name: name.to_owned(),
        there: origin(url).into_owned(),
        granted: rule.map_or_else(|| "no origin".to_owned(), |rule| rule.secret.origins_text()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Origin;

    fn rules() -> SecretRules {
        let origins = vec![Origin::parse("https://shop.test").expect("an origin")];
        let secret = GrantedSecret { value: "k&y wörd".to_owned(), origins };
        SecretRules::new(&BTreeMap::from([("key".to_owned(), secret)]))
    }

    fn checked(url: &str, header: &str, names: &[&str]) -> bool {
        let mut request = PageRequest::get(Url::parse(url).expect("a URL"));
        request.headers.push(("x".to_owned(), header.to_owned()));
        request.secrets = names.iter().map(|name| (*name).to_owned()).collect();
        rules().check_request(&request).is_ok()
    }

    #[test]
    fn a_secret_goes_to_its_origin_by_name_and_by_value() {
        assert!(checked("https://shop.test/a", "k&y wörd", &["key"]));
        for url in ["http://shop.test/", "https://shop.test:8443/", "https://a.shop.test/", "https://evil.test/"] {
            assert!(!checked(url, "", &["key"]), "{url}, by name");
            assert!(!checked(url, "a k&y wörd b", &[]), "{url}, by value");
            assert!(!checked(&format!("{url}?q=k%26y+w%C3%B6rd"), "", &[]), "{url}, in another spelling");
            assert!(checked(url, "nothing", &[]), "{url}, without it");
        }
        assert!(!checked("https://shop.test/", "", &["unknown"]), "a secret without a rule goes nowhere");
    }
}
