//! The bounds that keep learning and reading linear, where they cost a list rows or values. Whoever meets one says so: a run
//! fails as `limit`, and a command that shows the rows says that they are not all.

use std::fmt;

use super::align::MAX_COLUMNS;
use super::enclose::MAX_MATCHES;
use super::leaf::MAX_LEAVES;
use super::mixed_formats::MAX_NEIGHBOURS;
use crate::page::encode::MAX_SYMBOLS;

/// A bound that a list has reached: rows or values of it are missing, or may stand under a wrong column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// A record has more than [`MAX_LEAVES`] texts, links and pictures.
    Leaves,
    /// The records have more than [`MAX_COLUMNS`] columns.
    Columns,
    /// So wide, and every record built in another way, that they cannot all be laid out.
    Comparisons,
    /// Rows that are no elements are looked for in the first [`MAX_SYMBOLS`] tokens.
    Symbols,
    /// Elements that might be like an enclosed block: [`MAX_MATCHES`] are compared.
    Matches,
    /// Elements beside the rows that might be rows of another format: [`MAX_NEIGHBOURS`] are compared.
    Neighbours,
}

/// What a person can do about records that are too wide.
const NAME_COLUMNS: &str = "name the columns that you want, `--row-css CSS --column NAME=CSS`";
const SMALLER_PAGES: &str = "ask the site for smaller pages: a filter or a page size in the address";

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::Leaves => write!(f, "a record has more than {MAX_LEAVES} texts, links and pictures; {NAME_COLUMNS}"),
            Limit::Columns => write!(f, "the list has more than {MAX_COLUMNS} columns; {NAME_COLUMNS}"),
            Limit::Comparisons => {
                write!(
                    f,
                    "the records have too many columns, filled differently in each, to tell which is which; {NAME_COLUMNS}"
                )
            }
            Limit::Symbols => write!(
                f,
                "rows that are no elements of the page are looked for in its first {MAX_SYMBOLS} tokens; {SMALLER_PAGES}"
            ),
            Limit::Matches => write!(
                f,
                "no more than {MAX_MATCHES} elements are compared with the enclosed block; {SMALLER_PAGES}, or choose the \
                 rows with `--row-css CSS`"
            ),
            Limit::Neighbours => write!(
                f,
                "more than {MAX_NEIGHBOURS} elements beside the rows may be records of another format; choose the rows \
                 with `--row-css CSS`"
            ),
        }
    }
}
