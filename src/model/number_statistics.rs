//! Statistics of a numeric column in one run, for charts over the runs.

use serde::{Deserialize, Serialize};

/// Of a column of type int, number or money. Each figure is a value of some row; a range of money counts with its
/// start.
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
