//! The client of a connection, as limits count it. Forwarding headers are ignored.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Peer {
    Address(IpAddr),
    /// All clients of the Unix socket: it knows no addresses.
    Socket,
    /// A browser that has logged in before, by the id in its cookie.
    Device(String),
    /// All clients beyond the number that is remembered.
    Other,
}

impl Peer {
    /// The address; of IPv6 the /64 network, since its owner has all 2⁶⁴ addresses of it.
    pub fn at(address: IpAddr) -> Peer {
        Peer::Address(match address {
            IpAddr::V4(_) => address,
            IpAddr::V6(it) => match it.to_ipv4_mapped() {
                Some(v4) => IpAddr::V4(v4),
                None => IpAddr::V6(Ipv6Addr::from_bits(it.to_bits() & !u128::from(u64::MAX))),
            },
        })
    }
}

/// Limits what one peer may occupy at the same time. The Unix socket has no limit: behind it is a reverse proxy.
#[derive(Clone)]
pub struct PeerLimit {
    most: usize,
    taken: Arc<Mutex<HashMap<Peer, usize>>>,
}

impl PeerLimit {
    pub fn new(most: usize) -> PeerLimit {
        PeerLimit { most, taken: Arc::default() }
    }

    /// A place for the peer, occupied until dropped; `None` if it has all that it may have.
    pub fn enter(&self, peer: &Peer) -> Option<PeerPlace> {
        let mut taken = self.lock();
        let count = taken.entry(peer.clone()).or_default();
        if *count >= self.most && *peer != Peer::Socket {
            return None;
        }
        *count += 1;
        Some(PeerPlace { limit: self.clone(), peer: peer.clone() })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Peer, usize>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub struct PeerPlace {
    limit: PeerLimit,
    peer: Peer,
}

impl Drop for PeerPlace {
    fn drop(&mut self) {
        let mut taken = self.limit.lock();
        if let Some(count) = taken.get_mut(&self.peer) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.peer);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_peer_cannot_take_the_place_of_another() {
        let limit = PeerLimit::new(2);
        let [a, b] = ["2001:db8::1", "2001:db8:0:1::1"].map(|it| Peer::at(it.parse().expect("an address")));
        let same_network = Peer::at("2001:db8::2".parse().expect("an address"));
        let places = [limit.enter(&a), limit.enter(&same_network)];
        assert!(places.iter().all(Option::is_some) && limit.enter(&a).is_none());
        assert!(limit.enter(&b).is_some(), "another network");
        drop(places);
        assert!(limit.enter(&a).is_some());
        assert!(limit.lock().is_empty(), "peers that have left are forgotten");
        let proxy: Vec<_> = (0..5).map(|_| limit.enter(&Peer::Socket)).collect();
        assert!(proxy.iter().all(Option::is_some));
    }
}
