use super::*;

fn guard(hosts: &[&str], allow_private: bool) -> Guard {
    let hosts = hosts.iter().map(|host| canonical(host)).collect();
    Guard { hosts, allow_private, allow_subresources: false, proxy: None, test_overrides: Default::default() }
}

pub const SPELLINGS: &[&str] = &[
    "127.0.0.1",
    "127.1",
    "127.0.1",
    "2130706433",
    "0x7f000001",
    "0x7f.1",
    "0x7F.0x0.0x0.0x1",
    "017700000001",
    "0177.0.0.1",
    "0177.1",
    "127.0.0.1.",
    "127.000.000.001",
    "①②⑦.⓪.⓪.①",
    "127。0。0。1",
    "１２７.０.０.１",
    "%31%32%37.0.0.1",
    "0",
    "0.0.0.0",
    "0x0",
    "10.0.0.1",
    "10.1",
    "167772161",
    "100.64.0.1",
    "169.254.169.254",
    "0xa9fea9fe",
    "2852039166",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.0.1",
    "192.168.257",
    "192.0.0.1",
    "192.0.2.1",
    "192.88.99.1",
    "198.18.0.1",
    "198.51.100.7",
    "203.0.113.9",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "[::1]",
    "[::]",
    "[0:0:0:0:0:0:0:1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::ffff:10.0.0.1]",
    "[::127.0.0.1]",
    "[64:ff9b::a9fe:a9fe]",
    "[64:ff9b::127.0.0.1]",
    "[64:ff9b:1::1]",
    "[2002:7f00:1::]",
    "[2001::1]",
    "[2001:db8::1]",
    "[fc00::1]",
    "[fd12:3456::1]",
    "[fe80::1]",
    "[fec0::1]",
    "[ff02::1]",
    "[100::1]",
    "[3fff::1]",
    "[2001:10::1]",
    "[::ffff:0:127.0.0.1]",
];

#[test]
fn no_spelling_of_a_private_address_passes() {
    assert!(SPELLINGS.len() >= 40);
    for host in SPELLINGS {
        let url = Url::parse(&format!("http://{host}/")).expect("a spelling that browsers accept");
        let host = url.host_str().expect("it has a host").to_owned();
        let refused = guard(&[&host], false).check_url(&url);
        assert!(matches!(refused, Err(Refusal::Private { .. })), "{url}: {refused:?}");
        assert_eq!(guard(&[&host], true).check_url(&url), Ok(()), "{url}: allow_private");
    }
}

#[test]
fn public_addresses_pass_in_every_spelling() {
    for host in
        ["93.184.216.34", "1572395042", "8.8.8.8", "[2606:4700::1111]", "[::ffff:8.8.8.8]", "[64:ff9b::808:808]"]
    {
        let url = Url::parse(&format!("http://{host}/")).expect("an address");
        let host = url.host_str().expect("it has a host").to_owned();
        assert_eq!(guard(&[&host], false).check_url(&url), Ok(()), "{url}");
    }
}

#[test]
fn only_the_hosts_of_the_task_may_be_reached() {
    let guard = guard(&["example.org", "*.shop.test", "BÜCHER.example"], false);
    for (url, allowed) in [
        ("https://example.org/a", true),
        ("https://EXAMPLE.org:8443/a", true),
        ("https://www.example.org/", true),
        ("https://example.org./", true),
        ("https://eu.shop.test/", true),
        ("https://a.b.shop.test/", true),
        ("https://xn--bcher-kva.example/", true),
        ("https://shop.test/", false),
        ("https://notexample.org/", false),
        ("https://example.org.evil.test/", false),
        ("https://sub.example.org/", false),
        ("https://evil.test/?example.org", false),
        ("https://example.org@evil.test/", false),
    ] {
        let url = Url::parse(url).expect("a URL of the table");
        assert_eq!(guard.check_url(&url).is_ok(), allowed, "{url}");
    }
}

#[test]
fn schemes_other_than_http_are_never_fetched() {
    for url in
        ["file:///etc/passwd", "ftp://example.org/", "data:text/html,x", "javascript:alert(1)", "gopher://example.org/"]
    {
        let refused = guard(&["example.org"], true).check_url(&Url::parse(url).expect("a URL of the table"));
        assert!(matches!(refused, Err(Refusal::Scheme(_))), "{url}: {refused:?}");
    }
}
