use super::*;

fn guard(hosts: &[&str]) -> Guard {
    guard_with_grants(hosts, &[])
}

fn guard_with_grants(hosts: &[&str], granted: &[&str]) -> Guard {
    let granted = granted.iter().map(|text| text.parse().expect("a grant of the test")).collect();
    let daemon_ports = BTreeSet::from([8642]);
    Guard {
        hosts: hosts.iter().map(|host| canonical(host)).collect(),
        grants: AddressGrants { task: "shop".to_owned(), granted, daemon_ports },
        allow_private: false,
        allow_subresources: false,
        proxy: None,
        test_overrides: Default::default(),
    }
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
        let refused = guard(&[&host]).check_url(&url);
        let granted = guard_with_grants(&[&host], &[&format!("{host}:80")]).check_url(&url);
        match refused {
            Err(Refusal::Private { .. }) => assert_eq!(granted, Ok(()), "{url}: granted"),
            Err(Refusal::Metadata { .. } | Refusal::OwnAddress { .. }) => assert_eq!(granted, refused, "{url}: never"),
            other => panic!("{url}: {other:?}"),
        }
        let other_port = guard_with_grants(&[&host], &[&format!("{host}:81")]).check_url(&url);
        assert!(other_port.is_err(), "{url}: another port is granted");
    }
}

#[test]
fn metadata_this_machine_and_the_daemon_are_never_reached() {
    for (url, refusal) in [
        ("http://169.254.169.254/", "metadata"),
        ("http://169.254.170.2/", "metadata"),
        ("http://169.254.170.23/", "metadata"),
        ("http://100.100.100.200/", "metadata"),
        ("http://192.0.0.192/", "metadata"),
        ("http://[fd00:ec2::254]/", "metadata"),
        ("http://[fd00:ec2::23]/", "metadata"),
        ("http://[::ffff:169.254.169.254]/", "metadata"),
        ("http://[64:ff9b::169.254.169.254]/", "metadata"),
        ("http://[2002:a9fe:a9fe::]/", "metadata"),
        ("http://0.0.0.0/", "own"),
        ("http://[::]/", "own"),
        ("http://[::ffff:0.0.0.0]/", "own"),
        ("http://127.0.0.1:8642/", "daemon"),
        ("http://localhost:8642/", "daemon"),
        ("http://[::1]:8642/", "daemon"),
        ("http://127.9.9.9:8642/", "daemon"),
        ("http://[::ffff:127.0.0.1]:8642/", "daemon"),
        ("http://0.0.0.0:8642/", "daemon"),
    ] {
        let url = Url::parse(url).expect("an address");
        let host = url.host_str().expect("it has a host");
        let entry = format!("{host}:{}", url.port_or_known_default().expect("http"));
        let by_task = guard_with_grants(&[host], &[&entry]).check_url(&url);
        let by_hook = Guard::for_host(host, true, &BTreeSet::from([8642])).check_url(&url);
        let kind = |checked: &Result<(), Refusal>| match checked {
            Err(Refusal::Metadata { .. }) => "metadata",
            Err(Refusal::OwnAddress { .. }) => "own",
            Err(Refusal::DaemonPort { .. }) => "daemon",
            _ => "reached",
        };
        assert_eq!(kind(&by_task), refusal, "{url}");
        // A webhook may go to this machine if [alert] allows private addresses.
        assert_eq!(kind(&by_hook), if refusal == "own" { "reached" } else { refusal }, "{url}");
    }
}

#[tokio::test]
async fn an_address_of_this_machine_is_refused_also_if_it_is_public() {
    let (public, private) = (IpAddr::from([93, 184, 216, 34]), IpAddr::from([10, 0, 0, 7]));
    for address in [public, private] {
        let mut guard = guard_with_grants(&["a.test"], &["a.test:80", "10.0.0.0/8:80"]);
        guard.test_overrides.own.insert(address);
        guard.test_overrides.resolve_to("a.test", &[&[address]]);
        let refused = guard.connect("a.test", 80, Duration::from_secs(5)).await.expect_err("refused");
        assert!(matches!(refused, ConnectError::Refused(Refusal::OwnAddress { .. })), "{refused:?}");
        let mut hook = Guard::for_host("a.test", true, &BTreeSet::from([8642]));
        hook.test_overrides = guard.test_overrides.clone();
        assert!(hook.resolve("a.test", 80, Duration::from_secs(5)).await.is_ok(), "[alert] allows it");
        let refused = hook.resolve("a.test", 8642, Duration::from_secs(5)).await.expect_err("the dashboard");
        assert!(matches!(refused, ConnectError::Refused(Refusal::DaemonPort { .. })), "{refused:?}");
    }
}

#[tokio::test]
async fn the_grant_of_a_name_holds_for_what_it_resolves_to_at_its_port() {
    let private = IpAddr::from([10, 0, 0, 7]);
    for (host, address, port, allowed) in [
        ("a.test", private, 80, true),
        ("a.test", private, 81, false),
        ("b.test", private, 80, false),
        ("a.test", IpAddr::from([127, 0, 0, 1]), 80, false),
        ("a.test", IpAddr::from([169, 254, 169, 254]), 80, false),
    ] {
        let mut guard = guard_with_grants(&["a.test", "b.test"], &["a.test:80"]);
        guard.test_overrides.own.insert(IpAddr::from([10, 0, 0, 8]));
        guard.test_overrides.resolve_to(host, &[&[address]]);
        let found = guard.resolve(host, port, Duration::from_secs(5)).await;
        assert_eq!(found.is_ok(), allowed, "{host} {address}:{port} {found:?}");
        // The error names the line that helps, where one does.
        if let Err(error @ ConnectError::Refused(Refusal::Private { .. })) = found {
            let entry = if address.is_loopback() { format!("{address}:{port}") } else { format!("{host}:{port}") };
            let line = format!("add `\"shop\" = [\"{entry}\"]` under [private] in config.toml");
            assert!(error.to_string().contains(&line), "{error}");
        }
    }
}

#[tokio::test]
async fn a_proxy_is_reached_at_its_own_port_only() {
    let task: Task = toml::from_str("url = 'http://a.test/'\nfetch.proxy = 'socks5://me:${secret:x}@10.0.0.7:3128'")
        .expect("a task");
    let grants = guard_with_grants(&[], &["10.0.0.7:3128", "10.0.0.7:22"]).grants;
    let mut guard = Guard::new(&task, &Script::default(), &grants);
    guard.test_overrides.own.insert(IpAddr::from([10, 0, 0, 8]));
    let refused = guard.connect("10.0.0.7", 22, Duration::from_secs(5)).await.expect_err("another service");
    assert!(matches!(refused, ConnectError::Refused(Refusal::Host(_))), "{refused:?}");
    assert!(guard.addresses("10.0.0.7", 3128).await.is_ok(), "the proxy");
}

#[test]
fn public_addresses_pass_in_every_spelling() {
    for host in
        ["93.184.216.34", "1572395042", "8.8.8.8", "[2606:4700::1111]", "[::ffff:8.8.8.8]", "[64:ff9b::808:808]"]
    {
        let url = Url::parse(&format!("http://{host}/")).expect("an address");
        let host = url.host_str().expect("it has a host").to_owned();
        assert_eq!(guard(&[&host]).check_url(&url), Ok(()), "{url}");
    }
}

#[test]
fn only_the_hosts_of_the_task_may_be_reached() {
    let guard = guard(&["example.org", "*.shop.test", "BÜCHER.example"]);
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
        let refused = guard(&["example.org"]).check_url(&Url::parse(url).expect("a URL of the table"));
        assert!(matches!(refused, Err(Refusal::Scheme(_))), "{url}: {refused:?}");
    }
}
