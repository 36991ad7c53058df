//! Dumps everything that a store returns as lines, for comparing two stores. Uses the ordinary queries, not the code
//! that copies stores.

use std::ops::ControlFlow;

use pieme::store::Store;

/// More than any test keeps.
const ALL: u32 = 100_000;

/// Fails with the first difference only: the whole dump has some hundred thousand characters.
pub fn assert_same(found: &[String], expected: &[String], what: &str) {
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!(found, expected, "{what}");
    }
    assert_eq!(found.len(), expected.len(), "{what}");
}

pub fn all_kept(store: &Store) -> Vec<String> {
    let mut lines = Vec::new();
    for row in store.tasks().expect("tasks") {
        let task = row.name.clone();
        lines.push(format!("{row:?}"));
        store
            .each_published(&task, &mut |rows| {
                // The part without rows comes first; the batch size differs between the databases.
                if rows.table.rows.is_empty() {
                    lines.push(format!("{rows:?}"));
                }
                for (at, row) in rows.table.rows.iter().enumerate() {
                    lines.push(format!("{row:?} {:?} {}", rows.cells.get(at), rows.first_seen[at]));
                }
                ControlFlow::Continue(())
            })
            .expect("rows");
        for run in store.past_runs(&task, ALL).expect("runs") {
            let id = run.start.run;
            lines.push(format!("{run:?} {:?}", store.trace_lines(id).expect("traces")));
            lines.push(format!("{:?}", store.pages(id).expect("pages")));
            lines.push(format!("{:?}", store.quarantined_rows(id, u64::MAX, 0).expect("rows")));
        }
        for change in store.changes(&task, None, ALL).expect("changes") {
            lines.push(format!("{change:?} {:?}", store.records_of(change.id, 0, ALL).expect("records")));
        }
        lines.push(format!("{:?}", store.quarantined_run(&task).expect("rows kept aside")));
        lines.push(format!("{:?}", store.deliveries(Some(&task), ALL).expect("deliveries")));
    }
    lines.push(format!(
        "{:?}",
        store.tasks_with_alerts(&pieme::store::AlertTaskFilter::All).expect("what people want to be told")
    ));
    lines
}
