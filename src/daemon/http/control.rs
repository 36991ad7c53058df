//! The control socket: how `pieme` sends requests to a running daemon. One JSON line in, JSON lines out.

use std::io::{self, BufRead, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net;
use std::path::Path;
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Interest};
use tokio::net::unix::{ReadHalf, WriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

use crate::model::{RunId, TaskName, TraceLine, Verdict};
use crate::store::{GcCounts, ReviewAction, StoreError, TaskRow};

use super::connections::{LimitedListener, ListenerHealth};
use crate::daemon::Event;
use crate::daemon::runs::progress::{Progress, ProgressBoard};

/// How long a daemon that starts may not listen yet.
const STARTUP_GRACE: Duration = Duration::from_secs(5);
/// After this long without a reply the daemon is probed; if that is not answered either, the request fails.
const MAX_SILENCE: Duration = Duration::from_secs(10);
/// How long the probe waits. Progress is answered without the event loop, whatever that is busy with.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);
/// A request is one short line.
const MAX_REQUEST_BYTES: u64 = 64 << 10;
/// Clients at the same time, most of which wait for the end of a run. Further clients wait to be accepted.
pub const MOST_CONNECTIONS: usize = 256;
/// How long a client may take to send its request.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// A client that takes no more bytes for so long has stopped reading.
const REPLY_TIMEOUT: Duration = Duration::from_secs(60);
/// How often a client that has closed its own side is looked for.
const CLIENT_CHECK_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum ControlRequest {
    /// Run the task now; the answers go on until the run has ended.
    Run {
        task: TaskName,
    },
    /// Stop scheduling the task until it is resumed.
    Pause {
        task: TaskName,
    },
    Resume {
        task: TaskName,
    },
    /// Accept, drop or roll back rows. Answered with the verdict of the run that this made, or with `Done`.
    Resort {
        task: TaskName,
        what: ReviewAction,
    },
    /// How far the runs under way are.
    Progress,
    /// The stored row of every task, and how many alerts since then were not delivered.
    Tasks {
        undelivered_since: DateTime<Utc>,
    },
    /// Collect garbage, or only count it.
    Collect {
        dry_run: bool,
    },
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum ControlReply {
    Queued,
    Started {
        run: RunId,
    },
    Trace(TraceLine),
    Ended(Box<Verdict>),
    Collected(GcCounts),
    /// What was asked for has been done.
    Done,
    Progress {
        runs: Vec<Progress>,
        /// Why nothing runs: what the daemon waits for before it can open the store.
        #[serde(default)]
        waits_for: Option<String>,
    },
    Tasks {
        rows: Vec<TaskRow>,
        undelivered: u64,
    },
    Refused {
        sentence: String,
    },
    /// Refused for now: the same request may be granted later.
    Busy {
        sentence: String,
    },
}

impl ControlReply {
    /// The reply for a store error: `Busy` if a retry may help, else `Refused`.
    pub fn failed(error: &StoreError) -> ControlReply {
        let sentence = error.to_string();
        if error.is_transient() { ControlReply::Busy { sentence } } else { ControlReply::Refused { sentence } }
    }

    /// The reason of a refusal.
    pub fn refusal(&self) -> Option<&str> {
        match self {
            ControlReply::Refused { sentence } | ControlReply::Busy { sentence } => Some(sentence),
            _ => None,
        }
    }
}

pub type ReplySender = mpsc::UnboundedSender<ControlReply>;

/// Listens until the daemon ends. Who may connect: the daemon's user, and the group that may enter the socket's folder.
pub fn listen(
    socket: &Path,
    events: mpsc::Sender<Event>,
    board: ProgressBoard,
    listening: ListenerHealth,
) -> io::Result<()> {
    match std::fs::remove_file(socket) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        // The lock on the state folder says that no other daemon is using it.
        _ => {}
    }
    let listener = UnixListener::bind(socket)?;
    std::fs::set_permissions(socket, std::fs::Permissions::from_mode(socket_mode(socket)))?;
    let mut listener = LimitedListener::new(listener, MOST_CONNECTIONS, listening);
    tokio::spawn(async move {
        loop {
            let (stream, _, permit) = listener.next_connection().await;
            let (events, board) = (events.clone(), board.clone());
            tokio::spawn(async move {
                if let Err(error) = serve(stream, events, board).await {
                    tracing::debug!("control request failed: {error}");
                }
                drop(permit);
            });
        }
    });
    Ok(())
}

/// Group access only where the socket's folder is open to its group and closed to others; else the owner alone.
fn socket_mode(socket: &Path) -> u32 {
    let folder = socket.parent().and_then(|it| it.metadata().ok()).map_or(0, |meta| meta.permissions().mode());
    if folder & 0o017 == 0o010 { 0o660 } else { 0o600 }
}

/// One request and its replies. The connection ends with the last reply, when the client leaves, or on a timeout when
/// it neither sends nor reads: no client holds a descriptor for ever.
async fn serve(mut stream: UnixStream, events: mpsc::Sender<Event>, board: ProgressBoard) -> io::Result<()> {
    let (read, mut write) = stream.split();
    let mut read = BufReader::new(read.take(MAX_REQUEST_BYTES));
    let mut line = String::new();
    timeout(REQUEST_TIMEOUT, read.read_line(&mut line)).await??;
    match serde_json::from_str::<ControlRequest>(&line) {
        // Answered here, so that `pieme status` does not wait for the event loop.
        Ok(ControlRequest::Progress) => {
            let progress = ControlReply::Progress { runs: board.all(), waits_for: board.waiting_for() };
            write_reply(&mut write, &progress, REPLY_TIMEOUT).await?;
        }
        Ok(request) => {
            let (replies, outbox) = mpsc::unbounded_channel();
            // If the loop has ended, the replies end at once.
            drop(events.send(Event::Request(request, replies)).await);
            let client = read.into_inner().into_inner();
            forward_replies(outbox, client, &mut write, REPLY_TIMEOUT).await?;
        }
        Err(error) => {
            let refused = ControlReply::Refused { sentence: format!("invalid request: {error}") };
            write_reply(&mut write, &refused, REPLY_TIMEOUT).await?;
        }
    }
    write.shutdown().await
}

/// Forwards until the last reply, or until the client has left.
async fn forward_replies(
    mut outbox: mpsc::UnboundedReceiver<ControlReply>,
    client: ReadHalf<'_>,
    write: &mut WriteHalf<'_>,
    patience: Duration,
) -> io::Result<()> {
    let left = client_disconnected(client);
    tokio::pin!(left);
    loop {
        tokio::select! {
            // Pending replies first: a client that has closed only its own side still reads them.
            biased;
            reply = outbox.recv() => match reply {
                Some(reply) => write_reply(write, &reply, patience).await?,
                None => return Ok(()),
            },
            () = &mut left => return Err(io::ErrorKind::ConnectionAborted.into()),
        }
    }
}

/// Ends when the client has gone. One that has only closed its own side, as `nc -N` does, still wants its replies.
async fn client_disconnected(mut client: ReadHalf<'_>) {
    let mut more = [0; 256];
    while !matches!(client.read(&mut more).await, Ok(0) | Err(_)) {}
    while client.ready(Interest::WRITABLE).await.is_ok_and(|it| !it.is_write_closed()) {
        sleep(CLIENT_CHECK_INTERVAL).await;
    }
}

async fn write_reply(write: &mut WriteHalf<'_>, reply: &ControlReply, patience: Duration) -> io::Result<()> {
    let mut line = serde_json::to_vec(reply)?;
    line.push(b'\n');
    timeout(patience, write.write_all(&line)).await?
}

/// Retries for [`STARTUP_GRACE`]: a starting daemon holds the lock before it listens, and a killed one leaves its
/// socket behind.
async fn connect(socket: &Path) -> io::Result<UnixStream> {
    let until = Instant::now() + STARTUP_GRACE;
    loop {
        match UnixStream::connect(socket).await {
            Err(error)
                if matches!(error.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound)
                    && Instant::now() < until =>
            {
                sleep(Duration::from_millis(50)).await;
            }
            connected => return connected,
        }
    }
}

/// Sends a request to the daemon behind `socket` and passes on its replies until the last. That may take long; a daemon
/// that hangs is an error.
pub async fn call(socket: &Path, request: &ControlRequest, mut hear: impl FnMut(ControlReply)) -> io::Result<()> {
    let stream = connect(socket).await?;
    let (read, mut write) = stream.into_split();
    let mut line = serde_json::to_vec(request)?;
    line.push(b'\n');
    write.write_all(&line).await?;
    let mut lines = BufReader::new(read).lines();
    loop {
        match timeout(MAX_SILENCE, lines.next_line()).await {
            Ok(Ok(Some(line))) => hear(serde_json::from_str(&line)?),
            Ok(ended) => return ended.map(drop),
            Err(_) => probe(socket).await?,
        }
    }
}

/// Tests whether a slow daemon still answers.
async fn probe(socket: &Path) -> io::Result<()> {
    let asked = async {
        let mut stream = UnixStream::connect(socket).await?;
        let mut line = serde_json::to_vec(&ControlRequest::Progress)?;
        line.push(b'\n');
        stream.write_all(&line).await?;
        stream.read_u8().await.map(drop)
    };
    let within = PROBE_TIMEOUT.as_secs();
    let too_late =
        || io::Error::new(io::ErrorKind::TimedOut, format!("the daemon has not answered for {within} s; it hangs"));
    timeout(PROBE_TIMEOUT, asked).await.unwrap_or_else(|_| Err(too_late()))
}

/// As [`call`], from a thread that may block. `patience` limits the wait for each reply.
pub fn call_blocking(
    socket: &Path,
    request: &ControlRequest,
    patience: Duration,
    mut hear: impl FnMut(ControlReply),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_client_that_never_reads_is_given_up() {
        let (mut ours, _theirs) = UnixStream::pair().expect("two sockets");
        let (client, mut write) = ours.split();
        let (replies, outbox) = mpsc::unbounded_channel();
        for _ in 0..64 {
            replies.send(ControlReply::Refused { sentence: "x".repeat(1 << 20) }).expect("it is listened to");
        }
        let passed = forward_replies(outbox, client, &mut write, Duration::from_millis(50)).await;
        assert_eq!(passed.map_err(|error| error.kind()), Err(io::ErrorKind::TimedOut));
    }

    #[tokio::test]
    async fn a_client_that_has_closed_its_own_side_only_still_gets_its_replies() {
        let (mut ours, mut theirs) = UnixStream::pair().expect("two sockets");
        theirs.shutdown().await.expect("its own side is closed");
        let (replies, outbox) = mpsc::unbounded_channel();
        let (client, mut write) = ours.split();
        let late = async {
            sleep(CLIENT_CHECK_INTERVAL / 10).await;
            replies.send(ControlReply::Done).expect("it is listened to");
            drop(replies);
        };
        let (passed, ()) = tokio::join!(forward_replies(outbox, client, &mut write, REPLY_TIMEOUT), late);
        passed.expect("the client is there");
        drop(ours);
        let mut heard = String::new();
        theirs.read_to_string(&mut heard).await.expect("a reply");
        assert_eq!(heard, "{\"answer\":\"done\"}\n");
    }
}
