//! Repair proposals: templates for a redesigned page, stored until a person decides.

use serde::{Deserialize, Serialize};

use super::{RunId, Table};

/// Lists of a redesigned page under the old column names, best first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RepairProposals {
    pub proposals: Vec<RepairProposal>,
    /// Why the first one needs a person's confirmation; `None` if nothing speaks against it.
    pub doubt: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RepairProposal {
    pub method: String,
    pub score: f64,
    /// As JSON text. It also reads pages of the old layout.
    pub template: String,
    /// The rows it extracts from the page, including columns that are hidden at first.
    pub table: Table,
    /// Position of each row on the page: its first token, and one past its last.
    #[serde(default)]
    pub places: Vec<(u32, u32)>,
    /// Names of the visible columns; `None` for a hidden one.
    pub names: Vec<Option<String>>,
}

/// Proposals stored for the person who labels the task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredProposals {
    /// The run that fetched the page.
    pub run: RunId,
    #[serde(rename = "mended")]
    pub repair: RepairProposals,
}
