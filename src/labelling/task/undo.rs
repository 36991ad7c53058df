//! Undo: which of the published rows and the last label are taken back, and the label's part in the folder.

use chrono::{DateTime, Utc};

use super::LabellingError;
use crate::model::TaskName;
use crate::store::{PublicationTimes, Store};
use crate::tasks;
use crate::tasks::{Problem, TaskFolder};

/// What a person wants to undo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UndoScope {
    /// The last publication, with the label that made its rows.
    Publication,
    /// The last label, with the rows that it made.
    Label,
}

/// What is undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UndoPlan {
    /// The previous rows are published again.
    pub rows: bool,
    /// Template, columns and labels of before are restored.
    pub label: bool,
    /// The time of a last label that stays, although it could be undone: it did not make the rows.
    pub kept_label: Option<DateTime<Utc>>,
    /// The rows were rolled back already.
    is_rolled_back: bool,
}

/// What undoing a label restored.
pub struct UndoReport {
    /// Template, columns and labels were restored; false if there were no earlier ones.
    pub relabelled: bool,
    /// The undone label was an automatic repair. A person is asked from now on; otherwise the next run would repeat it.
    pub asks_from_now_on: bool,
}

impl UndoPlan {
    /// What is undone now, according to folder and store.
    pub fn of(store: Option<&Store>, folder: &TaskFolder, scope: UndoScope) -> Result<UndoPlan, LabellingError> {
        let labelled = tasks::read_labels(&folder.dir)?.last();
        let times = store.map(|store| store.publication_times(&folder.name)).transpose()?.unwrap_or_default();
        Ok(UndoPlan::new(scope, &times, labelled, tasks::has_previous(&folder.dir)?))
    }

    fn new(
        scope: UndoScope,
        times: &PublicationTimes,
        labelled: Option<DateTime<Utc>>,
        can_undo_label: bool,
    ) -> UndoPlan {
        let is_newer = |at: Option<DateTime<Utc>>| labelled.zip(at).is_some_and(|(labelled, at)| labelled <= at);
        let has_rows = times.previous_seen.is_some();
        // The rows are the first ones since the label: no run since then has found those before them.
        let made_rows = is_newer(times.published) && !is_newer(times.previous_seen);
        let (rows, label) = match scope {
            UndoScope::Label => (has_rows && made_rows && can_undo_label, can_undo_label),
            UndoScope::Publication if has_rows => (true, can_undo_label && made_rows),
            // A rollback has left the label in place; one that is newer has published nothing yet.
            UndoScope::Publication if times.is_rolled_back => (false, can_undo_label && !is_newer(times.published)),
            UndoScope::Publication => (false, can_undo_label),
        };
        UndoPlan {
            rows,
            label,
            kept_label: labelled.filter(|_| can_undo_label && !label),
            is_rolled_back: times.is_rolled_back,
        }
    }

    /// Why nothing is undone, if so.
    pub fn refusal(&self, task: &TaskName) -> Option<String> {
        match self {
            UndoPlan { rows: true, .. } | UndoPlan { label: true, .. } => None,
            UndoPlan { is_rolled_back: true, .. } => Some(format!(
                "`{task}` was rolled back already, and no earlier rows are kept; to publish the rolled-back rows after \
                 all, type `pieme run {task}`, then `pieme label {task} --accept`"
            )),
            _ => Some(format!("`{task}` has no previous rows and no label to undo")),
        }
    }
}

/// Restores what the last label replaced in the folder. Does not touch the rows in the store.
pub fn undo_label(folder: &TaskFolder) -> Result<UndoReport, Problem> {
    let labels = tasks::read_labels(&folder.dir)?;
    let relabelled = tasks::restore_previous(&folder.dir)?;
    let asks_from_now_on = relabelled && labels.is_auto_repaired();
    if asks_from_now_on {
        tasks::ask_before_accepting(&folder.dir)?;
    }
    Ok(UndoReport { relabelled, asks_from_now_on })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(hour: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + chrono::TimeDelta::hours(hour)
    }

    /// The plan for a label and times in hours: (rows, label).
    fn plan(scope: UndoScope, labelled: i64, published: i64, seen: Option<i64>, rolled_back: bool) -> (bool, bool) {
        let times = PublicationTimes {
            published: Some(at(published)),
            previous_seen: seen.map(at),
            is_rolled_back: rolled_back,
        };
        let plan = UndoPlan::new(scope, &times, Some(at(labelled)), true);
        (plan.rows, plan.label)
    }

    #[test]
    fn a_label_goes_only_with_the_rows_that_it_made() {
        use UndoScope::{Label, Publication};
        for (what, scope, labelled, published, seen, rolled_back, expected) in [
            ("its rows", Publication, 5, 6, Some(4), false, (true, true)),
            ("its rows, as the time of the run says", Publication, 5, 5, Some(4), false, (true, true)),
            ("label weeks ago, other rows since", Publication, 1, 6, Some(4), false, (true, false)),
            ("a label that has published nothing", Publication, 7, 6, Some(4), false, (true, false)),
            ("the first rows of all", Publication, 5, 6, None, false, (false, true)),
            ("rolled back, the label stayed", Publication, 1, 6, None, true, (false, false)),
            ("rolled back, labelled since", Publication, 7, 6, None, true, (false, true)),
            ("undo of its rows", Label, 5, 6, Some(4), false, (true, true)),
            ("undo of a label that has published nothing", Label, 7, 6, Some(4), false, (false, true)),
            ("undo of a label that has found the rows of before", Label, 5, 3, Some(2), false, (false, true)),
        ] {
            assert_eq!(plan(scope, labelled, published, seen, rolled_back), expected, "{what}");
        }
    }
}
