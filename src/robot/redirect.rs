//! Redirects: which request follows, and what it may carry. Pure.
//!
//! reqwest would send headers such as x-api-key to another origin (docs/design/safety.md 1.6), so pieme follows
//! redirects itself.

use url::Url;

use super::request::PageRequest;
use crate::model::address::MAX_URL_BYTES;

pub const MAX_HOPS: u32 = 10;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RedirectError {
    #[error("redirected to an invalid URL")]
    Unreadable,
    #[error("redirected to a URL of {0} bytes, which is too long")]
    TooLong(usize),
    #[error("redirected the form to {0}, another site; form data is never sent to another site")]
    FormElsewhere(String),
    #[error("redirected from https to plain http at {0}; cookies and form data are never sent unencrypted")]
    Insecure(String),
}

/// The request that follows `request`, which was answered with `status` and `location`. `cookies_there` says whether
/// the new address would be sent cookies.
pub fn follow(
    request: &PageRequest,
    status: u16,
    location: &str,
    cookies_there: impl Fn(&Url) -> bool,
) -> Result<PageRequest, RedirectError> {
    if location.len() > MAX_URL_BYTES {
        return Err(RedirectError::TooLong(location.len()));
    }
    let mut url = request.url.join(location).map_err(|_| RedirectError::Unreadable)?;
    // A site must not choose a user and password for us. An error means that this URL can have none.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    if url.fragment().is_none() {
        url.set_fragment(request.url.fragment());
    }
    let origin = url.origin().ascii_serialization();
    let keeps_method = matches!(status, 307 | 308);
    let carries_body = keeps_method && request.body.is_some();
    if request.url.scheme() == "https" && url.scheme() == "http" && (carries_body || cookies_there(&url)) {
        return Err(RedirectError::Insecure(origin));
    }
    let same_site = same_site(&request.url, &url);
    if carries_body && !same_site {
        return Err(RedirectError::FormElsewhere(origin));
    }
    let headers = if same_site { request.headers.clone() } else { Vec::new() };
    let body = if keeps_method { request.body.clone() } else { None };
    // The address is the site's own; what the script's address had is not in it.
    let is_bare = headers.is_empty() && body.is_none();
    Ok(PageRequest {
        post: request.post && keeps_method,
        url,
        headers,
        body,
        secrets: if is_bare { Default::default() } else { request.secrets.clone() },
        referrer: if same_site { request.referrer.clone() } else { None },
        browser_input: None,
    })
}

/// Whether both have the same origin, or the same host upgraded from http to https: what was meant for one may be sent
/// to the other.
pub fn same_site(from: &Url, to: &Url) -> bool {
    let upgraded = from.scheme() == "http"
        && to.scheme() == "https"
        && from.host() == to.host()
        && from.port().is_none()
        && to.port().is_none();
    from.origin() == to.origin() || upgraded
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robot::request::RequestBody;

    fn request(url: &str, post: bool) -> PageRequest {
        PageRequest {
            post,
            url: Url::parse(url).expect("a URL of the test"),
            headers: vec![("x-api-key".to_owned(), "hush".to_owned())],
            body: post.then(|| RequestBody {
                content_type: "application/x-www-form-urlencoded".to_owned(),
                bytes: b"password=hush".to_vec(),
            }),
            secrets: Default::default(),
            referrer: None,
            browser_input: None,
        }
    }

    #[test]
    fn a_secret_header_never_follows_to_another_origin() {
        for (location, carried) in [
            ("/next", true),
            ("https://shop.test/next", true),
            ("https://shop.test:8443/next", false),
            ("https://sub.shop.test/next", false),
            ("https://evil.test/next", false),
            ("//evil.test/next", false),
            ("http://shop.test/next", false),
        ] {
            let next = follow(&request("https://shop.test/a", false), 302, location, |_| false).expect("followed");
            assert_eq!(!next.headers.is_empty(), carried, "{location}");
        }
        let up =
            follow(&request("http://shop.test/a", false), 301, "https://shop.test/a", |_| false).expect("followed");
        assert!(!up.headers.is_empty(), "an upgrade to https stays on the site");
    }

    #[test]
    fn a_form_is_never_sent_on_to_another_site() {
        let post = request("https://shop.test/login", true);
        for status in [307, 308] {
            for there in ["https://evil.test/", "https://shop.test:444/"] {
                assert!(
                    matches!(follow(&post, status, there, |_| false), Err(RedirectError::FormElsewhere(_))),
                    "{there}"
                );
            }
            let same = follow(&post, status, "/login2", |_| false).expect("followed");
            assert!(same.post && same.body.is_some());
        }
        for status in [301, 302, 303] {
            let next = follow(&post, status, "https://evil.test/", |_| false).expect("followed without the form");
            assert!(!next.post && next.body.is_none() && next.headers.is_empty());
        }
    }

    #[test]
    fn https_to_http_with_cookies_is_refused() {
        let get = request("https://shop.test/a", false);
        assert!(matches!(follow(&get, 302, "http://shop.test/b", |_| true), Err(RedirectError::Insecure(_))));
        assert!(follow(&get, 302, "http://shop.test/b", |_| false).is_ok());
    }

    #[test]
    fn a_redirect_cannot_bring_a_user_and_password_along() {
        let next = follow(&request("https://shop.test/a", false), 302, "https://u:p@shop.test/b", |_| false)
            .expect("followed");
        assert_eq!(next.url.as_str(), "https://shop.test/b");
    }
}
