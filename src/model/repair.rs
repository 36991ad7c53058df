//! What was found again after a redesign, until somebody says yes.

use serde::{Deserialize, Serialize};

use super::{RunId, Table};

/// The lists of a redesigned page under the columns that there were, best first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RepairProposals {
    pub proposals: Vec<RepairProposal>,
    /// Why the first is not to be taken without a person; none where nothing speaks against it.
    pub doubt: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RepairProposal {
    pub method: String,
    pub score: f64,
    /// As JSON text. It reads the old shape as well.
    pub template: String,
    /// What it reads off the page, with the columns that are hidden at first.
    pub table: Table,
    /// Where each row of it stands on the page: its first token, and one past its last.
    #[serde(default)]
    pub places: Vec<(u32, u32)>,
    /// The names of the columns that are shown; none for a hidden one.
    pub names: Vec<Option<String>>,
}

/// The same, kept for the person who is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredProposals {
    /// Whose page it is.
    pub run: RunId,
    #[serde(rename = "mended")]
    pub repair: RepairProposals,
}
