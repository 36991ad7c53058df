//! The daemon's socket: how `pieme` asks a running daemon for something. One JSON line in, JSON lines out.

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

use super::Event;
use super::connections::{LimitedListener, ListenerHealth};
use super::progress::{Progress, ProgressBoard};

/// How long a daemon that starts may not listen yet.
const STARTUP_GRACE: Duration = Duration::from_secs(5);
/// A daemon that has said nothing for so long must answer somebody else, or it is given up.
const MAX_SILENCE: Duration = Duration::from_secs(10);
/// How far runs are is told beside the loop, whatever that is busy with.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);
/// A request is one short line.
const MAX_REQUEST_BYTES: u64 = 64 << 10;
/// Clients at the same time, most of which wait for the end of a run; whoever comes later waits for room.
pub const MOST_CONNECTIONS: usize = 256;
/// Whoever connects knows what to ask for.
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
        what: ReviewAction,
    },
    /// How far the runs under way are.
    Progress,
    /// What the store knows of every task, and how many alerts since then did not arrive.
    Tasks {
        undelivered_since: DateTime<Utc>,
    },
    /// Remove what is not kept any longer, or say what that would be.
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
    Ended(Verdict),
    Collected(GcCounts),
    /// What was asked for has been done.
    Done,
    Progress {
        runs: Vec<Progress>,
        /// Why nothing runs: the store is not there.
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
    /// What the store's error means for who asked.
    pub fn failed(error: &StoreError) -> ControlReply {
        let sentence = error.to_string();
        if error.is_transient() { ControlReply::Busy { sentence } } else { ControlReply::Refused { sentence } }
    }

    /// Why it is not done.
    pub fn refusal(&self) -> Option<&str> {
        match self {
            ControlReply::Refused { sentence } | ControlReply::Busy { sentence } => Some(sentence),
            _ => None,
        }
    }
}

pub type ReplySender = mpsc::UnboundedSender<ControlReply>;

/// Listens until the daemon ends. The daemon's own user may connect, and the group that the socket's folder is open to.
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
                    tracing::debug!("a request was not answered: {error}");
                }
                drop(permit);
            });
        }
    });
    Ok(())
}

/// A folder that is closed to everybody but a group says who may connect; any other says nothing, and nobody else may.
fn socket_mode(socket: &Path) -> u32 {
    let folder = socket.parent().and_then(|it| it.metadata().ok()).map_or(0, |meta| meta.permissions().mode());
    if folder & 0o017 == 0o010 { 0o660 } else { 0o600 }
}

/// One request and its replies. The connection ends with the last of them, when the client leaves, and when it neither asks nor
/// reads: none holds a descriptor for ever.
async fn serve(mut stream: UnixStream, events: mpsc::Sender<Event>, board: ProgressBoard) -> io::Result<()> {
    let (read, mut write) = stream.split();
    let mut read = BufReader::new(read.take(MAX_REQUEST_BYTES));
    let mut line = String::new();
    timeout(REQUEST_TIMEOUT, read.read_line(&mut line)).await??;
    match serde_json::from_str::<ControlRequest>(&line) {
        // Answered here: whoever looks at the table does not wait for the loop.
        Ok(ControlRequest::Progress) => {
            let progress = ControlReply::Progress { runs: board.all(), waits_for: board.waiting_for() };
            write_reply(&mut write, &progress, REPLY_TIMEOUT).await?;
        }
        Ok(request) => {
            let (replies, outbox) = mpsc::unbounded_channel();
            // Where the loop is gone the replies end at once.
            drop(events.send(Event::Request(request, replies)).await);
            let client = read.into_inner().into_inner();
            forward_replies(outbox, client, &mut write, REPLY_TIMEOUT).await?;
        }
        Err(error) => {
            let refused = ControlReply::Refused { sentence: format!("not a request: {error}") };
            write_reply(&mut write, &refused, REPLY_TIMEOUT).await?;
        }
    }
    write.shutdown().await
}

/// Until the last reply, or until nobody is there to read it.
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
            // What was said before the client left is still delivered, should it have left only half.
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

/// A daemon that has just started holds the lock before it listens; a killed one leaves its socket behind.
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

/// Asks the daemon behind `socket`, and hands on its replies until the last. That may take long; a daemon that hangs is
/// an error.
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

/// Whether a daemon that takes its time is there at all.
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
        || io::Error::new(io::ErrorKind::TimedOut, format!("it has not said anything for {within} s; it hangs"));
    timeout(PROBE_TIMEOUT, asked).await.unwrap_or_else(|_| Err(too_late()))
}

/// As [`ask`], from a thread that may block; nobody waits longer than `patience` for the next reply.
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
