//! URLs in the forms in which they are compared and shown. Pure.

use std::borrow::Cow;

use url::{Position, Url};

/// Longer than any real URL and short enough to print.
pub const MAX_URL_BYTES: usize = 8 << 10;

pub fn without_password(url: &Url) -> Url {
    let mut url = url.clone();
    if !has_password(&url) {
        return url;
    }
    // An error means that this kind of URL can have neither.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url
}

/// Whether the URL contains a user or a password. Almost none does, and this is asked several times a page.
fn has_password(url: &Url) -> bool {
    !url.username().is_empty() || url.password().is_some()
}

/// The URL's origin, borrowed from the URL where its text contains it.
pub fn origin(url: &Url) -> Cow<'_, str> {
    if matches!(url.scheme(), "http" | "https") && !has_password(url) {
        return Cow::Borrowed(&url[..Position::BeforePath]);
    }
    Cow::Owned(url.origin().ascii_serialization())
}

/// The server that the rate limit is for: the host, and the port if it is not the usual one.
pub fn rate_limit_key(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

/// The URL without user, password and fragment, as it may be shown.
pub fn display_url(url: &Url) -> String {
    if !has_password(url) && url.fragment().is_none() {
        return url.as_str().to_owned();
    }
    let mut url = without_password(url);
    url.set_fragment(None);
    url.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_password_and_place() {
        for (address, is_shown) in [
            ("http://a.test/x?y#z", "http://a.test/x?y"),
            ("http://a.test/x?y", "http://a.test/x?y"),
            ("http://u@a.test/", "http://a.test/"),
            ("http://u:p@a.test/#z", "http://a.test/"),
            ("http://:p@a.test/", "http://a.test/"),
        ] {
            assert_eq!(display_url(&Url::parse(address).expect("a URL")), is_shown);
        }
    }

    #[test]
    fn an_origin_is_the_same_with_and_without_a_copy() {
        for address in [
            "http://a.test/x",
            "https://A.test:443/x?y#z",
            "https://a.test:8443",
            "http://[::1]:80/",
            "http://[::1]:81/",
            "http://0x7f.1/x",
            "http://\u{fc}.test/",
            "https://u:p@a.test/x",
            "data:text/html,x",
        ] {
            let url = Url::parse(address).expect("a URL");
            assert_eq!(origin(&url), url.origin().ascii_serialization(), "{address}");
        }
    }
}
