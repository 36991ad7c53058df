//! Nothing leaks: after many runs the daemon has no more memory, descriptors and threads than after a few.

use super::vitals::Vitals;
use super::{report, times};
use crate::stage::Stage;

/// How much the maximum of the second half may exceed that of the first.
const MOST_GROWTH: u64 = 2 << 10;

#[test]
fn promise_20_nothing_leaks_over_time() {
    let (warm_up, runs) = (times(30, 500), times(60, 10_000));
    let mut stage = Stage::new();
    stage.drop_folder("practice-shop");
    let daemon = stage.start_daemon();
    stage.wait_for_state("practice-shop", "ok");
    let run = || {
        // Its own schedule may be running it just now.
        stage.wait_for("a run", || stage.pieme(&["run", "practice-shop", "--json"]).stdout.contains("published"));
        Vitals::of(daemon)
    };
    (0..warm_up).for_each(|_| {
        run();
    });
    let seen: Vec<Vitals> = (0..runs).map(|_| run()).collect();
    let log = std::fs::metadata(stage.path("state/pieme.db-wal")).map_or(0, |meta| meta.len() >> 20);
    let leaks = leaks(&seen) + usize::from(log > 64);
    let leaking: Vec<Vitals> =
        (0..100).map(|i| Vitals { kilobytes: 40_000 + 100 * i, threads: 10 + i, files: 20 + i as usize }).collect();
    let counted =
        format!("{runs} runs of one daemon after {warm_up}: growth of memory over 2 MB, of files, of threads");
    report(20, &counted, leaks, self::leaks(&leaking));
}

/// The number of figures that are higher in the second half.
fn leaks(seen: &[Vitals]) -> usize {
    leaks_over(seen, MOST_GROWTH)
}

/// The same with a higher tolerance for memory, because pages have caches.
pub fn leaks_over(seen: &[Vitals], kilobytes: u64) -> usize {
    let (first, second) = seen.split_at(seen.len() / 2);
    let most = |half: &[Vitals], of: fn(&Vitals) -> u64| half.iter().map(of).max().unwrap_or(0);
    // A run may still be ending between two measurements: one thread and its pipes.
    let more = |of: fn(&Vitals) -> u64, by: u64| usize::from(most(second, of) > most(first, of) + by);
    more(|it| it.kilobytes, kilobytes) + more(|it| it.threads, 2) + more(|it| it.files as u64, 4)
}
