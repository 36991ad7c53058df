//! The promises of docs/design/safety.md 2, each checked on pieme and on a control: a broken variant on which the same
//! check must report violations.
//!
//! Plain `cargo nextest run` checks the short form, `PIEME_LONG=1` the counts of the table; `tests/promises.sh` runs
//! the long form and writes docs/promises.md from the lines that [`report`] prints.

#![allow(clippy::print_stdout, reason = "the lines are gathered into docs/promises.md")]

mod power;
pub mod vitals;
mod slots;
pub mod writer;

mod p01_p02_kill;
mod p03_power_cut;
mod p04_disk_full;
mod p05_bad_rows;
mod p06_damage;
mod p08_restart;
mod p09_missed;
mod p10_daylight;
mod p11_clock;
mod p12_overlap;
mod p13_p14_many;
mod p15_orphans;
mod p16_hostile_site;
mod p17_watchdog;
mod p18_stop;
mod p19_poison;
mod p20_leaks;
mod p20_verbs_and_pages;
mod p21_silence;
mod p23_secrets;
mod p26_sealed;
mod p27_unit;

use std::env;
use std::process::Command;

/// The environment variable with the role of a process that a test starts from its own program.
const ROLE: &str = "PIEME_PROMISE_ROLE";

/// The number of repetitions, in the short or the long form.
pub fn times(short: usize, long: usize) -> usize {
    if env::var_os("PIEME_LONG").is_some_and(|it| it == "1") { long } else { short }
}

/// Prints the line of a promise, then fails unless it was kept and its control was not.
pub fn report(number: u32, counted: &str, violations: usize, control: usize) {
    println!("PROMISE {number:02} | {counted} | {violations} | control: {control}");
    assert_eq!(violations, 0, "promise {number}: {counted}");
    assert!(control > 0, "promise {number}: the check finds nothing in its control");
}

/// This test program once more, to run only the test `name` (with its modules) in a role of its own.
pub fn again(name: &str, role: &str) -> Command {
    let mut command = Command::new(env::current_exe().expect("this program"));
    command.args([name, "--exact", "--nocapture"]).env(ROLE, role);
    command
}

/// What the test that started this process wants of it; none in the test itself.
pub fn role() -> Option<String> {
    env::var(ROLE).ok()
}

/// A deterministic random number generator (splitmix64).
pub struct Dice(pub u64);

impl Dice {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(end.max(1)).unwrap_or(u64::MAX)).unwrap_or(0)
    }
}

#[test]
#[should_panic(expected = "the check finds nothing in its control")]
fn a_control_that_stays_green_is_a_failure() {
    report(0, "nothing", 0, 0);
}
