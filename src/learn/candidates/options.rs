//! What the caller asks for.

#[derive(Clone, Debug)]
pub struct LearnOptions {
    /// Maximum number of candidates.
    pub top: usize,
    pub method: Method,
    /// The number of records, as a person said it: candidates with another count are ranked after those with it.
    pub rows: Option<usize>,
}

impl Default for LearnOptions {
    fn default() -> LearnOptions {
        LearnOptions { top: 5, method: Method::Auto, rows: None }
    }
}

/// The methods that may propose rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    #[default]
    Auto,
    /// Sibling elements only, one per record.
    Siblings,
    /// Shi et al.: token sequences that occur N times, in the paper's order.
    Cycles,
    /// IEPAD: tag patterns that occur at regular distances, best first.
    Repeats,
}
