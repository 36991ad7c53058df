//! A test server that sends exactly the given bytes.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use url::Url;

/// The response to a request; then the connection is closed.
pub enum ServerAction {
    Say(Vec<u8>),
    /// These bytes, then nothing, with the connection open.
    Hang(Vec<u8>),
    /// The first bytes, then the second ones repeatedly.
    Endless(Vec<u8>, Vec<u8>, Duration),
}

impl ServerAction {
    pub fn page(html: &str) -> ServerAction {
        ServerAction::with("200 OK", "Content-Type: text/html\r\n", html)
    }

    pub fn go(to: &str) -> ServerAction {
        ServerAction::with("302 Found", &format!("Location: {to}\r\n"), "")
    }

    /// `headers` are whole lines.
    pub fn with(status: &str, headers: &str, body: &str) -> ServerAction {
        ServerAction::bytes(status, headers, body.as_bytes())
    }

    pub fn bytes(status: &str, headers: &str, body: &[u8]) -> ServerAction {
        let head = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n", body.len());
        ServerAction::Say([head.as_bytes(), body].concat())
    }
}

pub struct Server {
    pub address: SocketAddr,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Answers each request by what `answer` makes of it and of its number, from 0.
    pub async fn start(answer: impl Fn(&str, usize) -> ServerAction + Send + Sync + 'static) -> Server {
        Server::start_at(super::PUBLIC, answer).await
    }

    pub async fn start_at(ip: IpAddr, answer: impl Fn(&str, usize) -> ServerAction + Send + Sync + 'static) -> Server {
        let answer = Arc::new(answer);
        Server::serve(ip, move |stream, heard| {
            let answer = Arc::clone(&answer);
            async move { answer_request(stream, &heard, answer.as_ref()).await }
        })
        .await
    }

    /// Leaves each connection to `each`.
    pub async fn serve<F>(ip: IpAddr, each: impl Fn(TcpStream, Arc<Mutex<Vec<String>>>) -> F + Send + 'static) -> Server
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind((ip, 0)).await.expect("loopback has a free port");
        let address = listener.local_addr().expect("it is bound");
        let heard = Arc::new(Mutex::new(Vec::new()));
        let hears = Arc::clone(&heard);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(each(stream, Arc::clone(&hears)));
            }
        });
        Server { address, heard }
    }

    pub fn url(&self, host: &str, path: &str) -> Url {
        Url::parse(&format!("http://{host}:{}{path}", self.address.port())).expect("a URL of the test")
    }

    /// The requests so far, each with its head and what came with it.
    pub fn heard(&self) -> Vec<String> {
        self.heard.lock().expect("no test panics with it").clone()
    }
}

/// Reads one request and answers it.
pub async fn answer_request<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    heard: &Mutex<Vec<String>>,
    answer: &(dyn Fn(&str, usize) -> ServerAction + Send + Sync),
) {
    let mut asked = vec![0; 64 << 10];
    let len = stream.read(&mut asked).await.unwrap_or(0);
    let asked = String::from_utf8_lossy(&asked[..len]).into_owned();
    let act = {
        let mut heard = heard.lock().expect("no test panics with it");
        heard.push(asked.clone());
        answer(&asked, heard.len() - 1)
    };
    // These tests are about clients that give up, so an error here does not matter.
    let _ = match act {
        ServerAction::Say(bytes) => stream.write_all(&bytes).await,
        ServerAction::Hang(bytes) => {
            let _ = stream.write_all(&bytes).await;
            std::future::pending().await
        }
        ServerAction::Endless(first, again, pause) => {
            let mut sent = stream.write_all(&first).await;
            while sent.is_ok() {
                sent = stream.write_all(&again).await;
                tokio::time::sleep(pause).await;
            }
            sent
        }
    };
    let _ = stream.shutdown().await;
}
