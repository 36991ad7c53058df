//! A log-in that was refused is not tried again by the clock: three wrong passwords lock most accounts.
//!
//! The task waits until something is new that could make a difference: its folder, a secret, the daemon itself (credentials of
//! systemd are read when it starts), or a person who types `pieme run`.

use std::time::SystemTime;

use chrono::{DateTime, Utc};

use crate::config::{Config, secrets};
use crate::model::{Failure, Outcome, PastRun};
use crate::store::StoreError;
use crate::tasks;
use crate::tasks::TaskFolder;

use crate::daemon::service::Service;

/// What the sentence of a refused log-in ends with, so that nobody waits for the next run.
pub const LOGIN_HOLD_NOTE: &str =
    "the schedule does not try it again until the task, the secret or the daemon is new; `pieme run` does";

impl Service {
    /// Would a run of the clock only repeat a log-in that was refused?
    pub(in crate::daemon) async fn is_login_held(&self, folder: &TaskFolder) -> Result<bool, StoreError> {
        let names = secrets::names(&folder.task, &folder.script);
        if names.is_empty() {
            return Ok(false);
        }
        let name = folder.name.clone();
        let last = self.runner.store.call(move |store| store.past_verdicts(&name, 1)).await?;
        Ok(last.first().is_some_and(|run| is_login_hold(&self.config, folder, run, self.started_at)))
    }
}

/// Does the clock leave a task alone whose last run was this, since its log-in was refused and nothing is new since?
pub fn is_login_hold(config: &Config, folder: &TaskFolder, last: &PastRun, daemon: DateTime<Utc>) -> bool {
    let names = secrets::names(&folder.task, &folder.script);
    let changes = [tasks::changed_at(&folder.dir), secrets::changed_at(config, &names)];
    is_login_refusal(last) && !names.is_empty() && is_unchanged_since(&changes, daemon, last.started_at)
}

fn is_login_refusal(run: &PastRun) -> bool {
    run.verdict.outcome == Outcome::Failed(Failure::Login)
}

/// Is everything older than the refused run?
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
