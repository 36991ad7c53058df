//! EDGE: what a run's process does to itself before it touches anything of a stranger's.

mod syscalls;
mod files;

use nix::sys::prctl;
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::Signal;
use nix::unistd::getppid;

use crate::model::Task;
use crate::model::task::Engine;

/// Files and sockets one run may have open.
const MAX_OPEN_FILES: u64 = 256;
/// A browser holds a connection a request, here and on its own side.
const BROWSER_OPEN_FILES: u64 = 1_024;
/// With 256 MB of data Chromium does not start; with 512 MB it shows pages of 100,000 objects.
const BROWSER_MEMORY: u64 = 512 << 20;
/// A run writes no files at all but a browser's profile; this is for what libraries may try.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// Before the assignment is read: nobody may look into this process, and it dies with its parent.
pub fn harden_process() {
    // Failing here means an odd kernel, not an attack; `late` checks what must hold.
    let _ = prctl::set_dumpable(false);
    let _ = prctl::set_pdeathsig(Signal::SIGKILL);
}

/// Once the limits are known. A limit that cannot be set is an error: the run does not start.
pub fn apply(task: &Task, parent_pid: u32) -> Result<(), String> {
    if getppid().as_raw() as u32 != parent_pid {
        return Err("the daemon that ordered it is gone".to_owned());
    }
    prctl::set_no_new_privs().map_err(|error| format!("no_new_privs: {error}"))?;
    let limits = &task.limits;
    let cpu_seconds = limits.timeout.0.as_secs().max(1);
    // A browser is started by this process, so that each of its processes has the same limits.
    let (memory, open_files) = match task.fetch.engine {
        Engine::Http => (limits.memory.0, MAX_OPEN_FILES),
        Engine::Browser => (limits.memory.0.max(BROWSER_MEMORY), BROWSER_OPEN_FILES),
    };
    for (resource, most, at_the_very_most) in [
        (Resource::RLIMIT_CORE, 0, 0),
        (Resource::RLIMIT_DATA, memory, memory),
        // The first number ends in SIGXCPU, which the parent can name; only the second in SIGKILL.
        (Resource::RLIMIT_CPU, cpu_seconds, cpu_seconds + 5),
        (Resource::RLIMIT_NOFILE, open_files, open_files),
        (Resource::RLIMIT_FSIZE, MAX_FILE_BYTES, MAX_FILE_BYTES),
    ] {
        setrlimit(resource, most, at_the_very_most).map_err(|error| format!("{resource:?}: {error}"))?;
    }
    match task.fetch.engine {
        Engine::Http => restrict(),
        // Chromium starts processes, opens files and sockets, and closes itself in (docs/browser.md).
        Engine::Browser => Ok(()),
    }
}

/// No file, no socket, no program, no other process: from here on there is nothing but what this process has.
pub fn restrict() -> Result<(), String> {
    files::restrict()?;
    syscalls::restrict()
}

/// What of the seal this machine can do: tried out on a thread, which takes it with it.
#[derive(Clone, Debug)]
pub struct KernelSupport {
    pub files: Result<(), String>,
    pub syscalls: Result<(), String>,
}

pub fn kernel_support() -> KernelSupport {
    let trying = std::thread::spawn(|| {
        if let Err(error) = prctl::set_no_new_privs() {
            let said = Err(format!("no_new_privs: {error}"));
            return KernelSupport { files: said.clone(), syscalls: said };
        }
        let files = files::restrict().and_then(|()| match std::fs::File::open("/proc/self/status") {
            Ok(_) => Err("Landlock: taken by the kernel, but files can be opened all the same".to_owned()),
            Err(_) => Ok(()),
        });
        let calls = syscalls::restrict().and_then(|()| match std::net::UdpSocket::bind(("127.0.0.1", 0)) {
            Ok(_) => Err("seccomp: taken by the kernel, but sockets can be made all the same".to_owned()),
            Err(_) => Ok(()),
        });
        KernelSupport { files, syscalls: calls }
    });
    trying
        .join()
        .unwrap_or_else(|_| KernelSupport { files: Err("it broke".to_owned()), syscalls: Err("it broke".to_owned()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trying_the_seal_out_closes_nobody_else() {
        let found = kernel_support();
        assert_eq!((found.files, found.syscalls), (Ok(()), Ok(())), "this kernel can seal");
        assert!(std::fs::File::open("/proc/self/status").is_ok() && std::net::UdpSocket::bind("127.0.0.1:0").is_ok());
    }
}
