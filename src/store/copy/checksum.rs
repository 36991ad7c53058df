//! Verifies the rows of a copy against their recorded digest, on the way from one store to the other.

use super::CopyPart;
use crate::store::StoreError;
use crate::store::digest::Digest;

/// Row count and digest of the current generation.
#[derive(Default)]
pub(in crate::store) struct GenerationChecksum {
    rows: i64,
    digest: Digest,
}

impl GenerationChecksum {
    /// Checks a part before it is passed on. A generation that differs from its recorded digest ends the copy with an
    /// error.
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
                    return Err(StoreError::Damaged(format!("{which} do not match their recorded digest")));
                }
            }
        }
        Ok(())
    }
}
