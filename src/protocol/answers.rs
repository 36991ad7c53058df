//! What the parent sends to a child that runs.

use serde::{Deserialize, Serialize};

use crate::model::ConnectError;

use super::kinds::{FrameKind, FrameMessage};

/// The parent's answer to a request of the child, or its next command.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParentAnswer {
    /// The turn is granted after this wait.
    Turn {
        wait_ms: u64,
    },
    /// The frame's raw bytes are the body, compressed as the child had sent it; empty if it no longer exists.
    Body {
        found: bool,
    },
    /// The requested connection comes with this message.
    Connected {
        question: u64,
    },
    ConnectFailed {
        question: u64,
        why: ConnectError,
    },
    /// The next command of a stepping session.
    Step {
        forward: bool,
    },
}

impl FrameMessage for ParentAnswer {
    fn kind(&self) -> FrameKind {
        FrameKind::Answer
    }
}
