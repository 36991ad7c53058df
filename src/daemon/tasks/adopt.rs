//! Requests write access to task folders that the daemon cannot write: `cp` keeps the modes of what it copies, and a
//! moved folder keeps its owner. The daemon cannot change that itself. It asks the unit `pieme-adopt`, which gives what
//! is in tasks/ to the group and can do nothing else.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::{env, fs};

use nix::unistd::{AccessFlags, access};

/// The runtime directory that systemd made for the daemon; the unit looks there for the request.
const RUNTIME_DIRECTORY: &str = "RUNTIME_DIRECTORY";
const REQUEST: &str = "adopt";

/// Repeats the request each time the folder is read. Does nothing where systemd has set no runtime directory.
pub fn request_adoption(folder: &Path) {
    write_request(folder, env::var_os(RUNTIME_DIRECTORY).as_deref());
}

fn write_request(folder: &Path, runtime: Option<&OsStr>) {
    let needed = AccessFlags::R_OK | AccessFlags::W_OK | AccessFlags::X_OK;
    let is_closed = |it: &PathBuf| it.exists() && access(it, needed).is_err();
    let (Some(runtime), true) = (runtime, [folder.to_owned(), folder.join(".state")].iter().any(is_closed)) else {
        return;
    };
    if let Err(error) = fs::write(Path::new(runtime).join(REQUEST), "") {
        tracing::warn!(
            "no write access to {}, and it could not be requested from pieme-adopt: {error}",
            folder.display()
        );
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn only_a_folder_that_we_cannot_write_is_asked_for() {
        let (tasks, runtime) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let request = runtime.path().join(REQUEST);
        write_request(tasks.path(), Some(runtime.path().as_os_str()));
        assert!(!request.exists(), "it is ours");
        fs::set_permissions(tasks.path(), fs::Permissions::from_mode(0o500)).expect("our own folder");
        write_request(tasks.path(), None);
        write_request(tasks.path(), Some(runtime.path().as_os_str()));
        // Root may write everywhere.
        assert_eq!(request.exists(), !nix::unistd::geteuid().is_root());
    }
}
