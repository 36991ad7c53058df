//! Why help cannot be followed.

use crate::page::select::SelectorError;

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum HelpError {
    #[error("“{0}” is not on the page; copy a text exactly as the page shows it, or the address of a link")]
    NotOnPage(String),
    #[error("nothing on the page matches `{0}`")]
    NoMatch(String),
    #[error(transparent)]
    Selector(#[from] SelectorError),
    #[error("no page was given")]
    NoPage,
    #[error("`{0}` is not a usable regular expression: it is invalid or too large")]
    Pattern(String),
    #[error("nothing in the rows matches `{0}`")]
    NoMatchInRows(String),
    #[error("there is no candidate {given}; the page has {most}")]
    NoCandidate { given: usize, most: usize },
    #[error("candidate {0} cannot be {1} any further")]
    NotPossible(usize, &'static str),
    #[error("there is no column `{0}`; the columns are {1}")]
    NoColumn(String, String),
    #[error("the delimiter does not split column `{0}`; give another one")]
    OnePiece(String),
}

impl HelpError {
    /// The same error with the candidate number that the caller used.
    pub(in crate::learn) fn with_candidate(self, given: usize) -> HelpError {
        match self {
            HelpError::NotPossible(_, done) => HelpError::NotPossible(given, done),
            error => error,
        }
    }
}
