//! Addresses that no task reaches, whatever config.toml grants.

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Where clouds serve credentials to the machines in them: AWS, Google, Azure, DigitalOcean and others; tasks and pods
/// of AWS; Alibaba; Oracle.
const METADATA_V4: [Ipv4Addr; 5] = [
    Ipv4Addr::new(169, 254, 169, 254),
    Ipv4Addr::new(169, 254, 170, 2),
    Ipv4Addr::new(169, 254, 170, 23),
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(192, 0, 0, 192),
];
/// The same over IPv6: machines and pods of AWS.
const METADATA_V6: [Ipv6Addr; 2] =
    [Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254), Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23)];

pub(super) fn is_metadata(address: IpAddr) -> bool {
    reached_by(address).any(|it| match it {
        IpAddr::V4(v4) => METADATA_V4.contains(&v4),
        IpAddr::V6(v6) => METADATA_V6.contains(&v6),
    })
}

/// 0.0.0.0 and `::` connect to this machine.
pub(super) fn is_unspecified(address: IpAddr) -> bool {
    reached_by(address).any(|it| it.is_unspecified())
}

pub(super) fn is_loopback(address: IpAddr) -> bool {
    reached_by(address).any(|it| it.is_loopback())
}

pub(super) fn is_one_of(address: IpAddr, own: &BTreeSet<IpAddr>) -> bool {
    reached_by(address).any(|it| own.contains(&it))
}

/// The addresses of this machine's interfaces, without loopback.
pub(super) fn own_addresses() -> io::Result<BTreeSet<IpAddr>> {
    let address = |it: nix::ifaddrs::InterfaceAddress| {
        let address = it.address?;
        let v4 = address.as_sockaddr_in().map(|it| IpAddr::V4(it.ip()));
        v4.or_else(|| address.as_sockaddr_in6().map(|it| IpAddr::V6(it.ip())))
    };
    let all = nix::ifaddrs::getifaddrs().map_err(io::Error::from)?;
    Ok(all.filter_map(address).filter(|it| !it.is_loopback()).collect())
}

/// The address itself, and the IPv4 address that a gateway, or this machine, makes of it.
fn reached_by(address: IpAddr) -> impl Iterator<Item = IpAddr> {
    let inner = match address {
        IpAddr::V4(_) => None,
        IpAddr::V6(v6) => embedded_v4(v6).map(IpAddr::V4),
    };
    // `::` and `::1` look like embedded addresses 0.0.0.0 and 0.0.0.1.
    let inner = inner.filter(|_| !address.is_unspecified() && !address.is_loopback());
    std::iter::once(address).chain(inner)
}

/// ::a.b.c.d, ::ffff:a.b.c.d, ::ffff:0:a.b.c.d, NAT64 (the well-known prefix and the local one), 6to4.
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let last_two = || Ipv4Addr::from((u32::from(g) << 16) | u32::from(h));
    match (a, b, c, d, e, f) {
        (0, 0, 0, 0, 0, 0 | 0xffff) | (0, 0, 0, 0, 0xffff, 0) => Some(last_two()),
        (0x64, 0xff9b, 0 | 1, _, _, _) => Some(last_two()),
        (0x2002, ..) => Some(Ipv4Addr::from((u32::from(b) << 16) | u32::from(c))),
        _ => None,
    }
}
