//! No descriptor of the daemon, nor of whoever started it, reaches a run, the command of an alert or Chromium.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use crate::stage::{Stage, children_of};

/// Starts the daemon from a shell that has files of its own open.
fn start_with_open_files(stage: &mut Stage) -> u32 {
    stage.write("starter", "a secret of whoever starts the daemon");
    let mut program = PathBuf::from(env!("CARGO_BIN_EXE_pieme-daemon"));
    if stage.user().is_some() {
        // Another user may not be allowed into the build folder.
        fs::copy(env!("CARGO_BIN_EXE_pieme"), stage.path("pieme")).expect("a copy of the program");
        program = stage.path("pieme-daemon");
        symlink("pieme", &program).expect("its other name");
    }
    let script = format!(
        "#!/bin/sh\nexec 7<{0} 8>>{0} 9<{0}\nexec {1} \"$@\"\n",
        stage.path("starter").display(),
        program.display()
    );
    stage.write("start.sh", &script);
    let path = stage.path("start.sh");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a file of ours");
    stage.start_program(&path, &[])
}

/// The open files of a process, by number.
fn descriptors(pid: u32) -> Vec<(u32, String)> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fd")) else { return Vec::new() };
    let open = entries.flatten().filter_map(|entry| {
        let number = entry.file_name().to_str()?.parse().ok()?;
        Some((number, fs::read_link(entry.path()).ok()?.display().to_string()))
    });
    open.collect()
}

/// What a process has open that the daemon has open, too, and files of the stage. Stdin, stdout and stderr are pipes
/// between the two.
fn shared(stage: &Stage, daemon: u32, child: u32, own: &str) -> Vec<(u32, String)> {
    let ours: BTreeSet<String> = descriptors(daemon).into_iter().map(|(_, file)| file).collect();
    let folder = stage.path("").display().to_string();
    let is_common = |file: &str| file == "/dev/null" || file.starts_with("anon_inode:");
    let mut open = descriptors(child);
    open.retain(|(number, file)| {
        let is_foreign = ours.contains(file) || (file.starts_with(&folder) && !file.starts_with(own));
        *number > 2 && !is_common(file) && is_foreign
    });
    open
}

fn wait_for_child(stage: &Stage, daemon: u32, what: &str, is_it: impl Fn(u32) -> bool) -> u32 {
    let mut found = None;
    stage.wait_for(what, || {
        found = children_of(daemon).into_iter().find(|&it| is_it(it));
        found.is_some()
    });
    found.expect("it was found")
}

fn command_line(pid: u32) -> String {
    fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default()
}

#[test]
fn a_run_has_no_descriptor_of_the_daemon() {
    let mut stage = Stage::new();
    let daemon = start_with_open_files(&mut stage);
    let open = descriptors(daemon);
    assert!(open.iter().any(|(_, file)| file.ends_with("pieme.db")), "the daemon has its database open: {open:?}");
    assert!(
        !open.iter().any(|(_, file)| file.ends_with("starter")),
        "it has closed what it was started with: {open:?}"
    );
    stage.write_task("slow", "/bad/hang", "[limits]\ntimeout = \"60s\"");
    let child = wait_for_child(&stage, daemon, "the run", |it| {
        // The site does not answer: its connection is the last that it opens.
        command_line(it).contains("run-child") && descriptors(it).iter().any(|(_, file)| file.contains("eventpoll"))
    });
    assert_eq!(shared(&stage, daemon, child, "-"), []);
    let files = descriptors(child);
    let is_plain = |file: &str| ["socket:", "pipe:", "anon_inode:"].iter().any(|kind| file.starts_with(kind));
    assert!(files.iter().all(|(_, file)| is_plain(file)), "sockets and pipes only: {files:?}");
}

#[test]
fn the_command_of_an_alert_has_no_descriptor_of_the_daemon() {
    let mut stage = Stage::new();
    let listing = stage.path("listing");
    let script = format!("ls -l /proc/self/fd > {0}.new; mv {0}.new {0}", listing.display());
    let config = format!("{}\n[alert.exec]\nlister = [\"/bin/sh\", \"-c\", \"{script}\"]\n", stage.read("config.toml"));
    stage.write("config.toml", &config);
    start_with_open_files(&mut stage);
    stage.write_task("bad", "/bad/404", "[alert]\nurls = [\"exec:lister\"]\nafter = 1");
    stage.wait_for("the task", || stage.state("bad") != "absent");
    stage.pieme(&["run", "bad"]);
    stage.wait_for("the command", || listing.exists());
    let listed = stage.read("listing");
    let links: Vec<&str> = listed.lines().filter_map(|line| line.split_once(" -> ")).map(|(_, file)| file).collect();
    // stdin, stdout into the file, stderr, and the folder that ls reads.
    assert_eq!(links.len(), 4, "{listed}");
    let is_expected =
        |file: &&str| file.starts_with("pipe:") || file.starts_with("/proc/") || file.ends_with("listing.new");
    assert!(links.iter().all(is_expected), "{listed}");
}

#[test]
fn chromium_has_no_descriptor_of_the_daemon() {
    let mut stage = Stage::unprivileged();
    let daemon = start_with_open_files(&mut stage);
    stage.write_task("browser", "/bad/hang", "[limits]\ntimeout = \"60s\"");
    let task = stage.read("tasks/browser/task.toml").replace("[fetch]", "[fetch]\nengine = \"browser\"");
    stage.write("tasks/browser/task.toml", &task);
    let mut browsers = Vec::new();
    stage.wait_for("Chromium", || {
        let runs = children_of(daemon);
        browsers =
            runs.into_iter().flat_map(children_of).filter(|&it| command_line(it).contains("--proxy-server")).collect();
        browsers.iter().any(|&it| descriptors(it).len() > 10)
    });
    let own = stage.path("state/runs").display().to_string();
    for browser in browsers {
        assert_eq!(shared(&stage, daemon, browser, &own), [], "{}", command_line(browser));
    }
}
