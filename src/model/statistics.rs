//! Run statistics behind a verdict: later runs are compared with them, and `pieme explain` shows them.

use serde::{Deserialize, Serialize};

use super::MinHash;

/// How similar the rows of a page are to those that the template was learned from. Each part is 1 where nothing has
/// changed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SimilarityParts {
    /// Share of the template's tags, in order, that the rows still have.
    pub tags: f64,
    /// Share of the template's slots that were found, and of the rows' content that they explain. `None` without rows.
    pub fit: Option<f64>,
    /// Share of the values identified only by their position that are among as many as before.
    pub places: f64,
    /// Share of the column headers that are still there.
    pub header: f64,
}

/// A page whose similarity is below this no longer matches its template (Shi et al.).
pub const SIMILARITY_THRESHOLD: f64 = 0.7;
/// Thresholds of the other parts. On 24 sites captured over months and years, rows of the same template had 0.77 and
/// more of their former fit (the least where a link was put around each), and redesigns that nothing else shows 0.57 to
/// 0.76. One cell more or less moves all values of a table's row; column headers are reworded one at a time.
const FIT_THRESHOLD: f64 = 0.75;
const PLACES_THRESHOLD: f64 = 0.7;
const HEADER_THRESHOLD: f64 = 0.5;

impl SimilarityParts {
    /// A page that shows nothing of the template.
    pub const NONE: SimilarityParts = SimilarityParts { tags: 0.0, fit: None, places: 1.0, header: 1.0 };

    /// The lowest part, each scaled so that its threshold maps to [`SIMILARITY_THRESHOLD`].
    pub fn similarity(&self) -> f64 {
        self.lowest_part().0
    }

    /// The lowest part, with its explanation.
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
            part("fit", self.fit, FIT_THRESHOLD, "its rows have the same fields", "its rows have other fields"),
            part(
                "places",
                Some(self.places),
                PLACES_THRESHOLD,
                "its rows have as many cells as before",
                "its rows have more or fewer cells, so values have moved",
            ),
            part(
                "header",
                Some(self.header),
                HEADER_THRESHOLD,
                "its columns have the same headers",
                "its columns have other headers",
            ),
        ]
    }
}

/// One of the four parts of a similarity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SimilarityPart {
    pub name: &'static str,
    /// The measured value; `None` where the page has nothing to measure.
    pub value: Option<f64>,
    threshold: f64,
    pub when_fine: &'static str,
    pub when_off: &'static str,
}

impl SimilarityPart {
    /// The value needed for a similarity of `wanted`.
    pub fn threshold_for(&self, wanted: f64) -> f64 {
        if wanted < SIMILARITY_THRESHOLD {
            self.threshold * wanted / SIMILARITY_THRESHOLD
        } else {
            self.threshold + (1.0 - self.threshold) * (wanted - SIMILARITY_THRESHOLD) / (1.0 - SIMILARITY_THRESHOLD)
        }
    }

    /// The value scaled to a similarity: 1 where there is nothing to measure.
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

/// Statistics of one run: similarity of its pages, and its rows by column.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunStatistics {
    /// Of the page that is least similar to the template.
    #[serde(rename = "likeness", default, skip_serializing_if = "Option::is_none")]
    pub similarity_parts: Option<SimilarityParts>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<ColumnStatistics>,
    /// Of its numeric columns; older runs have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub numbers: Vec<NumberStatistics>,
    /// MinHash of its records; `None` where no column identifies a record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records: Option<MinHash>,
    /// Columns of the page's table that its template does not have, and those that are gone.
    #[serde(default, skip_serializing_if = "TableChanges::is_empty")]
    pub table: TableChanges,
    /// MinHash of its cells, each with its column; older runs have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cells: Option<MinHash>,
    /// What became of the records of the last good run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<KnownRecords>,
    #[serde(default)]
    pub signs: Signs,
    /// A person confirmed these rows: earlier runs are no longer a baseline.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub accepted: bool,
    /// A person rolled back: these are the rows of before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rolled_back: bool,
    /// The list was repaired after a redesign and published without a person.
    #[serde(rename = "mended", default, skip_serializing_if = "std::ops::Not::not")]
    pub repaired: bool,
}

/// How the columns of a page's table differ from those that its template was learned from, by header or class.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableChanges {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub new: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<String>,
}

impl TableChanges {
    /// Maximum columns listed of each kind.
    pub const MAX_COLUMNS: usize = 32;
    /// Maximum characters of a column's name.
    pub const MAX_NAME: usize = 60;

    pub fn is_empty(&self) -> bool {
        self.new.is_empty() && self.gone.is_empty()
    }
}

/// What became of a sample of the last good run's records: they are rows again, elsewhere on the page, or gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KnownRecords {
    pub sought: u32,
    /// They are rows again.
    pub found: u32,
    /// No row has them, but their identifying text or link is on the page.
    pub elsewhere: u32,
    /// Of all pairs of a missing and a found record: the share in which the missing one came first in the list. A list
    /// without its end has 0, one without its beginning 1.
    pub lost_before_found: f64,
}

/// Signs of a page that shows something else than its list. Only signs that earlier good pages did not show count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signs {
    /// It has a password field.
    pub login: bool,
    /// It blocks automated visitors.
    pub blocked: bool,
    /// Its title is that of an error page.
    pub error: bool,
    /// It says that there are no results.
    pub no_results: bool,
    /// The document is cut off: it begins and is not closed.
    pub cut_off: bool,
}

impl Signs {
    /// Each sign as text, with whether the page shows it.
    pub fn each(&self) -> [(&'static str, bool); 5] {
        [
            ("it asks for a login", self.login),
            ("it blocks automated visitors", self.blocked),
            ("it is an error page", self.error),
            ("it says that nothing was found", self.no_results),
            ("it is cut off", self.cut_off),
        ]
    }
}

/// Statistics of the cells of a column.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ColumnStatistics {
    pub name: String,
    /// Cells that are not empty; the sum of the following ones.
    pub filled: u64,
    pub numbers: u64,
    pub words: u64,
    pub links: u64,
    /// Number of distinct values.
    pub different: u64,
    /// Cells that are not empty but have no value of the column's type.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unread: u64,
    /// Whether it is visible text, not an attribute.
    pub is_text: bool,
}

impl ColumnStatistics {
    /// Cells with a value; a text that cannot be read as the column's type does not count.
    pub fn readable(&self) -> u64 {
        self.filled.saturating_sub(self.unread)
    }
}

/// Statistics of a column of type int, number or money in one run, for charts over the runs. Each figure is a value of
/// some row; a range of money counts with its start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NumberStatistics {
    pub column: String,
    /// The most frequent currency, if the column is money. The other figures cover amounts in this currency only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// Number of values.
    pub count: u64,
    pub least: f64,
    /// First quartile.
    pub lower: f64,
    pub median: f64,
    /// Third quartile.
    pub upper: f64,
    pub most: f64,
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
        let old = r#"{"columns":[{"name":"price","filled":2,"numbers":2,"words":0,"links":0,"different":2,
            "is_text":true}],
            "signs":{"login":false,"blocked":false,"error":false,"no_results":false,"cut_off":false}}"#;
        let figures: RunStatistics = serde_json::from_str(old).expect("as it was written");
        assert_eq!((figures.columns.len(), figures.numbers.len()), (1, 0));
    }

    #[test]
    fn the_similarity_is_the_least_of_its_parts() {
        let likeness = SimilarityParts { tags: 0.98, fit: Some(0.9), places: 0.35, header: 1.0 };
        assert_eq!(likeness.lowest_part().1, "its rows have more or fewer cells, so values have moved");
        assert!((likeness.similarity() - 0.35).abs() < 1e-9);
        assert_eq!(SimilarityParts { fit: None, ..likeness }.parts()[1].as_similarity(), 1.0, "nothing to measure");
    }
}
