//! Invariants of all runs of a fleet, whatever happened to its daemons.

use super::Fleet;

/// Pages of the practice shop, which every run reads.
const PAGES: i64 = 4;

impl Fleet {
    /// Every due run was made exactly once and is known to the store, and no run is active.
    pub(super) fn must_balance(&self, every: u32) {
        for (what, from) in rules(every) {
            let broken = self.sql(&format!("SELECT * FROM {from}"));
            let all =
                "SELECT task, slot, trigger, started, ended, cause, owner, sentence FROM _runs ORDER BY task, started";
            assert!(broken.is_empty(), "{what}\n{broken}\n{}", self.sql(all));
        }
        // The site has seen as many requests as the store knows of; an interrupted run may have made more.
        let seen = i64::try_from(self.site.requests()).expect("few");
        let known: i64 = self.sql("SELECT coalesce(sum(pages), 0) FROM _runs").parse().expect("a number");
        let crashed = self.count("_runs WHERE cause = 'crash'");
        assert!((known..=known + crashed * PAGES).contains(&seen), "{seen} requests, {known} pages, {crashed} crashes");
    }

    /// In figures.
    pub(super) fn account(&self) -> String {
        self.sql(
            "SELECT format('%s tasks, %s runs, %s slots, %s crashes; made up %s to %s s after they were found',
                 count(DISTINCT task), count(*), count(DISTINCT (task, slot)) FILTER (WHERE slot IS NOT NULL), \
                 count(*) FILTER (WHERE cause = 'crash'),
                 round(min(extract(epoch FROM next_started - ended)) FILTER (WHERE cause = 'crash'), 1),
                 round(max(extract(epoch FROM next_started - ended)) FILTER (WHERE cause = 'crash'), 1))
             FROM (SELECT *, lead(started) OVER (PARTITION BY task ORDER BY started) AS next_started FROM _runs) AS r",
        )
    }
}

/// Violations, each with a query for the rows that would show it.
fn rules(every: u32) -> [(&'static str, String); 6] {
    // A task's first run is unscheduled, and its period counts from there. The instant when a dead daemon's run was
    // found is a slot of its own.
    let in_order = "(SELECT *, row_number() OVER by_task AS n, lead(slot) OVER by_task AS next
                     FROM _runs WINDOW by_task AS (PARTITION BY task ORDER BY started)) AS r";
    [
        (
            "a slot has two runs",
            "(SELECT task, slot FROM _runs WHERE slot IS NOT NULL GROUP BY task, slot HAVING count(*) > 1) AS t"
                .to_owned(),
        ),
        (
            "a task ran twice at a time",
            "(SELECT r.task, r.id, s.id FROM _runs r JOIN _runs s ON s.task = r.task AND r.id < s.id
                 AND r.started < s.ended AND s.started < r.ended) AS t"
                .to_owned(),
        ),
        ("a run was made without being due", format!("{in_order} WHERE (n > 1) <> (slot IS NOT NULL)")),
        (
            "a slot was left out, or moved",
            format!(
                "{in_order} WHERE cause <> 'crash' AND CASE n WHEN 1 THEN next > started + interval '{every}.5 seconds'
                     ELSE abs(extract(epoch FROM next - slot) - {every}) > 0.001 END"
            ),
        ),
        (
            "a run of a dead daemon was not made up, or is shown",
            format!(
                "{in_order} WHERE cause = 'crash'
                     AND (next IS NULL OR next > ended OR EXISTS (SELECT 1 FROM _generation WHERE run = r.id))"
            ),
        ),
        (
            "a run has no end, or failed though nobody was killed",
            "_runs WHERE ended IS NULL OR (outcome <> 'published' AND cause <> 'crash')".to_owned(),
        ),
    ]
}
