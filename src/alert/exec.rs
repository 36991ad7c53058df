//! Runs a command of `[alert.exec]` for an alert: without a shell, with a clean environment, and with a time limit.

use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tokio::task::spawn_blocking;

use super::error::AttemptError;
use super::message_text::{subject, text};
use super::notification::Notification;
use crate::process::ChildProcess;

/// How much of the command's stderr is reported.
const MAX_STDERR_BYTES: u64 = 2 << 10;

/// Runs the command with the alert as JSON on its stdin. Its whole process group is killed at the end.
pub(super) async fn run(command: &[String], notice: &Notification, limit: Duration) -> Result<(), AttemptError> {
    let mut child = spawn(command, notice).map_err(AttemptError::Spawn)?;
    let (stdin, stderr) = (child.stdin.take(), child.stderr.take());
    let process = ChildProcess::supervise(child).map_err(AttemptError::Spawn)?;
    let json = serde_json::to_vec(notice).unwrap_or_default();
    // A command that does not read its stdin is fine.
    let feeding = spawn_blocking(move || stdin.map(|mut stdin| stdin.write_all(&json)));
    let words = spawn_blocking(move || stderr.map(stderr_head).unwrap_or_default());
    let in_time = tokio::time::timeout(limit, process.exited()).await.is_ok();
    let (_, status) = process.kill_and_wait().await;
    drop(feeding.await);
    let words = words.await.unwrap_or_default();
    let status = status.ok_or_else(|| AttemptError::transport("the command ended without an exit status"))?;
    match in_time {
        false => Err(AttemptError::Killed(limit)),
        true if status.success() => Ok(()),
        true => Err(AttemptError::Exit { status, stderr: words }),
    }
}

fn spawn(command: &[String], notice: &Notification) -> io::Result<Child> {
    let (program, arguments) = command.split_first().ok_or_else(|| io::Error::other("the command is empty"))?;
    Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(variables(notice))
        .current_dir("/")
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
}

/// The main fields of the JSON as environment variables, for short scripts. A variable cannot hold a zero byte.
fn variables(notice: &Notification) -> Vec<(&'static str, String)> {
    let all = [
        ("PIEME_ID", notice.id.to_string()),
        ("PIEME_KIND", notice.kind.word().to_owned()),
        ("PIEME_TASK", notice.task.to_string()),
        ("PIEME_STATE", notice.state.to_string()),
        ("PIEME_CAUSE", notice.cause.clone().unwrap_or_default()),
        ("PIEME_SUBJECT", subject(notice)),
        ("PIEME_TEXT", text(notice)),
        ("PIEME_DO", notice.advice.clone()),
    ];
    all.into_iter().map(|(name, value)| (name, value.replace('\0', " "))).collect()
}

fn stderr_head(mut stderr: impl Read) -> String {
    let mut kept = Vec::new();
    let _ = stderr.by_ref().take(MAX_STDERR_BYTES).read_to_end(&mut kept);
    // Drain the pipe, or the command would block on a full one.
    let _ = io::copy(&mut stderr, &mut io::sink());
    let line = String::from_utf8_lossy(&kept);
    line.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).take(300).collect()
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use uuid::Uuid;

    use super::*;
    use crate::model::TaskName;

    fn notice() -> Notification {
        let now = DateTime::from_timestamp(1_800_000_000, 0).expect("a time of this century");
        Notification::test(TaskName::new("hotels").expect("a name"), Uuid::nil(), now)
    }

    fn shell(script: &str) -> Vec<String> {
        ["/bin/sh", "-c", script].map(str::to_owned).to_vec()
    }

    #[tokio::test]
    async fn a_command_gets_the_alert_and_nothing_of_our_environment() {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let file = folder.path().join("out").display().to_string();
        let script = format!("/usr/bin/env > {file}.env; /bin/cat > {file}");
        run(&shell(&script), &notice(), Duration::from_secs(20)).await.expect("it runs");
        let json = std::fs::read_to_string(&file).expect("what it read");
        assert_eq!(serde_json::from_str::<Notification>(&json).expect("the alert"), notice());
        let environment = std::fs::read_to_string(format!("{file}.env")).expect("its environment");
        let ours = |line: &&str| !line.starts_with("PIEME_") && !line.starts_with("PWD=") && !line.starts_with("_=");
        // SHLVL and OLDPWD are the shell's own.
        let strange: Vec<&str> = environment
            .lines()
            .filter(ours)
            .filter(|it| !it.starts_with("SHLVL") && !it.starts_with("OLDPWD"))
            .collect();
        assert!(environment.contains("PIEME_TASK=hotels"), "{environment}");
        assert!(strange.iter().all(|line| !line.contains('=')), "{strange:?}");
    }

    #[tokio::test]
    async fn one_that_fails_or_hangs_is_said_to_and_leaves_nobody_behind() {
        let failed = run(&shell("echo no luck >&2; exit 3"), &notice(), Duration::from_secs(20)).await;
        let sentence = |done: Result<(), AttemptError>| done.map_err(|error| error.to_string());
        assert_eq!(sentence(failed), Err("the command ended with exit status: 3: no luck".to_owned()));
        let folder = tempfile::tempdir().expect("a scratch folder");
        let file = folder.path().join("pid");
        let script = format!("/bin/sleep 600 & echo $! > {}; wait", file.display());
        let hung = run(&shell(&script), &notice(), Duration::from_secs(1)).await;
        assert_eq!(sentence(hung), Err("the command was killed after 1 s".to_owned()));
        let pid = std::fs::read_to_string(file).expect("its child's number");
        let stat = || std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        let is_gone = || stat().is_empty() || stat().contains(") Z ");
        // It is being killed; a busy machine takes its time.
        let looked = (0..1_000).any(|_| {
            std::thread::park_timeout(Duration::from_millis(10));
            is_gone()
        });
        assert!(looked, "its own child is gone too: {}", stat());
        let missing = run(&["/nowhere/program".to_owned()], &notice(), Duration::from_secs(1)).await;
        assert!(sentence(missing).is_err_and(|it| it.starts_with("starting the command failed")));
    }
}
