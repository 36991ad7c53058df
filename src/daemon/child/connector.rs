//! Opens connections for a child, which may not open sockets itself. Resolves, checks and connects in one step under
//! the task's guard, and passes the file descriptor on. The traffic does not pass through the daemon.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::JoinSet;

use crate::guard::Guard;
use crate::model::{AddressGrants, ConnectError, Script, Task};
use crate::protocol::ParentAnswer;

use super::answers::{AnswerSender, ChildAnswer};

/// As long as the child waits for its answer.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// Connection attempts of one run at a time: a browser opens six per host, to several hosts at once.
const MAX_PENDING: usize = 64;

pub struct ChildConnector {
    guard: Arc<Guard>,
    answers: AnswerSender,
    /// Aborted with the run.
    pending: JoinSet<()>,
    runtime: Handle,
}

impl ChildConnector {
    /// Must be called within a tokio runtime, which makes the connections.
    pub fn new(task: &Task, script: &Script, grants: &AddressGrants, answers: AnswerSender) -> ChildConnector {
        let guard = Arc::new(Guard::new(task, script, grants));
        ChildConnector { guard, answers, pending: JoinSet::new(), runtime: Handle::current() }
    }

    pub fn connect(&mut self, question: u64, host: String, port: u16) {
        let (guard, answers) = (self.guard.clone(), self.answers.clone());
        while self.pending.try_join_next().is_some() {}
        if self.pending.len() >= MAX_PENDING {
            let why = ConnectError::Connection("the run opens too many connections at a time".to_owned());
            // A child that has ended needs no answer; here and below.
            answers.send(ChildAnswer::Reply(ParentAnswer::ConnectFailed { question, why }, Vec::new()));
            return;
        }
        let connecting = async move {
            let connected = guard.connect(&host, port, CONNECT_TIMEOUT).await;
            let stream = connected
                .and_then(|stream| stream.into_std().map_err(|error| ConnectError::Connection(error.to_string())));
            answers.send(match stream {
                Ok(stream) => ChildAnswer::Connection(ParentAnswer::Connected { question }, stream.into()),
                Err(why) => ChildAnswer::Reply(ParentAnswer::ConnectFailed { question, why }, Vec::new()),
            });
        };
        self.pending.spawn_on(connecting, &self.runtime);
    }
}
