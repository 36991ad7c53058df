//! What SPEC lets a task ask for and this version does not do yet. Such a key is accepted, so that a folder need not
//! change with the version, and said aloud, so that nobody waits for what never comes.

use crate::model::Task;
use crate::model::task::Data;

pub(super) fn of(task: &Task) -> Vec<String> {
    let column = |has: fn(&crate::model::Column) -> bool| task.columns.iter().any(has);
    let asked = [
        (task.data.history != Data::default().history, "data.history: the previous generation is kept, no more"),
        (column(|it| it.pattern.is_some()), "column.pattern: the text is kept whole"),
        (column(|it| it.split.is_some()), "column.split: the text is kept whole"),
        (column(|it| it.join.is_some()), "column.join: the columns stay apart"),
        (column(|it| it.default.is_some()), "column.default: an empty cell stays empty"),
    ];
    asked
        .into_iter()
        .filter(|(is_asked, _)| *is_asked)
        .map(|(_, sentence)| format!("{sentence}; this key is not in force in this version"))
        .collect()
}
