//! Connects for a run, which has no sockets of its own: resolves, checks and connects in one step, under the guard of the task, and
//! passes the connection on. What is said over it is none of our business.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::JoinSet;

use crate::guard::Guard;
use crate::model::{Missed, Script, Task};
use crate::wire::Answer;

use super::turns::{Answers, Given};

/// As long as a run waits itself.
const PATIENCE: Duration = Duration::from_secs(15);
/// Connections that one run may be waiting for: a browser opens six to a host, to some hosts at a time.
const MOST_AT_ONCE: usize = 64;

pub struct Broker {
    guard: Arc<Guard>,
    answers: Answers,
    /// Ended with the run: nobody waits for them then.
    under_way: JoinSet<()>,
    runtime: Handle,
}

impl Broker {
    /// Within a runtime, which does the connecting.
    pub fn new(task: &Task, script: &Script, answers: Answers) -> Broker {
        let guard = Arc::new(Guard::new(task, script));
        Broker { guard, answers, under_way: JoinSet::new(), runtime: Handle::current() }
    }

    pub fn connect(&mut self, question: u64, host: String, port: u16) {
        let (guard, answers) = (self.guard.clone(), self.answers.clone());
        while self.under_way.try_join_next().is_some() {}
        if self.under_way.len() >= MOST_AT_ONCE {
            let why = Missed::Connection("the run wants too many connections at a time".to_owned());
            // A child that has gone needs no answer; here and below.
            let _ = answers.send(Given::Said(Answer::Missed { question, why }, Vec::new()));
            return;
        }
        let connecting = async move {
            let connected = guard.connect(&host, port, PATIENCE).await;
            let stream =
                connected.and_then(|stream| stream.into_std().map_err(|error| Missed::Connection(error.to_string())));
            let _ = answers.send(match stream {
                Ok(stream) => Given::Connection(Answer::Connected { question }, stream.into()),
                Err(why) => Given::Said(Answer::Missed { question, why }, Vec::new()),
            });
        };
        self.under_way.spawn_on(connecting, &self.runtime);
    }
}
