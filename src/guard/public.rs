//! Which IP addresses are public.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether the address belongs to the public Internet, by the IANA special-purpose registries.
pub fn is_global(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_global_v4(v4),
        IpAddr::V6(v6) => is_global_v6(v6),
    }
}

fn is_global_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let special = matches!(
        (a, b, c),
        (0 | 10 | 127, _, _)
            | (100, 64..=127, _)
            | (169, 254, _)
            | (172, 16..=31, _)
            | (192, 168, _)
            | (192, 0, 0 | 2)
            | (192, 88, 99)
            | (198, 18 | 19, _)
            | (198, 51, 100)
            | (203, 0, 113)
            | (224.., _, _)
    );
    !special
}

fn is_global_v6(address: Ipv6Addr) -> bool {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let last_two = Ipv4Addr::from((u32::from(g) << 16) | u32::from(h));
    match (a, b) {
        // Embedded IPv4: ::ffff:a.b.c.d, and NAT64, by which IPv6-only networks reach the IPv4 Internet.
        (0, 0) if (c, d, e, f) == (0, 0, 0, 0xffff) => is_global_v4(last_two),
        (0x64, 0xff9b) if (c, d, e, f) == (0, 0, 0, 0) => is_global_v4(last_two),
        // Teredo and other protocol assignments, documentation, 6to4.
        (0x2001, 0..=0x1ff | 0xdb8) | (0x2002, _) | (0x3fff, 0..=0xfff) => false,
        _ => (0x2000..=0x3fff).contains(&a),
    }
}
