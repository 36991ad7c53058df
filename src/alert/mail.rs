//! Sends an alert by mail: the guard connects to the server of config.toml, and lettre speaks SMTP over that
//! connection.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

use lettre::Message;
use lettre::message::Mailbox;
use lettre::message::header::{ContentType, HeaderName, HeaderValue};
use lettre::transport::smtp::authentication::{Credentials, DEFAULT_MECHANISMS};
use lettre::transport::smtp::client::{AsyncSmtpConnection, AsyncTokioStream, TlsParameters};
use lettre::transport::smtp::extension::ClientId;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use super::error::AttemptError;
use super::message_text::{subject, text};
use super::notification::Notification;
use super::settings::{Encryption, Smtp};
use crate::guard::Guard;
use crate::robot;

/// Sends the mail. `password` is the value of the secret in `smtp.password`.
pub(super) async fn send(
    smtp: &Smtp,
    password: Option<String>,
    to: &str,
    notice: &Notification,
    patience: Duration,
) -> Result<(), AttemptError> {
    if smtp.host.is_empty() {
        return Err(AttemptError::NoMailServer);
    }
    let message = message(smtp, to, notice)?;
    let hello = ClientId::default();
    let failed = |error: lettre::transport::smtp::Error| AttemptError::Transport(robot::root_cause(&error));
    let mut server = open(smtp, &hello, patience).await?;
    if smtp.encryption == Encryption::Starttls {
        let tls = TlsParameters::new(smtp.host.clone()).map_err(failed)?;
        server.starttls(tls, &hello).await.map_err(failed)?;
    }
    if let (Some(username), Some(password)) = (&smtp.username, password) {
        let login = Credentials::new(username.clone(), password);
        server.auth(DEFAULT_MECHANISMS, &login).await.map_err(failed)?;
    }
    server.send(message.envelope(), &message.formatted()).await.map_err(failed)?;
    // The server has accepted the mail, so an error of QUIT does not matter.
    let _ = server.quit().await;
    Ok(())
}

/// The administrator chooses the server, so private addresses are allowed; a task chooses only the recipient.
async fn open(smtp: &Smtp, hello: &ClientId, patience: Duration) -> Result<AsyncSmtpConnection, AttemptError> {
    let guard = Guard::for_host(&smtp.host, true, &BTreeSet::new());
    let stream = guard.connect(&smtp.host, smtp.port(), patience).await.map_err(AttemptError::transport)?;
    let stream: Box<dyn AsyncTokioStream> = match smtp.encryption {
        Encryption::Starttls | Encryption::None => Box::new(stream),
        Encryption::Tls => {
            let trust = robot::system_tls_config().map_err(AttemptError::transport)?;
            let name = smtp.host.clone().try_into().map_err(|_| AttemptError::MailServerName)?;
            let safe = tokio_rustls::TlsConnector::from(Arc::new(trust)).connect(name, stream).await;
            Box::new(SmtpTlsStream(Box::new(safe.map_err(AttemptError::transport)?)))
        }
    };
    AsyncSmtpConnection::connect_with_transport(stream, hello)
        .await
        .map_err(|error| AttemptError::Transport(robot::root_cause(&error)))
}

fn message(smtp: &Smtp, to: &str, notice: &Notification) -> Result<Message, AttemptError> {
    let from: Mailbox = smtp.from.parse().map_err(|_| AttemptError::Sender)?;
    let to: Mailbox = to.parse().map_err(|_| AttemptError::Recipient)?;
    // The same id at every attempt, so that mail programs show it once.
    let id = format!("<{}@{}>", notice.id, from.email.domain());
    let header = |name: &'static str, value: String| HeaderValue::new(HeaderName::new_from_ascii_str(name), value);
    Message::builder()
        .from(from)
        .to(to)
        .date(SystemTime::from(notice.at))
        .message_id(Some(id))
        .subject(format!("[pieme] {}", subject(notice)))
        .raw_header(header("Auto-Submitted", "auto-generated".to_owned()))
        .raw_header(header("X-Pieme-Kind", notice.kind.word().to_owned()))
        .raw_header(header("X-Pieme-Task", notice.task.to_string()))
        .header(ContentType::TEXT_PLAIN)
        .body(format!("{}\n", text(notice)))
        .map_err(AttemptError::transport)
}

/// A TLS stream for lettre, which supports implicit TLS only for connections that it opens itself.
struct SmtpTlsStream(Box<TlsStream<TcpStream>>);

impl fmt::Debug for SmtpTlsStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a TLS connection")
    }
}

impl AsyncTokioStream for SmtpTlsStream {
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.0.get_ref().0.peer_addr()
    }
}

impl AsyncRead for SmtpTlsStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for SmtpTlsStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_shutdown(context)
    }
}
