//! What a task asks for and will not get as it stands. Nothing of it is wrong, so the folder is sound; it is said aloud, so
//! that nobody waits for what never comes.

use crate::model::Task;
use crate::model::task::Data;

pub(super) fn of(task: &Task) -> Vec<String> {
    let is_kept_apart = task.data.history != Data::default().history && task.data.key.is_empty();
    let sentence = "data.history without data.key: a record of which a cell changes counts as one that left and one that is \
                    new; name the columns that identify a record";
    is_kept_apart.then(|| sentence.to_owned()).into_iter().collect()
}

/// A column without a slot, under a template that nobody has confirmed.
pub(super) fn unmatched(column: &str) -> String {
    format!("the column `{column}` matches nothing in the template that was learned; `pieme label` chooses the columns")
}
