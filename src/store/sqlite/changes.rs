//! Comparison of two generations for the history, and its records.

use rusqlite::{Connection, Statement, params};

use super::compare::{ComparisonBasis, Difference, Differences};
use super::reader::RecordReader;
use super::{StoreError, fingerprints, record_diff};
use crate::store::ChangeKind;
use crate::store::changes::{ComparableGenerations, INSERT_RECORD};
use crate::store::generation::Generation;

impl ComparableGenerations for Connection {
    fn differences(
        &self,
        before: &Generation,
        after: &Generation,
        basis: &ComparisonBasis,
    ) -> Result<Differences, StoreError> {
        fingerprints::differences(self, before, after, basis)
    }

    fn write_records(
        &self,
        change: i64,
        before: &Generation,
        after: &Generation,
        listed: &[Difference],
    ) -> Result<(), StoreError> {
        let mut writer = ChangeWriter::new(self, change, before, after)?;
        listed.iter().try_for_each(|difference| writer.write(difference))
    }
}

/// Writes the records of one change.
struct ChangeWriter<'c> {
    change: i64,
    before: RecordReader<'c>,
    after: RecordReader<'c>,
    insert: Statement<'c>,
}

impl<'c> ChangeWriter<'c> {
    fn new(
        connection: &'c Connection,
        change: i64,
        before: &'c Generation,
        after: &'c Generation,
    ) -> Result<ChangeWriter<'c>, StoreError> {
        let (before, after) = (RecordReader::new(connection, before)?, RecordReader::new(connection, after)?);
        Ok(ChangeWriter { change, before, after, insert: connection.prepare(INSERT_RECORD)? })
    }

    fn write(&mut self, difference: &Difference) -> Result<(), StoreError> {
        let (old, new) = match difference.kind {
            ChangeKind::Added => (None, Some(self.after.read(difference.row)?)),
            ChangeKind::Changed => {
                (Some(self.before.read(difference.row_before)?), Some(self.after.read(difference.row)?))
            }
            ChangeKind::Removed => (Some(self.before.read(difference.row)?), None),
        };
        let cells = record_diff::differing_cells(old.as_ref().map(|it| &it.cells), new.as_ref().map(|it| &it.cells));
        let record = new.or(old).unwrap_or_default();
        // In the order of the parameters of `INSERT_RECORD`.
        self.insert.execute(params![
            self.change,
            difference.key.to_be_bytes(),
            difference.kind.word(),
            record.name,
            record.first_seen,
            cells
        ])?;
        Ok(())
    }
}
