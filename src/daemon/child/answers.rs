//! Answers on their way to a child.

use std::os::fd::OwnedFd;
use std::sync::mpsc::Sender;

use crate::protocol::{FrameError, ParentAnswer, ParentSocket};

pub enum ChildAnswer {
    /// With the raw bytes that go with it.
    Reply(ParentAnswer, Vec<u8>),
    /// With a connection that is the child's from now on.
    Connection(ParentAnswer, OwnedFd),
}

pub type AnswerSender = Sender<ChildAnswer>;

impl ChildAnswer {
    pub fn write(self, socket: &mut ParentSocket) -> Result<(), FrameError> {
        match self {
            ChildAnswer::Reply(answer, raw) => socket.write(&answer, &raw),
            ChildAnswer::Connection(answer, connection) => socket.write_with_connection(&answer, connection),
        }
    }
}
