//! Converts cookies between the jar and Chromium, so that both engines share them: the jar's are set before the first
//! page, and the browser's are stored after each page.

use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use crate::guard::Guard;
use crate::robot::cookies::CookieJar;

/// A cookie in Chromium's format.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DevToolsCookie {
    name: String,
    value: String,
    domain: String,
    path: String,
    /// Seconds since 1970; -1 for a session cookie.
    expires: f64,
    http_only: bool,
    secure: bool,
    same_site: Option<String>,
}

/// The jar's cookies in Chromium's format.
pub fn from_jar(jar: &CookieJar) -> Vec<Value> {
    let crumb = |cookie: &cookie_store::Cookie<'static>| {
        let (domain, alone) = match &cookie.domain {
            cookie_store::CookieDomain::Suffix(domain) => (format!(".{}", domain.trim_start_matches('.')), false),
            cookie_store::CookieDomain::HostOnly(domain) => (domain.clone(), true),
            cookie_store::CookieDomain::NotPresent | cookie_store::CookieDomain::Empty => return None,
        };
        let path = String::from(&cookie.path);
        let secure = cookie.secure().unwrap_or(false);
        let mut crumb = json!({
            "name": cookie.name(), "value": cookie.value(), "path": path, "secure": secure,
            "httpOnly": cookie.http_only().unwrap_or(false),
        });
        if alone {
            // With a domain it would also be sent to subdomains.
            crumb["url"] = format!("{}://{domain}{path}", if secure { "https" } else { "http" }).into();
        } else {
            crumb["domain"] = domain.into();
        }
        if let Some(same_site) = cookie.same_site() {
            crumb["sameSite"] = same_site.to_string().into();
        }
        if let cookie_store::CookieExpiration::AtUtc(time) = &cookie.expires {
            crumb["expires"] = time.unix_timestamp().into();
        }
        Some(crumb)
    };
    jar.iter().filter_map(crumb).collect()
}

/// The browser's cookies of the task's own hosts; those of other hosts are dropped.
pub fn to_jar(cookies: &Value, guard: &Guard) -> CookieJar {
    let mut jar = CookieJar::default();
    let all = cookies.as_array().into_iter().flatten();
    for crumb in all.filter_map(|it| DevToolsCookie::deserialize(it).ok()) {
        let host = crumb.domain.trim_start_matches('.');
        let scheme = if crumb.secure { "https" } else { "http" };
        let Ok(url) = Url::parse(&format!("{scheme}://{host}{}", crumb.path)) else { continue };
        if guard.is_task_host(host) || crumb.domain.starts_with('.') && guard.has_task_host_under(host) {
            jar.store(&crumb.to_set_cookie(), &url);
        }
    }
    jar
}

impl DevToolsCookie {
    /// The `Set-Cookie` header that would set this cookie.
    fn to_set_cookie(&self) -> String {
        let mut header = format!("{}={}; Path={}", self.name, self.value, self.path);
        if self.domain.starts_with('.') {
            header += &format!("; Domain={}", self.domain.trim_start_matches('.'));
        }
        if let Some(same_site) = &self.same_site {
            header += &format!("; SameSite={same_site}");
        }
        if self.expires > 0.0
            && let Some(time) = chrono::DateTime::from_timestamp(self.expires as i64, 0)
        {
            header += &format!("; Expires={}", time.format("%a, %d %b %Y %H:%M:%S GMT"));
        }
        for (is_so, word) in [(self.secure, "; Secure"), (self.http_only, "; HttpOnly")] {
            header += if is_so { word } else { "" };
        }
        header
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{AddressGrants, Script, Task};

    #[test]
    fn a_jar_comes_back_from_the_browser_as_it_went_in_and_without_cookies_of_others() {
        let task: Task = toml::from_str("url = 'https://www.shop.test/'").expect("a task");
        let guard = Guard::new(&task, &Script::default(), &AddressGrants::default());
        let url = Url::parse("https://www.shop.test/a/b").expect("a URL");
        let mut jar = CookieJar::default();
        for header in [
            "sid=1; Path=/; HttpOnly; Secure; SameSite=Lax",
            "wide=2; Domain=shop.test; Path=/a",
            "old=3; Expires=Fri, 01 Jan 2100 00:00:00 GMT; Path=/",
        ] {
            jar.store(header, &url);
        }
        let mut told: Vec<Value> = from_jar(&jar)
            .into_iter()
            .map(|mut it| {
                // Chromium derives the domain from the URL and adds the missing fields.
                let host = it["url"]
                    .as_str()
                    .and_then(|it| Url::parse(it).ok())
                    .and_then(|it| it.host_str().map(str::to_owned));
                if let Some(host) = host {
                    it["domain"] = host.into();
                }
                it["expires"] = if it["expires"].is_null() { json!(-1) } else { it["expires"].clone() };
                it
            })
            .collect();
        told.push(json!({
            "name": "spy", "value": "9", "domain": ".ads.test", "path": "/", "expires": -1,
            "httpOnly": false, "secure": false,
        }));
        let again = to_jar(&Value::Array(told), &guard);
        assert_eq!(again.header(&url), jar.header(&url));
        assert_eq!(jar.header(&url).as_deref(), Some("wide=2; old=3; sid=1"));
        assert_eq!(again.iter().count(), 3, "the spy is not among them");
        let plain = Url::parse("http://www.shop.test/a/b").expect("a URL");
        assert_eq!(again.header(&plain), jar.header(&plain), "a secure one stays secure");
    }
}
