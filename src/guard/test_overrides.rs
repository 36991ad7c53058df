//! What tests make a guard believe.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};

use rustls::{ClientConfig, RootCertStore};

#[derive(Clone, Debug, Default)]
pub struct TestOverrides {
    /// Addresses that count as public, though they are of this machine.
    pub public: BTreeSet<IpAddr>,
    /// What a name resolves to, one answer a question; the last one stays.
    pub names: Arc<Mutex<HashMap<String, VecDeque<Vec<SocketAddr>>>>>,
    /// A certificate that counts as an authority's.
    pub authority: Option<Vec<u8>>,
}

impl TestOverrides {
    pub fn next_resolution(&self, host: &str) -> Option<Vec<SocketAddr>> {
        let mut names = self.names.lock().expect("no test panics with it");
        let answers = names.get_mut(host)?;
        if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() }
    }

    /// The server that stands in for a host.
    pub fn server_for(&self, host: &str) -> Option<SocketAddr> {
        let names = self.names.lock().expect("no test panics with it");
        names.get(host)?.front()?.iter().copied().find(|it| it.port() != 0)
    }

    /// A server stands in for a host, whatever its port.
    pub fn route_host_to(&self, host: &str, server: SocketAddr) {
        let answers = VecDeque::from([vec![server]]);
        self.names.lock().expect("no test panics with it").insert(host.to_owned(), answers);
    }

    pub fn resolve_to(&self, host: &str, answers: &[&[IpAddr]]) {
        let answers = answers.iter().map(|all| all.iter().map(|it| SocketAddr::new(*it, 0)).collect()).collect();
        self.names.lock().expect("no test panics with it").insert(host.to_owned(), answers);
    }

    /// The one authority that a test trusts, and no other.
    pub fn tls_config_loader(&self) -> Option<Arc<dyn Fn() -> Result<ClientConfig, rustls::Error> + Send + Sync>> {
        let authority = self.authority.clone()?;
        Some(Arc::new(move || {
            let mut roots = RootCertStore::empty();
            roots.add(authority.clone().into())?;
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            let versions = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
            Ok(versions.with_root_certificates(roots).with_no_client_auth())
        }))
    }
}
