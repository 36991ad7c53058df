//! How a walk stands that waits after every step.

use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StepwiseState {
    /// The verb of each step.
    pub steps: Vec<String>,
    /// How many of them are done.
    pub done: usize,
    /// What the last one did, as `pieme step --json` says it; none at the beginning.
    pub last: Option<Value>,
}
