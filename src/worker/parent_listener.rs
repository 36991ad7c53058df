//! Reads what the parent sends after the job: answers to requests, connections, and commands of a stepping session.

use tokio::sync::mpsc;

use crate::model::ConnectError;
use crate::protocol::{self, ChildSocket, ParentAnswer};

use super::connector::ParentConnector;

/// Answers of the parent, with their raw bytes.
pub type ParentAnswers = mpsc::UnboundedReceiver<(ParentAnswer, Vec<u8>)>;

/// Commands of a stepping session: forward (true) or back.
pub type StepCommands = mpsc::UnboundedReceiver<bool>;

/// Reads the parent's answers in a thread. The parent keeps stdin open while it lives, so its end ends this process.
pub fn listen_to_parent(mut inlet: ChildSocket, connector: ParentConnector) -> (ParentAnswers, StepCommands) {
    let (send, answers) = mpsc::unbounded_channel();
    let (command, commands) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        while let Ok(Some((answer, raw))) = protocol::read_from_parent::<ParentAnswer>(&mut inlet) {
            match answer {
                ParentAnswer::Connected { question } => {
                    let lost = || ConnectError::Connection("the parent passed no connection on".to_owned());
                    connector.complete(question, inlet.take_connection().ok_or_else(lost));
                }
                ParentAnswer::ConnectFailed { question, why } => connector.complete(question, Err(why)),
                ParentAnswer::Step { forward } => drop(command.send(forward)),
                // After the walk nobody receives answers, so a failed send is no error.
                answer @ (ParentAnswer::Turn { .. } | ParentAnswer::Body { .. }) => drop(send.send((answer, raw))),
            }
        }
        std::process::exit(1);
    });
    (answers, commands)
}
