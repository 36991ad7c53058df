//! Whether the connection is encrypted, and by whom.

use std::sync::Arc;

use rustls::ClientConfig;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;

/// A server elsewhere is spoken to in secret unless the address says `sslmode=disable`; one on this machine, over loopback or a
/// socket, only if it says `sslmode=require`.
pub(super) fn settle(config: &mut Config, said: &str) {
    let is_elsewhere = |host: &Host| match host {
        Host::Tcp(name) => name != "localhost" && !name.parse::<std::net::IpAddr>().is_ok_and(|it| it.is_loopback()),
        Host::Unix(_) => false,
    };
    let required = config.get_ssl_mode() == SslMode::Require
        || (!said.contains("sslmode=disable") && config.get_hosts().iter().any(is_elsewhere));
    config.ssl_mode(if required { SslMode::Require } else { SslMode::Disable });
}

/// A certificate is always checked, against the authorities of this machine (or those in `SSL_CERT_FILE`).
pub(super) fn connector() -> Result<MakeRustlsConnect, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = rustls_platform_verifier::Verifier::new(Arc::clone(&provider))?;
    let versions = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let config = versions.dangerous().with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_password_leave_this_machine_encrypted_unless_somebody_says_otherwise() {
        for (address, expected) in [
            ("postgres://me@db.example/rows", SslMode::Require),
            ("postgres://me@192.168.0.7/rows", SslMode::Require),
            ("postgres://me@db.example/rows?sslmode=disable", SslMode::Disable),
            ("postgres://me@127.0.0.1/rows", SslMode::Disable),
            ("postgres://me@localhost/rows?sslmode=require", SslMode::Require),
            ("postgres:///rows?host=%2Frun%2Fpg", SslMode::Disable),
        ] {
            let mut config: Config = address.parse().expect("an address");
            settle(&mut config, address);
            assert_eq!(config.get_ssl_mode(), expected, "{address}");
        }
    }
}
