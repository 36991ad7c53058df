//! What a run's end comes to, whatever database it is written down in.

use super::batch::Batch;
use super::compare::RowShape;
use super::digest::Digest;
use super::names::ColumnName;
use crate::model::{Emptiness, Failure, Outcome, Publication, Quarantine, Verdict};

/// A generation as its row in `_generation` describes it.
pub(super) struct Generation {
    pub id: i64,
    /// Which table has its rows.
    pub table: i64,
    pub columns: Vec<ColumnName>,
    /// The columns that identify a record, as they are stored; where they were asked for, and written down.
    pub key: Option<Vec<String>>,
    pub rows: i64,
    pub digest: Digest,
}

impl Generation {
    /// The columns of texts, in their order.
    pub fn texts(&self) -> impl Iterator<Item = &ColumnName> {
        self.columns.iter().filter(|column| column.is_text())
    }

    pub fn shape(&self) -> RowShape {
        (self.texts().map(|column| column.stored.clone()).collect(), self.key.clone())
    }
}

/// What comes of the rows that were staged.
#[derive(Clone, Copy)]
pub(super) enum Disposition {
    Publish,
    /// The published rows say the same already.
    Confirm,
    Quarantine,
    Drop,
}

/// A verdict comes from the child, the rows came one by one: where the two differ something was lost on the way, and
/// nothing is published. Zero rows are never a silent success.
pub(super) fn reconcile_row_count(verdict: &Verdict, staged: i64) -> Verdict {
    let said = i64::try_from(verdict.rows).unwrap_or(i64::MAX);
    match verdict.outcome {
        Outcome::Published(_) if said != staged => Verdict {
            outcome: Outcome::Failed(Failure::Internal),
            sentence: format!("the run reported {said} rows and {staged} arrived; nothing was published"),
            ..verdict.clone()
        },
        Outcome::Published(_) if staged == 0 => Verdict {
            outcome: Outcome::Empty(Emptiness::Unexpected),
            sentence: "the run found no rows; the rows published before stay".to_owned(),
            ..verdict.clone()
        },
        Outcome::Published(_) | Outcome::Quarantined(_) | Outcome::Empty(_) | Outcome::Failed(_) => verdict.clone(),
    }
}

pub(super) fn disposition(verdict: &mut Verdict, staged: &Batch, published: Option<&Generation>) -> Disposition {
    match verdict.outcome {
        Outcome::Published(_) => {
            let same = published.is_some_and(|old| {
                staged.columns == old.columns && staged.rows == old.rows && staged.digest == old.digest
            });
            let cause = if same { Publication::Unchanged } else { Publication::Changed };
            verdict.outcome = Outcome::Published(cause);
            if same { Disposition::Confirm } else { Disposition::Publish }
        }
        Outcome::Quarantined(_) if staged.rows > 0 => Disposition::Quarantine,
        Outcome::Quarantined(_) | Outcome::Empty(_) | Outcome::Failed(_) => Disposition::Drop,
    }
}

/// What an outcome does to the count of failures in a row.
pub(super) fn failure_count_action(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Published(_) | Outcome::Empty(Emptiness::NoResults) => "reset",
        // Waiting for a person's yes is not a failure, and does not end a row of them.
        Outcome::Quarantined(Quarantine::Provisional) => "leave",
        Outcome::Quarantined(Quarantine::Layout | Quarantine::Rows | Quarantine::Columns)
        | Outcome::Empty(Emptiness::Unexpected)
        | Outcome::Failed(_) => "count",
    }
}
