//! Connects for a run, which has no sockets of its own: resolves, checks and connects in one step, under the guard of the task, and
//! passes the connection on. What is said over it is none of our business.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::JoinSet;

use crate::guard::Guard;
use crate::model::{ConnectError, Script, Task};
use crate::protocol::ParentAnswer;

use crate::daemon::host_limiter::{AnswerSender, ChildAnswer};

/// As long as a run waits itself.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// Connections that one run may be waiting for: a browser opens six to a host, to some hosts at a time.
const MAX_PENDING: usize = 64;

pub struct ChildConnector {
    guard: Arc<Guard>,
    answers: AnswerSender,
    /// Ended with the run: nobody waits for them then.
    pending: JoinSet<()>,
    runtime: Handle,
}

impl ChildConnector {
    /// Within a runtime, which does the connecting.
    pub fn new(task: &Task, script: &Script, answers: AnswerSender) -> ChildConnector {
        let guard = Arc::new(Guard::new(task, script));
        ChildConnector { guard, answers, pending: JoinSet::new(), runtime: Handle::current() }
    }

    pub fn connect(&mut self, question: u64, host: String, port: u16) {
        let (guard, answers) = (self.guard.clone(), self.answers.clone());
        while self.pending.try_join_next().is_some() {}
        if self.pending.len() >= MAX_PENDING {
            let why = ConnectError::Connection("the run wants too many connections at a time".to_owned());
            // A child that has gone needs no answer; here and below.
            let _ = answers.send(ChildAnswer::Reply(ParentAnswer::ConnectFailed { question, why }, Vec::new()));
            return;
        }
        let connecting = async move {
            let connected = guard.connect(&host, port, CONNECT_TIMEOUT).await;
            let stream = connected
                .and_then(|stream| stream.into_std().map_err(|error| ConnectError::Connection(error.to_string())));
            let _ = answers.send(match stream {
                Ok(stream) => ChildAnswer::Connection(ParentAnswer::Connected { question }, stream.into()),
                Err(why) => ChildAnswer::Reply(ParentAnswer::ConnectFailed { question, why }, Vec::new()),
            });
        };
        self.pending.spawn_on(connecting, &self.runtime);
    }
}
