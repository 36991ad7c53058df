//! Counts of the records that a publication changed.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How many records a publication added, changed and removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeCounts {
    pub added: u64,
    pub changed: u64,
    pub removed: u64,
}

impl ChangeCounts {
    pub fn total(self) -> u64 {
        self.added + self.changed + self.removed
    }
}

/// `2 added, 14 changed, 1 removed`
impl fmt::Display for ChangeCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} added, {} changed, {} removed", self.added, self.changed, self.removed)
    }
}
