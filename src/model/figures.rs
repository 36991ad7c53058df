//! The numbers behind a verdict: what later runs are measured against, and what `pieme explain` shows.

use serde::{Deserialize, Serialize};

/// How much the rows of a page are still like those that the template was learned from. Each is 1 where nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Likeness {
    /// Of the template's tags, in order: what the rows still show.
    pub tags: f64,
    /// Of the template's slots: what was found, and of the rows: what that explains. None without rows.
    pub fit: Option<f64>,
    /// Of the values that only their order tells apart: how many stand among as many as before.
    pub places: f64,
    /// Of the names above the columns: how many are there.
    pub header: f64,
}

/// The line of the similarity, below which a page no longer looks like its template (Shi et al.).
pub const SIMILARITY_LINE: f64 = 0.7;
/// The lines of the others. On 24 sites captured over months and years: rows of the same template fit 0.77 and more of what
/// they fitted (the least where a link was put around each), redesigns that nothing else shows 0.57 to 0.76; one cell more or
/// less moves all values of a table's row; names above columns are reworded one at a time.
const FIT_LINE: f64 = 0.75;
const PLACES_LINE: f64 = 0.7;
const HEADER_LINE: f64 = 0.5;

impl Likeness {
    /// Of a page that shows nothing of the template.
    pub const NONE: Likeness = Likeness { tags: 0.0, fit: None, places: 1.0, header: 1.0 };

    /// The least of them, each laid out so that [`SIMILARITY_LINE`] is its line.
    pub fn similarity(&self) -> f64 {
        self.least().0
    }

    /// The same, with what it is about in words.
    pub fn least(&self) -> (f64, &'static str) {
        let fit = self.fit.map_or(1.0, |fit| laid_out(fit, FIT_LINE));
        let all = [
            (self.tags, "its rows are built of other elements"),
            (fit, "its rows hold other fields"),
            (laid_out(self.places, PLACES_LINE), "its rows have more or fewer cells, so that values stand elsewhere"),
            (laid_out(self.header, HEADER_LINE), "other names stand above its columns"),
        ];
        all.into_iter().reduce(|least, it| if it.0 < least.0 { it } else { least }).unwrap_or((1.0, ""))
    }
}

fn laid_out(value: f64, line: f64) -> f64 {
    let threshold = SIMILARITY_LINE;
    if value < line { threshold * value / line } else { threshold + (1.0 - threshold) * (value - line) / (1.0 - line) }
}

/// Of one run: how its pages looked, and its rows column by column.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Of the page least like the template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub likeness: Option<Likeness>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<ColumnFigures>,
    #[serde(default)]
    pub signs: Signs,
    /// A person has said that these rows are right: what was before them is no measure any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub accepted: bool,
}

/// What the first page says besides its list. Only what earlier good pages did not say tells anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signs {
    /// It asks for a password.
    pub login: bool,
    /// It takes us for a machine, or keeps us out.
    pub blocked: bool,
    /// It calls itself an error.
    pub error: bool,
    /// It says that nothing was found.
    pub no_results: bool,
    /// It breaks off: a document that was begun is not closed.
    pub cut_off: bool,
}

/// What a column's cells are like.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ColumnFigures {
    pub name: String,
    /// Cells that are not empty; the rest adds up to them.
    pub filled: u64,
    pub numbers: u64,
    pub words: u64,
    pub links: u64,
    /// Values that came once at least.
    pub different: u64,
    /// It is what a reader sees, not an attribute.
    pub is_text: bool,
}
