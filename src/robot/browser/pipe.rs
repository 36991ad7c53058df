//! The DevTools protocol over Chromium's two pipes: JSON messages, each terminated by a zero byte.
//!
//! Written here because the crates for it, chromiumoxide 0.9 and headless_chrome, only support a port on loopback.

use std::io;
use std::process;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::mpsc;

/// Capacity of the queue of received messages; when it is full, Chromium has to wait.
const MAX_QUEUED_MESSAGES: usize = 1_000;

/// A message from Chromium: an answer or an event.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct DevToolsMessage {
    pub id: Option<u64>,
    #[serde(rename = "sessionId")]
    pub session: Option<String>,
    pub method: Option<String>,
    pub params: Value,
    pub result: Value,
    pub error: Option<DevToolsError>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct DevToolsError {
    pub message: String,
}

/// A command for the browser, or for one of its pages.
#[derive(Debug)]
pub struct DevToolsCommand {
    pub session: Option<String>,
    pub method: &'static str,
    pub params: Value,
}

pub struct Pipe {
    to: ChildStdin,
    inbox: mpsc::Receiver<DevToolsMessage>,
    last: u64,
}

impl Pipe {
    /// A message of more than `most` bytes closes the pipe.
    pub fn new(to: process::ChildStdin, from: process::ChildStdout, most: u64) -> io::Result<Pipe> {
        let (to, from) = (ChildStdin::from_std(to)?, ChildStdout::from_std(from)?);
        let (heard, inbox) = mpsc::channel(MAX_QUEUED_MESSAGES);
        tokio::spawn(read_messages(from, most, heard));
        Ok(Pipe { to, inbox, last: 0 })
    }

    /// Sends a command; returns the id of its answer, or `None` if Chromium is gone.
    pub async fn send(&mut self, order: DevToolsCommand) -> Option<u64> {
        self.last += 1;
        let mut message = json!({ "id": self.last, "method": order.method, "params": order.params });
        if let Some(session) = order.session {
            message["sessionId"] = Value::String(session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.to.write_all(&bytes).await.ok()?;
        Some(self.last)
    }

    /// The next message; `None` if Chromium is gone.
    pub async fn next(&mut self) -> Option<DevToolsMessage> {
        self.inbox.recv().await
    }
}

async fn read_messages(from: ChildStdout, most: u64, heard: mpsc::Sender<DevToolsMessage>) {
    let mut from = BufReader::new(from);
    loop {
        let mut message = Vec::new();
        let read = (&mut from).take(most).read_until(0, &mut message).await;
        if !matches!(read, Ok(1..)) || message.pop() != Some(0) {
            return;
        }
        let Ok(said) = serde_json::from_slice::<DevToolsMessage>(&message) else { continue };
        if heard.send(said).await.is_err() {
            return;
        }
    }
}
