//! The protocol between the daemon (parent) and the child process of a run: frames over a socket and a pipe.
//!
//! A frame is two lengths (big endian, 32 bits each), that much JSON, and that many raw bytes. The parent sends one
//! [`Job`] over the socket; the child answers with [`Message`]s over the pipe and ends with [`Message::End`]. A message
//! that asks for something gets a [`ParentAnswer`] over the socket. This is the trust boundary: the child has parsed
//! untrusted pages, so the parent trusts no length and no field beyond what is checked here.

mod socket;

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::model::{
    CachedPage, ConnectError, PageMeta, PastRun, RepairProposals, RobotsTxt, Row, RunId, Script, StepwiseState, Table,
    Task, TaskName, TraceLine, ValueColumn, Verdict,
};

use crate::labelling::page;
use crate::labelling::page::LabellingRequest;

pub use socket::{ChildSocket, ParentSocket};

/// Maximum size of a frame. A child that sends a larger one is broken or hostile (docs/design/safety.md 6.57).
pub const MAX_FRAME: usize = 16 << 20;
/// A batch of rows is sent when it has this many bytes of text, or [`BATCH_ROWS`] rows.
pub const BATCH_BYTES: usize = 1 << 20;
pub const BATCH_ROWS: usize = 1_000;
/// The two lengths that a frame begins with.
const HEADER_BYTES: usize = 8;
/// Maximum number of messages of one run. A child that sends more is broken or hostile.
pub const MAX_MESSAGES: usize = 1_000_000;

/// Everything that a child receives. It has no database, no environment and no secrets of other tasks.
#[derive(Debug, Serialize, Deserialize)]
pub struct Job {
    pub run: RunId,
    pub name: TaskName,
    pub task: Task,
    pub script: Script,
    /// The template as JSON; none: it is learned.
    pub template: Option<String>,
    /// The template of the detail pages as JSON; none: it is learned.
    pub details: Option<String>,
    /// Files of the folder that the script reads, by name.
    pub files: BTreeMap<String, String>,
    /// Whether a person has confirmed the template.
    pub confirmed: bool,
    /// The secrets that the script names, and no others.
    pub secrets: Secrets,
    /// The session's cookies from the last run.
    pub cookies: Option<String>,
    /// Cached pages of earlier runs. Their bodies are requested when needed ([`Message::Body`]).
    pub kept: Vec<CachedPage>,
    pub robots: Vec<RobotsTxt>,
    /// Path of Chromium, for tasks with the browser engine; none: it is searched.
    pub browser: Option<PathBuf>,
    /// Folder for temporary files of the run; the parent removes it.
    pub scratch: Option<PathBuf>,
    /// The latest good runs, newest first, for the judge.
    pub past: Vec<PastRun>,
    /// The process that the child must not outlive.
    pub parent_pid: u32,
    /// A stepping session instead of a run: the child waits after every step for [`ParentAnswer::Step`].
    #[serde(default)]
    pub stepwise: bool,
    /// A job on a stored page instead of a run; nothing is fetched.
    pub page_job: Option<PageJob>,
}

/// A job on a stored page. The frame's raw bytes begin with the page, compressed as the child had sent it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PageJob {
    /// Find the list again after a redesign. The samples follow the page in the raw bytes.
    Repair(Box<RepairJob>),
    /// Answer a question of a labelling session.
    Inspect(Box<LabellingRequest>),
}

/// What a repair needs to find the list again.
#[derive(Debug, Serialize, Deserialize)]
pub struct RepairJob {
    pub page: PageMeta,
    /// Length of the compressed page.
    pub page_bytes: usize,
    /// The last good rows.
    pub good: Table,
    pub samples: Vec<RepairSample>,
    /// Whether samples were omitted because they are too large.
    pub samples_left_out: bool,
}

/// A sample page that the repaired template must still extract correctly.
#[derive(Debug, Serialize, Deserialize)]
pub struct RepairSample {
    /// Its number in `samples/`.
    pub index: u32,
    pub bytes: usize,
    pub expected: Table,
}

/// Secret values by name. `Debug` prints only the names.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secrets(pub BTreeMap<String, String>);

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// A message from the child.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "snake_case")]
pub enum Message {
    Trace(TraceLine),
    /// A page to store; the frame's raw bytes are its body, compressed with zstd.
    Page {
        index: u32,
        meta: PageMeta,
    },
    /// Rows to stage. The columns are the same in every message of a run. A row's cells are its texts, followed by
    /// their typed values in the order of `values`.
    Rows {
        columns: Vec<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        values: Vec<ValueColumn>,
        rows: Vec<Row>,
    },
    /// Progress after each page; the rows themselves come in batches.
    Progress {
        pages: u32,
        rows: u64,
    },
    /// The cookies to keep for the next run.
    Cookies {
        json: String,
    },
    /// A template learned in this run, which had none.
    Learned {
        template: String,
    },
    /// The same for the detail pages.
    LearnedDetails {
        template: String,
    },
    /// Asks for a turn at a host (rate limit); [`ParentAnswer::Turn`] grants it.
    Turn {
        host: String,
        delay_ms: u64,
    },
    /// The request of the last turn is done; the host asks for this pause.
    TurnFinished {
        pause_ms: u64,
    },
    /// A page to cache for the next run; the frame's raw bytes are its body, compressed with zstd.
    CachePage(CachedPage),
    /// Asks for the body of a cached page; [`ParentAnswer::Body`] brings it.
    Body {
        url: Url,
    },
    /// A robots.txt to cache for the next run.
    Robots(RobotsTxt),
    /// Asks for a connection; [`ParentAnswer::Connected`] brings it, or [`ParentAnswer::ConnectFailed`] says why not.
    Connect {
        question: u64,
        host: String,
        port: u16,
    },
    /// The state of a stepping session; the frame's raw bytes are its page, compressed with zstd, unless it is too
    /// large.
    StepState(StepwiseState),
    /// The answer to [`PageJob::Repair`]; the frame's raw bytes are the page as the site sent it, unless it is too
    /// large.
    Repaired(RepairProposals),
    /// The answer to [`PageJob::Inspect`].
    Inspected {
        answer: page::LabellingAnswer,
    },
    /// The last message. If it is missing, the run has crashed.
    End(Verdict),
}

/// The parent's answer to a message that asks for something.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "snake_case")]
pub enum ParentAnswer {
    /// The turn is granted after this wait.
    Turn {
        wait_ms: u64,
    },
    /// The frame's raw bytes are the body, compressed as the child had sent it; empty if it no longer exists.
    Body {
        found: bool,
    },
    /// The requested connection comes with this message.
    Connected {
        question: u64,
    },
    ConnectFailed {
        question: u64,
        why: ConnectError,
    },
    /// The next command of a stepping session.
    Step {
        forward: bool,
    },
}

/// Why a frame could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    #[error("the pipe was closed in the middle of a message")]
    Truncated,
    #[error("a message of {0} bytes is over the limit of {MAX_FRAME}")]
    TooLarge(usize),
    #[error("a message is invalid: {0}")]
    InvalidJson(#[from] serde_json::Error),
    #[error("the pipe failed: {0}")]
    Pipe(#[from] io::Error),
}

pub fn write<T: Serialize>(pipe: &mut impl Write, message: &T, raw: &[u8]) -> Result<(), FrameError> {
    pipe.write_all(&frame(message, raw)?)?;
    pipe.flush()?;
    Ok(())
}

fn frame<T: Serialize>(message: &T, raw: &[u8]) -> Result<Vec<u8>, FrameError> {
    let mut frame = Vec::new();
    append(&mut frame, message, raw)?;
    Ok(frame)
}

/// Appends a message to a buffer of messages that are sent together.
pub fn append<T: Serialize>(waiting: &mut Vec<u8>, message: &T, raw: &[u8]) -> Result<(), FrameError> {
    let start = waiting.len();
    let appended = append_frame(waiting, message, raw);
    if appended.is_err() {
        // An incomplete frame would corrupt all that follow.
        waiting.truncate(start);
    }
    appended
}

fn append_frame<T: Serialize>(waiting: &mut Vec<u8>, message: &T, raw: &[u8]) -> Result<(), FrameError> {
    let start = waiting.len();
    waiting.extend_from_slice(&[0; HEADER_BYTES]);
    serde_json::to_writer(&mut *waiting, message)?;
    let json = waiting.len() - start - HEADER_BYTES;
    let total = json + raw.len();
    if total > MAX_FRAME {
        return Err(FrameError::TooLarge(total));
    }
    for (place, part) in [json, raw.len()].into_iter().enumerate() {
        let length = u32::try_from(part).expect("MAX_FRAME fits into 32 bits").to_be_bytes();
        let at = start + place * length.len();
        waiting[at..at + length.len()].copy_from_slice(&length);
    }
    waiting.extend_from_slice(raw);
    Ok(())
}

/// Reads the next message with its raw bytes; none if the pipe was closed between two messages.
pub fn read<T: DeserializeOwned>(pipe: &mut impl Read) -> Result<Option<(T, Vec<u8>)>, FrameError> {
    let mut lengths = [0_u8; HEADER_BYTES];
    if !read_full(pipe, &mut lengths)? {
        return Ok(None);
    }
    let [a, b, c, d, e, f, g, h] = lengths;
    let json_len = u32::from_be_bytes([a, b, c, d]) as usize;
    let raw_len = u32::from_be_bytes([e, f, g, h]) as usize;
    if json_len + raw_len > MAX_FRAME {
        return Err(FrameError::TooLarge(json_len + raw_len));
    }
    let mut frame = vec![0; json_len + raw_len];
    if !read_full(pipe, &mut frame)? && !frame.is_empty() {
        return Err(FrameError::Truncated);
    }
    let raw = frame.split_off(json_len);
    Ok(Some((serde_json::from_slice(&frame)?, raw)))
}

/// Fills the buffer; returns false if the pipe was closed before the first byte.
fn read_full(pipe: &mut impl Read, buffer: &mut [u8]) -> Result<bool, FrameError> {
    let mut done = 0;
    while done < buffer.len() {
        match pipe.read(&mut buffer[done..]) {
            Ok(0) if done == 0 => return Ok(false),
            Ok(0) => return Err(FrameError::Truncated),
            Ok(n) => done += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(FrameError::Pipe(error)),
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Failure;

    fn round_trip(message: &Message, raw: &[u8]) -> (Message, Vec<u8>) {
        let mut pipe = Vec::new();
        write(&mut pipe, message, raw).expect("a small message");
        let mut pipe = &pipe[..];
        let back = read(&mut pipe).expect("what was written").expect("one message");
        assert!(read::<Message>(&mut pipe).expect("a clean end").is_none());
        back
    }

    #[test]
    fn messages_survive_the_pipe() {
        let rows = Message::Rows {
            columns: vec!["name".into(), "price".into()],
            values: Vec::new(),
            rows: vec![Row { cells: vec![Some("Stühle".into()), None], page: 0 }],
        };
        let (back, raw) = round_trip(&rows, b"\0raw");
        assert_eq!(format!("{back:?}"), format!("{rows:?}"));
        assert_eq!(raw, b"\0raw");
        let end = Message::End(Verdict::failed(Failure::Network, "no route"));
        assert_eq!(format!("{:?}", round_trip(&end, b"").0), format!("{end:?}"));
    }

    #[test]
    fn a_message_that_is_too_large_leaves_those_that_wait_as_they_were() {
        let small = Message::Progress { pages: 1, rows: 10 };
        let mut waiting = Vec::new();
        append(&mut waiting, &small, b"").expect("a small message");
        let before = waiting.clone();
        assert!(matches!(append(&mut waiting, &small, &vec![0; MAX_FRAME]), Err(FrameError::TooLarge(_))));
        assert_eq!(waiting, before);
    }

    #[test]
    fn a_hostile_child_gets_an_error_not_memory() {
        let huge = [0xff_u8; 8];
        assert!(matches!(read::<Message>(&mut &huge[..]), Err(FrameError::TooLarge(_))));
        let half = [0, 0, 0, 9, 0, 0, 0, 0, b'{'];
        assert!(matches!(read::<Message>(&mut &half[..]), Err(FrameError::Truncated)));
        let cut_header = [0, 0, 0];
        assert!(matches!(read::<Message>(&mut &cut_header[..]), Err(FrameError::Truncated)));
        let no_json = [0, 0, 0, 2, 0, 0, 0, 0, b'n', b'o'];
        assert!(matches!(read::<Message>(&mut &no_json[..]), Err(FrameError::InvalidJson(_))));
        let empty_json = [0_u8; 8];
        assert!(matches!(read::<Message>(&mut &empty_json[..]), Err(FrameError::InvalidJson(_))));
    }

    #[test]
    fn printing_an_assignment_does_not_print_its_secrets() {
        let secrets = Secrets(BTreeMap::from([("shop".to_owned(), "hunter2".to_owned())]));
        assert_eq!(format!("{secrets:?}"), r#"{"shop"}"#);
    }
}
