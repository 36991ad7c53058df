//! A chain of redirects, one a line, each with a digit for its status: what was meant for the first origin never
//! reaches another one.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pieme::robot::{CookieJar, PageRequest, RequestBody, follow_redirect};
use url::Url;

const STARTS: [&str; 3] = ["https://shop.test/login", "http://shop.test/login", "https://shop.test:8443/a?b#c"];
const STATUSES: [u16; 5] = [301, 302, 303, 307, 308];
/// As many as the robot follows.
const MAX_HOPS: usize = 10;
const SECRET: &str = "hush-hush";

/// The same origin, or the default port of http upgraded to that of https.
fn may_know(start: &Url, there: &Url) -> bool {
    let place = |url: &Url| (url.scheme().to_owned(), url.host_str().map(str::to_owned), url.port_or_known_default());
    let upgraded = ("https".to_owned(), start.host_str().map(str::to_owned), Some(443));
    let is_plain = start.scheme() == "http" && start.port_or_known_default() == Some(80);
    place(start) == place(there) || is_plain && place(there) == upgraded
}

fn walk(start: &Url, post: bool, lines: &[&str]) {
    let mut jar = CookieJar::default();
    jar.store(&format!("sid={SECRET}"), start);
    let mut request = PageRequest::get(start.clone());
    request.headers = vec![("x-api-key".to_owned(), SECRET.to_owned())];
    request.referrer = Some(start.clone());
    if post {
        request.post = true;
        let content_type = "application/x-www-form-urlencoded".to_owned();
        request.body = Some(RequestBody { content_type, bytes: SECRET.into() });
    }
    for line in lines {
        let status = STATUSES[line.bytes().next().map_or(0, usize::from) % STATUSES.len()];
        let location = line.char_indices().nth(1).map_or("", |(at, _)| &line[at..]);
        let before = request.url.clone();
        let Ok(next) = follow_redirect(&request, status, location, |url| jar.header(url).is_some()) else { return };
        let there = &next.url;
        if !matches!(there.scheme(), "http" | "https") {
            // The guard refuses every other scheme before anything is sent.
            return;
        }
        assert!(there.username().is_empty() && there.password().is_none(), "{there}");
        let carries = !next.headers.is_empty() || next.body.is_some() || next.referrer.is_some();
        assert!(!carries || may_know(start, there), "{start} → {there}");
        if jar.header(there).is_some() {
            assert_eq!(there.host_str(), start.host_str(), "a cookie");
            assert!(before.scheme() != "https" || there.scheme() == "https", "a cookie from {before} to {there}");
        }
        assert!(next.body.is_none() || next.post, "a form is posted");
        request = next;
    }
}

fuzz_target!(|text: &str| {
    let lines: Vec<&str> = text.lines().take(MAX_HOPS).collect();
    for start in STARTS {
        let start = Url::parse(start).expect("a URL of ours");
        for post in [false, true] {
            walk(&start, post, &lines);
        }
    }
});
