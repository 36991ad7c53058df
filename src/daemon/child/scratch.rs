//! The scratch folder of a run, for a browser's profile. The parent removes it: a run that is killed cannot clean up.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::config::Config;
use crate::model::RunId;

/// Removed with everything in it when it is dropped.
pub struct ScratchFolder(PathBuf);

impl ScratchFolder {
    pub fn new(config: &Config, run: RunId) -> io::Result<ScratchFolder> {
        // Short, because a browser creates sockets in it, whose paths have at most 108 bytes. The end of the id is
        // random.
        let name = run.0.simple().to_string().split_off(20);
        let path = scratch_root(config).join(name);
        DirBuilder::new().recursive(true).mode(0o700).create(&path)?;
        Ok(ScratchFolder(path))
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
