//! Rows are compared with what was written down of them, on their way from one store to the other.

use super::Part;
use crate::store::StoreError;
use crate::store::digest::Digest;

/// What the records of a set come to.
#[derive(Default)]
pub(super) struct Sum {
    rows: i64,
    digest: Digest,
}

impl Sum {
    /// Looks at a part before it is passed on. A set that is not what was written down when it came is not copied, but said.
    pub fn check(&mut self, part: &Part<'_>) -> Result<(), StoreError> {
        match part {
            Part::Entries(..) => {}
            Part::Set(_) => *self = Sum::default(),
            Part::Records(set, records) => {
                self.rows += i64::try_from(records.len()).unwrap_or(i64::MAX);
                records.iter().for_each(|record| self.digest.add(record.digest(&set.generation.columns)));
            }
            Part::Whole(set) => {
                if (self.rows, self.digest) != (set.generation.rows, set.generation.digest) {
                    let which = format!("the {} rows of {}", set.state, set.task);
                    return Err(StoreError::Damaged(format!("{which} are not as they were written")));
                }
            }
        }
        Ok(())
    }
}
