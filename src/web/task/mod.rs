//! `/task/NAME`: one task. Its status above, one of its tabs below.

mod account;
mod change_marks;
mod changes;
mod column_chart;
mod duplicates;
mod files;
mod quarantine;
mod rows;
mod run;
mod runs;
mod sheet;
mod source;
mod step;
mod task_page;

use super::route::Route;

pub(super) use step::StepSessions;

pub(super) fn routes() -> Vec<Route> {
    [
        rows::routes(),
        quarantine::routes(),
        changes::routes(),
        duplicates::routes(),
        runs::routes(),
        run::routes(),
        source::routes(),
        files::routes(),
        step::routes(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
