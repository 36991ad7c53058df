//! The cookie jar of a task, kept from run to run, session cookies included: to a site, all runs are one session.

use cookie_store::{CookieDomain, CookieStore};
use url::Url;

/// More than browsers need and too few to fill a disk (docs/design/safety.md 6.20).
const MAX_PER_DOMAIN: usize = 50;
const MAX_COOKIE_BYTES: usize = 4096;

#[derive(Clone, Default)]
pub struct CookieJar(CookieStore);

impl CookieJar {
    /// Reads what [`CookieJar::to_json`] wrote. Anything else gives an empty jar: the next run logs in again.
    pub fn from_json(json: Option<&str>) -> CookieJar {
        json.and_then(|json| cookie_store::serde::json::load(json.as_bytes()).ok()).map(CookieJar).unwrap_or_default()
    }

    /// `None` for an empty jar.
    pub fn to_json(&self) -> Option<String> {
        let cookies: Vec<_> = self.0.iter_unexpired().collect();
        if cookies.is_empty() { None } else { serde_json::to_string(&cookies).ok() }
    }

    /// Stores a `Set-Cookie` header from `url`, unless the cookie is too large, one too many, or for a public suffix.
    pub fn store(&mut self, header: &str, url: &Url) {
        if header.len() > MAX_COOKIE_BYTES {
            return;
        }
        let Ok(mut cookie) = cookie_store::Cookie::parse(header.to_owned(), url) else { return };
        if let CookieDomain::Suffix(domain) = &cookie.domain
            && is_public_suffix(domain)
        {
            if Some(domain.as_str()) != url.host_str() {
                return;
            }
            // A public suffix may keep cookies for itself (RFC 6265, 5.3 step 5), not for the sites under it.
            cookie.domain = CookieDomain::HostOnly(domain.clone());
        }
        let domain = String::from(&cookie.domain);
        let path = String::from(&cookie.path);
        let of_domain = self.0.iter_unexpired().filter(|it| String::from(&it.domain) == domain).count();
        if of_domain < MAX_PER_DOMAIN || self.0.contains(&domain, &path, cookie.name()) {
            // An error means that the cookie is for another host, or expired: it is not stored.
            let _ = self.0.insert(cookie.into_owned(), url);
        }
    }

    /// All cookies, for a browser.
    pub fn iter(&self) -> impl Iterator<Item = &cookie_store::Cookie<'static>> {
        self.0.iter_unexpired()
    }

    /// The `Cookie` header for a request to `url`.
    pub fn header(&self, url: &Url) -> Option<String> {
        let mut cookies = self.0.matches(url);
        // Longer paths first, as browsers do; then by name and domain, so that the order is always the same.
        cookies.sort_by_key(|it| (std::cmp::Reverse(it.path.len()), it.name().to_owned(), String::from(&it.domain)));
        let pairs: Vec<String> = cookies.iter().map(|cookie| format!("{}={}", cookie.name(), cookie.value())).collect();
        (!pairs.is_empty()).then(|| pairs.join("; "))
    }
}

/// Whether the domain is a public suffix, so that a cookie for it would reach other people's sites. The list is
/// compiled in: nothing is read at the start of a run. For a name that is not on it, the last label counts as the
/// suffix. Where every name below is a suffix (`*.kobe.jp`), the domain is one, too, as in browsers.
fn is_public_suffix(domain: &str) -> bool {
    let domain = domain.trim_matches('.').to_ascii_lowercase();
    let is_suffix = |name: &str| psl::suffix_str(name).is_none_or(|suffix| suffix.len() == name.len());
    is_suffix(&domain) || is_suffix(&format!("any.{domain}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).expect("a URL of the test")
    }

    #[test]
    fn session_cookies_are_kept_from_run_to_run() {
        let mut jar = CookieJar::default();
        jar.store("sid=1; Path=/; HttpOnly", &url("https://shop.test/login"));
        let again = CookieJar::from_json(jar.to_json().as_deref());
        assert_eq!(again.header(&url("https://shop.test/orders")).as_deref(), Some("sid=1"));
        assert_eq!(again.header(&url("https://other.test/")), None);
        assert_eq!(CookieJar::from_json(Some("not json")).to_json(), None);
    }

    #[test]
    fn input_19_a_cookie_for_everybody_is_not_taken() {
        for (header, from, taken) in [
            ("a=1; Domain=com", "https://shop.com/", false),
            ("a=1; Domain=.co.uk", "https://shop.co.uk/", false),
            ("a=1; Domain=github.io", "https://me.github.io/", false),
            ("a=1; Domain=shop.kobe.jp", "https://www.shop.kobe.jp/", false),
            ("a=1; Domain=kobe.jp", "https://www.shop.kobe.jp/", false),
            ("a=1; Domain=appspot.com", "https://me.appspot.com/", false),
            ("a=1; Domain=city.kobe.jp", "https://www.city.kobe.jp/", true),
            ("a=1; Domain=COM", "https://shop.com/", false),
            ("a=1; Domain=other.test", "https://shop.test/", false),
            ("a=1; Domain=shop.co.uk", "https://www.shop.co.uk/", true),
            ("a=1; Domain=.example.org", "https://www.example.org/", true),
            ("a=1", "http://127.0.0.1:8643/", true),
        ] {
            let mut jar = CookieJar::default();
            jar.store(header, &url(from));
            assert_eq!(jar.header(&url(from)).is_some(), taken, "{header} from {from}");
        }
    }

    #[test]
    fn a_public_suffix_sets_cookies_for_itself_only() {
        let mut jar = CookieJar::default();
        jar.store("a=1; Domain=github.io", &url("https://github.io/"));
        assert_eq!(jar.header(&url("https://github.io/")).as_deref(), Some("a=1"));
        assert_eq!(jar.header(&url("https://me.github.io/")), None);
    }

    #[test]
    fn input_20_ten_thousand_cookies_are_fifty_and_a_large_one_is_none() {
        let mut jar = CookieJar::default();
        let from = url("https://shop.test/");
        for n in 0..10_000 {
            jar.store(&format!("c{n}={n}"), &from);
        }
        jar.store(&format!("big={}", "x".repeat(70_000)), &from);
        let header = jar.header(&from).expect("some were kept");
        assert_eq!(header.split("; ").count(), MAX_PER_DOMAIN);
        assert!(!header.contains("big"));
        jar.store("c1=new", &from);
        assert!(jar.header(&from).is_some_and(|header| header.contains("c1=new")), "a known one is still updated");
    }
}
