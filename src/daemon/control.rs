//! The daemon's socket: how `pieme` asks a running daemon for something. One JSON line in, JSON lines out.

use std::io::{self, BufRead, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::model::{RunId, TaskName, TraceLine, Verdict};
use crate::store::{Collected, Resort, StoreError};

use super::Event;
use super::progress::{Board, Progress};

/// How long a daemon that starts may not listen yet.
const NOT_YET: Duration = Duration::from_secs(5);
/// A request is one short line.
const MAX_REQUEST_BYTES: u64 = 64 << 10;

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Request {
    /// Run the task now; the answers go on until the run has ended.
    Run {
        task: TaskName,
    },
    /// Leave the task alone until it is resumed.
    Pause {
        task: TaskName,
    },
    Resume {
        task: TaskName,
    },
    /// Accept, drop or bring back rows; the answer is the verdict of the run that this made, or that it is done.
    Resort {
        task: TaskName,
        what: Resort,
    },
    /// How far the runs under way are.
    Progress,
    /// Remove what is not kept any longer, or say what that would be.
    Collect {
        dry_run: bool,
    },
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Reply {
    Queued,
    Started {
        run: RunId,
    },
    Trace(TraceLine),
    Ended(Verdict),
    Collected(Collected),
    /// What was asked for has been done.
    Done,
    Progress {
        runs: Vec<Progress>,
    },
    Refused {
        sentence: String,
    },
    /// Refused for now: the same request may be granted later.
    Busy {
        sentence: String,
    },
}

impl Reply {
    /// What the store's error means for who asked.
    pub fn failed(error: &StoreError) -> Reply {
        let sentence = error.to_string();
        if error.is_passing() { Reply::Busy { sentence } } else { Reply::Refused { sentence } }
    }

    /// Why it is not done.
    pub fn refusal(&self) -> Option<&str> {
        match self {
            Reply::Refused { sentence } | Reply::Busy { sentence } => Some(sentence),
            _ => None,
        }
    }
}

pub type Replies = mpsc::UnboundedSender<Reply>;

/// Listens until the daemon ends. Only the daemon's own user may connect.
pub fn listen(socket: &Path, events: mpsc::Sender<Event>, board: Board) -> io::Result<()> {
    match std::fs::remove_file(socket) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        // The lock on the state folder says that no other daemon is using it.
        _ => {}
    }
    let listener = UnixListener::bind(socket)?;
    std::fs::set_permissions(socket, std::fs::Permissions::from_mode(0o600))?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (events, board) = (events.clone(), board.clone());
            tokio::spawn(async move {
                if let Err(error) = serve(stream, events, board).await {
                    tracing::debug!("a request was not answered: {error}");
                }
            });
        }
    });
    Ok(())
}

async fn serve(stream: UnixStream, events: mpsc::Sender<Event>, board: Board) -> io::Result<()> {
    let (read, mut write) = stream.into_split();
    let mut line = String::new();
    BufReader::new(read.take(MAX_REQUEST_BYTES)).read_line(&mut line).await?;
    let (replies, mut outbox) = mpsc::unbounded_channel();
    match serde_json::from_str::<Request>(&line) {
        // Answered here: whoever looks at the table does not wait for the loop.
        Ok(Request::Progress) => drop(replies.send(Reply::Progress { runs: board.all() })),
        Ok(request) => drop(events.send(Event::Request(request, replies)).await),
        Err(error) => drop(replies.send(Reply::Refused { sentence: format!("not a request: {error}") })),
    }
    while let Some(reply) = outbox.recv().await {
        let mut line = serde_json::to_vec(&reply)?;
        line.push(b'\n');
        write.write_all(&line).await?;
    }
    write.shutdown().await
}

/// A daemon that has just started holds the lock before it listens; a killed one leaves its socket behind.
async fn connect(socket: &Path) -> io::Result<UnixStream> {
    let until = Instant::now() + NOT_YET;
    loop {
        match UnixStream::connect(socket).await {
            Err(error)
                if matches!(error.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound)
                    && Instant::now() < until =>
            {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            connected => return connected,
        }
    }
}

/// Asks the daemon behind `socket`, and hands on its replies until the last.
pub async fn ask(socket: &Path, request: &Request, mut hear: impl FnMut(Reply)) -> io::Result<()> {
    let stream = connect(socket).await?;
    let (read, mut write) = stream.into_split();
    let mut line = serde_json::to_vec(request)?;
    line.push(b'\n');
    write.write_all(&line).await?;
    let mut lines = BufReader::new(read).lines();
    while let Some(line) = lines.next_line().await? {
        hear(serde_json::from_str(&line)?);
    }
    Ok(())
}

/// As [`ask`], from a thread that may block; nobody waits longer than `patience` for the next reply.
pub fn ask_blocking(
    socket: &Path,
    request: &Request,
    patience: Duration,
    mut hear: impl FnMut(Reply),
) -> io::Result<()> {
    let mut stream = net::UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(patience))?;
    stream.set_write_timeout(Some(patience))?;
    let mut line = serde_json::to_vec(request)?;
    line.push(b'\n');
    stream.write_all(&line)?;
    for line in io::BufReader::new(stream).lines() {
        hear(serde_json::from_str(&line?)?);
    }
    Ok(())
}
