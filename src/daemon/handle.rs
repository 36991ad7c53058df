//! What a front of the daemon, such as the dashboard, has of it: it asks for what the control socket can be asked for, and hears
//! when something was written.

use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use super::Event;
use super::connections::Listeners;
use super::control::{ControlReply, ControlRequest};
use super::runner::Runner;

/// A daemon that takes in ten thousand folders answers after some seconds.
const REPLY_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Clone)]
pub struct DaemonHandle {
    pub runner: Runner,
    /// Where a front says that it takes connections.
    pub listeners: Listeners,
    events: mpsc::Sender<Event>,
}

impl DaemonHandle {
    pub(super) fn new(runner: Runner, events: mpsc::Sender<Event>, listeners: Listeners) -> DaemonHandle {
        DaemonHandle { runner, listeners, events }
    }

    /// Asks, and gives the replies as they come; what nobody listens to any more is done all the same.
    pub async fn request(&self, request: ControlRequest) -> mpsc::UnboundedReceiver<ControlReply> {
        let (replies, outbox) = mpsc::unbounded_channel();
        // Where the loop is gone the replies end at once.
        let _ = self.events.send(Event::Request(request, replies)).await;
        outbox
    }

    /// Asks, and waits for the first reply.
    pub async fn first_reply(&self, request: ControlRequest) -> ControlReply {
        let mut outbox = self.request(request).await;
        match timeout(REPLY_TIMEOUT, outbox.recv()).await {
            Ok(Some(reply)) => reply,
            Ok(None) => ControlReply::Busy { sentence: "the daemon is stopping".to_owned() },
            Err(_) => ControlReply::Busy { sentence: "the daemon is busy and has not answered; try again".to_owned() },
        }
    }

    /// The folder of a task was changed: it is looked at soon.
    pub async fn hint_folders_changed(&self) {
        let _ = self.events.send(Event::FolderHint).await;
    }

    /// Moves whenever the store may have been written to.
    pub fn store_changes(&self) -> watch::Receiver<u64> {
        self.runner.store.changes()
    }
}
