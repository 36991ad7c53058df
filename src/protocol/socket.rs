//! The Unix socket from parent to child. A message can carry an open connection with it (SCM_RIGHTS).

use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};
use serde::Serialize;

use super::frames::{FrameError, frame, write};
use super::kinds::FrameMessage;

/// Maximum number of connections received with one read.
const MAX_CONNECTIONS_PER_MESSAGE: usize = 4;

/// The parent's end: sends messages and passes connections on.
pub struct ParentSocket(UnixStream);

impl ParentSocket {
    /// Creates a socket pair; returns the parent's end and the child's.
    pub fn pair() -> io::Result<(ParentSocket, OwnedFd)> {
        let (ours, theirs) = UnixStream::pair()?;
        Ok((ParentSocket(ours), theirs.into()))
    }

    pub fn write<T: Serialize + FrameMessage>(&mut self, message: &T, raw: &[u8]) -> Result<(), FrameError> {
        write(&mut self.0, message, raw)
    }

    /// Sends a message and passes a connection with its first byte. The child owns the connection from then on.
    pub fn write_with_connection<T: Serialize + FrameMessage>(
        &mut self,
        message: &T,
        connection: OwnedFd,
    ) -> Result<(), FrameError> {
        let frame = frame(message, &[])?;
        let fds = [connection.as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        ancillary.push(SendAncillaryMessage::ScmRights(&fds));
        let sent = rustix::io::retry_on_intr(|| {
            sendmsg(&self.0, &[IoSlice::new(&frame)], &mut ancillary, SendFlags::NOSIGNAL)
        });
        self.0.write_all(&frame[sent.map_err(io::Error::from)?..])?;
        Ok(())
    }
}

/// The child's end: reads like a pipe and queues the received connections.
pub struct ChildSocket {
    socket: UnixStream,
    connections: VecDeque<OwnedFd>,
}

impl ChildSocket {
    pub fn new(socket: OwnedFd) -> ChildSocket {
        ChildSocket { socket: socket.into(), connections: VecDeque::new() }
    }

    /// The connection that came with the message just read.
    pub fn take_connection(&mut self) -> Option<OwnedFd> {
        self.connections.pop_front()
    }
}

impl Read for ChildSocket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_CONNECTIONS_PER_MESSAGE))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let got = recvmsg(&self.socket, &mut [IoSliceMut::new(buffer)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(fds) = message {
                self.connections.extend(fds);
            }
        }
        Ok(got.bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;
    use crate::protocol::{ParentAnswer, read_from_parent};

    #[test]
    fn a_connection_comes_with_its_own_message() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let (mut outlet, theirs) = ParentSocket::pair().expect("a pair of sockets");
        let mut inlet = ChildSocket::new(theirs);
        let talking = std::thread::spawn(move || {
            outlet.write(&ParentAnswer::Body { found: true }, &[7; 1_200_000]).expect("it listens");
            let connection = TcpStream::connect(address).expect("it is there");
            outlet
                .write_with_connection(&ParentAnswer::Connected { question: 9 }, connection.into())
                .expect("it listens");
        });
        let (_, raw) = read_from_parent::<ParentAnswer>(&mut inlet).expect("a message").expect("one");
        assert_eq!(raw, [7; 1_200_000]);
        assert!(inlet.take_connection().is_none(), "nothing came with it");
        let (answer, _) = read_from_parent::<ParentAnswer>(&mut inlet).expect("a message").expect("one");
        assert!(matches!(answer, ParentAnswer::Connected { question: 9 }));
        let mut connection = TcpStream::from(inlet.take_connection().expect("a connection"));
        connection.write_all(b"hello").expect("it is open");
        let (mut other, _) = listener.accept().expect("it was made");
        drop(connection);
        let mut heard = String::new();
        other.read_to_string(&mut heard).expect("all of it");
        assert_eq!(heard, "hello");
        talking.join().expect("nobody panicked");
        assert!(read_from_parent::<ParentAnswer>(&mut inlet).expect("a clean end").is_none());
    }
}
