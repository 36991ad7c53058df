//! Task folders that a fleet shares through the store, file by file.

use chrono::{DateTime, Utc};

use super::StoreResult;
use crate::model::TaskName;

/// A shared folder, without its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderVersion {
    pub task: TaskName,
    /// Grows with each change.
    pub version: i64,
    pub removed: bool,
}

/// A file of a shared folder, by its path in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedFile {
    pub path: String,
    /// None: the file was deleted.
    pub body: Option<Vec<u8>>,
    pub changed_at: DateTime<Utc>,
}

/// Shared task folders; a store with one writer has none.
pub trait SharedFolders {
    fn folders(&self) -> StoreResult<Vec<FolderVersion>> {
        Ok(Vec::new())
    }

    /// All files of a folder as one snapshot, including deleted ones.
    fn folder(&self, _task: &TaskName) -> StoreResult<Vec<SharedFile>> {
        Ok(Vec::new())
    }

    /// Stores changed files, all or none; returns the folder's new version.
    fn put_folder(&mut self, _task: &TaskName, _files: &[SharedFile]) -> StoreResult<i64> {
        Ok(0)
    }

    /// Marks the folder as removed, for all daemons.
    fn remove_folder(&mut self, _task: &TaskName, _now: DateTime<Utc>) -> StoreResult<i64> {
        Ok(0)
    }
}
