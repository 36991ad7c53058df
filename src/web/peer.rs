//! The client of a connection, as the rate limit for passwords counts it. Forwarding headers are ignored.

use std::net::{IpAddr, Ipv6Addr};

use axum::extract::connect_info::Connected;
use axum::serve::IncomingStream;
use tokio::net::{TcpListener, UnixListener};

use crate::daemon::http::connections::LimitedListener;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Peer {
    Address(IpAddr),
    /// All clients of the Unix socket: it knows no addresses.
    Socket,
    /// All clients beyond the number that is remembered.
    Other,
}

impl Connected<IncomingStream<'_, LimitedListener<TcpListener>>> for Peer {
    fn connect_info(stream: IncomingStream<'_, LimitedListener<TcpListener>>) -> Peer {
        Peer::Address(network(stream.remote_addr().ip()))
    }
}

impl Connected<IncomingStream<'_, LimitedListener<UnixListener>>> for Peer {
    fn connect_info(_: IncomingStream<'_, LimitedListener<UnixListener>>) -> Peer {
        Peer::Socket
    }
}

/// The /64 network of an IPv6 address: its owner has all 2⁶⁴ addresses of it.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(it) => match it.to_ipv4_mapped() {
            Some(v4) => IpAddr::V4(v4),
            None => IpAddr::V6(Ipv6Addr::from_bits(it.to_bits() & !u128::from(u64::MAX))),
        },
    }
}
