//! EDGE: a child process in a process group of its own. However it is left, and whatever panics meanwhile, the group is
//! killed and the child is reaped. Used for the children of the daemon and for the commands of alerts.

use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Child, ChildStderr, ExitStatus};
use std::sync::mpsc;
use std::thread;

use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;

/// How much of a child's stderr is remembered: enough for a panic message.
const MAX_STDERR_BYTES: usize = 8 << 10;

/// Killed when dropped.
pub struct ChildProcess {
    group: u32,
    /// Its stderr and exit status. The child is reaped only after its group was killed: until then the kernel cannot
    /// give its process id to another process.
    exit: oneshot::Receiver<(String, Option<ExitStatus>)>,
    killed: Option<mpsc::Sender<()>>,
}

impl ChildProcess {
    /// Takes over a process that was just started in a group of its own, with its stderr unless the caller took it.
    pub fn supervise(mut child: Child) -> io::Result<ChildProcess> {
        let group = child.id();
        let stderr = child.stderr.take();
        let mut child = UnreapedChild { child, is_reaped: false };
        let (killed, may_wait) = mpsc::channel();
        let (exited, exit) = oneshot::channel();
        thread::Builder::new().name("child-end".to_owned()).spawn(move || {
            let words = stderr.map(stderr_tail).unwrap_or_default();
            // Nothing is ever sent; this returns when the sender is dropped.
            let _ = may_wait.recv();
            // The receiver may have gone.
            let _ = exited.send((words, child.wait()));
        })?;
        Ok(ChildProcess { group, exit, killed: Some(killed) })
    }

    pub fn id(&self) -> u32 {
        self.group
    }

    pub fn kill(&self) {
        kill_group(self.group);
    }

    /// Waits until the process has ended. It is not reaped yet.
    pub async fn exited(&self) {
        let Ok(id) = i32::try_from(self.group) else { return };
        let waiting = move || waitid(Id::Pid(Pid::from_raw(id)), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT);
        // Where no thread can be started, the process counts as ended.
        let _ = spawn_blocking(waiting).await;
    }

    /// Kills what is left of the group. Returns the child's stderr and exit status.
    pub async fn kill_and_wait(mut self) -> (String, Option<ExitStatus>) {
        self.kill_once();
        (&mut self.exit).await.unwrap_or_default()
    }

    fn kill_once(&mut self) {
        if let Some(killed) = self.killed.take() {
            kill_group(self.group);
            drop(killed);
        }
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        self.kill_once();
    }
}

/// A child that must be reaped, or it stays a zombie.
struct UnreapedChild {
    child: Child,
    is_reaped: bool,
}

impl UnreapedChild {
    fn wait(&mut self) -> Option<ExitStatus> {
        self.is_reaped = true;
        self.child.wait().ok()
    }
}

impl Drop for UnreapedChild {
    /// Runs only where no thread could be started for the child. It is killed first, so that the wait is short.
    fn drop(&mut self) {
        if !self.is_reaped {
            kill_group(self.child.id());
            self.wait();
        }
    }
}

/// Kills every process of this user with an option `…=PATH` in its command line.
pub fn kill_processes_naming(path: &Path) {
    let option = [b"=", path.as_os_str().as_bytes()].concat();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    for pid in processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok()) {
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let is_named = words.windows(option.len()).any(|it| it == option);
        if is_named && pid != std::process::id().cast_signed() {
            // An error means that the process is gone already, or another user's.
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }
}

fn kill_group(id: u32) {
    if let Ok(id) = i32::try_from(id) {
        // An error means that the group is gone already.
        let _ = killpg(Pid::from_raw(id), Signal::SIGKILL);
    }
}

/// The end of a child's stderr, with control characters replaced.
fn stderr_tail(mut pipe: ChildStderr) -> String {
    let mut kept: Vec<u8> = Vec::new();
    let mut chunk = [0; 4096];
    while let Ok(n) = pipe.read(&mut chunk) {
        if n == 0 {
            break;
        }
        kept.extend_from_slice(&chunk[..n]);
        if kept.len() > 2 * MAX_STDERR_BYTES {
            kept.drain(..kept.len() - MAX_STDERR_BYTES);
        }
    }
    String::from_utf8_lossy(&kept)
        .chars()
        .map(|c| if c.is_control() && c != '\n' { char::REPLACEMENT_CHARACTER } else { c })
        .collect()
}
