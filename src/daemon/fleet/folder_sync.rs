//! Synchronises the task folders of a fleet through the store, file by file. A file changed here since the last sync is
//! written to the store, whatever stands there; a file changed there is written here. So the last edit of a file wins,
//! and edits of different files all stay. A folder that was deleted is deleted everywhere. An empty tasks/ is filled,
//! never copied to the store. The first time a folder is found on both sides nothing is deleted, and the newer of two
//! files wins.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hasher;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use siphasher::sip128::{Hasher128, SipHasher13};

use crate::model::TaskName;
use crate::store::{FolderVersion, SharedFile, Store, StoreError};
use crate::tasks::shared_files;
use crate::tasks::shared_files::StampedFile;
use crate::tasks::{FileError, TASK_FILE};

/// The folders as of the last sync; kept in a file over restarts.
#[derive(Default)]
pub struct FolderSync {
    tasks: PathBuf,
    memory_file: PathBuf,
    synced: BTreeMap<TaskName, SyncedFolder>,
    /// File stamps of the last comparison; a folder with the same stamps is not read again.
    stamps: BTreeMap<TaskName, Vec<StampedFile>>,
}

/// A folder's version and files when it was last the same here and in the store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct SyncedFolder {
    version: i64,
    /// The digest of each file.
    files: BTreeMap<String, String>,
}

/// Why the folders could not be synchronised.
#[derive(Debug, thiserror::Error)]
pub enum SyncError {
    #[error("{0}")]
    Store(#[from] StoreError),
    #[error("{0}")]
    File(#[from] FileError),
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: std::io::Error },
}

impl FolderSync {
    pub fn open(tasks: &Path, memory_file: &Path) -> FolderSync {
        let read = std::fs::read(memory_file).ok();
        // Without the file every folder counts as found for the first time.
        let known = read.and_then(|json| serde_json::from_slice(&json).ok()).unwrap_or_default();
        let (tasks, memory_file) = (tasks.to_owned(), memory_file.to_owned());
        FolderSync { tasks, memory_file, synced: known, stamps: BTreeMap::new() }
    }

    /// Synchronises tasks/ and the store. Returns the tasks whose folders were deleted.
    pub fn sync(&mut self, store: &mut Store, now: DateTime<Utc>) -> Result<BTreeSet<TaskName>, SyncError> {
        let io_error = |source| SyncError::Io { path: self.tasks.clone(), source };
        let here: BTreeSet<TaskName> = shared_files::names(&self.tasks).map_err(io_error)?.into_iter().collect();
        let heads: BTreeMap<TaskName, FolderVersion> =
            store.folders()?.into_iter().map(|head| (head.task.clone(), head)).collect();
        let before = self.synced.clone();
        let all: BTreeSet<TaskName> = here.iter().chain(heads.keys()).chain(before.keys()).cloned().collect();
        for task in &all {
            let done = self.sync_task(store, task, (here.contains(task), here.is_empty()), heads.get(task), now);
            if let Err(SyncError::File(error)) = &done {
                // An unreadable folder must not stop the sync of the others.
                tracing::warn!(%task, "{task}: synchronising the folder failed: {error}");
                continue;
            }
            done?;
        }
        if self.synced != before {
            self.save_memory()?;
        }
        Ok(heads.into_values().filter(|head| head.removed).map(|head| head.task).collect())
    }

    /// Updates tasks/ from the store, which is only read. Returns how many folders were new or changed.
    pub fn fetch(&self, store: &Store) -> Result<usize, SyncError> {
        let mut fetched = 0;
        for FolderVersion { task, removed, .. } in store.folders()? {
            let (dir, known) = (self.tasks.join(task.as_str()), self.synced.get(&task));
            let here = dir.is_dir();
            // A folder that was deleted here while no daemon ran stays deleted.
            if removed || (!here && known.is_some()) {
                continue;
            }
            if !here {
                shared_files::make_folder(&dir)?;
            }
            let (local, there) = (read_all(&dir, &shared_files::files(&dir)?)?, store.folder(&task)?);
            let ours = match known {
                Some(known) => local_changes(&local, known, true),
                None => newer_local_files(&local, &there, false),
            };
            fetched += usize::from(apply_remote_changes(&dir, &there, &local, &ours)?);
        }
        Ok(fetched)
    }

    fn sync_task(
        &mut self,
        store: &mut Store,
        task: &TaskName,
        (here, empty): (bool, bool),
        head: Option<&FolderVersion>,
        now: DateTime<Utc>,
    ) -> Result<(), SyncError> {
        let known = self.synced.get(task).cloned();
        match (here, head) {
            // The store has no version of it, so it is another store than before.
            (true, None) => self.sync_existing(store, task, None, None),
            (true, head) => self.sync_existing(store, task, known, head),
            (false, Some(there)) if !there.removed && (known.is_none() || empty) => {
                shared_files::make_folder(&self.tasks.join(task.as_str()))?;
                self.sync_existing(store, task, None, head)
            }
            (false, head) => {
                if head.is_some_and(|head| !head.removed) {
                    tracing::info!(%task, "{task}: the folder was deleted here; deleting it in the whole fleet");
                    store.remove_folder(task, now)?;
                }
                self.forget(task);
                Ok(())
            }
        }
    }

    /// Synchronises a folder that exists here and may exist in the store.
    fn sync_existing(
        &mut self,
        store: &mut Store,
        task: &TaskName,
        known: Option<SyncedFolder>,
        head: Option<&FolderVersion>,
    ) -> Result<(), SyncError> {
        let dir = self.tasks.join(task.as_str());
        let stamps = shared_files::files(&dir)?;
        let version = head.map_or(0, |head| head.version);
        let is_same = known.as_ref().is_some_and(|known| known.version == version);
        if is_same && self.stamps.get(task) == Some(&stamps) {
            return Ok(());
        }
        let local = read_all(&dir, &stamps)?;
        let met_before = known.is_some();
        let known = known.unwrap_or_default();
        let mut changed = local_changes(&local, &known, met_before);
        let removed_there = head.is_some_and(|head| head.removed);
        if removed_there && met_before && changed.is_empty() {
            tracing::info!(%task, "{task}: the folder was deleted on another daemon; deleting it here");
            shared_files::remove_folder(&self.tasks, task)?;
            self.forget(task);
            return Ok(());
        }
        let there = if is_same { Vec::new() } else { store.folder(task)? };
        if !met_before || removed_there {
            changed = newer_local_files(&local, &there, removed_there);
        }
        if !there.is_empty() {
            apply_remote_changes(&dir, &there, &local, &changed)?;
        }
        let version = if changed.is_empty() { version } else { store.put_folder(task, &changed)? };
        let stamps = shared_files::files(&dir)?;
        let files = read_all(&dir, &stamps)?.into_iter().map(|(path, file)| (path, file.digest)).collect();
        self.synced.insert(task.clone(), SyncedFolder { version, files });
        self.stamps.insert(task.clone(), stamps);
        Ok(())
    }

    fn forget(&mut self, task: &TaskName) {
        self.synced.remove(task);
        self.stamps.remove(task);
    }

    fn save_memory(&self) -> Result<(), SyncError> {
        let json = serde_json::to_vec(&self.synced).expect("plain data");
        let new = self.memory_file.with_extension("new");
        let written = std::fs::write(&new, json).and_then(|()| std::fs::rename(&new, &self.memory_file));
        written.map_err(|source| SyncError::Io { path: self.memory_file.clone(), source })
    }
}

struct LocalFile {
    body: Vec<u8>,
    digest: String,
    modified: DateTime<Utc>,
}

fn read_all(dir: &Path, stamps: &[StampedFile]) -> Result<BTreeMap<String, LocalFile>, FileError> {
    let mut all = BTreeMap::new();
    for file in stamps {
        let Some((body, modified)) = shared_files::read_file(dir, &file.path)? else { continue };
        let digest = digest(&body);
        all.insert(file.path.clone(), LocalFile { body, digest, modified: modified.into() });
    }
    Ok(all)
}

/// Files that were changed or deleted here since the last sync.
fn local_changes(local: &BTreeMap<String, LocalFile>, known: &SyncedFolder, met_before: bool) -> Vec<SharedFile> {
    let is_new = |(path, file): &(&String, &LocalFile)| known.files.get(*path) != Some(&file.digest);
    let mut changed: Vec<SharedFile> = local.iter().filter(is_new).map(to_shared_file).collect();
    let deleted = known.files.keys().filter(|path| met_before && !local.contains_key(*path));
    changed.extend(deleted.map(|path| SharedFile { path: path.clone(), body: None, changed_at: Utc::now() }));
    changed
}

/// For a folder without an earlier sync: the files that exist only here, or are newer here.
fn newer_local_files(
    local: &BTreeMap<String, LocalFile>,
    there: &[SharedFile],
    removed_there: bool,
) -> Vec<SharedFile> {
    let other = |path: &str| there.iter().find(|file| file.path == path && (file.body.is_some() || !removed_there));
    let wins = |(path, file): &(&String, &LocalFile)| match other(path) {
        None => true,
        Some(other) => other.body.as_ref() != Some(&file.body) && file.modified > other.changed_at,
    };
    local.iter().filter(wins).map(to_shared_file).collect()
}

fn to_shared_file((path, file): (&String, &LocalFile)) -> SharedFile {
    SharedFile { path: path.clone(), body: Some(file.body.clone()), changed_at: file.modified }
}

/// Writes the files that were changed in the store, except where they were changed here too. Returns whether there were
/// any. task.toml comes last: until then the folder is no task.
fn apply_remote_changes(
    dir: &Path,
    there: &[SharedFile],
    local: &BTreeMap<String, LocalFile>,
    changed: &[SharedFile],
) -> Result<bool, FileError> {
    let mut wanted: Vec<&SharedFile> =
        there.iter().filter(|file| changed.iter().all(|ours| ours.path != file.path)).collect();
    wanted.retain(|file| local.get(&file.path).map(|it| &it.body) != file.body.as_ref());
    wanted.sort_by_key(|file| file.path == TASK_FILE);
    for file in &wanted {
        shared_files::write_file(dir, &file.path, file.body.as_deref())?;
    }
    Ok(!wanted.is_empty())
}

fn digest(body: &[u8]) -> String {
    let mut hasher = SipHasher13::new();
    hasher.write(body);
    format!("{:032x}", hasher.finish128().as_u128())
}
