//! 5: good rows are not replaced by bad ones.

use super::report;
use crate::monitor::{NAMES, framed, labelled, rows, run, shifted, table};

/// Pages whose rows must not be published; `seed` varies each a little.
fn bad_pages(seed: usize) -> [(&'static str, String); 4] {
    let word = |i: usize| format!("<div><b>{}</b>{}</div>", (i * seed) % 97, (i * 31 + seed) % 89);
    [
        ("no rows", framed(&format!("<p>Soon, in {seed} days.</p>"))),
        ("half the rows", table(&NAMES[..6])),
        ("shifted columns", shifted(&NAMES[..13 - seed])),
        ("garbage", framed(&(0..40).map(word).collect::<String>())),
    ]
}

/// Counts the runs on bad pages after which the published rows are not the same as before, and all runs.
fn replaced(afterwards: &[&str]) -> (usize, usize) {
    let (stage, page) = labelled();
    let good = rows(&stage);
    let (mut replaced, mut runs) = (0, 0);
    for seed in 1..=5 {
        for (what, body) in bad_pages(seed) {
            page.say(&body);
            let ended = run(&stage);
            if !afterwards.is_empty() {
                stage.pieme(afterwards);
            }
            runs += 1;
            if ended.starts_with("published") || rows(&stage) != good {
                println!("{what}, {seed}: {ended}");
                replaced += 1;
            }
        }
    }
    (replaced, runs)
}

#[test]
fn promise_05_bad_rows_replace_nothing() {
    let (violations, runs) = replaced(&[]);
    // The control has no quarantine: such rows are published at once.
    let (control, _) = replaced(&["label", "hotels", "--accept"]);
    report(
        5,
        &format!("{runs} runs without rows, with half of them, shifted columns or garbage: rows replaced"),
        violations,
        control,
    );
}
