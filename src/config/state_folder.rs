//! The state folder is closed to other users, whatever the umask: it holds pages, cookies, sessions and the lock.

use std::fs::{DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};

use nix::sys::stat::{Mode, umask};

use super::Config;
use crate::tasks::folder::is_shared;

const CLOSED: u32 = 0o700;
const OTHERS: u32 = 0o007;
const GROUP: u32 = 0o070;

impl Config {
    /// Creates the state folder where it is missing, closes it to others, and sets the umask for what is created from
    /// now on. A folder that is open to a group only (0750) stays so: somebody has configured that group.
    pub fn prepare_state_folder(&self) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(CLOSED).create(&self.state)?;
        let mut mode = self.state.metadata()?.permissions().mode();
        if mode & OTHERS != 0 {
            let folder = self.state.display();
            match std::fs::set_permissions(&self.state, Permissions::from_mode(CLOSED)) {
                Ok(()) => tracing::warn!(%folder, "the state folder was open to other users; its mode is 0700 now"),
                // What cannot be written to is reported by the store; `pieme doctor` names the mode.
                Err(error) => tracing::warn!(%folder, %error, "the state folder is open to other users"),
            }
            mode = self.state.metadata()?.permissions().mode();
        }
        let is_tasks_shared = self.tasks.metadata().is_ok_and(|meta| is_shared(meta.permissions().mode()));
        umask(Mode::from_bits_truncate(match (is_tasks_shared, mode & GROUP != 0) {
            // The group also writes what is made in tasks/.
            (true, _) => 0o007,
            (false, true) => 0o027,
            (false, false) => 0o077,
        }));
        Ok(())
    }
}
