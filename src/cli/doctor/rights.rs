//! Owners and modes: who else on this machine could read the state or change what pieme does.

use std::collections::BTreeSet;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;

use super::{DoctorFinding, bad, good, note};
use crate::cli::permissions::name_of_user;
use crate::config::Config;
use crate::tasks::TaskFolder;
use crate::tasks::folder::is_shared;

/// Mode bits by which group and others may write.
const WRITE_BY_OTHERS: u32 = 0o022;
/// Findings that are listed; the first shows what to do about the others.
const MOST_LISTED: usize = 5;

/// The state folder, whose files others must not read.
pub(super) fn check_state(config: &Config) -> Option<DoctorFinding> {
    let meta = config.state.metadata().ok()?;
    let (shown, mode) = (config.state.display(), meta.mode());
    if mode & 0o007 != 0 {
        let sentence = format!("{shown} is open to other users (mode {:04o}): type `chmod 0700 {shown}`", mode & 0o777);
        return Some(bad("state", sentence));
    }
    let (owner, closed) = (meta.uid(), if mode & 0o070 == 0 { 0o077 } else { 0o007 });
    let files = config.state.read_dir().ok()?.flatten();
    let open = files.filter_map(|entry| Some((entry.path(), entry.metadata().ok()?)));
    let is_open = |meta: &Metadata| meta.mode() & closed != 0 || ![owner, 0].contains(&meta.uid());
    // Sockets may be open to a group.
    let open: Vec<_> = open.filter(|(_, meta)| meta.is_file() && is_open(meta)).collect();
    Some(match open.first() {
        None => good("state", format!("{shown} is closed to other users (mode {:04o})", mode & 0o777)),
        // The folder protects it; the mode matters once the file is moved.
        Some((path, meta)) => note(
            "state",
            format!(
                "{} has mode {:04o} and owner {}: type `chmod go= {0}`",
                path.display(),
                meta.mode() & 0o777,
                name_of_user(meta.uid())
            ),
        ),
    })
}

/// Whether users other than owner and sharing group may write here.
pub(super) fn is_writable_by_others(mode: u32) -> bool {
    mode & WRITE_BY_OTHERS & if is_shared(mode) { 0o007 } else { 0o077 } != 0
}

/// tasks/ and the folders in it: who may write there decides what pieme fetches.
pub(super) fn check_task_folders(config: &Config, folders: &[Arc<TaskFolder>]) -> Vec<DoctorFinding> {
    let Ok(tasks) = config.tasks.metadata() else { return Vec::new() };
    let mut found = Vec::new();
    if is_writable_by_others(tasks.mode()) {
        let sentence = format!("{0} can be written by other users: type `chmod go-w {0}`", config.tasks.display());
        found.push(bad("tasks", sentence));
    }
    // In a shared folder every member of the group may own and write files.
    if is_shared(tasks.mode()) {
        return found;
    }
    let daemon = config.state.metadata().map_or(tasks.uid(), |meta| meta.uid());
    let trusted = BTreeSet::from([0, tasks.uid(), daemon]);
    let files = |folder: &Arc<TaskFolder>| -> Vec<PathBuf> {
        let inside = folder.dir.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
        std::iter::once(folder.dir.clone()).chain(inside).collect()
    };
    let all = folders.iter().flat_map(files).filter_map(|path| Some((path.symlink_metadata().ok()?, path)));
    for (meta, path) in all {
        let (shown, owner) = (path.display(), name_of_user(meta.uid()));
        if !trusted.contains(&meta.uid()) {
            let sentence = format!(
                "{shown} belongs to {owner}, who can change what the daemon does: read it, then type \
                 `chown {} {shown}`",
                name_of_user(tasks.uid())
            );
            found.push(bad("rights", sentence));
        } else if !meta.is_symlink() && meta.mode() & WRITE_BY_OTHERS != 0 {
            let sentence = format!(
                "{shown} can be written by other users (mode {:04o}): type `chmod go-w {shown}`",
                meta.mode() & 0o777
            );
            found.push(bad("rights", sentence));
        }
    }
    if found.len() > MOST_LISTED {
        let more = found.split_off(MOST_LISTED).len();
        found.push(bad("rights", format!("{more} more files of task folders have the wrong owner or mode")));
    }
    found
}
