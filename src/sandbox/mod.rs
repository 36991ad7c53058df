//! EDGE: the sandbox that a child process enters before it reads untrusted data: resource limits, capabilities,
//! Landlock, seccomp.

pub mod browser;
mod capabilities;
mod descriptors;
mod files;
mod syscalls;

use std::fs;
use std::path::PathBuf;

use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::Signal;
use nix::unistd::getppid;

use crate::model::task::{Engine, Limits};

pub use descriptors::close_inherited as close_inherited_descriptors;

/// Maximum number of open files and sockets of a run.
const MAX_OPEN_FILES: u64 = 256;
/// A browser holds one connection per request, here and in its own processes.
const BROWSER_OPEN_FILES: u64 = 1_024;
/// With 256 MB of data Chromium does not start; with 512 MB it shows pages of 100,000 objects.
const BROWSER_MEMORY: u64 = 512 << 20;
/// A run writes no files except a browser's profile; this limit is for what libraries may try.
const MAX_FILE_BYTES: u64 = 64 << 20;
/// Processes and threads of the run's user that may be added to all that run on the machine now. The kernel counts
/// those of the user, not of the run: a fixed figure would stop the runs of a user with many programs, or of a daemon
/// with many runs. 64 browser runs that start meanwhile have about 120 threads each. A run cannot start processes in
/// any case, and its memory limit allows 256 threads with ordinary stacks; this stops one that makes tiny ones. The
/// kernel does not apply the limit to root: there, `TasksMax` of the unit does.
const MORE_TASKS: u64 = 8_192;

/// Why a process could not enter its sandbox.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SandboxError {
    #[error("the daemon that started it has ended")]
    Orphan,
    #[error("no_new_privs: {0}")]
    NewPrivileges(Errno),
    #[error("capabilities: {0}")]
    Capabilities(Errno),
    #[error("{0:?}: {1}")]
    Limit(Resource, Errno),
    #[error("Landlock: {0}")]
    Files(String),
    #[error("seccomp: {0}")]
    Syscalls(String),
    #[error("the check panicked")]
    Panic,
    #[error("this process has {0} threads, and a sandbox covers only the one that enters it")]
    Threads(usize),
}

/// What a sandboxed process does, besides what every one does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SandboxUse {
    /// A run or a page job.
    Run,
    /// A run whose proxy accepts Chromium's connections.
    BrowserRun,
    /// A command that prints to a terminal.
    Command,
}

/// Called before the job is read: forbids ptrace and core dumps, and ends this process with its parent.
pub fn harden_process() {
    // Errors here are ignored; `apply` checks what must hold.
    let _ = prctl::set_dumpable(false);
    let _ = prctl::set_pdeathsig(Signal::SIGKILL);
}

/// Sets the task's resource limits and enters the sandbox. If any part fails, the run does not start. A run with a
/// browser is not in the sandbox yet.
pub fn apply(limits: &Limits, engine: Engine, parent_pid: u32) -> Result<(), SandboxError> {
    if getppid().as_raw() as u32 != parent_pid {
        return Err(SandboxError::Orphan);
    }
    prctl::set_no_new_privs().map_err(SandboxError::NewPrivileges)?;
    let cpu_seconds = limits.timeout.0.as_secs().max(1);
    // Chromium is started by this process, so each of its processes inherits these limits.
    let (memory, open_files) = match engine {
        Engine::Http => (limits.memory.0, MAX_OPEN_FILES),
        Engine::Browser => (limits.memory.0.max(BROWSER_MEMORY), BROWSER_OPEN_FILES),
    };
    for (resource, most, at_the_very_most) in [
        (Resource::RLIMIT_CORE, 0, 0),
        (Resource::RLIMIT_DATA, memory, memory),
        // The soft limit sends SIGXCPU, which the parent can report as a time limit; the hard limit sends SIGKILL.
        (Resource::RLIMIT_CPU, cpu_seconds, cpu_seconds + 5),
        (Resource::RLIMIT_NOFILE, open_files, open_files),
        (Resource::RLIMIT_FSIZE, MAX_FILE_BYTES, MAX_FILE_BYTES),
    ] {
        setrlimit(resource, most, at_the_very_most).map_err(|error| SandboxError::Limit(resource, error))?;
    }
    limit_tasks()?;
    capabilities::drop_all()?;
    match engine {
        Engine::Http => restrict(SandboxUse::Run),
        // The caller starts Chromium now, in a sandbox of its own, and then calls `restrict`.
        Engine::Browser => Ok(()),
    }
}

/// Limits the processes and threads of the user; see [`MORE_TASKS`].
fn limit_tasks() -> Result<(), SandboxError> {
    let failed = |error| SandboxError::Limit(Resource::RLIMIT_NPROC, error);
    // Where /proc is missing, the limit that is set already stays.
    let Some(running) = fs::read_to_string("/proc/loadavg").ok().and_then(|text| all_tasks(&text)) else {
        return Ok(());
    };
    let (_, hard) = getrlimit(Resource::RLIMIT_NPROC).map_err(failed)?;
    let most = running.saturating_add(MORE_TASKS).min(hard);
    setrlimit(Resource::RLIMIT_NPROC, most, most).map_err(failed)
}

/// All processes and threads of the machine: the number after the slash.
fn all_tasks(loadavg: &str) -> Option<u64> {
    loadavg.split_whitespace().nth(3)?.split_once('/')?.1.parse().ok()
}

/// Gives up files, new sockets, programs and other processes. What is open already stays usable.
pub fn restrict(purpose: SandboxUse) -> Result<(), SandboxError> {
    files::restrict(&[])?;
    syscalls::restrict(purpose)
}

/// For a command that parses pages: as [`restrict`], but the `readable` files can be read, and files in `readable`
/// folders.
pub fn enter_for_reading(readable: &[PathBuf]) -> Result<(), SandboxError> {
    let threads = fs::read_dir("/proc/self/task").map_or(0, Iterator::count);
    if threads != 1 {
        return Err(SandboxError::Threads(threads));
    }
    prctl::set_no_new_privs().map_err(SandboxError::NewPrivileges)?;
    files::restrict(readable)?;
    syscalls::restrict(SandboxUse::Command)
}

/// Which parts of the sandbox the kernel supports.
#[derive(Clone, Debug)]
pub struct KernelSupport {
    pub files: Result<(), SandboxError>,
    pub syscalls: Result<(), SandboxError>,
}

/// Tries the sandbox in a thread of its own, so that it restricts nothing else.
pub fn kernel_support() -> KernelSupport {
    let trying = std::thread::spawn(|| {
        if let Err(error) = prctl::set_no_new_privs() {
            let failed = Err(SandboxError::NewPrivileges(error));
            return KernelSupport { files: failed.clone(), syscalls: failed };
        }
        let files = files::restrict(&[]).and_then(|()| match fs::File::open("/proc/self/status") {
            Ok(_) => Err(SandboxError::Files("accepted by the kernel, but files can still be opened".to_owned())),
            Err(_) => Ok(()),
        });
        let calls =
            syscalls::restrict(SandboxUse::Run).and_then(|()| match std::net::UdpSocket::bind(("127.0.0.1", 0)) {
                Ok(_) => {
                    Err(SandboxError::Syscalls("accepted by the kernel, but sockets can still be created".to_owned()))
                }
                Err(_) => Ok(()),
            });
        KernelSupport { files, syscalls: calls }
    });
    let panicked = || KernelSupport { files: Err(SandboxError::Panic), syscalls: Err(SandboxError::Panic) };
    trying.join().unwrap_or_else(|_| panicked())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_tasks_is_read_from_the_load() {
        assert_eq!(all_tasks("0.20 0.18 0.12 1/80 11206\n"), Some(80));
        assert_eq!(all_tasks(""), None);
        let here = std::fs::read_to_string("/proc/loadavg").expect("the kernel says so");
        assert!(all_tasks(&here).is_some_and(|count| count > 0));
    }

    #[test]
    fn trying_the_seal_out_closes_nobody_else() {
        let found = kernel_support();
        assert_eq!((found.files, found.syscalls), (Ok(()), Ok(())), "this kernel supports the sandbox");
        assert!(std::fs::File::open("/proc/self/status").is_ok() && std::net::UdpSocket::bind("127.0.0.1:0").is_ok());
    }
}
