//! A server on loopback that answers as a test wants, and keeps what it was sent.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned, crypto};

pub struct Listener {
    pub port: u16,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Listener {
    /// `answer` gets the path and returns the head's lines after the status line, and the body.
    pub fn start(answer: impl Fn(&str) -> Answer + Send + 'static) -> Listener {
        Listener::start_with(None, answer)
    }

    /// The same with TLS, for `localhost`; returns the certificate that a client has to trust.
    pub fn start_within_tls(answer: impl Fn(&str) -> Answer + Send + 'static) -> (Listener, String) {
        let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
        let key = PrivateKeyDer::try_from(own.signing_key.serialize_der()).expect("a key");
        let config = ServerConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|it| it.with_no_client_auth().with_single_cert(vec![own.cert.der().clone()], key));
        (Listener::start_with(Some(Arc::new(config.expect("a server"))), answer), own.cert.pem())
    }

    fn start_with(tls: Option<Arc<ServerConfig>>, answer: impl Fn(&str) -> Answer + Send + 'static) -> Listener {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port of loopback is free");
        let port = listener.local_addr().expect("an address").port();
        let heard: Arc<Mutex<Vec<String>>> = Arc::default();
        let kept = Arc::clone(&heard);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                match &tls {
                    Some(config) => {
                        let connection = ServerConnection::new(Arc::clone(config)).expect("a connection");
                        serve(&mut StreamOwned::new(connection, stream), &kept, &answer);
                    }
                    None => serve(&mut { stream }, &kept, &answer),
                }
            }
        });
        Listener { port, heard }
    }

    /// A server that always sends the same page.
    pub fn page(html: &str) -> Listener {
        let html = html.to_owned();
        Listener::start(move |_| Answer::page(&html))
    }

    pub fn origin(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Each request, head and body.
    pub fn heard(&self) -> Vec<String> {
        self.heard.lock().expect("nobody panics here").clone()
    }

    pub fn all(&self) -> String {
        self.heard().concat()
    }
}

pub struct Answer {
    status: &'static str,
    headers: String,
    body: String,
}

impl Answer {
    pub fn page(html: &str) -> Answer {
        Answer { status: "200 OK", headers: "content-type: text/html\r\n".to_owned(), body: html.to_owned() }
    }

    pub fn redirect(status: &'static str, to: &str) -> Answer {
        Answer { status, headers: format!("location: {to}\r\n"), body: String::new() }
    }
}

fn serve(stream: &mut (impl Read + Write), kept: &Mutex<Vec<String>>, answer: &impl Fn(&str) -> Answer) {
    let Some(request) = read(stream) else { return };
    let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
    kept.lock().expect("nobody panics here").push(request);
    let Answer { status, headers, body } = answer(&path);
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}");
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.flush());
}

fn read(stream: &mut impl Read) -> Option<String> {
    let mut reader = BufReader::new(stream);
    let mut request = String::new();
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        request.push_str(&line);
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    request.push_str(&String::from_utf8_lossy(&body));
    Some(request)
}
