//! Landlock rules around Chromium, and a seccomp filter for what they do not cover: datagrams. They hold for all its
//! processes, whatever a page has done to them: Chromium's own sandbox confines the processes that show pages, but not
//! the one that starts them, nor the one that connects.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use landlock::{AccessFs, AccessNet, BitFlags, NetPort, RulesetCreatedAttr, make_bitflags, path_beneath_rules};
use nix::libc;
use nix::sys::prctl;
use nix::sys::signal::Signal;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen as Len, SeccompCmpOp as Op, SeccompCondition,
    SeccompFilter, SeccompRule,
};

use super::SandboxError;
use super::files::{NEWEST, deny_all, enforce};

/// Programs, libraries and data of the system, and what Chromium reads of /etc, /sys and /dev. Chromium 156 of Debian
/// 12 needs nothing else.
const READABLE: &[&str] = &[
    "/usr",
    "/bin",
    "/lib",
    "/lib64",
    "/opt/google/chrome",
    "/etc/alternatives",
    "/etc/chromium",
    "/etc/chromium.d",
    "/etc/opt/chrome",
    "/etc/fonts",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/ssl/certs",
    "/etc/pki/tls/certs",
    "/etc/pki/ca-trust/extracted",
    "/sys/devices/system/cpu",
    "/dev/urandom",
];
/// Chromium's own sandbox writes /proc/PID/uid_map of its processes. Landlock, which forbids tracing other processes,
/// thereby closes their environment, memory and descriptors in /proc.
const WRITABLE: &[&str] = &["/proc", "/dev/null"];

/// The bits of a socket's type that are not flags.
const SOCKET_KINDS: u64 = 0xf;

/// What Chromium may reach.
pub struct BrowserAccess<'a> {
    pub program: &'a Path,
    /// The only folder that it can write to.
    pub profile: &'a Path,
    /// The only port that it can connect to (Linux 6.7; before that, its settings alone keep it to its proxy).
    pub proxy_port: u16,
}

/// Restricts this process, which then executes Chromium. The file rules are required; the rules for connections,
/// signals and abstract sockets are used where the kernel has them.
pub fn confine(access: &BrowserAccess<'_>) -> Result<(), SandboxError> {
    // Chromium ends with the run's process, even if that is killed.
    let _ = prctl::set_pdeathsig(Signal::SIGKILL);
    prctl::set_no_new_privs().map_err(SandboxError::NewPrivileges)?;
    let read = AccessFs::from_read(NEWEST);
    let write_file = make_bitflags!(AccessFs::{WriteFile | Truncate});
    // Chromium executes nothing in its profile.
    let profile: BitFlags<AccessFs> = (read | AccessFs::from_write(NEWEST)) & !BitFlags::from(AccessFs::Execute);
    let rules = deny_all()
        .and_then(|rules| rules.add_rules(path_beneath_rules(READABLE, read)))
        .and_then(|rules| rules.add_rules(path_beneath_rules(program_paths(access.program), read)))
        .and_then(|rules| rules.add_rules(path_beneath_rules(WRITABLE, read | write_file)))
        .and_then(|rules| rules.add_rules(path_beneath_rules([access.profile], profile)))
        .and_then(|rules| rules.add_rule(NetPort::new(access.proxy_port, AccessNet::ConnectTcp)));
    enforce(rules)?;
    let failed = |error: &dyn std::fmt::Display| SandboxError::Syscalls(error.to_string());
    let filter = streams_only().map_err(|error| failed(&error))?;
    seccompiler::apply_filter(&filter).map_err(|error| failed(&error))
}

/// No Internet socket but a stream: Landlock restricts TCP only. No io_uring, which makes sockets past this filter.
fn streams_only() -> Result<BpfProgram, BackendError> {
    // The kernel reads 32 bits of these arguments.
    let family = |it: i32| SeccompCondition::new(0, Len::Dword, Op::Eq, it as u64);
    let of_kind = |kind: i32| SeccompCondition::new(1, Len::Dword, Op::MaskedEq(SOCKET_KINDS), kind as u64);
    let mut denied = Vec::new();
    for internet in [libc::AF_INET, libc::AF_INET6] {
        for kind in [libc::SOCK_DGRAM, libc::SOCK_RAW, libc::SOCK_SEQPACKET, libc::SOCK_DCCP] {
            denied.push(SeccompRule::new(vec![family(internet)?, of_kind(kind)?])?);
        }
    }
    denied.push(SeccompRule::new(vec![family(libc::AF_VSOCK)?])?);
    let rules = BTreeMap::from([(libc::SYS_socket, denied), (libc::SYS_io_uring_setup, Vec::new())]);
    let denial = SeccompAction::Errno(libc::EACCES as u32);
    SeccompFilter::new(rules, SeccompAction::Allow, denial, super::syscalls::arch())?.try_into()
}

/// A program that config.toml names stands in a folder with its own files, unless the system's folders have it.
fn program_paths(program: &Path) -> Vec<PathBuf> {
    let real = program.canonicalize().unwrap_or_else(|_| program.to_owned());
    let is_known = READABLE.iter().any(|folder| real.starts_with(folder));
    let folder = real.parent().filter(|folder| !is_known && folder.parent().is_some());
    folder.map(Path::to_owned).into_iter().collect()
}
