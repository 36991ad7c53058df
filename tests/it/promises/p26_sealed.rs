//! The sandbox is on, or the run does not start: 22 operations that a compromised run might try are denied inside it
//! and allowed without it.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use nix::sched::{CloneFlags, unshare};
use nix::sys::ptrace;
use nix::sys::signal::kill;
use nix::unistd::{Pid, geteuid};
use pieme::daemon::child::spawn::spawn_child;
use pieme::model::task::Engine;
use pieme::model::{Script, Task};
use pieme::protocol::{FetchInput, Job, RunJob};
use pieme::sandbox;

use super::{again, report, role};

const NAME: &str = "promises::p26_sealed::promise_26_a_sealed_run_can_do_nothing";
const PLACE: &str = "PIEME_PROMISE_PLACE";
const VICTIM: &str = "PIEME_PROMISE_VICTIM";
/// Of all probes; four of them are tried from outside.
const PROBES: usize = 22;
const OUTSIDE: [&str; 4] = ["environ", "maps", "mem", "fd"];

#[test]
fn promise_26_a_sealed_run_can_do_nothing() {
    if let Some(role) = role() {
        probe(role == "sealed");
        return;
    }
    let allowed_within = tried("sealed");
    let allowed_without = tried("open");
    assert_eq!(allowed_without.len(), PROBES, "the control can do all of it: {allowed_without:?}");
    let counted = format!("{PROBES} probes in the child, allowed: {allowed_within:?}");
    report(26, &counted, allowed_within.len(), allowed_without.len());
}

/// Tries everything that a compromised run could do.
fn tried(role: &str) -> Vec<String> {
    let place = Place::new();
    let tcp = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let name = format!("pieme-probe-{}-{role}", std::process::id());
    let _abstract =
        UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).expect("a name")).expect("it is free");
    fs::write(place.path("port"), tcp.local_addr().expect("it is bound").port().to_string()).expect("a file");
    fs::write(place.path("abstract"), &name).expect("a file");
    let mut victim = End(as_nobody(Command::new("sleep").arg("60")).spawn().expect("a process"));
    let mut command = again(NAME, role);
    let mut moved = Command::new(place.path("program"));
    moved.args(command.get_args()).envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command = moved;
    command.env(PLACE, place.folder.path()).env(VICTIM, victim.0.id().to_string());
    let mut child =
        as_nobody(&mut command).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the probe starts");
    let mut said = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut allowed = Vec::new();
    let mut line = String::new();
    while said.read_line(&mut line).expect("text") > 0 && !line.contains("look at me") {
        allowed.extend(line.split_once("allowed: ").map(|(_, what)| what.trim().to_owned()));
        line.clear();
    }
    for part in OUTSIDE {
        let file = format!("/proc/{}/{part}", child.id());
        let look = if part == "fd" { "ls" } else { "head" };
        let mut looking = Command::new(look);
        let looked = as_nobody(looking.args((look == "head").then_some("-c0")).arg(&file)).output();
        if looked.expect("a program").status.success() {
            allowed.push(format!("another process reads {file}"));
        }
    }
    // Goes on to its last probe, which is another program where it is allowed.
    drop(child.stdin.take());
    let mut rest = String::new();
    said.read_to_string(&mut rest).expect("text");
    allowed.extend(rest.lines().filter_map(|line| line.split_once("allowed: ")).map(|(_, what)| what.to_owned()));
    child.wait().expect("it ends");
    victim.0.kill().expect("it is ours");
    allowed
}

/// A run has no privileges; a test that runs as root drops its own.
fn as_nobody(command: &mut Command) -> &mut Command {
    if geteuid().is_root() { command.uid(65_534).gid(65_534) } else { command }
}

/// What the probes are tried on.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        let place = Place { folder: tempfile::tempdir().expect("a scratch folder") };
        let open = |path: &Path| {
            fs::set_permissions(path, fs::Permissions::from_mode(0o777)).expect("it is ours");
        };
        open(place.folder.path());
        fs::write(place.path("sibling"), "another task's secret").expect("a file");
        open(&place.path("sibling"));
        fs::create_dir(place.path("elsewhere")).expect("a folder");
        open(&place.path("elsewhere"));
        symlink("/etc/passwd", place.path("link")).expect("a link");
        // Other users may not read the build folder.
        fs::copy(std::env::current_exe().expect("this program"), place.path("program")).expect("room for a copy");
        open(&place.path("program"));
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

struct End(Child);

impl Drop for End {
    fn drop(&mut self) {
        // An error means that it is gone already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The name of a probe, and a function that returns whether it succeeded.
type Probe<'p> = (&'static str, Box<dyn Fn() -> bool + 'p>);

fn probe(sealed: bool) {
    let place = PathBuf::from(std::env::var_os(PLACE).expect("it is told"));
    let victim: i32 = std::env::var(VICTIM).expect("it is told").parse().expect("a number");
    let read = |name: &str| fs::read_to_string(place.join(name)).expect("a file of the test");
    let port: u16 = read("port").parse().expect("a port");
    let name = SocketAddr::from_abstract_name(read("abstract")).expect("a name");
    let victim = Pid::from_raw(victim);
    if sealed {
        sandbox::harden_process();
        sandbox::apply(&task().limits, Engine::Http, std::os::unix::process::parent_id())
            .expect("this machine can seal");
    }
    let at = |name: &str| place.join(name);
    let probes: Vec<Probe<'_>> = vec![
        ("reads /etc/passwd", Box::new(|| fs::read("/etc/passwd").is_ok())),
        ("reads another task's secret", Box::new(|| fs::read(at("sibling")).is_ok())),
        ("reads through a link", Box::new(|| fs::read(at("link")).is_ok())),
        ("reads its environment", Box::new(|| fs::read("/proc/self/environ").is_ok())),
        ("writes a file", Box::new(|| fs::write(at("written"), "x").is_ok())),
        ("renames a file", Box::new(|| fs::rename(at("sibling"), at("elsewhere/sibling")).is_ok())),
        ("starts a process", Box::new(|| Command::new("/bin/true").status().is_ok())),
        ("traces another process", Box::new(move || ptrace::seize(victim, ptrace::Options::empty()).is_ok())),
        ("signals another process", Box::new(move || kill(victim, None).is_ok())),
        ("leaves its namespaces", Box::new(|| unshare(CloneFlags::CLONE_FS).is_ok())),
        ("makes an io_uring", Box::new(|| io_uring::IoUring::new(4).is_ok())),
        ("makes a file in memory", Box::new(|| rustix::fs::memfd_create("x", rustix::fs::MemfdFlags::CLOEXEC).is_ok())),
        ("connects to this machine", Box::new(move || TcpStream::connect(("127.0.0.1", port)).is_ok())),
        ("makes a UDP socket", Box::new(|| UdpSocket::bind("127.0.0.1:0").is_ok())),
        ("connects to an abstract socket", Box::new(move || UnixStream::connect_addr(&name).is_ok())),
        ("takes 2 GiB of memory", Box::new(|| Vec::<u8>::new().try_reserve_exact(2 << 30).is_ok())),
        ("writes 100 MB", Box::new(|| write_much(&at("much")))),
    ];
    for (what, is_done) in probes {
        if is_done() {
            say(&format!("allowed: {what}"));
        }
    }
    say("look at me");
    std::io::stdin().read_to_end(&mut Vec::new()).expect("it is closed");
    // In the control this ends the process.
    let refused = Command::new("/bin/echo").arg("allowed: becomes another program").exec();
    say(&format!("no other program: {refused}"));
    std::process::exit(0);
}

/// Bypasses libtest, which captures output.
fn say(line: &str) {
    let mut stdout = std::io::stdout();
    writeln!(stdout, "{line}").and_then(|()| stdout.flush()).expect("somebody listens");
}

fn write_much(file: &Path) -> bool {
    let Ok(mut file) = fs::File::create(file) else { return false };
    (0..100).all(|_| file.write_all(&[0; 1 << 20]).is_ok())
}

fn task() -> Task {
    toml::from_str("url = 'https://shop.test/'").expect("a task")
}

/// Without Landlock, because the kernel lacks it or it is blocked, a run does not start.
#[test]
fn promise_26_without_the_seal_no_run_starts() {
    const NAME: &str = "promises::p26_sealed::promise_26_without_the_seal_no_run_starts";
    if role().is_some() {
        without_landlock();
        let program = Path::new(env!("CARGO_BIN_EXE_pieme-daemon"));
        let fetch = FetchInput::new(&task(), &Script::default(), None);
        let job = RunJob { fetch, details: None, confirmed: true, past: Vec::new() };
        let (mut child, mut outlet) = spawn_child(program).expect("it starts");
        outlet.write(&Job::from(job), &[]).expect("it listens");
        let mut said = Vec::new();
        child.stdout.take().expect("a pipe").read_to_end(&mut said).expect("what it says");
        let code = child.wait().expect("it ends").code();
        say(&format!("ended with {code:?}: {}", String::from_utf8_lossy(&said)));
        return;
    }
    let output = again(NAME, "blind").output().expect("this program");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("ended with Some(78)"), "{said}");
    assert!(said.contains("the sandbox could not be set up: Landlock"), "{said}");
}

/// Simulates a kernel without Landlock, for this thread and its children.
fn without_landlock() {
    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
    let rules = BTreeMap::from([(nix::libc::SYS_landlock_create_ruleset, Vec::new())]);
    let arch = std::env::consts::ARCH.try_into().expect("a machine that seccompiler knows");
    let no_such_call = SeccompAction::Errno(nix::libc::ENOSYS as u32);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, no_such_call, arch).expect("a filter");
    let program: BpfProgram = filter.try_into().expect("a program");
    seccompiler::apply_filter(&program).expect("the kernel takes it");
}
