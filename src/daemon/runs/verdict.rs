//! The verdicts that the parent makes: of a child that broke, was killed or could not be started.

use std::os::unix::process::ExitStatusExt;

use nix::sys::signal::Signal;

use crate::config::secrets::{self, SecretError};
use crate::daemon::child::lifecycle::{ChildEnd, KillReason};
use crate::daemon::schedule::login_hold::LOGIN_HOLD_NOTE;
use crate::model::{Failure, Outcome, Verdict};
use crate::store::StoreError;
use crate::tasks::{Problem, TaskFolder};

use super::collect::RunReport;

/// A store error fails the run, and only the run.
pub(in crate::daemon) fn store_failure(error: StoreError) -> Verdict {
    Verdict::failed(Failure::Internal, format!("storing the run failed: {error}"))
}

/// The verdict of a run during which the daemon itself panicked.
pub(super) fn crash_verdict(why: &str) -> Verdict {
    Verdict::failed(
        Failure::Crash,
        format!("the daemon panicked during this run ({why}); this is a bug in pieme, please report it"),
    )
}

/// As [`file_failure`], for a secret.
pub(super) fn secret_failure(error: &SecretError) -> Verdict {
    let cause = if error.is_shortage() { Failure::Internal } else { Failure::Config };
    Verdict::failed(cause, error.to_string())
}

/// A mistake in a file is the task's failure (`config`), a shortage of resources the daemon's (`internal`).
pub(super) fn file_failure(problem: impl Into<Problem>) -> Verdict {
    let problem = problem.into();
    let cause = if problem.is_shortage { Failure::Internal } else { Failure::Config };
    Verdict::failed(cause, problem.to_string())
}

/// The verdict of a child: the one it reported, or one made from how it ended.
pub(super) fn child_verdict(folder: &TaskFolder, end: ChildEnd<RunReport>) -> Verdict {
    let ChildEnd { result, killed, stderr, status } = end;
    let report = result.unwrap_or_default();
    if let Some(error) = report.error.filter(|error| !error.is_truncated()) {
        return Verdict::failed(error.cause(), error.to_string());
    }
    if let Some(mut verdict) = report.verdict {
        // Only a person's review sets these.
        (verdict.statistics.accepted, verdict.statistics.rolled_back) = (false, false);
        if verdict.outcome == Outcome::Failed(Failure::Login)
            && !secrets::names(&folder.task, &folder.script).is_empty()
        {
            verdict.sentence = format!("{}; {LOGIN_HOLD_NOTE}", verdict.sentence);
        }
        return verdict;
    }
    match killed {
        Some(KillReason::TimeLimit) => {
            let limit = folder.task.limits.timeout;
            return Verdict::failed(Failure::Timeout, format!("the run was not done after {limit} (limits.timeout)"));
        }
        Some(KillReason::Stop) => {
            let mut verdict = Verdict::interrupted();
            verdict.sentence.push_str("; the run is made up at the next start");
            return verdict;
        }
        None => {}
    }
    if stderr.contains("memory allocation of") {
        let limit = folder.task.limits.memory;
        return Verdict::failed(Failure::Memory, format!("the run needed more than {limit} of memory (limits.memory)"));
    }
    let signal = status.and_then(|it| it.signal());
    if signal == Some(Signal::SIGXCPU as i32) {
        return Verdict::failed(Failure::Timeout, "the run used up its processor time (limits.timeout)");
    }
    let how = match (signal, status.and_then(|it| it.code())) {
        (Some(signal), _) => format!("was killed by signal {signal}"),
        (None, Some(code)) => format!("ended with code {code} and no report"),
        (None, None) => "ended without an exit status".to_owned(),
    };
    let panic = stderr.lines().find(|line| !line.trim().is_empty()).map(|line| format!(": {line}")).unwrap_or_default();
    Verdict::failed(Failure::Crash, format!("the run's process {how}{panic}"))
}
