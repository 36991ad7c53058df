//! TLS: when the connection is encrypted, and how the server's certificate is verified.

use std::error::Error as _;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use rustls::{CertificateError, ClientConfig};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;

/// Connections to another machine use TLS unless the address says `sslmode=disable`; connections over loopback or a
/// socket only if it says `sslmode=require`.
pub(super) fn require_tls_for_remote(config: &mut Config, said: &str) {
    let is_elsewhere = |host: &Host| match host {
        Host::Tcp(name) => name != "localhost" && !name.parse::<IpAddr>().is_ok_and(|it| it.is_loopback()),
        Host::Unix(_) => false,
    };
    let is_elsewhere = config.get_hosts().iter().any(is_elsewhere)
        || config.get_hostaddrs().iter().any(|address| !address.is_loopback());
    let required = config.get_ssl_mode() == SslMode::Require || (!said.contains("sslmode=disable") && is_elsewhere);
    config.ssl_mode(if required { SslMode::Require } else { SslMode::Disable });
}

/// Certificates are always verified, against the authorities of this machine (or those in `SSL_CERT_FILE`).
pub(super) fn connector() -> Result<MakeRustlsConnect, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = rustls_platform_verifier::Verifier::new(Arc::clone(&provider))?;
    let versions = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let config = versions.dangerous().with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

/// Why the server is not trusted: it does not prove that it is the server of the address, or it does not support TLS.
/// No secret was sent to it.
pub(super) fn trust_failure(error: &tokio_postgres::Error) -> Option<String> {
    let cause = error.source()?;
    // The driver has no error kind for this, only a text.
    if cause.to_string() == "server does not support TLS" {
        return Some("it does not support TLS; `sslmode=disable` in the address connects without".to_owned());
    }
    let inner = cause.downcast_ref::<io::Error>()?.get_ref()?;
    let rustls::Error::InvalidCertificate(certificate) = inner.downcast_ref::<rustls::Error>()? else { return None };
    Some(match certificate {
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "its certificate was issued by an authority that this machine does not trust; \
                                            SSL_CERT_FILE can name a file with others"
                .to_owned()
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "its certificate has expired".to_owned(),
        CertificateError::NotValidForNameContext { expected, presented } => {
            let presented: Vec<&str> = presented.iter().map(|it| host_name(it)).collect();
            format!("its certificate is for {}, not for {}", presented.join(", "), expected.to_str())
        }
        other => format!("its certificate is not trusted ({other})"),
    })
}

/// The name in `DnsName("db.example")`.
fn host_name(name: &str) -> &str {
    name.split_once('(').map_or(name, |(_, name)| name.trim_end_matches(')').trim_matches('"'))
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
            ("postgres://me@localhost/rows?hostaddr=192.168.0.7", SslMode::Require),
        ] {
            let mut config: Config = address.parse().expect("an address");
            require_tls_for_remote(&mut config, address);
            assert_eq!(config.get_ssl_mode(), expected, "{address}");
        }
    }
}
