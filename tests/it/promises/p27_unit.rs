//! The unit is hardened: exposure at most 1.5 as systemd counts it.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::report;

#[test]
fn promise_27_the_unit_is_hardened() {
    let unit = Path::new(env!("CARGO_MANIFEST_DIR")).join("systemd/pieme-daemon.service");
    let folder = tempfile::tempdir().expect("a scratch folder");
    let bare = folder.path().join("pieme-daemon.service");
    fs::write(&bare, "[Service]\nExecStart=/usr/bin/pieme-daemon\n").expect("a file");
    let over = |unit: &Path| usize::from(!exposure_at_most(15, unit));
    report(27, "systemd-analyze security --threshold=15: units above it", over(&unit), over(&bare));
}

fn exposure_at_most(tenths: u32, unit: &Path) -> bool {
    Command::new("systemd-analyze")
        .args(["security", "--offline=true", "--no-pager", &format!("--threshold={tenths}")])
        .arg(unit)
        .output()
        .expect("systemd-analyze is installed by tests/all.sh")
        .status
        .success()
}
