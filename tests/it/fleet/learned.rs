//! A template that a run has learned does not count as a person's label, even if it is seen before the run ends.

use std::time::Duration;

use super::{Fleet, LEASE};

const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn a_template_that_is_seen_before_its_run_has_ended_starts_no_other_run() {
    let mut fleet = Fleet::new(LEASE);
    fleet.start(0);
    let first_run = |task: &str| format!("_runs WHERE task = '{task}' AND ended IS NOT NULL");
    // The run has written its template into the folder, and its end waits: its rows have nowhere to go.
    let held = fleet.schema.hold("LOCK TABLE _generation IN SHARE MODE");
    fleet.write_task(0, "t0", "1h");
    // The daemon has seen the folder with the template: it shares it before it takes it in.
    fleet.wait_for("the template to be shared", PATIENCE, || fleet.count("_file WHERE path = 'template.json'") == 1);
    assert_eq!(fleet.count(&first_run("t0")), 0, "the run is going");
    drop(held);
    fleet.wait_for("its end", PATIENCE, || fleet.count(&first_run("t0")) == 1);
    // Whatever was to be run at once goes before a task that is new.
    fleet.write_task(0, "t1", "1h");
    fleet.wait_for("the next task's run", PATIENCE, || fleet.count(&first_run("t1")) == 1);
    assert_eq!(fleet.count("_runs WHERE task = 't0'"), 1);
}
