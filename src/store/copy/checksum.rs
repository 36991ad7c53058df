//! Rows are compared with what was written down of them, on their way from one store to the other.

use super::CopyPart;
use crate::store::StoreError;
use crate::store::digest::Digest;

/// What the records of a set come to.
#[derive(Default)]
pub(super) struct GenerationChecksum {
    rows: i64,
    digest: Digest,
}

impl GenerationChecksum {
    /// Looks at a part before it is passed on. A set that is not what was written down when it came is not copied, but said.
    pub fn check(&mut self, part: &CopyPart<'_>) -> Result<(), StoreError> {
        match part {
            CopyPart::Entries(..) => {}
            CopyPart::GenerationBegin(_) => *self = GenerationChecksum::default(),
            CopyPart::Rows(set, records) => {
                self.rows += i64::try_from(records.len()).unwrap_or(i64::MAX);
                records.iter().for_each(|record| self.digest.add(record.digest(&set.generation.columns)));
            }
            CopyPart::GenerationEnd(set) => {
                if (self.rows, self.digest) != (set.generation.rows, set.generation.digest) {
                    let which = format!("the {} rows of {}", set.state, set.task);
                    return Err(StoreError::Damaged(format!("{which} are not as they were written")));
                }
            }
        }
        Ok(())
    }
}
