//! The methods that find rows.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Finder {
    /// One sibling a record.
    Siblings,
    /// Several siblings a record.
    Groups,
    /// Records under several parents.
    Grid,
    /// Lines of a `<pre>`.
    Lines,
    /// From one occurrence of a token sequence to the next (Shi et al.).
    Cycles,
    /// Occurrences of a tag pattern (IEPAD).
    Repeats,
    /// Segmented with the help of detail pages (Lerman et al.).
    Details,
    /// A page that is one record: the part of it that differs from page to page.
    Page,
}

impl Finder {
    const ALL: [Finder; 8] = [
        Finder::Siblings,
        Finder::Groups,
        Finder::Grid,
        Finder::Lines,
        Finder::Cycles,
        Finder::Repeats,
        Finder::Details,
        Finder::Page,
    ];

    pub fn from_name(name: &str) -> Option<Finder> {
        Finder::ALL.into_iter().find(|finder| finder.name() == name)
    }

    pub fn name(self) -> &'static str {
        match self {
            Finder::Siblings => "siblings",
            Finder::Groups => "groups",
            Finder::Grid => "grid",
            Finder::Lines => "lines",
            Finder::Cycles => "cycles",
            Finder::Repeats => "repeats",
            Finder::Details => "details",
            Finder::Page => "page",
        }
    }

    /// Whether rows are spans of tokens that need not be elements.
    pub fn is_token_based(self) -> bool {
        matches!(self, Finder::Cycles | Finder::Repeats | Finder::Details)
    }
}
