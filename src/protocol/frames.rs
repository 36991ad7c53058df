//! Frames: how jobs, messages and answers cross the socket and the pipe. A frame is two lengths (big endian, 32 bits
//! each), that much JSON, and that many raw bytes.

use std::io::{self, Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::answers::ParentAnswer;
use super::bounds::{BoundedMessage, MAX_FRAME, OutOfBounds, cut};
use super::jobs::Job;

/// The two lengths that a frame begins with.
const HEADER_BYTES: usize = 8;
/// How much is said about invalid JSON.
const MAX_ERROR_BYTES: usize = 500;

/// Why a frame could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    #[error("the pipe was closed in the middle of a message")]
    Truncated,
    #[error("a message of {0} bytes is over the limit of {MAX_FRAME}")]
    TooLarge(usize),
    #[error("a message is out of bounds: {0}")]
    OutOfBounds(#[from] OutOfBounds),
    #[error("a message is invalid: {0}")]
    InvalidJson(String),
    #[error("the pipe failed: {0}")]
    Pipe(#[from] io::Error),
}

impl From<serde_json::Error> for FrameError {
    fn from(error: serde_json::Error) -> FrameError {
        // It may quote what the child sent.
        FrameError::InvalidJson(cut(error.to_string(), MAX_ERROR_BYTES))
    }
}

pub fn write<T: Serialize>(pipe: &mut impl Write, message: &T, raw: &[u8]) -> Result<(), FrameError> {
    pipe.write_all(&frame(message, raw)?)?;
    pipe.flush()?;
    Ok(())
}

pub(super) fn frame<T: Serialize>(message: &T, raw: &[u8]) -> Result<Vec<u8>, FrameError> {
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

/// What comes from the parent, which is trusted.
pub trait FromParent: DeserializeOwned {}

impl FromParent for Job {}
impl FromParent for ParentAnswer {}

/// Reads the next frame of the parent; none if the socket was closed between two frames.
pub fn read_from_parent<T: FromParent>(socket: &mut impl Read) -> Result<Option<(T, Vec<u8>)>, FrameError> {
    read(socket)
}

/// Reads the next message of a child and checks its bounds; none if the pipe was closed between two messages. The
/// parent has no other way to read what a child sends.
pub fn read_from_child<M: BoundedMessage + DeserializeOwned>(
    pipe: &mut impl Read,
) -> Result<Option<(M, Vec<u8>)>, FrameError> {
    let Some((message, raw)) = read::<M>(pipe)? else { return Ok(None) };
    message.check(raw.len())?;
    Ok(Some((message, raw)))
}

/// Reads the next frame with its raw bytes; none if the pipe was closed between two frames.
pub(super) fn read<T: DeserializeOwned>(pipe: &mut impl Read) -> Result<Option<(T, Vec<u8>)>, FrameError> {
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
    use crate::model::{Failure, Row, Verdict};
    use crate::protocol::messages::{RepairAnswer, RunMessage, StepMessage};

    fn round_trip(message: &RunMessage, raw: &[u8]) -> (RunMessage, Vec<u8>) {
        let mut pipe = Vec::new();
        write(&mut pipe, message, raw).expect("a small message");
        let mut pipe = &pipe[..];
        let back = read(&mut pipe).expect("what was written").expect("one message");
        assert!(read::<RunMessage>(&mut pipe).expect("a clean end").is_none());
        back
    }

    #[test]
    fn messages_survive_the_pipe() {
        let rows = RunMessage::Rows {
            columns: vec!["name".into(), "price".into()],
            values: Vec::new(),
            rows: vec![Row { cells: vec![Some("Stühle".into()), None], page: 0 }],
        };
        let (back, raw) = round_trip(&rows, b"\0raw");
        assert_eq!(format!("{back:?}"), format!("{rows:?}"));
        assert_eq!(raw, b"\0raw");
        let end = RunMessage::End(Verdict::failed(Failure::Network, "no route"));
        assert_eq!(format!("{:?}", round_trip(&end, b"").0), format!("{end:?}"));
    }

    #[test]
    fn a_message_that_is_too_large_leaves_those_that_wait_as_they_were() {
        let small = RunMessage::Progress { pages: 1, rows: 10 };
        let mut waiting = Vec::new();
        append(&mut waiting, &small, b"").expect("a small message");
        let before = waiting.clone();
        assert!(matches!(append(&mut waiting, &small, &vec![0; MAX_FRAME]), Err(FrameError::TooLarge(_))));
        assert_eq!(waiting, before);
    }

    #[test]
    fn a_hostile_child_gets_an_error_not_memory() {
        let huge = [0xff_u8; 8];
        assert!(matches!(read::<RunMessage>(&mut &huge[..]), Err(FrameError::TooLarge(_))));
        let half = [0, 0, 0, 9, 0, 0, 0, 0, b'{'];
        assert!(matches!(read::<RunMessage>(&mut &half[..]), Err(FrameError::Truncated)));
        let cut_header = [0, 0, 0];
        assert!(matches!(read::<RunMessage>(&mut &cut_header[..]), Err(FrameError::Truncated)));
        let no_json = [0, 0, 0, 2, 0, 0, 0, 0, b'n', b'o'];
        assert!(matches!(read::<RunMessage>(&mut &no_json[..]), Err(FrameError::InvalidJson(_))));
        let empty_json = [0_u8; 8];
        assert!(matches!(read::<RunMessage>(&mut &empty_json[..]), Err(FrameError::InvalidJson(_))));
    }

    #[test]
    fn a_message_out_of_bounds_is_not_read() {
        let mut pipe = Vec::new();
        write(&mut pipe, &RunMessage::Progress { pages: 1, rows: u64::MAX }, b"").expect("a small message");
        let error = read_from_child::<RunMessage>(&mut &pipe[..]).expect_err("too many rows");
        assert!(error.to_string().starts_with("a message is out of bounds: progress.rows"), "{error}");
    }

    #[test]
    fn a_child_of_a_repair_cannot_send_rows() {
        let rows = RunMessage::Rows { columns: Vec::new(), values: Vec::new(), rows: Vec::new() };
        let mut pipe = Vec::new();
        write(&mut pipe, &rows, b"").expect("a small message");
        assert!(matches!(read_from_child::<RepairAnswer>(&mut &pipe[..]), Err(FrameError::InvalidJson(_))));
        assert!(matches!(read_from_child::<StepMessage>(&mut &pipe[..]), Err(FrameError::InvalidJson(_))));
    }

    #[test]
    fn what_is_said_about_invalid_json_is_short() {
        let mut pipe = Vec::new();
        write(&mut pipe, &"x".repeat(100_000), b"").expect("a message");
        let error = read_from_child::<RunMessage>(&mut &pipe[..]).expect_err("no such message");
        assert!(error.to_string().len() < 2 * MAX_ERROR_BYTES, "{error}");
    }
}
