//! The numbers behind a verdict: what later runs are measured against, and what `pieme explain` shows.

use serde::{Deserialize, Serialize};

use super::{MinHash, NumberStatistics};

/// How much the rows of a page are still like those that the template was learned from. Each is 1 where nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SimilarityParts {
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
pub const SIMILARITY_THRESHOLD: f64 = 0.7;
/// The lines of the others. On 24 sites captured over months and years: rows of the same template fit 0.77 and more of what
/// they fitted (the least where a link was put around each), redesigns that nothing else shows 0.57 to 0.76; one cell more or
/// less moves all values of a table's row; names above columns are reworded one at a time.
const FIT_THRESHOLD: f64 = 0.75;
const PLACES_THRESHOLD: f64 = 0.7;
const HEADER_THRESHOLD: f64 = 0.5;

impl SimilarityParts {
    /// Of a page that shows nothing of the template.
    pub const NONE: SimilarityParts = SimilarityParts { tags: 0.0, fit: None, places: 1.0, header: 1.0 };

    /// The least of them, each laid out so that [`SIMILARITY_LINE`] is its line.
    pub fn similarity(&self) -> f64 {
        self.lowest_part().0
    }

    /// The same, with what it is about in words.
    pub fn lowest_part(&self) -> (f64, &'static str) {
        let all = self.parts().map(|part| (part.as_similarity(), part.when_off));
        all.into_iter().reduce(|least, it| if it.0 < least.0 { it } else { least }).unwrap_or((1.0, ""))
    }

    pub fn parts(&self) -> [SimilarityPart; 4] {
        let part = |name, value, line, when_fine, when_off| SimilarityPart {
            name,
            value,
            threshold: line,
            when_fine,
            when_off,
        };
        [
            part(
                "tags",
                Some(self.tags),
                SIMILARITY_THRESHOLD,
                "its rows are built of the same elements",
                "its rows are built of other elements",
            ),
            part("fit", self.fit, FIT_THRESHOLD, "its rows hold the same fields", "its rows hold other fields"),
            part(
                "places",
                Some(self.places),
                PLACES_THRESHOLD,
                "its rows have as many cells as they had",
                "its rows have more or fewer cells, so that values stand elsewhere",
            ),
            part(
                "header",
                Some(self.header),
                HEADER_THRESHOLD,
                "the same names stand above its columns",
                "other names stand above its columns",
            ),
        ]
    }
}

/// One of the four that make a similarity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SimilarityPart {
    pub name: &'static str,
    /// As it was measured; none where the page has nothing to measure.
    pub value: Option<f64>,
    threshold: f64,
    pub when_fine: &'static str,
    pub when_off: &'static str,
}

impl SimilarityPart {
    /// What the value must reach for a similarity of `wanted`.
    pub fn threshold_for(&self, wanted: f64) -> f64 {
        if wanted < SIMILARITY_THRESHOLD {
            self.threshold * wanted / SIMILARITY_THRESHOLD
        } else {
            self.threshold + (1.0 - self.threshold) * (wanted - SIMILARITY_THRESHOLD) / (1.0 - SIMILARITY_THRESHOLD)
        }
    }

    /// The value as a similarity: 1 where there is nothing to measure.
    pub fn as_similarity(&self) -> f64 {
        self.value.map_or(1.0, |value| scale_to_similarity(value, self.threshold))
    }
}

fn scale_to_similarity(value: f64, line: f64) -> f64 {
    let threshold = SIMILARITY_THRESHOLD;
    if line == threshold {
        return value;
    }
    if value < line { threshold * value / line } else { threshold + (1.0 - threshold) * (value - line) / (1.0 - line) }
}

/// Of one run: how its pages looked, and its rows column by column.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunStatistics {
    /// Of the page least like the template.
    #[serde(rename = "likeness", default, skip_serializing_if = "Option::is_none")]
    pub similarity_parts: Option<SimilarityParts>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<ColumnStatistics>,
    /// Of its columns of numbers; runs of before have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub numbers: Vec<NumberStatistics>,
    /// Which records there were; none where nothing tells them apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records: Option<MinHash>,
    #[serde(default)]
    pub signs: Signs,
    /// A person has said that these rows are right: what was before them is no measure any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub accepted: bool,
    /// The list was found again after a redesign and taken without a person.
    #[serde(rename = "mended", default, skip_serializing_if = "std::ops::Not::not")]
    pub repaired: bool,
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

impl Signs {
    /// Each in words, with whether the page shows it.
    pub fn each(&self) -> [(&'static str, bool); 5] {
        [
            ("it asks for a log-in", self.login),
            ("it takes its visitor for a machine", self.blocked),
            ("it calls itself an error", self.error),
            ("it says that nothing was found", self.no_results),
            ("it breaks off", self.cut_off),
        ]
    }
}

/// What a column's cells are like.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ColumnStatistics {
    pub name: String,
    /// Cells that are not empty; the rest adds up to them.
    pub filled: u64,
    pub numbers: u64,
    pub words: u64,
    pub links: u64,
    /// Values that came once at least.
    pub different: u64,
    /// Cells that are not empty, and have no value of the column's type.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unread: u64,
    /// It is what a reader sees, not an attribute.
    pub is_text: bool,
}

impl ColumnStatistics {
    /// Cells with a value: a text that does not read as the column's type is none.
    pub fn readable(&self) -> u64 {
        self.filled.saturating_sub(self.unread)
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_on_its_line_is_a_similarity_on_the_line_of_all() {
        for wanted in [0.5, SIMILARITY_THRESHOLD, 0.9] {
            let likeness = SimilarityParts { tags: 0.0, fit: Some(0.0), places: 0.0, header: 0.0 };
            for part in likeness.parts() {
                let on_line = SimilarityPart { value: Some(part.threshold_for(wanted)), ..part };
                assert!((on_line.as_similarity() - wanted).abs() < 1e-9, "{} at {wanted}", part.name);
            }
        }
    }

    #[test]
    fn figures_of_before_columns_of_numbers_are_read() {
        let old = r#"{"columns":[{"name":"price","filled":2,"numbers":2,"words":0,"links":0,"different":2,"is_text":true}],
            "signs":{"login":false,"blocked":false,"error":false,"no_results":false,"cut_off":false}}"#;
        let figures: RunStatistics = serde_json::from_str(old).expect("as it was written");
        assert_eq!((figures.columns.len(), figures.numbers.len()), (1, 0));
    }

    #[test]
    fn the_similarity_is_the_least_of_its_parts() {
        let likeness = SimilarityParts { tags: 0.98, fit: Some(0.9), places: 0.35, header: 1.0 };
        assert_eq!(likeness.lowest_part().1, "its rows have more or fewer cells, so that values stand elsewhere");
        assert!((likeness.similarity() - 0.35).abs() < 1e-9);
        assert_eq!(SimilarityParts { fit: None, ..likeness }.parts()[1].as_similarity(), 1.0, "nothing to measure");
    }
}
