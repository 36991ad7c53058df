//! Frames: how jobs, messages and answers cross the socket and the pipe. A frame is a kind (one byte), two lengths (big
//! endian, 32 bits each), that much JSON, and that many raw bytes.

use std::io::{self, Read, Write};
use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::answers::ParentAnswer;
use super::bounds::{BoundedMessage, MAX_FRAME, OutOfBounds, cut};
use super::budgets::{Budget, OverBudget, check_values};
use super::jobs::Job;
use super::kinds::{FrameKind, FrameMessage};

/// The kind and the two lengths that a frame begins with.
const HEADER_BYTES: usize = 9;
/// How much is said about invalid JSON.
const MAX_ERROR_BYTES: usize = 500;
/// Capacity that is kept for the next frame.
const KEPT_CAPACITY: usize = 64 << 10;

/// Why a frame could not be read or written. Each reads after "it".
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    #[error("closed the pipe in the middle of a message")]
    Truncated,
    #[error("sent a message of {0} bytes, which is over the limit of {MAX_FRAME}")]
    TooLarge(usize),
    #[error("{0}")]
    OverBudget(#[from] OverBudget),
    #[error("sent a message ({0}) that is of another kind than its header says")]
    OtherKind(FrameKind),
    #[error("sent a message that is out of bounds: {0}")]
    OutOfBounds(#[from] OutOfBounds),
    #[error("sent an invalid message: {0}")]
    InvalidJson(String),
    #[error("left a pipe that failed: {0}")]
    Pipe(#[from] io::Error),
}

impl From<serde_json::Error> for FrameError {
    fn from(error: serde_json::Error) -> FrameError {
        // It may quote what the child sent.
        FrameError::InvalidJson(cut(error.to_string(), MAX_ERROR_BYTES))
    }
}

/// Writes a message that is not counted: a job, an answer, or the only message of a child.
pub fn write<T: Serialize + FrameMessage>(pipe: &mut impl Write, message: &T, raw: &[u8]) -> Result<(), FrameError> {
    pipe.write_all(&frame(message, raw)?)?;
    pipe.flush()?;
    Ok(())
}

pub(super) fn frame<T: Serialize + FrameMessage>(message: &T, raw: &[u8]) -> Result<Vec<u8>, FrameError> {
    let mut frame = Vec::new();
    append_frame(&mut frame, message, raw)?;
    Ok(frame)
}

/// Appends a message to a buffer of messages that are sent together, if it is within the budget.
pub fn append<T: Serialize + FrameMessage>(
    waiting: &mut Vec<u8>,
    message: &T,
    raw: &[u8],
    budget: &mut Budget,
) -> Result<(), FrameError> {
    let start = waiting.len();
    let appended = append_frame(waiting, message, raw).and_then(|json| {
        check_values(message.kind(), &waiting[start + HEADER_BYTES..][..json])?;
        budget.admit(message.kind(), json, raw.len())?;
        Ok(budget.charge(message.kind(), message.disk_overhead())?)
    });
    if appended.is_err() {
        // An incomplete frame would corrupt all that follow.
        waiting.truncate(start);
    }
    appended
}

/// Returns the length of the JSON.
fn append_frame<T: Serialize + FrameMessage>(
    waiting: &mut Vec<u8>,
    message: &T,
    raw: &[u8],
) -> Result<usize, FrameError> {
    let start = waiting.len();
    waiting.push(message.kind() as u8);
    waiting.extend_from_slice(&[0; HEADER_BYTES - 1]);
    serde_json::to_writer(&mut *waiting, message)?;
    let json = waiting.len() - start - HEADER_BYTES;
    let total = json + raw.len();
    if total > MAX_FRAME {
        return Err(FrameError::TooLarge(total));
    }
    for (place, part) in [json, raw.len()].into_iter().enumerate() {
        let length = u32::try_from(part).expect("MAX_FRAME fits into 32 bits").to_be_bytes();
        let at = start + 1 + place * length.len();
        waiting[at..at + length.len()].copy_from_slice(&length);
    }
    waiting.extend_from_slice(raw);
    Ok(json)
}

/// What comes from the parent, which is trusted.
pub trait FromParent: FrameMessage + DeserializeOwned {}

impl FromParent for Job {}
impl FromParent for ParentAnswer {}

/// Reads the next frame of the parent; none if the socket was closed between two frames.
pub fn read_from_parent<T: FromParent>(socket: &mut impl Read) -> Result<Option<(T, Vec<u8>)>, FrameError> {
    read(socket, &mut Budget::of_parent(), &mut Vec::new())
}

/// The messages of a child. The parent has no other way to read what a child sends: everything is checked against the
/// job's budget before it is read, and against its bounds before it is used.
pub struct MessageReader<R, M> {
    pipe: R,
    budget: Budget,
    /// Reused, so that a flood of messages does not fragment the memory.
    json: Vec<u8>,
    kind: PhantomData<fn() -> M>,
}

impl<R: Read, M: BoundedMessage + DeserializeOwned> MessageReader<R, M> {
    pub fn new(pipe: R, budget: Budget) -> MessageReader<R, M> {
        MessageReader { pipe, budget, json: Vec::new(), kind: PhantomData }
    }

    /// The next message with its raw bytes; `None` if the pipe was closed between two messages.
    pub fn next_message(&mut self) -> Result<Option<(M, Vec<u8>)>, FrameError> {
        let Some((message, raw)) = read::<M>(&mut self.pipe, &mut self.budget, &mut self.json)? else {
            return Ok(None);
        };
        message.check(raw.len())?;
        self.budget.charge(message.kind(), message.disk_overhead())?;
        Ok(Some((message, raw)))
    }
}

/// Reads the next frame with its raw bytes; none if the pipe was closed between two frames.
fn read<T: FrameMessage + DeserializeOwned>(
    pipe: &mut impl Read,
    budget: &mut Budget,
    json: &mut Vec<u8>,
) -> Result<Option<(T, Vec<u8>)>, FrameError> {
    let Some(header) = read_header(pipe)? else { return Ok(None) };
    let [kind, a, b, c, d, e, f, g, h] = header;
    let kind = FrameKind::from_byte(kind).ok_or(OverBudget::UnknownKind(kind))?;
    let json_len = u32::from_be_bytes([a, b, c, d]) as usize;
    let raw_len = u32::from_be_bytes([e, f, g, h]) as usize;
    budget.admit(kind, json_len, raw_len)?;
    if json_len + raw_len > MAX_FRAME {
        return Err(FrameError::TooLarge(json_len + raw_len));
    }
    read_exactly(pipe, json, json_len)?;
    check_values(kind, json)?;
    let message: T = serde_json::from_slice(json)?;
    json.clear();
    json.shrink_to(KEPT_CAPACITY);
    if message.kind() != kind {
        return Err(FrameError::OtherKind(kind));
    }
    let mut raw = Vec::new();
    read_exactly(pipe, &mut raw, raw_len)?;
    Ok(Some((message, raw)))
}

/// None if the pipe was closed before the first byte.
fn read_header(pipe: &mut impl Read) -> Result<Option<[u8; HEADER_BYTES]>, FrameError> {
    let (mut header, mut done) = ([0; HEADER_BYTES], 0);
    while done < HEADER_BYTES {
        match pipe.read(&mut header[done..]) {
            Ok(0) if done == 0 => return Ok(None),
            Ok(0) => return Err(FrameError::Truncated),
            Ok(n) => done += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(FrameError::Pipe(error)),
        }
    }
    Ok(Some(header))
}

/// Memory is used as bytes arrive: a length alone costs nothing.
fn read_exactly(pipe: &mut impl Read, buffer: &mut Vec<u8>, len: usize) -> Result<(), FrameError> {
    buffer.clear();
    buffer.reserve_exact(len);
    if pipe.take(len as u64).read_to_end(buffer)? < len { Err(FrameError::Truncated) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{CachedPage, Failure, Row, Verdict};
    use crate::protocol::messages::{RepairAnswer, RunMessage, StepMessage};

    fn reader<M: BoundedMessage + DeserializeOwned>(pipe: &[u8]) -> MessageReader<&[u8], M> {
        MessageReader::new(pipe, Budget::new(M::kinds()))
    }

    /// What is said about the first message.
    fn refused<M: BoundedMessage + DeserializeOwned>(pipe: &[u8]) -> FrameError {
        reader::<M>(pipe).next_message().map(|_| ()).expect_err("it is refused")
    }

    fn round_trip(message: &RunMessage, raw: &[u8]) -> (RunMessage, Vec<u8>) {
        let mut pipe = Vec::new();
        write(&mut pipe, message, raw).expect("a small message");
        let mut messages = reader(&pipe);
        let back = messages.next_message().expect("what was written").expect("one message");
        assert!(messages.next_message().expect("a clean end").is_none());
        back
    }

    #[test]
    fn messages_survive_the_pipe() {
        let rows = RunMessage::Rows {
            columns: vec!["name".into(), "price".into()],
            values: Vec::new(),
            rows: vec![Row { cells: vec![Some("Stühle".into()), None], page: 0 }],
        };
        let (back, raw) = round_trip(&rows, b"");
        assert_eq!(format!("{back:?}"), format!("{rows:?}"));
        assert_eq!(raw, b"");
        let page = "https://shop.test/".parse().expect("an address");
        let page = CachedPage {
            url: page,
            etag: None,
            last_modified: None,
            request_digest: 1,
            headers: Vec::new(),
            fetched_at: chrono::DateTime::UNIX_EPOCH,
        };
        assert_eq!(round_trip(&RunMessage::CachePage(page), b"\0raw").1, b"\0raw");
        let end = RunMessage::End(Verdict::failed(Failure::Network, "no route"));
        assert_eq!(format!("{:?}", round_trip(&end, b"").0), format!("{end:?}"));
    }

    #[test]
    fn a_message_that_is_too_large_leaves_those_that_wait_as_they_were() {
        let small = RunMessage::Progress { pages: 1, rows: 10 };
        let (mut waiting, mut budget) = (Vec::new(), Budget::new(RunMessage::kinds()));
        append(&mut waiting, &small, b"", &mut budget).expect("a small message");
        let before = waiting.clone();
        let too_large = append(&mut waiting, &small, &vec![0; MAX_FRAME], &mut budget);
        assert!(matches!(too_large, Err(FrameError::TooLarge(_))));
        let over_budget = append(&mut waiting, &small, b"x", &mut budget);
        assert!(matches!(over_budget, Err(FrameError::OverBudget(OverBudget::TooLarge { .. }))));
        assert_eq!(waiting, before);
    }

    #[test]
    fn a_hostile_child_gets_an_error_not_memory() {
        let rows = FrameKind::Rows as u8;
        let header = |kind: u8, json: u32| [&[kind][..], &json.to_be_bytes(), &[0; 4]].concat();
        let over = |bytes: &[u8]| match refused::<RunMessage>(bytes) {
            FrameError::OverBudget(over) => over,
            other => panic!("{other}"),
        };
        assert_eq!(over(&[0xff; 9]), OverBudget::UnknownKind(0xff));
        assert!(matches!(over(&[&[rows][..], &[0xff; 8]].concat()), OverBudget::TooLarge { .. }));
        assert_eq!(over(&header(FrameKind::Job as u8, 1)), OverBudget::OtherJob(FrameKind::Job));
        let deep = [header(rows, 2_000_000), b"[".repeat(2_000_000)].concat();
        assert!(matches!(over(&deep), OverBudget::TooManyValues { .. }));
        let half = [&header(rows, 9)[..], b"{"].concat();
        assert!(matches!(refused::<RunMessage>(&half), FrameError::Truncated));
        assert!(matches!(refused::<RunMessage>(&[rows, 0, 0]), FrameError::Truncated));
        let no_json = [&header(rows, 2)[..], b"no"].concat();
        assert!(matches!(refused::<RunMessage>(&no_json), FrameError::InvalidJson(_)));
        assert!(matches!(refused::<RunMessage>(&header(rows, 0)), FrameError::InvalidJson(_)));
    }

    #[test]
    fn a_message_is_of_the_kind_that_its_header_says() {
        let mut pipe = Vec::new();
        write(&mut pipe, &RunMessage::Progress { pages: 1, rows: 1 }, b"").expect("a small message");
        pipe[0] = FrameKind::Trace as u8;
        assert!(matches!(refused::<RunMessage>(&pipe), FrameError::OtherKind(FrameKind::Trace)));
    }

    #[test]
    fn a_message_out_of_bounds_is_not_read() {
        let mut pipe = Vec::new();
        write(&mut pipe, &RunMessage::Progress { pages: 1, rows: u64::MAX }, b"").expect("a small message");
        let error = refused::<RunMessage>(&pipe);
        assert!(error.to_string().starts_with("sent a message that is out of bounds: progress.rows"), "{error}");
    }

    /// A thousand rows without a cell are small here and large in a table.
    #[test]
    fn rows_are_charged_with_what_they_cost_on_the_disk() {
        let columns: Vec<String> = (0..500).map(|n| n.to_string()).collect();
        let rows = vec![Row { cells: Vec::new(), page: 0 }; 1_000];
        let message = RunMessage::Rows { columns, values: Vec::new(), rows };
        let mut pipe = Vec::new();
        write(&mut pipe, &message, b"").expect("a small message");
        let endless = std::iter::repeat_n(&pipe[..], 10_000).collect::<Vec<_>>();
        let mut messages = MessageReader::<_, RunMessage>::new(Chain(endless), Budget::new(RunMessage::kinds()));
        let error = loop {
            if let Err(error) = messages.next_message() {
                break error;
            }
        };
        assert!(matches!(error, FrameError::OverBudget(OverBudget::TooMuch { kind: FrameKind::Rows, .. })), "{error}");
    }

    /// Reads one slice after the other.
    struct Chain<'c>(Vec<&'c [u8]>);

    impl Read for Chain<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let Some(next) = self.0.last_mut() else { return Ok(0) };
            let read = next.read(buffer)?;
            if next.is_empty() {
                self.0.pop();
            }
            Ok(read)
        }
    }

    #[test]
    fn a_child_of_a_repair_cannot_send_rows() {
        let rows = RunMessage::Rows { columns: Vec::new(), values: Vec::new(), rows: Vec::new() };
        let mut pipe = Vec::new();
        write(&mut pipe, &rows, b"").expect("a small message");
        let other_job = |error| matches!(error, FrameError::OverBudget(OverBudget::OtherJob(FrameKind::Rows)));
        assert!(other_job(refused::<RepairAnswer>(&pipe)));
        assert!(other_job(refused::<StepMessage>(&pipe)));
        pipe[0] = FrameKind::Repair as u8;
        assert!(matches!(refused::<RepairAnswer>(&pipe), FrameError::InvalidJson(_)));
    }

    #[test]
    fn what_is_said_about_invalid_json_is_short() {
        let text = format!("\"{}\"", "x".repeat(100_000));
        let header = [&[FrameKind::Rows as u8][..], &(text.len() as u32).to_be_bytes(), &[0; 4]].concat();
        let error = refused::<RunMessage>(&[&header, text.as_bytes()].concat());
        assert!(error.to_string().len() < 2 * MAX_ERROR_BYTES, "{error}");
    }
}
