//! Ends of runs that the store could not take: the disk was full, the server away. They are written down as soon as it can: a
//! run whose end nobody recorded would be shown as running until the next start.

use chrono::{DateTime, Utc};

use super::StoreError;
use crate::model::{RunId, Verdict};

/// More ends than this wait only where the disk has been full for days; the rest is found at the next start.
const MAX_PENDING: usize = 10_000;

/// An end that waits.
struct PendingEnd {
    run: RunId,
    verdict: Verdict,
    ended_at: DateTime<Utc>,
}

/// All ends that wait.
#[derive(Default)]
pub struct PendingEnds(Vec<PendingEnd>);

impl PendingEnds {
    pub fn push(&mut self, run: RunId, verdict: &Verdict, now: DateTime<Utc>) {
        if self.0.len() < MAX_PENDING {
            self.0.push(PendingEnd { run, verdict: verdict.clone(), ended_at: now });
        }
    }

    /// Writes them down with `end`. Those that it refuses wait on, and the first refusal is told.
    pub fn write_all(
        &mut self,
        mut end: impl FnMut(RunId, &Verdict, DateTime<Utc>) -> Result<Verdict, StoreError>,
    ) -> Result<(), StoreError> {
        while let Some(owed) = self.0.pop() {
            match end(owed.run, &owed.verdict, owed.ended_at) {
                // Ended already, by others if need be, or never begun: nothing is owed.
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
