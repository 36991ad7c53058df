//! Commands that read a page do so in the sandbox: it is entered before the first byte of the page is read, and without
//! it no page is read.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::stat::Mode;

use super::super::stage::{Said, Stage, in_time};

const PATIENCE: Duration = Duration::from_secs(40);
const PAGE: &str = "<title>Trees</title><form action=/s><input name=q></form><ul>\
    <li><b>Oak</b> <i>95</i><li><b>Elm</b> <i>240</i><li><b>Ash</b> <i>70</i><li><b>Fir</b> <i>12</i></ul>";
const HAR: &str = r#"{"log": {"entries": [{"request": {"method": "GET", "url": "https://shop.example/list",
    "headers": []}, "response": {"status": 200, "content": {"mimeType": "text/html", "text": "<p>x</p>"}}}]}}"#;

/// Commands that read a page from a file, with the word PAGE where its path stands, and a text of their answer.
const ON_FILES: &[(&str, &str)] = &[
    ("learn PAGE --json", "Oak"),
    ("learn PAGE --pick 1 -o learned.json", ""),
    ("extract --template template.json PAGE --json", "Oak"),
    ("extract --library . PAGE --json", "Oak"),
    ("replay --template template.json PAGE --json", "published"),
    ("repair --template template.json --records rows.json PAGE --json", "Oak"),
    ("explain ./PAGE --stage tokens", "Oak"),
    ("pager PAGE --url https://shop.example/ --json", "none"),
    ("forms PAGE --url https://shop.example/ --json", "shop.example/s"),
    ("har2robot PAGE -o new/shop", ""),
];

/// Commands that read pages of the store or of a task folder.
const ON_TASKS: &[(&str, &str)] = &[
    ("explain shop --stage records", "similarity"),
    ("test shop --json", "true"),
    ("test shop --update --json", "true"),
    ("label shop --json", "candidates"),
    ("label shop --yes --no-run", ""),
    ("step shop --json", "status"),
];

/// Commands that read no page in their own process. `add` and `run` fetch in a sandboxed child; `add` then labels.
const READ_NONE: &[&str] = &[
    "add",
    "alert",
    "completions",
    "curl2robot",
    "demo",
    "diff",
    "doctor",
    "duplicates",
    "export",
    "gc",
    "help",
    "history",
    "log",
    "migrate-store",
    "pause",
    "records",
    "resume",
    "rollback",
    "run",
    "search",
    "secret",
    "status",
    "validate",
    "web",
];

/// A stage with a template, rows, and a task that has a stored page and a sample.
fn stage() -> Stage {
    let stage = Stage::new();
    stage.write("page.html", PAGE);
    let learned = in_folder(&stage, "learn page.html --pick 1 -o template.json");
    assert_eq!(learned.code, 0, "{}", learned.stderr);
    stage.write("rows.json", r#"{"records": [{"c1": "Oak", "c2": "95"}, {"c1": "Elm", "c2": "240"}]}"#);
    stage.drop_folder_as("practice-shop", "shop");
    for words in [&["run", "shop"][..], &["label", "shop", "--yes", "--no-run"]] {
        let said = stage.pieme(words);
        assert!([0, 3].contains(&said.code), "{words:?}: {}", said.stderr);
    }
    stage
}

fn command(stage: &Stage, line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pieme"));
    command.arg("--config").arg(stage.path("config.toml")).args(line.split(' ')).current_dir(stage.path(""));
    command
}

fn in_folder(stage: &Stage, line: &str) -> Said {
    command(stage, line).stdin(Stdio::null()).output().expect("pieme starts").into()
}

#[test]
fn a_command_is_in_the_sandbox_before_it_reads_the_first_byte_of_a_page() {
    let stage = stage();
    for (line, answer) in ON_FILES {
        let fifo = stage.path("page.fifo");
        let _ = fs::remove_file(&fifo);
        nix::unistd::mkfifo(&fifo, Mode::S_IRWXU).expect("a pipe with a name");
        let mut command = command(&stage, &line.replace("PAGE", "page.fifo"));
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = child.expect("pieme starts");
        let mut page = writer(&fifo, line);
        wait_until(line, || status(&child, "Seccomp") == "2");
        assert_eq!(status(&child, "NoNewPrivs"), "1", "{line}");
        assert!(child.try_wait().expect("it runs").is_none(), "{line}: it waits for the page");
        let text = if line.starts_with("har") { HAR } else { PAGE };
        page.write_all(text.as_bytes()).expect("it reads");
        drop(page);
        let said: Said = child.wait_with_output().expect("it ends").into();
        assert_eq!(said.code, 0, "{line}: {}{}", said.stdout, said.stderr);
        assert!(said.stdout.contains(answer), "{line}: {}", said.stdout);
    }
    assert!(stage.read("learned.json").contains("variants"), "what was learned is written");
    assert!(stage.read("new/shop/robot.toml").contains("shop.example/list"));
}

/// A pipe opens for writing when its reader has opened it.
fn writer(fifo: &Path, line: &str) -> fs::File {
    let mut opened = None;
    wait_until(line, || {
        opened = fs::OpenOptions::new().write(true).custom_flags(nix::libc::O_NONBLOCK).open(fifo).ok();
        opened.is_some()
    });
    opened.expect("it was opened just now")
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "{what}: waited in vain");
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

/// The client of the database leaves no thread behind, which would stay outside of the sandbox.
#[test]
fn a_page_in_postgresql_is_read_in_the_sandbox_too() {
    let stage = Stage::on_postgres();
    stage.drop_folder_as("practice-shop", "shop");
    assert_eq!(stage.pieme(&["run", "shop"]).code, 0);
    let said = stage.pieme(&["explain", "shop", "--stage", "records"]);
    assert!(said.code == 0 && said.stdout.contains("similarity"), "{}{}", said.stdout, said.stderr);
}

/// A line of /proc/PID/status.
fn status(child: &Child, name: &str) -> String {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(&format!("{name}:")));
    line.unwrap_or_default().trim().to_owned()
}

/// On a kernel without Landlock. A command that reads a page outside of the sandbox would succeed.
#[test]
fn without_the_sandbox_no_command_reads_a_page() {
    let stage = stage();
    let on_files = ON_FILES.iter().map(|(line, answer)| (line.replace("PAGE", "page.html"), answer));
    let all: Vec<(String, &&str)> =
        on_files.chain(ON_TASKS.iter().map(|(line, answer)| ((*line).to_owned(), answer))).collect();
    stage.write("page.html", PAGE);
    for (line, answer) in &all {
        if line.starts_with("har") {
            stage.write("page.html", HAR);
        }
        let said = in_time(&mut command(&stage, line)).expect(line);
        assert_eq!(said.code, 0, "{line}: {}{}", said.stdout, said.stderr);
        assert!(said.stdout.contains(**answer), "{line}: {}", said.stdout);
    }
    let refused = std::thread::scope(|scope| {
        let blind = scope.spawn(|| {
            without_landlock();
            all.iter().map(|(line, _)| (line, in_time(&mut command(&stage, line)).expect(line))).collect::<Vec<_>>()
        });
        blind.join().expect("no panic")
    });
    for (line, said) in refused {
        assert_eq!(said.code, 78, "{line}: {}{}", said.stdout, said.stderr);
        assert_eq!(said.stdout, "", "{line}");
        assert!(said.stderr.contains("the sandbox could not be set up"), "{line}: {}", said.stderr);
    }
}

/// Simulates a kernel without Landlock, for this thread and its children.
pub fn without_landlock() {
    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
    let rules = BTreeMap::from([(nix::libc::SYS_landlock_create_ruleset, Vec::new())]);
    let arch = std::env::consts::ARCH.try_into().expect("a machine that seccompiler knows");
    let no_such_call = SeccompAction::Errno(nix::libc::ENOSYS as u32);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, no_such_call, arch).expect("a filter");
    let program: BpfProgram = filter.try_into().expect("a program");
    seccompiler::apply_filter(&program).expect("the kernel takes it");
}

/// A new command must be listed here: with its page, or as one that reads none.
#[test]
fn every_command_is_known_to_read_pages_in_the_sandbox_or_to_read_none() {
    let help = Command::new(env!("CARGO_BIN_EXE_pieme")).arg("--help").output().expect("pieme starts");
    let help = String::from_utf8_lossy(&help.stdout).into_owned();
    let commands = help.lines().skip_while(|line| !line.starts_with("Commands:")).skip(1);
    let commands: BTreeSet<&str> = commands
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let probed = ON_FILES.iter().chain(ON_TASKS).filter_map(|(line, _)| line.split(' ').next());
    let known: BTreeSet<&str> = probed.chain(READ_NONE.iter().copied()).collect();
    assert_eq!(commands, known);
}

/// Only the module that enters the sandbox parses pages for a command.
#[test]
fn no_command_parses_a_page_by_itself() {
    let cli = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/cli");
    let mut parsing = BTreeSet::new();
    let mut folders = vec![cli.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = fs::read_to_string(&path).unwrap_or_default();
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            if ["Tree::parse", "parse_page", "decompress_page", "PageLabeller", "Stepper"]
                .iter()
                .any(|it| code.contains(it))
            {
                parsing.insert(path.strip_prefix(&cli).expect("inside").display().to_string());
            }
        }
    }
    assert_eq!(parsing, BTreeSet::from(["sandboxed.rs".to_owned()]));
}
