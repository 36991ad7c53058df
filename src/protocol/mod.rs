//! What a run's child and its parent say to each other: framed messages over a socket and a pipe.
//!
//! A frame is two lengths (big endian, 32 bits each), that much JSON, and that many raw bytes. The parent writes one
//! [`Assignment`]; the child answers with [`Message`]s and ends with [`Message::End`]. Where a message asks for something, an
//! [`Answer`] comes back the way the assignment came. This is the trust boundary: the child has read a stranger's page, so
//! the parent believes no length and no field beyond what is checked here.

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

/// No frame is larger; a child that sends one is broken or hostile (docs/design/safety.md 6.57).
pub const MAX_FRAME: usize = 16 << 20;
/// Rows are sent on when a batch has this many cells' bytes, or [`BATCH_ROWS`] rows.
pub const BATCH_BYTES: usize = 1 << 20;
pub const BATCH_ROWS: usize = 1_000;
/// The two lengths that a frame begins with.
const HEADER_BYTES: usize = 8;
/// More messages than this from one run is a flood, not a report.
pub const MAX_MESSAGES: usize = 1_000_000;

/// Everything a child gets to know. It has no database, no environment and no other task's secrets.
#[derive(Debug, Serialize, Deserialize)]
pub struct Job {
    pub run: RunId,
    pub name: TaskName,
    pub task: Task,
    pub script: Script,
    /// The template's JSON text; none means: learn it.
    pub template: Option<String>,
    /// The template of detail pages, likewise.
    pub details: Option<String>,
    /// Files of the folder that the script reads, by name.
    pub files: BTreeMap<String, String>,
    /// A person has said yes to the template.
    pub confirmed: bool,
    /// Only the secrets that the script names.
    pub secrets: Secrets,
    /// The kept session, as the last run left it.
    pub cookies: Option<String>,
    /// Pages that earlier runs have kept; their bodies are asked for when they are needed.
    pub kept: Vec<CachedPage>,
    pub robots: Vec<RobotsTxt>,
    /// Chromium's program, for tasks that want a browser; none: it is looked for.
    pub browser: Option<PathBuf>,
    /// A folder for what the run keeps on disk while it goes; the parent removes it.
    pub scratch: Option<PathBuf>,
    /// The latest good runs, newest first: what this one is measured against.
    pub past: Vec<PastRun>,
    /// Whoever the child must not outlive.
    pub parent_pid: u32,
    /// No run, but a walk that waits after every step for [`Answer::Step`].
    #[serde(default)]
    pub stepwise: bool,
    /// No run, but something to be found out about a page that was kept; nothing is fetched.
    pub page_job: Option<PageJob>,
}

/// What is to be found out about a kept page. The frame's raw bytes begin with the page, compressed as it was sent.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PageJob {
    /// The list, after a redesign. The samples stand behind the page.
    Repair(Box<RepairJob>),
    /// What a person wants to know.
    Inspect(Box<LabellingRequest>),
}

/// By what a list is found again after a redesign.
#[derive(Debug, Serialize, Deserialize)]
pub struct RepairJob {
    pub page: PageMeta,
    /// Of the page, compressed as it was sent.
    pub page_bytes: usize,
    /// The last good rows.
    pub good: Table,
    pub samples: Vec<RepairSample>,
    /// There are more, which are too large.
    pub samples_left_out: bool,
}

/// A page that the template must go on reading as before.
#[derive(Debug, Serialize, Deserialize)]
pub struct RepairSample {
    /// Its number in `samples/`.
    pub index: u32,
    pub bytes: usize,
    pub expected: Table,
}

/// Secret values by name. Debug prints the names alone.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secrets(pub BTreeMap<String, String>);

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// What a child reports.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "snake_case")]
pub enum Message {
    Trace(TraceLine),
    /// A page that was seen; the frame's raw bytes are its body, compressed with zstd.
    Page {
        index: u32,
        meta: PageMeta,
    },
    /// Rows to stage. The columns are the same in every message of a run. A row's cells are its texts, and behind them what
    /// they mean, as `values` says.
    Rows {
        columns: Vec<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        values: Vec<ValueColumn>,
        rows: Vec<Row>,
    },
    /// How far it is, after each page; the rows themselves come many at a time.
    Progress {
        pages: u32,
        rows: u64,
    },
    /// The session to keep for the next run.
    Cookies {
        json: String,
    },
    /// A template learned in this run, since there was none.
    Learned {
        template: String,
    },
    /// The same for the pages behind the records' links.
    LearnedDetails {
        template: String,
    },
    /// May this host be asked? [`Answer::Turn`] comes when it may.
    Turn {
        host: String,
        delay_ms: u64,
    },
    /// The request of the last turn is done; the host wants to be left alone for so long.
    TurnFinished {
        pause_ms: u64,
    },
    /// A page for the next run; the frame's raw bytes are its body, compressed with zstd.
    CachePage(CachedPage),
    /// The body of a page that an earlier run has kept; [`Answer::Body`] brings it.
    Body {
        url: Url,
    },
    /// A robots.txt for the next run.
    Robots(RobotsTxt),
    /// A connection to this host; [`Answer::Connected`] brings it, or [`Answer::Missed`] says why not.
    Connect {
        question: u64,
        host: String,
        port: u16,
    },
    /// How a walk stands that waits after every step; the frame's raw bytes are its page, compressed with zstd, where it is not
    /// too large.
    StepState(StepwiseState),
    /// The answer to [`Still::Mend`]; the frame's raw bytes are the page as it was sent, where it is not too large.
    Repaired(RepairProposals),
    /// The answer to [`Still::Study`].
    Inspected {
        answer: page::LabellingAnswer,
    },
    /// The last message. Without it the run has crashed.
    End(Verdict),
}

/// What a parent answers to a question.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "snake_case")]
pub enum ParentAnswer {
    /// The host is yours after so long.
    Turn {
        wait_ms: u64,
    },
    /// The frame's raw bytes are the body, compressed as it was sent; none when it is not there any more.
    Body {
        found: bool,
    },
    /// The connection that was asked for comes with this message.
    Connected {
        question: u64,
    },
    ConnectFailed {
        question: u64,
        why: ConnectError,
    },
    /// What a walk that waits is to do next.
    Step {
        forward: bool,
    },
}

/// Why a frame could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    #[error("the other side closed the pipe in the middle of a message")]
    Truncated,
    #[error("a message of {0} bytes is over the limit of {MAX_FRAME}")]
    TooLarge(usize),
    #[error("a message makes no sense: {0}")]
    InvalidJson(#[from] serde_json::Error),
    #[error("the pipe broke: {0}")]
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

/// Puts a message behind others that wait to be sent together.
pub fn append<T: Serialize>(waiting: &mut Vec<u8>, message: &T, raw: &[u8]) -> Result<(), FrameError> {
    let start = waiting.len();
    let appended = append_frame(waiting, message, raw);
    if appended.is_err() {
        // Half a message would garble all that follow.
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

/// The next message with its raw bytes, or none when the other side has closed the pipe between two messages.
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

/// Fills the buffer; false when the pipe was closed before the first byte.
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
