//! The protocol between the daemon (parent) and a child process: one type per job, one for what its child may send, and
//! frames that carry them over a socket and a pipe.
//!
//! The parent sends one [`Job`] over the socket; the child answers over the pipe with the messages of that job: a run
//! with [`RunMessage`]s, a stepping session with [`StepMessage`]s, a repair with one [`RepairAnswer`], an inspection
//! with one [`InspectAnswer`] or, for a terminal, a few. A message that asks for something gets a [`ParentAnswer`] over
//! the socket. This is the trust boundary: the child has parsed untrusted pages, so the parent reads its messages only
//! with [`MessageReader`], which checks what the child sends in all ([`budgets`]) and every field of it ([`bounds`]).

mod answers;
pub mod bounds;
pub mod budgets;
mod frames;
mod jobs;
mod json_values;
mod kinds;
mod messages;
mod socket;

pub use answers::ParentAnswer;
pub use budgets::{Budget, OverBudget};
pub use frames::{FrameError, MessageReader, append, read_from_parent, write};
pub use jobs::{
    ChildJob, FetchInput, InspectJob, Job, RepairJob, RepairSample, RunJob, Secrets, StepAudience, StepJob,
};
pub use kinds::{FrameKind, FrameMessage};
pub use messages::{FetchRequest, InspectAnswer, RepairAnswer, RunMessage, StepMessage};
pub use socket::{ChildSocket, ParentSocket};
