//! Limits that keep learning and extracting linear and may cost a list rows or values. Reaching one is always reported:
//! a run fails with cause `limit`, and a command that shows rows says that some may be missing.

use crate::page::encode::MAX_SYMBOLS;

/// Maximum leaves of a row. Alignment is quadratic in the leaves. The richest row of the corpus has some 150; a table
/// of 300 columns with a link in each has 600.
pub const MAX_LEAVES: usize = 800;
/// Maximum columns of a row set. Further leaves get no column. It is higher than the limit of a published table,
/// because some columns are hidden.
pub const MAX_COLUMNS: usize = 600;
/// Maximum number of elements that are compared with one block.
pub const MAX_MATCHES: usize = 20_000;
/// Maximum neighbours tested as rows of another format. An unrelated page may have a hundred thousand.
pub const MAX_NEIGHBOURS: usize = 20_000;

/// A limit that a list reached: rows or values may be missing or in a wrong column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Limit {
    #[error("a record has more than {MAX_LEAVES} texts, links and images; {NAME_COLUMNS}")]
    Leaves,
    #[error("the list has more than {MAX_COLUMNS} columns; {NAME_COLUMNS}")]
    Columns,
    /// The budget for aligning is spent.
    #[error(
        "the records have too many columns, filled too differently to assign every value to its column; {NAME_COLUMNS}"
    )]
    Comparisons,
    #[error(
        "rows that are not elements are searched only in the first {MAX_SYMBOLS} tokens of the page; {SMALLER_PAGES}"
    )]
    Symbols,
    #[error(
        "at most {MAX_MATCHES} elements are compared with the enclosed block; {SMALLER_PAGES}, or choose the rows with \
         `--row-css CSS`"
    )]
    Matches,
    #[error(
        "more than {MAX_NEIGHBOURS} elements beside the rows may be records of another format; choose the rows with \
         `--row-css CSS`"
    )]
    Neighbours,
}

const NAME_COLUMNS: &str = "name the columns that you want with `--row-css CSS --column NAME=CSS`";
const SMALLER_PAGES: &str = "ask the site for smaller pages: a filter or a page size in the address";
