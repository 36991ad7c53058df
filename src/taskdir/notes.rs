//! What SPEC lets a task ask for and this version does not do yet. Such a key is accepted, so that a folder need not
//! change with the version, and said aloud, so that nobody waits for what never comes.

use crate::model::Task;
use crate::model::task::Data;

pub(super) fn of(task: &Task) -> Vec<String> {
    let asked =
        [(task.data.history != Data::default().history, "data.history: the previous generation is kept, no more")];
    asked
        .into_iter()
        .filter(|(is_asked, _)| *is_asked)
        .map(|(_, sentence)| format!("{sentence}; this key is not in force in this version"))
        .collect()
}
