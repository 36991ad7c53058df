//! State of a stepwise run (`pieme step`), which pauses after every step.

use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StepwiseState {
    /// The verb of each step.
    pub steps: Vec<String>,
    /// Number of steps done.
    pub done: usize,
    /// Result of the last step, as `pieme step --json` prints it; `None` at the beginning.
    pub last: Option<Value>,
}
