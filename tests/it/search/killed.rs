//! `kill -9` during indexing: nothing is lost, and after the next steps the index is right.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use pieme::store::{Query, SearchRequest, Store};

use crate::kept::{Found, Kept, name};
use crate::promises::{Dice, again, role, times};

const NAME: &str = "search::killed::kill_9_between_and_within_steps_leaves_an_index_that_ends_up_right";
const DATABASE: &str = "PIEME_TEST_DATABASE";
const ROWS: usize = 6_000;
/// A process that has not begun after this time hangs.
const PATIENCE: Duration = Duration::from_secs(60);
/// Within this time some steps are done, on a fast machine all of them; within a sixteenth of it on none.
const LONGEST_MICROS: usize = 150_000;

#[test]
fn kill_9_between_and_within_steps_leaves_an_index_that_ends_up_right() {
    if role().is_some() {
        return index(Path::new(&std::env::var_os(DATABASE).expect("the test names it")));
    }
    let mut kept = Kept::new();
    let mut dice = Dice(7);
    let mut cut_short = 0;
    for generation in 0..times(4, 100) {
        let row = |n: usize| {
            // A third of the rows is new each time.
            let age = if n % 3 == generation % 3 { generation } else { 0 };
            vec![format!("n{n}"), format!("a{age}x{n} {}", "some more text ".repeat(30))]
        };
        let rows = (0..ROWS).map(row).collect();
        kept.publish("t", &Found { columns: &["name", "text"], values: &[], key: &["name"], rows });
        for longest in [LONGEST_MICROS / 16, LONGEST_MICROS / 4, LONGEST_MICROS] {
            let mut child = start(&kept.path("state/pieme.db"));
            std::thread::park_timeout(Duration::from_micros(dice.below(longest) as u64));
            child.kill().expect("it can be killed");
            child.wait().expect("it is gone");
            cut_short += usize::from(!kept.store.unindexed_tasks().expect("tasks").is_empty());
        }
        while !kept.store.index_next_part(&name("t")).expect("a step").is_done {}
        // On a new connection: FTS5 checks an open one against its cached state of the index, which others have
        // changed.
        Store::open_reader(&kept.path("state/pieme.db")).and_then(|it| it.quick_check()).expect("a sound database");
        let total = |typed: &str| {
            let query = Query::parse(typed, None).expect("a word");
            let wanted = SearchRequest { query, tasks: Vec::new(), limit: 3, offset: 0 };
            kept.store.search(&wanted).expect("an answer").total
        };
        assert_eq!(total("some"), ROWS as u64, "generation {generation}");
        assert_eq!(total(&format!("a{generation}x*")), if generation == 0 { ROWS as u64 } else { ROWS as u64 / 3 });
        assert_eq!(total(&format!("a{generation}x{}", generation % 3)), 1);
    }
    assert!(cut_short > 0, "no kill came in time");
}

fn start(database: &Path) -> Child {
    let begun = database.with_extension("begun");
    let _ = std::fs::remove_file(&begun);
    let mut command = again(NAME, "index");
    let child = command.env(DATABASE, database).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    let started = Instant::now();
    while !begun.exists() {
        assert!(started.elapsed() < PATIENCE, "it does not begin");
        std::thread::park_timeout(Duration::from_micros(200));
    }
    child
}

/// The process that is killed.
fn index(database: &Path) {
    let mut store = Store::open(database).expect("the database");
    std::fs::write(database.with_extension("begun"), "").expect("a file");
    while !store.index_next_part(&name("t")).expect("a step").is_done {}
}
