//! A person's help on a page: enclosed blocks, labels, clicked records, row rules, edits.

use serde::{Deserialize, Serialize};

use super::edits::CandidateEdits;
use super::label::ValueLabel;
use crate::learn::template::RowRule;
use crate::page::NodeId;

/// Everything that a person said about a page. No help is `Help::default()`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Help {
    /// Rough blocks, one record each (OLERA). Blocks of different formats give several variants.
    pub enclosed: Vec<Block>,
    /// Named values of one or two records (PIEME). A repeated name starts the next record.
    pub labels: Vec<ValueLabel>,
    /// Texts that identify one record each: records that were clicked.
    pub records: Vec<String>,
    /// Minimum similarity of a row to a block: OLERA's θ, by default [`THRESHOLD`](super::enclose::THRESHOLD).
    pub threshold: Option<f64>,
    /// An explicit rule for the rows (CSS selector or regular expression), as a last resort.
    pub rows: Option<RowRule>,
    /// Edits of one of the candidates.
    pub finish: CandidateEdits,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Block {
    /// By a text in it. A text that spans several elements is the block; a shorter one is somewhere inside it.
    Text(String),
    /// By a CSS selector: the first element that matches.
    Css(String),
    /// From the first node to the last, with everything between.
    Nodes(NodeId, NodeId),
}

impl Help {
    pub fn is_empty(&self) -> bool {
        *self == Help::default()
    }

    /// Whether there are edits of a candidate and no other help.
    pub fn has_only_edits(&self) -> bool {
        Help { finish: CandidateEdits::default(), ..self.clone() }.is_empty()
    }

    /// Whether the help says where the list is, so that the candidates are ranked again.
    pub fn locates_list(&self) -> bool {
        !self.enclosed.is_empty() || !self.labels.is_empty() || !self.records.is_empty()
    }
}
