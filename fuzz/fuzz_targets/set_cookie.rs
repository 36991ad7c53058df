//! `Set-Cookie` headers, one a line, from each of these hosts: no cookie reaches another site or a public suffix.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pieme::robot::CookieJar;
use url::Url;

/// Hosts, and a number for each site. A public suffix is a site of its own.
const HOSTS: [(&str, u8); 18] = [
    ("shop.com", 1),
    ("www.shop.com", 1),
    ("other.com", 2),
    ("com", 3),
    ("shop.co.uk", 4),
    ("a.b.shop.co.uk", 4),
    ("other.co.uk", 5),
    ("co.uk", 6),
    ("me.github.io", 7),
    ("you.github.io", 8),
    ("github.io", 9),
    ("www.shop.kobe.jp", 10),
    ("other.kobe.jp", 11),
    ("127.0.0.1", 12),
    ("127.0.0.2", 13),
    ("1.127.0.0.1.example.org", 14),
    ("[::1]", 15),
    ("localhost", 16),
];
/// More than the jar keeps of one domain and of one cookie.
const MAX_HEADER: usize = 51 * (4096 + 2);

fn url(host: &str) -> Url {
    Url::parse(&format!("https://{host}/a/b")).expect("a URL of ours")
}

fuzz_target!(|text: &str| {
    for (from, site) in HOSTS {
        let mut jar = CookieJar::default();
        for header in text.lines() {
            jar.store(header, &url(from));
        }
        for (host, other) in HOSTS {
            for scheme in ["https", "http"] {
                let mut there = url(host);
                there.set_scheme(scheme).expect("both are special");
                let Some(sent) = jar.header(&there) else { continue };
                assert_eq!(site, other, "{from} set a cookie for {host}: {sent}");
                assert!(sent.len() <= 2 * MAX_HEADER, "{} bytes", sent.len());
            }
        }
        let again = CookieJar::from_json(jar.to_json().as_deref());
        assert_eq!(again.header(&url(from)), jar.header(&url(from)), "{from}: what is stored can be read");
    }
});
