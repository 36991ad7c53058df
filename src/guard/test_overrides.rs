//! Overrides of a guard for tests: DNS answers, addresses that count as public or as this machine's, a trusted
//! certificate.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};

use rustls::{ClientConfig, RootCertStore};

#[derive(Clone, Debug, Default)]
pub struct TestOverrides {
    /// Loopback addresses that count as public.
    pub public: BTreeSet<IpAddr>,
    /// Addresses of this machine, instead of those of its interfaces.
    pub own: BTreeSet<IpAddr>,
    /// DNS answers by host name, one for each lookup; the last one is repeated.
    pub names: Arc<Mutex<HashMap<String, VecDeque<Vec<SocketAddr>>>>>,
    /// A root certificate to trust instead of the system's.
    pub authority: Option<Vec<u8>>,
}

impl TestOverrides {
    pub fn next_resolution(&self, host: &str) -> Option<Vec<SocketAddr>> {
        let mut names = self.names.lock().expect("no test panics with it");
        let answers = names.get_mut(host)?;
        if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() }
    }

    /// The server that answers for a host.
    pub fn server_for(&self, host: &str) -> Option<SocketAddr> {
        let names = self.names.lock().expect("no test panics with it");
        names.get(host)?.front()?.iter().copied().find(|it| it.port() != 0)
    }

    /// Sends connections to `host`, at any port, to `server`.
    pub fn route_host_to(&self, host: &str, server: SocketAddr) {
        let answers = VecDeque::from([vec![server]]);
        self.names.lock().expect("no test panics with it").insert(host.to_owned(), answers);
    }

    pub fn resolve_to(&self, host: &str, answers: &[&[IpAddr]]) {
        let answers = answers.iter().map(|all| all.iter().map(|it| SocketAddr::new(*it, 0)).collect()).collect();
        self.names.lock().expect("no test panics with it").insert(host.to_owned(), answers);
    }

    /// A TLS configuration that trusts the test's root certificate and no other.
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
