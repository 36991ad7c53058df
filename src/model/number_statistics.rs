//! What the numbers of a column are like in one run: enough for a curve of the column over the runs.

use serde::{Deserialize, Serialize};

/// Of a column of type int, number or money. Each is a value that a row has; of a range of money it is where that begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NumberStatistics {
    pub column: String,
    /// Of money: what most amounts are in. The rest is about those alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// Values that it is about.
    pub count: u64,
    pub least: f64,
    /// A quarter of the values is below it.
    pub lower: f64,
    pub median: f64,
    /// A quarter of the values is above it.
    pub upper: f64,
    pub most: f64,
}
