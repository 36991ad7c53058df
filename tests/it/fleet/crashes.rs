//! PostgreSQL crashes under a fleet of three daemons, one of which is stopped past its lease: promises 1, 2, 8 and 12.

#![allow(clippy::print_stdout, reason = "what was found is printed beside the line of the promise")]

use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

use super::{Fleet, LEASE};
use crate::postgres::Server;
use crate::promises::{Dice, report, times};

const TASKS: usize = 6;
/// Rows of the practice shop; a published table has all of them.
const ROWS: i64 = 48;
const PATIENCE: Duration = Duration::from_secs(180);
/// The server is stopped after this long at most.
const LONGEST_MS: usize = 3_000;

impl Fleet {
    /// Runs that have ended.
    fn ended(&self) -> BTreeSet<String> {
        self.sql("SELECT id FROM _runs WHERE ended IS NOT NULL").lines().map(str::to_owned).collect()
    }

    /// Double runs, runs that are lost although they had ended, and tables that are not whole.
    fn violations(&self, known: &BTreeSet<String>) -> usize {
        let double = self.count(
            "(SELECT 1 FROM _runs WHERE slot IS NOT NULL GROUP BY task, slot HAVING count(*) > 1
              UNION ALL SELECT 1 FROM _runs r JOIN _runs s ON s.task = r.task AND r.id < s.id
                  AND r.started < s.ended AND s.started < r.ended) AS t",
        );
        let lost = known.difference(&self.ended()).count();
        let half = (0..TASKS)
            .filter(|n| self.count(&format!("_runs WHERE task = 't{n}' AND outcome = 'published'")) > 0)
            .filter(|n| self.count(&format!("\"t{n}\"")) != ROWS)
            .count();
        if (double, lost, half) != (0, 0, 0) {
            println!("{double} double runs, {lost} lost, {half} tables not whole");
        }
        usize::try_from(double).unwrap_or(usize::MAX) + lost + half
    }
}

#[test]
fn promise_28_postgresql_crashes_and_a_daemon_is_late_and_every_run_is_made_once() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let server = Server::own(folder.path());
    let mut fleet = Fleet::on(&server, LEASE);
    for n in 0..TASKS {
        fleet.write_task(0, &format!("t{n}"), "10s");
    }
    (0..3).for_each(|which| fleet.start(which));
    fleet.wait_for("every task's first rows", PATIENCE, || {
        fleet.count("(SELECT DISTINCT task FROM _runs WHERE outcome = 'published') AS t") == TASKS as i64
    });
    let (crashes, mut violations, mut dice) = (times(4, 100), 0, Dice(28));
    for _ in 0..crashes {
        thread::park_timeout(Duration::from_millis(dice.below(LONGEST_MS) as u64));
        let known = fleet.ended();
        server.stop("immediate");
        server.start();
        violations += fleet.violations(&known);
    }
    fleet.wait_for("the fleet to work again", PATIENCE, || fleet.count("_runs WHERE ended IS NULL") > 0);
    fleet.catch(2, PATIENCE);
    fleet.wait_for("the others to have its tasks", PATIENCE, || fleet.count("_task WHERE owner = 'c'") == 0);
    fleet.signal(2, "-CONT");
    fleet.wait_for("the late writer to be refused", PATIENCE, || {
        fleet.log(2).contains("no longer belongs to this daemon")
    });
    let now = fleet.sql("SELECT now()");
    fleet.wait_for("another run of each task: none is stuck", PATIENCE, || {
        let since = format!("_runs WHERE outcome = 'published' AND started > '{now}'");
        fleet.count(&format!("(SELECT DISTINCT task FROM {since}) AS t")) == TASKS as i64
    });
    let known = fleet.ended();
    violations += fleet.violations(&known);
    (0..3).for_each(|which| fleet.signal(which, "-KILL"));
    // The control: runs that were not fenced overlap.
    fleet.sql("UPDATE _runs SET ended = now() WHERE ended IS NOT NULL");
    let control = fleet.violations(&known);
    let counted = format!(
        "{crashes} `pg_ctl stop -m immediate` under 3 daemons with {TASKS} tasks, {} runs, then one daemon stopped \
         past its lease; a run made twice or lost, or rows not whole",
        known.len()
    );
    report(28, &counted, violations, control);
}
