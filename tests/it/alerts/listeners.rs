//! Receivers of alerts for the tests: small HTTP and SMTP servers on loopback that keep what they got.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Got {
    pub line: String,
    headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Got {
    pub fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value)
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }
}

/// Answers every request with the same status.
pub struct Receiver {
    pub port: u16,
    pub status: Arc<AtomicU16>,
    /// Those that were answered with 200.
    taken: Arc<Mutex<Vec<Got>>>,
    refused: Arc<Mutex<Vec<Got>>>,
}

impl Receiver {
    pub fn start() -> Receiver {
        Receiver::start_with(None)
    }

    /// The same with TLS. A client that does not trust its certificate sends no request.
    pub fn start_within_tls(config: Arc<ServerConfig>) -> Receiver {
        Receiver::start_with(Some(config))
    }

    fn start_with(tls: Option<Arc<ServerConfig>>) -> Receiver {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port of loopback is free");
        let receiver = Receiver {
            port: listener.local_addr().expect("an address").port(),
            status: Arc::new(AtomicU16::new(200)),
            taken: Arc::default(),
            refused: Arc::default(),
        };
        let (status, taken, refused) = (receiver.status.clone(), receiver.taken.clone(), receiver.refused.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mut stream: Box<dyn Stream> = match &tls {
                    Some(config) => {
                        let connection = ServerConnection::new(Arc::clone(config)).expect("a connection");
                        Box::new(StreamOwned::new(connection, stream))
                    }
                    None => Box::new(stream),
                };
                let Some(got) = read(&mut stream) else { continue };
                let code = status.load(Ordering::SeqCst);
                // Stored before it is answered, so that a test that has the answer finds it.
                let list = if code == 200 { &taken } else { &refused };
                list.lock().expect("nobody panics here").push(got);
                let answer = format!("HTTP/1.1 {code} Said\r\ncontent-length: 7\r\nconnection: close\r\n\r\nsaid so");
                let _ = stream.write_all(answer.as_bytes()).and_then(|()| stream.flush());
            }
        });
        receiver
    }

    pub fn taken(&self) -> Vec<Got> {
        self.taken.lock().expect("nobody panics here").clone()
    }

    pub fn refused(&self) -> Vec<Got> {
        self.refused.lock().expect("nobody panics here").clone()
    }

    /// Kind and state of each received alert, such as `failed failed`.
    pub fn kinds(&self) -> Vec<String> {
        let words = |got: &Got| {
            let json = got.json();
            format!("{} {}", json["kind"].as_str().unwrap_or("?"), json["state"].as_str().unwrap_or("?"))
        };
        self.taken().iter().map(words).collect()
    }
}

trait Stream: Read + Write {}

impl<T: Read + Write> Stream for T {}

fn read(stream: &mut dyn Stream) -> Option<Got> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut headers = Vec::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim_end().split_once(": ") else { break };
        headers.push((name.to_ascii_lowercase(), value.to_owned()));
    }
    let mut got = Got { line: line.trim_end().to_owned(), headers, body: Vec::new() };
    got.body = vec![0; got.header("content-length").parse().unwrap_or(0)];
    reader.read_exact(&mut got.body).ok()?;
    Some(got)
}

/// The TLS settings of a mail server.
pub struct Safe {
    pub config: Arc<ServerConfig>,
    pub from_the_start: bool,
}

/// An SMTP server; returns each mail as it was sent, with the commands.
pub fn mail_server(safe: Option<Safe>) -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port of loopback is free");
    let port = listener.local_addr().expect("an address").port();
    let mails: Arc<Mutex<Vec<String>>> = Arc::default();
    let kept = mails.clone();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.write_all(if safe.as_ref().is_some_and(|it| it.from_the_start) { b"" } else { HELLO });
            let mut mail = String::new();
            let plain = safe.as_ref().is_some_and(|it| !it.from_the_start);
            if safe.is_none() || plain {
                take_mail(&mut stream, &mut mail, plain);
            }
            if let Some(safe) = &safe {
                let connection = ServerConnection::new(Arc::clone(&safe.config)).expect("a connection");
                let mut stream = StreamOwned::new(connection, stream);
                mail.push_str("(within TLS)\r\n");
                let _ = stream.write_all(if safe.from_the_start { HELLO } else { b"" });
                take_mail(&mut stream, &mut mail, false);
            }
            kept.lock().expect("nobody panics here").push(mail);
        }
    });
    (port, mails)
}

const HELLO: &[u8] = b"220 mail.test\r\n";

/// Runs until the client leaves, or asks for STARTTLS.
fn take_mail(stream: &mut (impl Read + Write), said: &mut String, offers_tls: bool) {
    let mut in_data = false;
    while let Some(line) = read_line(stream) {
        said.push_str(&line);
        let answer = match (in_data, line.get(..4).unwrap_or_default()) {
            (true, _) if line != ".\r\n" => continue,
            (true, _) => "250 taken\r\n",
            (false, "EHLO") if offers_tls => "250-mail.test\r\n250-8BITMIME\r\n250 STARTTLS\r\n",
            (false, "EHLO") => "250-mail.test\r\n250-AUTH PLAIN\r\n250 8BITMIME\r\n",
            (false, "AUTH") => "235 welcome\r\n",
            (false, "DATA") => "354 go on\r\n",
            (false, "QUIT" | "STAR") => "220 so be it\r\n",
            (false, _) => "250 fine\r\n",
        };
        in_data = answer.starts_with("354");
        if stream.write_all(answer.as_bytes()).is_err() || answer.starts_with("220") {
            return;
        }
    }
}

/// Byte by byte, because what follows the line may be TLS.
fn read_line(stream: &mut impl Read) -> Option<String> {
    let mut line = Vec::new();
    let mut byte = [0];
    while !line.ends_with(b"\n") {
        stream.read_exact(&mut byte).ok()?;
        line.push(byte[0]);
    }
    String::from_utf8(line).ok()
}
