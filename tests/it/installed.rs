//! The Debian package on a system with a real systemd: installed as the README says, and used as people do
//! (tests/installed/inside.sh).

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const PROJECT: &str = env!("CARGO_MANIFEST_DIR");
/// Of tests/installed/boot.sh.
const CANNOT_BOOT: i32 = 77;

fn run(program: &str, arguments: &[&str]) -> Output {
    Command::new(program).args(arguments).current_dir(PROJECT).output().expect(program)
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The package that this build makes, and one of an older version to upgrade from.
fn packages(folder: &Path) {
    let out = folder.to_str().expect("a path of ours");
    let made = run("packaging/deb.sh", &["--profile", "dev", "--no-build", "--out", out]);
    assert!(made.status.success(), "{}", said(&made));
    let package = fs::read_dir(folder).expect("our own folder").flatten().map(|it| it.path());
    let package = package.into_iter().find(|it| it.extension().is_some_and(|it| it == "deb")).expect("a package");
    if let Some(before) = std::env::var_os("PIEME_PACKAGE_BEFORE") {
        fs::copy(before, folder.join("before.deb")).expect("the package that PIEME_PACKAGE_BEFORE names");
        return;
    }
    let unpacked = folder.join("before");
    let (from, to) = (package.to_str().expect("a path of ours"), unpacked.to_str().expect("a path of ours"));
    assert!(run("dpkg-deb", &["-R", from, to]).status.success());
    let control = unpacked.join("DEBIAN/control");
    let text = fs::read_to_string(&control).expect("a package has one");
    let lines = text.lines().map(|line| if line.starts_with("Version:") { "Version: 0.0.1" } else { line });
    fs::write(&control, lines.collect::<Vec<_>>().join("\n") + "\n").expect("our own file");
    let before = folder.join("before.deb");
    let packed = run("dpkg-deb", &["-Zgzip", "-z1", "-b", to, before.to_str().expect("a path of ours")]);
    assert!(packed.status.success(), "{}", said(&packed));
    fs::remove_dir_all(unpacked).expect("our own folder");
}

#[test]
fn the_package_is_installed_used_upgraded_and_purged_under_a_real_systemd() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    packages(folder.path());
    must_pass(&run("tests/installed/boot.sh", &[folder.path().to_str().expect("a path of ours")]));
}

#[test]
fn the_image_is_made_started_and_used() {
    must_pass(&run("tests/installed/container.sh", &[]));
}

fn must_pass(tried: &Output) {
    if tried.status.code() == Some(CANNOT_BOOT) {
        eprintln!("left out: {} (docs/install.md, \"Test the installation\")", said(tried).trim());
        return;
    }
    assert!(tried.status.success(), "{}", said(tried));
    eprintln!("{}", said(tried));
}
