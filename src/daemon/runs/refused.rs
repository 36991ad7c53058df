//! Rows that a person rolled back are not published again by the next run: it is quarantined, until other rows come, or
//! the person accepts these, or labels the task anew.

use crate::daemon::store_handle::StoreHandle;
use crate::model::{Outcome, Quarantine, RunId, Verdict};
use crate::store::{RefusedOverlap, Store, StoreError};
use crate::tasks;
use crate::tasks::TaskFolder;

use super::verdict::{file_failure, store_failure};

/// Changes the verdict of a run that would publish the refused rows.
pub(super) async fn hold_back(store: &StoreHandle, folder: &TaskFolder, run: RunId, verdict: &mut Verdict) {
    if !verdict.outcome.is_published() {
        return;
    }
    let labelled = match tasks::read_labels(&folder.dir) {
        Ok(labels) => labels.last_by_person(),
        Err(problem) => return *verdict = file_failure(problem),
    };
    let task = folder.name.clone();
    let compare = move |store: &mut Store| {
        let since = store.refused_since(&task)?;
        match since.is_some_and(|since| labelled.is_none_or(|labelled| labelled < since)) {
            true => store.compare_with_refused(run, &task),
            false => Ok::<_, StoreError>(None),
        }
    };
    match store.call(compare).await {
        Ok(Some(overlap)) if overlap.is_refused() => {
            verdict.outcome = Outcome::Quarantined(Quarantine::Rows);
            verdict.sentence = sentence(folder, overlap);
        }
        Ok(_) => {}
        Err(error) => *verdict = store_failure(error),
    }
}

fn sentence(folder: &TaskFolder, overlap: RefusedOverlap) -> String {
    let RefusedOverlap { again, differing } = overlap;
    let task = &folder.name;
    format!(
        "the rows that were rolled back are back: {again} of {differing} differences to the restored rows, which stay \
         published; `pieme label {task} --accept` publishes the new ones, `pieme label {task}` chooses another list"
    )
}
