//! Ends of runs that the store could not record, because the disk was full or the server was down. They are written as
//! soon as possible: otherwise a run would be shown as running until the next start.

use chrono::{DateTime, Utc};

use super::{StoreError, StoreResult};
use crate::model::{RunId, Verdict};

/// More ends are pending only where the disk has been full for days; the rest are found at the next start.
const MAX_PENDING: usize = 10_000;

/// An end that is not recorded yet.
struct PendingEnd {
    run: RunId,
    verdict: Verdict,
    ended_at: DateTime<Utc>,
}

/// All ends that are not recorded yet.
#[derive(Default)]
pub struct PendingEnds(Vec<PendingEnd>);

impl PendingEnds {
    pub fn push(&mut self, run: RunId, verdict: &Verdict, now: DateTime<Utc>) {
        if self.0.len() < MAX_PENDING {
            self.0.push(PendingEnd { run, verdict: verdict.clone(), ended_at: now });
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Writes them with `end`. Those that fail stay pending, and the first error is returned.
    pub fn write_all(
        &mut self,
        mut end: impl FnMut(RunId, &Verdict, DateTime<Utc>) -> StoreResult<Verdict>,
    ) -> StoreResult<()> {
        while let Some(owed) = self.0.pop() {
            match end(owed.run, &owed.verdict, owed.ended_at) {
                // Already ended, possibly by another daemon, or never begun: nothing is left to do.
                Ok(_) | Err(StoreError::RunEnded(_) | StoreError::LeaseExpired(_) | StoreError::NoSuchRun(_)) => {}
                Err(error) => {
                    self.0.push(owed);
                    return Err(error);
                }
            }
        }
        Ok(())
    }
}
