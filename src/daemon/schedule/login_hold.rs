//! Login hold: the schedule does not repeat a login that was refused, since three wrong passwords lock most accounts.
//!
//! The task is held until something changes that could help: its folder, a secret, the daemon itself (systemd
//! credentials are read when it starts), or until a person types `pieme run`.

use std::time::SystemTime;

use chrono::{DateTime, Utc};

use crate::config::{Config, secrets};
use crate::model::{Failure, Outcome, PastRun};
use crate::store::StoreError;
use crate::tasks;
use crate::tasks::TaskFolder;

use crate::daemon::store_handle::StoreHandle;

/// Added to the sentence of a refused login, so that nobody waits for the next run.
pub const LOGIN_HOLD_NOTE: &str = "the schedule is on hold until the task or the secret is changed or the daemon is \
                                   restarted; `pieme run` tries at once";

/// Whether a scheduled run would only repeat a refused login.
pub(in crate::daemon) async fn is_held(
    store: &StoreHandle,
    config: &Config,
    folder: &TaskFolder,
    daemon: DateTime<Utc>,
) -> Result<bool, StoreError> {
    if secrets::names(&folder.task, &folder.script).is_empty() {
        return Ok(false);
    }
    let name = folder.name.clone();
    let last = store.call(move |store| store.past_verdicts(&name, 1)).await?;
    Ok(last.first().is_some_and(|run| is_login_hold(config, folder, run, daemon)))
}

/// Whether a task with this last run is on hold: its login was refused, and nothing has changed since.
pub fn is_login_hold(config: &Config, folder: &TaskFolder, last: &PastRun, daemon: DateTime<Utc>) -> bool {
    let names = secrets::names(&folder.task, &folder.script);
    let changes = [tasks::changed_at(&folder.dir), secrets::changed_at(config, &names)];
    is_login_refusal(last) && !names.is_empty() && is_unchanged_since(&changes, daemon, last.started_at)
}

fn is_login_refusal(run: &PastRun) -> bool {
    run.verdict.outcome == Outcome::Failed(Failure::Login)
}

/// Whether everything is older than the refused run.
fn is_unchanged_since(changes: &[Option<SystemTime>], daemon: DateTime<Utc>, refused: DateTime<Utc>) -> bool {
    daemon < refused && changes.iter().flatten().all(|&change| DateTime::<Utc>::from(change) < refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anything_newer_than_the_refusal_is_a_reason_to_try_again() {
        let at = |seconds: i64| DateTime::from_timestamp(1_800_000_000 + seconds, 0).expect("a time of this century");
        let changed = |seconds| Some(SystemTime::from(at(seconds)));
        for (folder, secret, daemon, waits) in [
            (changed(-10), changed(-10), -10, true),
            (changed(-10), None, -10, true),
            (changed(5), changed(-10), -10, false),
            (changed(-10), changed(5), -10, false),
            (changed(-10), changed(-10), 5, false),
        ] {
            assert_eq!(
                is_unchanged_since(&[folder, secret], at(daemon), at(0)),
                waits,
                "{folder:?} {secret:?} {daemon}"
            );
        }
    }
}
