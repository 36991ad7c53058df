//! Who is at the other end of a connection, as far as passwords are concerned. What a header says of it is not believed.

use std::net::{IpAddr, Ipv6Addr};

use axum::extract::connect_info::Connected;
use axum::serve::IncomingStream;
use tokio::net::{TcpListener, UnixListener};

use crate::daemon::connections::LimitedListener;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Peer {
    Address(IpAddr),
    /// A Unix socket tells no addresses: all who come by it are one.
    Socket,
    /// More than are remembered.
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

/// Whoever has one IPv6 address has the 2⁶⁴ beside it.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(it) => match it.to_ipv4_mapped() {
            Some(v4) => IpAddr::V4(v4),
            None => IpAddr::V6(Ipv6Addr::from_bits(it.to_bits() & !u128::from(u64::MAX))),
        },
    }
}
