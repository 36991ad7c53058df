//! One writer: whoever holds the lock on the state folder may write the store, everybody else reads.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

/// Held for as long as its owner lives; the kernel lets go of it even after `kill -9`.
pub struct StateLock {
    _held: Flock<File>,
}

#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("another pieme-daemon or `pieme run` is using {0}")]
    Taken(PathBuf),
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: io::Error },
}

impl StateLock {
    pub fn take(path: &Path) -> Result<StateLock, LockError> {
        match try_lock(path, FlockArg::LockExclusiveNonblock)? {
            Some(held) => Ok(StateLock { _held: held }),
            None => Err(LockError::Taken(path.to_owned())),
        }
    }

    /// Somebody holds it now.
    pub fn is_taken(path: &Path) -> bool {
        path.exists() && matches!(try_lock(path, FlockArg::LockSharedNonblock), Ok(None))
    }
}

fn try_lock(path: &Path, how: FlockArg) -> Result<Option<Flock<File>>, LockError> {
    let io_error = |source| LockError::Io { path: path.to_owned(), source };
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(path).map_err(io_error)?;
    match Flock::lock(file, how) {
        Ok(held) => Ok(Some(held)),
        Err((_, Errno::EWOULDBLOCK)) => Ok(None),
        Err((_, error)) => Err(io_error(error.into())),
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
}
