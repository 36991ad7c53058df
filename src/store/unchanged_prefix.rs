//! Leading rows of a run that equal the published ones, in the same order. They are compared and not written; at the
//! first difference, the rows before it are copied within the database.

use super::batch::{Batch, MAX_BUFFERED_ROWS};
use super::generation::Generation;

/// How many leading rows of a run equal the published ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UnchangedPrefix {
    /// The published generation, and the table that has its rows.
    pub generation: i64,
    pub table: i64,
    pub rows: i64,
    /// Number of columns of the run so far; later pages may add some.
    pub columns: usize,
    /// Rows of the prefix that are already copied.
    pub copied: i64,
}

impl UnchangedPrefix {
    /// The prefix so far, to be continued with the buffered rows. None where they cannot equal the published rows.
    pub fn resume(
        before: Option<UnchangedPrefix>,
        published: Option<&Generation>,
        batch: &Batch,
    ) -> Option<UnchangedPrefix> {
        let published = published.filter(|it| it.columns == batch.columns)?;
        let first = UnchangedPrefix {
            generation: published.id,
            table: published.table,
            rows: 0,
            columns: published.columns.len(),
            copied: 0,
        };
        let so_far = before.unwrap_or(first);
        (so_far == UnchangedPrefix { rows: so_far.rows, ..first }).then_some(so_far)
    }

    /// The prefix with `waiting` more rows, which equal the published ones too.
    pub fn extended_by(self, waiting: usize) -> UnchangedPrefix {
        UnchangedPrefix { rows: self.rows + to_i64(waiting), ..self }
    }

    /// The prefix after its next part was copied; none once all of it was.
    pub fn after_next_copy(self) -> Option<UnchangedPrefix> {
        (self.copied < self.rows)
            .then(|| UnchangedPrefix { copied: self.rows.min(self.copied + to_i64(MAX_BUFFERED_ROWS)), ..self })
    }
}

pub(super) fn to_i64(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::digest::Digest;

    fn published(id: i64) -> Generation {
        Generation { id, table: 7, columns: Vec::new(), key: None, rows: 9, digest: Digest::default() }
    }

    #[test]
    fn only_the_generation_that_the_rows_began_with_is_gone_on_with() {
        let batch = Batch::default();
        assert_eq!(UnchangedPrefix::resume(None, None, &batch), None);
        let same = UnchangedPrefix::resume(None, Some(&published(1)), &batch).expect("the same columns").extended_by(3);
        assert_eq!(UnchangedPrefix::resume(Some(same), Some(&published(1)), &batch), Some(same));
        assert_eq!(UnchangedPrefix::resume(Some(same), Some(&published(2)), &batch), None);
    }

    #[test]
    fn rows_are_copied_in_parts_until_all_are() {
        let same = UnchangedPrefix::resume(None, Some(&published(1)), &Batch::default())
            .expect("the same columns")
            .extended_by(MAX_BUFFERED_ROWS + 1);
        let first = same.after_next_copy().expect("a part");
        let second = first.after_next_copy().expect("the rest");
        assert_eq!((first.copied, second.copied), (to_i64(MAX_BUFFERED_ROWS), to_i64(MAX_BUFFERED_ROWS) + 1));
        assert_eq!(second.after_next_copy(), None);
    }
}
