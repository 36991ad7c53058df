//! The lock on the state folder: one process at a time may write the store, all others only read.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use tokio::time::sleep;

/// A process that only tests the lock holds it for an instant, so taking it is retried.
const TAKE_RETRY_TIME: Duration = Duration::from_millis(500);
const TAKE_RETRY_PAUSE: Duration = Duration::from_millis(20);
/// How often a daemon checks that its lock still guards the path that others would lock.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Held for as long as its owner lives; the kernel releases it even after `kill -9`. Both the state folder and the
/// file in it are locked: a file is easily removed, and some file systems (NFS) lock no folders.
pub struct StateLock {
    path: PathBuf,
    folder: Option<Flock<File>>,
    file: Flock<File>,
}

#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("{0} is locked: another pieme-daemon or `pieme run` is using this state folder")]
    Taken(PathBuf),
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: io::Error },
}

impl StateLock {
    pub fn take(path: &Path) -> Result<StateLock, LockError> {
        let until = Instant::now() + TAKE_RETRY_TIME;
        loop {
            match StateLock::try_take(path)? {
                Some(lock) => return Ok(lock),
                None if Instant::now() < until => thread::sleep(TAKE_RETRY_PAUSE),
                None => return Err(LockError::Taken(path.to_owned())),
            }
        }
    }

    fn try_take(path: &Path) -> Result<Option<StateLock>, LockError> {
        let Some(folder) = lock_folder(path, FlockArg::LockExclusiveNonblock)? else { return Ok(None) };
        let Some(file) = lock_file(path, FlockArg::LockExclusiveNonblock)? else { return Ok(None) };
        Ok(Some(StateLock { path: path.to_owned(), folder: folder.into_lock(), file }))
    }

    /// Whether a process holds the lock now.
    pub fn is_taken(path: &Path) -> bool {
        matches!(lock_folder(path, FlockArg::LockSharedNonblock), Ok(None))
            || path.exists() && matches!(lock_file(path, FlockArg::LockSharedNonblock), Ok(None))
    }

    /// Returns when another process could take the lock, because the folder was moved or replaced. A lock file that was
    /// removed is made again.
    pub async fn lost(&mut self) {
        let mut missed = 0;
        // Twice in a row: a folder that is being swapped is missing for an instant.
        while missed < 2 {
            sleep(CHECK_INTERVAL).await;
            missed = if self.is_in_place() { 0 } else { missed + 1 };
        }
    }

    fn is_in_place(&mut self) -> bool {
        let folder = folder_of(&self.path);
        if self.folder.as_ref().is_some_and(|held| !is_same_file(held, folder)) {
            return false;
        }
        if is_same_file(&self.file, &self.path) {
            return true;
        }
        match lock_file(&self.path, FlockArg::LockExclusiveNonblock) {
            Ok(Some(file)) => self.file = file,
            // Without a lock on the folder, this file is the only lock.
            Ok(None) => return self.folder.is_some(),
            Err(_) => {}
        }
        folder.exists()
    }
}

/// The lock on the folder, or that its file system cannot lock folders.
enum FolderLock {
    Held(Flock<File>),
    Unlockable,
}

impl FolderLock {
    fn into_lock(self) -> Option<Flock<File>> {
        match self {
            FolderLock::Held(held) => Some(held),
            FolderLock::Unlockable => None,
        }
    }
}

/// `None` when another process holds it.
fn lock_folder(path: &Path, how: FlockArg) -> Result<Option<FolderLock>, LockError> {
    let folder = folder_of(path);
    let file = File::open(folder).map_err(|source| LockError::Io { path: folder.to_owned(), source })?;
    match Flock::lock(file, how) {
        Ok(held) => Ok(Some(FolderLock::Held(held))),
        Err((_, Errno::EWOULDBLOCK)) => Ok(None),
        Err(_) => Ok(Some(FolderLock::Unlockable)),
    }
}

/// `None` when another process holds it.
fn lock_file(path: &Path, how: FlockArg) -> Result<Option<Flock<File>>, LockError> {
    let io_error = |source| LockError::Io { path: path.to_owned(), source };
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(path).map_err(io_error)?;
    match Flock::lock(file, how) {
        Ok(held) => Ok(Some(held)),
        Err((_, Errno::EWOULDBLOCK)) => Ok(None),
        Err((_, error)) => Err(io_error(error.into())),
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Whether the path still leads to the locked file. A path that cannot be inspected counts as unchanged.
fn is_same_file(held: &File, path: &Path) -> bool {
    let number = |it: &Metadata| (it.dev(), it.ino());
    match (held.metadata(), fs::metadata(path)) {
        (Ok(held), Ok(there)) => number(&held) == number(&there),
        (_, Err(error)) => error.kind() != io::ErrorKind::NotFound,
        (Err(_), _) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_writer_is_refused_until_the_first_is_gone() {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let path = folder.path().join("lock");
        assert!(!StateLock::is_taken(&path));
        let first = StateLock::take(&path).expect("nobody holds it");
        assert!(StateLock::is_taken(&path));
        assert!(matches!(StateLock::take(&path), Err(LockError::Taken(_))));
        drop(first);
        assert!(!StateLock::is_taken(&path));
        assert!(StateLock::take(&path).is_ok());
    }

    #[test]
    fn a_lock_file_that_was_removed_changes_nothing_and_a_folder_that_was_replaced_does() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let (state, moved) = (scratch.path().join("state"), scratch.path().join("moved"));
        fs::create_dir(&state).expect("a folder");
        let path = state.join("lock");
        let mut first = StateLock::take(&path).expect("nobody holds it");
        fs::remove_file(&path).expect("our own file");
        assert!(StateLock::is_taken(&path));
        assert!(matches!(StateLock::take(&path), Err(LockError::Taken(_))));
        assert!(first.is_in_place() && path.exists(), "the file is there again");
        fs::rename(&state, &moved).expect("our own folder");
        assert!(!first.is_in_place());
        fs::create_dir(&state).expect("another folder");
        assert!(!first.is_in_place());
        fs::remove_dir_all(&state).expect("our own folder");
        fs::rename(&moved, &state).expect("back again");
        assert!(first.is_in_place());
    }
}
