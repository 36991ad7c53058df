//! Inputs 14, 21 and 22: TLS is always verified, nothing falls back to plain http, and HTTP/2 has its limits.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::TlsAcceptor;
use url::Url;

use super::server::{self, Server, ServerAction};
use super::{PLAIN, PUBLIC, guard, session_with, task};
use crate::model::{Failure, Script};
use crate::robot::Session;
use crate::robot::request::PageRequest;

struct Authority {
    issuer: Issuer<'static, KeyPair>,
    der: Vec<u8>,
}

fn authority() -> Authority {
    let key = KeyPair::generate().expect("a key");
    let mut params = CertificateParams::new(Vec::new()).expect("no names");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let der = params.self_signed(&key).expect("a certificate").der().to_vec();
    Authority { issuer: Issuer::new(params, key), der }
}

/// The certificate of a server, good but for what `spoil` does to it.
fn certificate(
    authority: Option<&Authority>,
    name: &str,
    spoil: impl FnOnce(&mut CertificateParams),
) -> (CertificateDer<'static>, PrivateKeyDer<'static>) {
    let key = KeyPair::generate().expect("a key");
    let mut params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
    spoil(&mut params);
    let made = match authority {
        Some(authority) => params.signed_by(&key, &authority.issuer),
        None => params.self_signed(&key),
    };
    (made.expect("a certificate").der().clone(), PrivateKeyDer::try_from(key.serialize_der()).expect("a key"))
}

fn acceptor((certificate, key): (CertificateDer<'static>, PrivateKeyDer<'static>), protocol: &str) -> TlsAcceptor {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let config = ServerConfig::builder().with_no_client_auth().with_single_cert(vec![certificate], key);
    let mut config = config.expect("a certificate with its key");
    config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
    TlsAcceptor::from(Arc::new(config))
}

async fn serve(acceptor: TlsAcceptor, answer: impl Fn(&str, usize) -> ServerAction + Send + Sync + 'static) -> Server {
    let answer = Arc::new(answer);
    Server::serve(PUBLIC, move |stream, heard| {
        let (acceptor, answer) = (acceptor.clone(), Arc::clone(&answer));
        async move {
            if let Ok(stream) = acceptor.accept(stream).await {
                server::answer_request(stream, &heard, answer.as_ref()).await;
            }
        }
    })
    .await
}

fn session(authority: &Authority) -> Session {
    let task = task(PLAIN);
    let mut guard = guard(&task, &Script::default());
    guard.test_overrides.authority = Some(authority.der.clone());
    let mut session = session_with(&task, guard);
    session.transport.timeouts.first_byte = Duration::from_millis(500);
    session
}

fn https(server: &Server) -> Url {
    Url::parse(&server.url("public.test", "/").as_str().replace("http:", "https:")).expect("a URL")
}

#[tokio::test]
async fn input_21_a_certificate_that_is_not_good_is_refused_and_http_is_not_tried() {
    let authority = authority();
    let expired = |params: &mut CertificateParams| {
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2021, 1, 1);
    };
    for (what, certificate, good) in [
        ("good", certificate(Some(&authority), "public.test", |_| ()), true),
        ("expired", certificate(Some(&authority), "public.test", expired), false),
        ("self-signed", certificate(None, "public.test", |_| ()), false),
        ("of another name", certificate(Some(&authority), "other.test", |_| ()), false),
    ] {
        let server = serve(acceptor(certificate, "http/1.1"), |_, _| ServerAction::page("ok")).await;
        let came = session(&authority).send(PageRequest::get(https(&server))).await;
        assert_eq!(came.is_ok(), good, "{what}");
        if let Err(error) = came {
            assert_eq!(error.cause(), Failure::Tls, "{what}: {error}");
            assert!(server.heard().is_empty(), "{what}: nothing was sent, in whatever way");
        }
    }
}

#[tokio::test]
async fn input_21_tls_1_0_is_refused() {
    let server = Server::start(|_, _| {
        let mut hello = vec![0x16, 3, 1, 0, 42, 2, 0, 0, 38, 3, 1];
        hello.extend([7; 32]);
        hello.extend([0, 0, 0x2f, 0]);
        ServerAction::Hang(hello)
    })
    .await;
    let error = session(&authority()).send(PageRequest::get(https(&server))).await.expect_err("refused");
    assert_eq!(error.cause(), Failure::Tls, "{error}");
    assert_eq!(server.heard().len(), 1, "one hello, and no second try in plain text");
}

#[tokio::test]
async fn input_14_a_logged_in_session_does_not_follow_from_https_to_http() {
    let authority = authority();
    let plain = Server::start(|_, _| ServerAction::page("plain")).await;
    let to = plain.url("public.test", "/").to_string();
    let certificate = certificate(Some(&authority), "public.test", |_| ());
    let safe = serve(acceptor(certificate, "http/1.1"), move |_, _| {
        ServerAction::with("302 Found", &format!("Location: {to}\r\nSet-Cookie: sid=hush\r\n"), "")
    })
    .await;
    let error = session(&authority).send(PageRequest::get(https(&safe))).await.expect_err("refused");
    assert_eq!(error.cause(), Failure::Network, "{error}");
    assert!(error.to_string().contains("from https to plain http"), "{error}");
    assert!(plain.heard().is_empty());
}

/// One frame of HTTP/2.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a small frame").to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// Sends the preface, waits for the first request and sends these frames, the last one repeatedly. It ends in time.
async fn stops_http2(first: Vec<u8>, again: Vec<u8>) {
    const SETTINGS: u8 = 4;
    let authority = authority();
    let acceptor = acceptor(certificate(Some(&authority), "public.test", |_| ()), "h2");
    let server = Server::serve(PUBLIC, move |stream, heard| {
        let (acceptor, first, again) = (acceptor.clone(), first.clone(), again.clone());
        async move {
            let Ok(mut stream) = acceptor.accept(stream).await else { return };
            heard.lock().expect("no test panics with it").push("h2".to_owned());
            let mut asked = vec![0; 16 << 10];
            let _ = stream.write_all(&frame(SETTINGS, 0, 0, &[])).await;
            let _ = stream.read(&mut asked).await;
            let mut sent = stream.write_all(&first).await;
            while sent.is_ok() && !again.is_empty() {
                sent = stream.write_all(&again).await;
                tokio::task::yield_now().await;
            }
            let _ = stream.read(&mut asked).await;
        }
    })
    .await;
    let started = Instant::now();
    let error = session(&authority).send(PageRequest::get(https(&server))).await.expect_err("no page");
    assert!(started.elapsed() < Duration::from_secs(20), "it ended in time: {:?}", started.elapsed());
    assert!(!server.heard().is_empty(), "HTTP/2 was spoken");
    assert!(matches!(error.cause(), Failure::Network | Failure::Timeout), "{}: {error}", error.cause());
}

const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const CONTINUATION: u8 = 9;
const END_HEADERS: u8 = 4;

#[tokio::test]
async fn input_22_a_stream_that_is_reset_is_not_asked_for_again_and_again() {
    for code in [2_u32, 7, 11] {
        stops_http2(frame(RST_STREAM, 0, 1, &code.to_be_bytes()), Vec::new()).await;
    }
}

#[tokio::test]
async fn input_22_a_head_without_end_is_stopped() {
    // `:status 200`, then a header of 100 bytes in every further frame.
    let more = [&[0, 1, b'x', 100][..], &[b'y'; 100]].concat();
    stops_http2(frame(HEADERS, 0, 1, &[0x88]), frame(CONTINUATION, 0, 1, &more)).await;
}

#[tokio::test]
async fn input_22_hints_without_end_over_http_2_are_stopped() {
    let hint = frame(HEADERS, END_HEADERS, 1, &[0x08, 3, b'1', b'0', b'3']);
    stops_http2(hint.clone(), hint).await;
}
