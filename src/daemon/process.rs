//! The lifecycle of a child process. However it is left, and whatever panics meanwhile, its process group is killed and
//! the child is reaped.

use std::io;
use std::process::{Child, ChildStdout, ExitStatus};
use std::sync::mpsc;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::collect::stderr_tail;
use super::threads::{self, ThreadResult};

/// Killed when dropped.
pub struct ChildProcess {
    group: u32,
    /// Its stderr and exit status. The child is reaped only after its group was killed: until then the kernel cannot
    /// give its process id to another process.
    exit: Option<ThreadResult<(String, Option<ExitStatus>)>>,
    killed: Option<mpsc::Sender<()>>,
}

impl ChildProcess {
    /// Takes over a process that was just started in a group of its own. Returns its stdout.
    pub fn supervise(mut child: Child) -> io::Result<(ChildProcess, ChildStdout)> {
        let group = child.id();
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let mut child = UnreapedChild { child, is_reaped: false };
        let (killed, may_wait) = mpsc::channel();
        let end = threads::start("run-end", move || {
            let words = stderr.map(stderr_tail).unwrap_or_default();
            // Nothing is ever sent; this returns when the sender is dropped.
            let _ = may_wait.recv();
            (words, child.wait())
        })?;
        let process = ChildProcess { group, exit: Some(end), killed: Some(killed) };
        Ok((process, stdout.ok_or_else(|| io::Error::other("its stdout is not piped"))?))
    }

    pub fn id(&self) -> u32 {
        self.group
    }

    pub fn kill(&self) {
        kill_group(self.group);
    }

    /// Kills what is left of the group. Returns the child's stderr and exit status.
    pub async fn kill_and_wait(mut self) -> (String, Option<ExitStatus>) {
        self.kill_once();
        match self.exit.take() {
            Some(end) => end.await.unwrap_or_default(),
            None => Default::default(),
        }
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

fn kill_group(id: u32) {
    if let Ok(id) = i32::try_from(id) {
        // An error means that the group is gone already.
        let _ = killpg(Pid::from_raw(id), Signal::SIGKILL);
    }
}
