//! Permissions of an installation: root acts as the owner of tasks/, members of its group share the folders, and other
//! users get a message that says how to join the group.

use std::fs::Metadata;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use nix::errno::Errno;
use nix::sys::stat::{Mode, umask};
use nix::unistd::{AccessFlags, Gid, Group, Uid, User, access, geteuid, setgid, setgroups, setuid};

use crate::config::Config;
use crate::tasks::Problem;
use crate::tasks::folder::is_shared;

use super::{CliError, exit};

/// The umask for new files in a folder that a group shares.
const FOR_GROUP: Mode = Mode::S_IRWXO;

/// Fails where this user cannot read the state folder; the error says what to do.
pub(super) fn check(config: &Config) -> Result<(), CliError> {
    match access(&config.state, AccessFlags::R_OK | AccessFlags::X_OK) {
        Err(Errno::EACCES) => Err(CliError::new(exit::REFUSED, denied(&config.state))),
        // A missing folder is created by the command that needs it.
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Root becomes the owner of tasks/, so that the daemon can read and write new files. In a folder that is shared with a
/// group, new files are writable by the group.
pub(super) fn act_as_owner(config: &Config) -> Result<(), CliError> {
    let Ok(tasks) = config.tasks.metadata() else { return Ok(()) };
    if geteuid().is_root() && tasks.uid() != 0 {
        become_owner(&tasks).map_err(|errno| {
            let sentence = format!("cannot switch from root to the owner of {}: {errno}", config.tasks.display());
            CliError::failed(sentence)
        })?;
    }
    if is_shared(tasks.mode()) {
        umask(FOR_GROUP);
    }
    Ok(())
}

fn become_owner(tasks: &Metadata) -> nix::Result<()> {
    let group = Gid::from_raw(tasks.gid());
    setgroups(&[group])?;
    setgid(group)?;
    setuid(Uid::from_raw(tasks.uid()))
}

fn denied(state: &Path) -> String {
    let me = User::from_uid(geteuid()).ok().flatten().map_or_else(|| geteuid().to_string(), |user| user.name);
    // Its metadata can be read wherever the parent folder can.
    let Ok(meta) = state.metadata() else {
        return format!("{me} may not read {}: ask its owner", state.display());
    };
    let owner = name_of_user(meta.uid());
    if meta.permissions().mode() & 0o050 != 0o050 {
        return format!("{} is readable by {owner} only: type `sudo -u {owner} pieme …`", state.display());
    }
    let group = Group::from_gid(Gid::from_raw(meta.gid())).ok().flatten();
    let name = name_of_group(meta.gid());
    if group.is_some_and(|group| group.mem.contains(&me)) {
        return format!(
            "{me} is in the group {name}, but not yet in this session: log in again, or type `newgrp {name}`"
        );
    }
    format!(
        "{me} is not in the group {name}, which may use pieme: type `sudo usermod -aG {name} {me}` and log in again"
    )
}

/// The daemon's user and group: the owner of the state folder, or of tasks/ where there is none yet.
pub(super) struct DaemonUser {
    uid: u32,
    gid: u32,
}

impl DaemonUser {
    pub fn of(config: &Config) -> Option<DaemonUser> {
        let meta = config.state.metadata().or_else(|_| config.tasks.metadata()).ok()?;
        Some(DaemonUser { uid: meta.uid(), gid: meta.gid() })
    }

    pub fn name(&self) -> String {
        name_of_user(self.uid)
    }

    /// Permissions that the daemon lacks on a task folder: to read, write and enter it, and to read its files.
    pub fn problems(&self, folder: &Path) -> Vec<Problem> {
        let inner = folder.join(".state");
        let folders = [folder, &inner].into_iter().filter(|it| it.is_dir());
        let closed = folders.filter(|it| !self.is_allowed(it, 0o7)).map(|it| (it.to_owned(), "write into this folder"));
        let files = folder.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
        let unreadable = files.filter(|it| it.is_file() && !self.is_allowed(it, 0o4)).map(|it| (it, "read this file"));
        closed.chain(unreadable).map(|(path, what)| self.problem(folder, &path, what)).collect()
    }

    fn problem(&self, folder: &Path, path: &Path, what: &str) -> Problem {
        let (owner, mode) =
            path.metadata().map_or((String::new(), 0), |it| (name_of_user(it.uid()), it.mode() & 0o7777));
        let group = name_of_group(self.gid);
        let shown = folder.display();
        let sentence = format!("the daemon ({}) cannot {what}: owner {owner}, mode {mode:04o}", self.name());
        Problem::new(path, sentence).hint(format!("chgrp -R {group} {shown} && chmod -R g+rwX {shown}"))
    }

    /// As the kernel decides, from the mode alone. With an access control list, the group bits are the most it grants.
    fn is_allowed(&self, path: &Path, bits: u32) -> bool {
        let Ok(meta) = path.metadata() else { return false };
        if self.uid == geteuid().as_raw() {
            let wanted = [(4, AccessFlags::R_OK), (2, AccessFlags::W_OK), (1, AccessFlags::X_OK)];
            let wanted = wanted.into_iter().filter(|(bit, _)| bits & bit != 0).map(|(_, flag)| flag);
            return access(path, wanted.fold(AccessFlags::empty(), AccessFlags::union)).is_ok();
        }
        let granted = match (meta.uid() == self.uid, meta.gid() == self.gid) {
            (true, _) => meta.mode() >> 6,
            (false, true) => meta.mode() >> 3,
            (false, false) => meta.mode(),
        };
        self.uid == 0 || granted & bits == bits
    }
}

fn name_of_group(id: u32) -> String {
    Group::from_gid(Gid::from_raw(id)).ok().flatten().map_or_else(|| id.to_string(), |group| group.name)
}

pub(super) fn name_of_user(id: u32) -> String {
    User::from_uid(Uid::from_raw(id)).ok().flatten().map_or_else(|| id.to_string(), |user| user.name)
}
