//! seccomp filter: an allow-list of the system calls of a run. Every other call, also of later kernels, fails with
//! EPERM.

use std::collections::BTreeMap;

use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Len, SeccompCmpOp as Op, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

use super::{SandboxError, SandboxUse};

/// None of these opens a socket, starts a program or a process, or affects another process.
const ALLOWED: &[i64] = &[
    // open files: read, write, close
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_pread64,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_close,
    libc::SYS_close_range,
    libc::SYS_dup,
    libc::SYS_lseek,
    // connections that the parent passed on
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_shutdown,
    libc::SYS_getsockopt,
    libc::SYS_getsockname,
    libc::SYS_getpeername,
    // waiting
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_ppoll,
    libc::SYS_eventfd2,
    libc::SYS_nanosleep,
    libc::SYS_clock_nanosleep,
    libc::SYS_futex,
    libc::SYS_sched_yield,
    libc::SYS_restart_syscall,
    // files: Landlock says which
    libc::SYS_openat,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_getdents64,
    libc::SYS_readlinkat,
    libc::SYS_faccessat,
    // memory
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_membarrier,
    // threads of its own
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_sigaltstack,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_getaffinity,
    libc::SYS_getcpu,
    libc::SYS_gettid,
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_exit,
    libc::SYS_exit_group,
    // clock, random numbers, system information
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_gettimeofday,
    libc::SYS_getrandom,
    libc::SYS_getrusage,
    libc::SYS_uname,
    libc::SYS_sysinfo,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
];

/// Socket options that a run may set, as level and name. The parent sets those of a connection before it passes it on,
/// and strace sees none in a run; these are what the HTTP client can be told to set. No option here loads a filter or a
/// module, or moves the connection.
const SOCKET_OPTIONS: &[(i32, i32)] = &[
    (libc::IPPROTO_TCP, libc::TCP_NODELAY),
    (libc::SOL_SOCKET, libc::SO_KEEPALIVE),
    (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE),
    (libc::IPPROTO_TCP, libc::TCP_KEEPINTVL),
    (libc::IPPROTO_TCP, libc::TCP_KEEPCNT),
];

/// Older variants of the same calls, which this architecture still has.
#[cfg(target_arch = "x86_64")]
const ALLOWED_HERE: &[i64] = &[
    libc::SYS_epoll_wait,
    libc::SYS_poll,
    libc::SYS_open,
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_readlink,
    libc::SYS_access,
    libc::SYS_time,
];
#[cfg(not(target_arch = "x86_64"))]
const ALLOWED_HERE: &[i64] = &[];

/// Restricts this thread and every thread that it starts, irrevocably.
pub fn restrict(purpose: SandboxUse) -> Result<(), SandboxError> {
    let failed = |error: &dyn std::fmt::Display| SandboxError::Syscalls(error.to_string());
    for filter in [no_clone3(), allowed(purpose)] {
        let filter = filter.map_err(|error| failed(&error))?;
        let program: BpfProgram = filter.try_into().map_err(|error: seccompiler::BackendError| failed(&error))?;
        seccompiler::apply_filter(&program).map_err(|error| failed(&error))?;
    }
    Ok(())
}

pub(super) fn arch() -> TargetArch {
    std::env::consts::ARCH.try_into().expect("seccompiler knows every machine that pieme is built for")
}

/// A filter cannot inspect the arguments of clone3, so it fails with ENOSYS; the C library then uses clone.
fn no_clone3() -> Result<SeccompFilter, seccompiler::BackendError> {
    let rules = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(libc::ENOSYS as u32), arch())
}

fn allowed(purpose: SandboxUse) -> Result<SeccompFilter, seccompiler::BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        ALLOWED.iter().chain(ALLOWED_HERE).map(|&call| (call, Vec::new())).collect();
    let thread = libc::CLONE_THREAD as u64;
    let executable = libc::PROT_EXEC as u64;
    let own = u64::from(std::process::id());
    let opening = libc::MSG_FASTOPEN as u64;
    rules.insert(libc::SYS_clone3, Vec::new());
    for (call, conditions) in [
        (libc::SYS_clone, vec![has(0, thread)?]),
        // No executable memory: code that was written cannot be run.
        (libc::SYS_mmap, vec![has_not(2, executable)?]),
        (libc::SYS_mprotect, vec![has_not(2, executable)?]),
        // Signals to itself only: abort() after a panic needs it.
        (libc::SYS_tgkill, vec![is(0, own)?]),
        (libc::SYS_prctl, vec![is(0, libc::PR_SET_NAME as u64)?]),
        // Only over an existing connection: no destination address, and no MSG_FASTOPEN, which opens a new one.
        (libc::SYS_sendto, vec![has_not(3, opening)?, is(4, 0)?]),
        // Resource limits can be read, not set.
        (libc::SYS_prlimit64, vec![is(0, 0)?, is(2, 0)?]),
    ] {
        rules.insert(call, vec![SeccompRule::new(conditions)?]);
    }
    // Besides: whether stdout is a terminal, and its size.
    let questions: &[u64] = match purpose {
        SandboxUse::Command => &[libc::FIONBIO, libc::TCGETS, libc::TCGETS2, libc::TIOCGWINSZ],
        SandboxUse::Run | SandboxUse::BrowserRun => &[libc::FIONBIO],
    };
    let question = |it: &u64| SeccompRule::new(vec![is(1, *it)?]);
    rules.insert(libc::SYS_ioctl, questions.iter().map(question).collect::<Result<_, _>>()?);
    if purpose == SandboxUse::BrowserRun {
        // Of the proxy's listener, which is open already.
        rules.insert(libc::SYS_accept4, Vec::new());
    }
    // Not F_SETOWN: the kernel sends signals to a socket's owner, which could be the daemon.
    let commands = [libc::F_DUPFD, libc::F_DUPFD_CLOEXEC, libc::F_GETFD, libc::F_SETFD, libc::F_GETFL, libc::F_SETFL];
    let command = |it: &i32| SeccompRule::new(vec![is(1, *it as u64)?]);
    rules.insert(libc::SYS_fcntl, commands.iter().map(command).collect::<Result<_, _>>()?);
    let option = |&(level, name): &(i32, i32)| SeccompRule::new(vec![is(1, level as u64)?, is(2, name as u64)?]);
    rules.insert(libc::SYS_setsockopt, SOCKET_OPTIONS.iter().map(option).collect::<Result<_, _>>()?);
    SeccompFilter::new(rules, SeccompAction::Errno(libc::EPERM as u32), SeccompAction::Allow, arch())
}

fn is(argument: u8, value: u64) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, Len::Qword, Op::Eq, value)
}

fn has(argument: u8, bits: u64) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, Len::Qword, Op::MaskedEq(bits), bits)
}

fn has_not(argument: u8, bits: u64) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, Len::Qword, Op::MaskedEq(bits), 0)
}
