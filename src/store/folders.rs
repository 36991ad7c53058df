//! Task folders that daemons share through the store, file by file.

use chrono::{DateTime, Utc};

use super::StoreError;
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

/// Folders that are shared; a store with one writer shares none.
pub trait SharedFolders {
    fn folders(&self) -> Result<Vec<FolderVersion>, StoreError> {
        Ok(Vec::new())
    }

    /// All files of a folder, of one moment, with those that were deleted.
    fn folder(&self, _task: &TaskName) -> Result<Vec<SharedFile>, StoreError> {
        Ok(Vec::new())
    }

    /// Takes in files that have changed, all or none; answers with the folder's new version.
    fn put_folder(&mut self, _task: &TaskName, _files: &[SharedFile]) -> Result<i64, StoreError> {
        Ok(0)
    }

    /// The folder is gone, everywhere.
    fn remove_folder(&mut self, _task: &TaskName, _now: DateTime<Utc>) -> Result<i64, StoreError> {
        Ok(0)
    }
}
