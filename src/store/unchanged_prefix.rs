//! Rows of a run that are the published ones, from the first on and in their order. They are compared and not written; at the
//! first that is not as published, those before it are copied within the database.

use super::batch::{Batch, MAX_BUFFERED_ROWS};
use super::run_end::Generation;

/// How many rows of a run are the published ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UnchangedPrefix {
    /// The published generation, and which table has its rows.
    pub generation: i64,
    pub table: i64,
    pub rows: i64,
    /// So many columns it has: those of the run so far, of which later pages may have more.
    pub columns: usize,
    /// So many of the rows were copied.
    pub copied: i64,
}

impl UnchangedPrefix {
    /// Up to where the published rows were met; what waits may go on from there. None where it cannot be what is published.
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

    /// What waits is as published too.
    pub fn extended_by(self, waiting: usize) -> UnchangedPrefix {
        UnchangedPrefix { rows: self.rows + to_i64(waiting), ..self }
    }

    /// The same once the next part was copied; none where all of it was.
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
