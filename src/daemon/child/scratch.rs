//! The scratch folder of a run, for a browser's profile. The parent removes it, and ends the browser's processes that
//! are left: a run in its sandbox can do neither.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::config::Config;
use crate::model::RunId;
use crate::process::kill_processes_naming;

/// In its profile Chromium creates `/org.chromium.Chromium.123456/SingletonSocket`, and a socket's path has at most 107
/// bytes. Where the state folder's path is too long for that, the profile is in the system's temporary folder.
const MAX_PATH_BYTES: usize = 107 - 45;

/// Removed with everything in it when it is dropped.
pub struct ScratchFolder(PathBuf);

impl ScratchFolder {
    pub fn new(config: &Config, run: RunId) -> io::Result<ScratchFolder> {
        // The end of the id is random.
        let name = run.0.simple().to_string().split_off(20);
        let path = scratch_root(config).join(&name);
        let is_short = path.as_os_str().len() <= MAX_PATH_BYTES;
        let create =
            |path: PathBuf| DirBuilder::new().recursive(true).mode(0o700).create(&path).map(|()| ScratchFolder(path));
        let elsewhere = || create(std::env::temp_dir().join(format!("pieme-browser-{name}")));
        match is_short.then(|| create(path)) {
            None => elsewhere(),
            // `pieme step` of a member of the group, who may not write the state folder.
            Some(Err(error)) if error.kind() == io::ErrorKind::PermissionDenied => elsewhere(),
            Some(made) => made,
        }
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Removes what runs left behind that ended with the daemon. The caller must hold the lock on the state folder.
    pub fn sweep(config: &Config) {
        remove(&scratch_root(config));
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        // Chromium's crash handlers leave the run's process group.
        kill_processes_naming(&self.0);
        remove(&self.0);
    }
}

fn scratch_root(config: &Config) -> PathBuf {
    config.state.join("runs")
}

/// Threads of a killed browser may still finish a write, which creates a file in the folder that is being emptied.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(50);

fn remove(path: &Path) {
    for again in (0..TRIES).rev() {
        match fs::remove_dir_all(path) {
            Ok(()) => return,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(_) if again > 0 => std::thread::sleep(PAUSE),
            Err(error) => tracing::warn!("removing {} failed: {error}", path.display()),
        }
    }
}
