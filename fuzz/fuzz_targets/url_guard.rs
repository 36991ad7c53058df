//! A URL on each line, read with the host as the task's own: what the guard lets through leads to public addresses
//! only. The last 16 bytes are one answer of the DNS, as IPv6 and, their last four, as IPv4.

#![no_main]

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use pieme::guard::{Guard, is_global};
use url::{Host, Url};

/// Networks that are not of the public Internet, as RFC 6890 and its successors list them.
const PRIVATE_V4: [(u32, u32); 15] = [
    (0x0000_0000, 8),
    (0x0a00_0000, 8),
    (0x6440_0000, 10),
    (0x7f00_0000, 8),
    (0xa9fe_0000, 16),
    (0xac10_0000, 12),
    (0xc000_0000, 24),
    (0xc000_0200, 24),
    (0xc058_6300, 24),
    (0xc0a8_0000, 16),
    (0xc612_0000, 15),
    (0xc633_6400, 24),
    (0xcb00_7100, 24),
    (0xe000_0000, 4),
    (0xf000_0000, 4),
];

fn is_private_v4(address: Ipv4Addr) -> bool {
    PRIVATE_V4.iter().any(|(network, bits)| (address.to_bits() ^ network) >> (32 - bits) == 0)
}

/// Whether a connection to the address could end in a private network, directly or through a gateway.
fn is_private(address: IpAddr) -> bool {
    let v6 = match address {
        IpAddr::V4(v4) => return is_private_v4(v4),
        IpAddr::V6(v6) => v6,
    };
    let within = |network: u128, bits: u32| (v6.to_bits() ^ network) >> (128 - bits) == 0;
    let low = Ipv4Addr::from_bits(v6.to_bits() as u32);
    if within(0xffff << 32, 96) || within(0x64_ff9b << 96, 96) {
        return is_private_v4(low);
    }
    !within(0x2000 << 112, 3) || within(0x2001 << 112, 23) || within(0x2001_0db8 << 96, 32) || within(0x2002 << 112, 16)
}

/// The address that `inet_aton` of the C library reads: 1 to 4 numbers, decimal, octal or hexadecimal.
fn by_inet_aton(host: &str) -> Option<Ipv4Addr> {
    let parts: Vec<&str> = host.strip_suffix('.').unwrap_or(host).split('.').collect();
    if parts.iter().any(|part| part.contains('+')) {
        return None;
    }
    let number = |part: &&str| match part.strip_prefix("0x").or(part.strip_prefix("0X")) {
        Some("") => Some(0),
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None if part.len() > 1 && part.starts_with('0') => u64::from_str_radix(part, 8).ok(),
        None => part.parse().ok(),
    };
    let numbers = parts.iter().map(number).collect::<Option<Vec<u64>>>()?;
    let (last, first) = numbers.split_last()?;
    let room = 8 * (4 - u32::try_from(first.len()).ok().filter(|many| *many < 4)?);
    if first.iter().any(|it| *it > 255) || last >> room != 0 {
        return None;
    }
    let high = first.iter().fold(0, |sum, it| sum << 8 | it);
    u32::try_from(high << room | last).ok().map(Ipv4Addr::from_bits)
}

fn check(url: &Url) {
    let Some(host) = url.host_str() else { return };
    let guard = Guard::for_host(host, false, &BTreeSet::new());
    let is_allowed = guard.check_url(url).is_ok();
    assert!(!is_allowed || matches!(url.scheme(), "http" | "https"), "{url}");
    let address: IpAddr = match url.host() {
        Some(Host::Ipv4(address)) => address.into(),
        Some(Host::Ipv6(address)) => address.into(),
        // The resolver would read this as an address. It is checked again after it was resolved.
        Some(Host::Domain(name)) if is_allowed => {
            assert!(by_inet_aton(name).is_none(), "{url} is an address to the resolver");
            return;
        }
        _ => return,
    };
    assert!(!is_allowed || !is_private(address), "{url} is allowed");
    // Of an address nothing is looked up.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    for found in runtime.block_on(guard.resolve(host, 80, Duration::from_secs(1))).unwrap_or_default() {
        assert!(!is_private(found.ip()), "{url} leads to {found}");
    }
}

fuzz_target!(|bytes: &[u8]| {
    if let Some(last) = bytes.last_chunk::<16>() {
        let v6 = Ipv6Addr::from(*last);
        for answer in [IpAddr::V6(v6), IpAddr::V4(Ipv4Addr::from_bits(v6.to_bits() as u32))] {
            assert!(!is_global(answer) || !is_private(answer), "{answer} counts as public");
        }
    }
    for line in String::from_utf8_lossy(bytes).lines().take(8) {
        for text in [line.to_owned(), format!("http://{line}/"), format!("http://[{line}]/")] {
            if let Ok(url) = Url::parse(&text) {
                check(&url);
            }
        }
    }
});
