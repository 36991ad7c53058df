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
    vec![
        Route::get("/task/{name}", rows::show),
        Route::get("/task/{name}/aside", quarantine::show),
        Route::get("/task/{name}/changes", changes::show),
        Route::get("/task/{name}/record/{key}", changes::record),
        Route::get("/task/{name}/duplicates", duplicates::show),
        Route::get("/task/{name}/runs", runs::show),
        Route::get("/task/{name}/run/{run}", run::show),
        Route::get("/task/{name}/run/{run}/page/{number}", source::show),
        Route::get("/task/{name}/run/{run}/page/{number}/source", source::source),
        Route::get("/task/{name}/files", files::show),
        Route::post("/task/{name}/files", files::save),
        Route::post("/task/{name}/files/check", files::check),
        Route::get("/task/{name}/step", step::show),
        Route::post("/task/{name}/step", step::begin),
        Route::post("/task/{name}/step/next", step::next),
        Route::post("/task/{name}/step/back", step::back),
        Route::post("/task/{name}/step/end", step::end),
        Route::get("/task/{name}/step/source", step::page_source),
    ]
}
