//! A handle on the daemon for front ends such as the dashboard: sends the requests of the control socket, and notifies
//! when the store was written.

use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use super::connections::Listeners;
use super::control::{ControlReply, ControlRequest};
use crate::daemon::Event;
use crate::daemon::runs::runner::Runner;

/// While the daemon reads ten thousand folders it answers only after some seconds.
const REPLY_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Clone)]
pub struct DaemonHandle {
    pub runner: Runner,
    /// Where a front end registers its listeners.
    pub listeners: Listeners,
    events: mpsc::Sender<Event>,
}

impl DaemonHandle {
    pub fn new(runner: Runner, events: mpsc::Sender<Event>, listeners: Listeners) -> DaemonHandle {
        DaemonHandle { runner, listeners, events }
    }

    /// Sends a request and returns its replies as they come. The request is carried out even if the receiver is
    /// dropped.
    pub async fn request(&self, request: ControlRequest) -> mpsc::UnboundedReceiver<ControlReply> {
        let (replies, outbox) = mpsc::unbounded_channel();
        // If the loop has ended, the replies end at once.
        let _ = self.events.send(Event::Request(request, replies)).await;
        outbox
    }

    /// Sends a request and waits for the first reply.
    pub async fn first_reply(&self, request: ControlRequest) -> ControlReply {
        let mut outbox = self.request(request).await;
        match timeout(REPLY_TIMEOUT, outbox.recv()).await {
            Ok(Some(reply)) => reply,
            Ok(None) => ControlReply::Busy { sentence: "the daemon is stopping".to_owned() },
            Err(_) => ControlReply::Busy { sentence: "the daemon is busy and has not answered; try again".to_owned() },
        }
    }

    /// Requests a rescan after a task folder was changed.
    pub async fn hint_folders_changed(&self) {
        let _ = self.events.send(Event::FolderHint).await;
    }

    /// Changes whenever the store may have been written.
    pub fn store_changes(&self) -> watch::Receiver<u64> {
        self.runner.store.changes()
    }
}
