//! Ends of runs that the disk had no room for. They are written down as soon as it has: a run whose end nobody recorded
//! would be shown as running until the next start.

use chrono::{DateTime, Utc};

use super::{Sqlite, StoreError};
use crate::model::{RunId, Verdict};
use crate::store::Ending;

/// More ends than this wait only where the disk has been full for days; the rest is found at the next start.
const MOST: usize = 10_000;

/// An end that waits.
pub(super) struct Owed {
    run: RunId,
    verdict: Verdict,
    ended_at: DateTime<Utc>,
}

impl Sqlite {
    /// Ends a run that failed, now or as soon as the store can be written to. Its rows are dropped either way.
    pub(super) fn fail(&mut self, run: RunId, verdict: &Verdict, now: DateTime<Utc>) {
        self.staged.remove(&run);
        if self.owed.len() < MOST {
            self.owed.push(Owed { run, verdict: verdict.clone(), ended_at: now });
        }
        // What cannot be written now waits.
        let _ = self.write_owed();
    }

    /// Writes down the ends that wait.
    pub(super) fn write_owed(&mut self) -> Result<(), StoreError> {
        while let Some(Owed { run, verdict, ended_at }) = self.owed.pop() {
            match self.end_run(run, &verdict, ended_at) {
                // Ended already, or never begun: nothing is owed.
                Ok(_) | Err(StoreError::RunEnded(_) | StoreError::NoSuchRun(_)) => {}
                Err(error) => {
                    self.owed.push(Owed { run, verdict, ended_at });
                    return Err(error);
                }
            }
        }
        Ok(())
    }
}
