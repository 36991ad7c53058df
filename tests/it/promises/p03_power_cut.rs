//! A finished run survives a power cut: the writer's disk operations are replayed up to any point, and those not synced
//! by then are partly lost, torn or reordered.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::power::{self, Disk, Op};
use super::writer::{self, Ack, Harm, inspect};
use super::{Dice, report, role, times};

const NAME: &str = "promises::p03_power_cut::promise_03_finished_runs_survive_a_power_cut";

#[test]
fn promise_03_finished_runs_survive_a_power_cut() {
    if let Some(role) = role() {
        return writer::main(&role);
    }
    let (states, generations) = (times(120, 10_000), times(50, 400));
    let product = replay(&record("product", generations), states);
    let control = replay(&record("normal", times(30, 150)), times(60, 1_500));
    let counted = format!("{states} states after a power cut, {generations} runs recorded: corrupt or lost");
    report(3, &counted, product.corrupt + product.lost, control.corrupt + control.lost);
}

/// Runs a writer on a new database and records its disk operations.
fn record(role: &str, generations: usize) -> Vec<Op> {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let data = folder.path().join("data");
    fs::create_dir(&data).expect("a folder");
    let (shim, log) = (power::shim(folder.path()), folder.path().join("log"));
    let environment = [("LD_PRELOAD", text(&shim)), ("PIEME_SHIM_FOLDER", text(&data)), ("PIEME_SHIM_LOG", text(&log))];
    let ended = writer::start(NAME, role, &data, generations, &environment).wait().expect("it ends");
    assert!(ended.success(), "{}", fs::read_to_string(data.join("stderr")).unwrap_or_default());
    let ops = power::read_log(&log);
    let synced = ops.iter().filter(|op| matches!(op, Op::Sync(_))).count();
    assert!(synced > generations / 20 && ops.contains(&Op::SyncFolder), "the shim saw the disk: {synced} syncs");
    ops
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

/// Cuts the power at `states` points of the log and opens what is left.
fn replay(ops: &[Op], states: usize) -> Harm {
    let mut dice = Dice(states as u64);
    let mut points: Vec<usize> = (0..states).map(|_| dice.below(ops.len() + 1)).collect();
    points.sort_unstable();
    let (mut disk, mut acks, mut taken) = (Disk::default(), String::new(), 0);
    let mut harm = Harm::default();
    for point in points {
        for op in &ops[taken..point] {
            disk.take(op);
            if let Op::Write { file, bytes, .. } = op
                && file == "acks"
            {
                acks.push_str(&String::from_utf8_lossy(bytes));
            }
        }
        taken = point;
        let found = after_cut(&disk.cut(&mut dice), &Ack::parse_all(&acks));
        harm.corrupt += found.corrupt;
        harm.lost += found.lost;
    }
    harm
}

fn after_cut(files: &BTreeMap<String, Vec<u8>>, acks: &[Ack]) -> Harm {
    // In a tmpfs if there is one: ten thousand states are many writes.
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    let folder = folder.expect("a scratch folder");
    for (name, bytes) in files.iter().filter(|(name, _)| *name != "acks") {
        fs::write(folder.path().join(name), bytes).expect("a file");
    }
    // The oldest runs are the same in every state.
    inspect(folder.path(), &acks[acks.len().saturating_sub(30)..])
}
