//! Decides what happens to the rows of a run that ends, independently of the database.

use super::batch::Batch;
use super::generation::Generation;
use crate::model::{Emptiness, Failure, Outcome, Publication, Quarantine, Verdict};

/// What happens to the staged rows.
#[derive(Clone, Copy)]
pub(super) enum Disposition {
    Publish,
    /// The published rows are already the same.
    Confirm,
    Quarantine,
    Drop,
}

/// Compares the child's verdict with the rows that arrived. Where the counts differ, rows were lost on the way, and
/// nothing is published. Zero rows are never a silent success.
pub(super) fn reconcile_row_count(verdict: &Verdict, staged: i64) -> Verdict {
    let said = i64::try_from(verdict.rows).unwrap_or(i64::MAX);
    match verdict.outcome {
        Outcome::Published(_) if said != staged => Verdict {
            outcome: Outcome::Failed(Failure::Internal),
            sentence: format!("row count mismatch: the run reported {said}, {staged} arrived; nothing was published"),
            ..verdict.clone()
        },
        Outcome::Published(_) if staged == 0 => Verdict {
            outcome: Outcome::Empty(Emptiness::Unexpected),
            sentence: "the run found no rows; the last good rows stay published".to_owned(),
            ..verdict.clone()
        },
        Outcome::Published(_) | Outcome::Quarantined(_) | Outcome::Empty(_) | Outcome::Failed(_) => verdict.clone(),
    }
}

pub(super) fn disposition(verdict: &mut Verdict, staged: &Batch, published: Option<&Generation>) -> Disposition {
    match verdict.outcome {
        Outcome::Published(_) => {
            let same = published.is_some_and(|old| is_same(staged, old));
            let cause = if same { Publication::Unchanged } else { Publication::Changed };
            verdict.outcome = Outcome::Published(cause);
            if same { Disposition::Confirm } else { Disposition::Publish }
        }
        Outcome::Quarantined(_) if staged.rows > 0 => Disposition::Quarantine,
        Outcome::Quarantined(_) | Outcome::Empty(_) | Outcome::Failed(_) => Disposition::Drop,
    }
}

/// Whether the rows are the published ones.
pub(super) fn is_same(staged: &Batch, published: &Generation) -> bool {
    staged.columns == published.columns && staged.rows == published.rows && staged.digest == published.digest
}

/// How an outcome changes the count of consecutive failures.
pub(super) fn failure_count_action(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Published(_) | Outcome::Empty(Emptiness::NoResults) => "reset",
        // Waiting for a person's confirmation is not a failure, and does not end a series of failures.
        Outcome::Quarantined(Quarantine::Provisional) => "leave",
        Outcome::Quarantined(Quarantine::Layout | Quarantine::Rows | Quarantine::Columns)
        | Outcome::Empty(Emptiness::Unexpected)
        | Outcome::Failed(_) => "count",
    }
}
