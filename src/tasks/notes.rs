//! Warnings about a task folder that is valid, but will not do what its author may expect.

use crate::model::Task;
use crate::model::task::Data;

pub(super) fn of(task: &Task) -> Vec<String> {
    let is_kept_apart = task.data.history != Data::default().history && task.data.key.is_empty();
    let sentence = "data.history without data.key: a record with a changed value counts as one removed and one added; \
                    name the columns that identify a record in data.key";
    is_kept_apart.then(|| sentence.to_owned()).into_iter().collect()
}

/// A column without a slot, under a template that no person has confirmed.
pub(super) fn unmatched(column: &str) -> String {
    format!("the column `{column}` matches nothing in the learned template; choose the columns with `pieme label`")
}
