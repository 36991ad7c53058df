//! The registry of all task folders. Watcher events are only hints: `rescan` lists the tasks folder, compares the
//! stamps of all files, and parses only what has changed, so that ten thousand folders are scanned quickly.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirEntry};
use std::io;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, ScopedJoinHandle};

use super::folder::{FileStamp, Folder};
use super::{Problem, ROBOT_FILE, TASK_FILE, TEMPLATE_FILE, TaskFolder, check_channels, read};
use crate::alert::Channels;
use crate::model::{TaskName, shortage};

/// Threads of a scan; may be more than there are processors, because they wait for the disk.
const SCAN_THREADS: usize = 8;
/// For fewer folders than this a thread costs more than it saves; a guess, not measured.
const MIN_FOLDERS_PER_THREAD: usize = 64;

#[derive(Debug)]
pub struct TaskRegistry {
    dir: PathBuf,
    entries: BTreeMap<TaskName, RegistryEntry>,
    strays: Vec<Problem>,
    scan_problem: Option<Problem>,
    /// What config.toml provides for alerts; `None` if that is not checked.
    channels: Option<Channels>,
    reader: fn(&Path) -> Result<TaskFolder, Problem>,
}

/// One folder. After a broken edit the last good version is kept.
#[derive(Debug)]
pub struct RegistryEntry {
    /// The last good version; `None` if there never was one.
    pub good: Option<Arc<TaskFolder>>,
    /// What is wrong with the folder now.
    pub problem: Option<Problem>,
    stamps: FolderStamps,
}

/// What happened to a folder since the last scan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FolderChange {
    /// The folder has a first good version.
    Added(TaskName),
    /// The folder has a new good version, or the same one again after a broken edit.
    Edited(TaskName),
    /// The folder is invalid now; an earlier good version stays in use.
    Broken(TaskName),
    /// The folder was removed, or renamed to something that is not a task.
    Removed(TaskName),
}

impl FolderChange {
    pub fn name(&self) -> &TaskName {
        match self {
            FolderChange::Added(name)
            | FolderChange::Edited(name)
            | FolderChange::Broken(name)
            | FolderChange::Removed(name) => name,
        }
    }
}

/// Of task.toml, robot.toml and template.json; `None` if the folder cannot be opened.
type FolderStamps = Option<[Option<FileStamp>; 3]>;

/// A folder that has changed since the last scan.
struct ChangedFolder {
    name: TaskName,
    stamps: FolderStamps,
    read: Result<TaskFolder, Problem>,
}

impl TaskRegistry {
    /// An empty registry; `rescan` fills it.
    pub fn new(tasks_dir: impl Into<PathBuf>) -> TaskRegistry {
        TaskRegistry {
            dir: tasks_dir.into(),
            entries: BTreeMap::new(),
            strays: Vec::new(),
            scan_problem: None,
            channels: None,
            reader: read,
        }
    }

    /// Also checks alert targets: a task that needs a command or mail server which is not among these is broken.
    pub fn with_channels(self, channels: Channels) -> TaskRegistry {
        TaskRegistry { channels: Some(channels), ..self }
    }

    /// Compares the disk with the registry and returns what has changed. If the tasks folder cannot be listed, nothing
    /// changes.
    pub fn rescan(&mut self) -> Vec<FolderChange> {
        let found = match self.list() {
            Ok(found) => found,
            Err(error) => {
                let why = shortage::in_words(&error);
                let problem = Problem::new(&self.dir, format!("the tasks folder cannot be listed: {why}"));
                self.scan_problem = Some(problem.hint("tasks that were read before stay in use"));
                return Vec::new();
            }
        };
        self.scan_problem = None;
        let mut changes = self.remove_missing(&found);
        for look in self.read_changed(found.into_iter().collect()) {
            changes.extend(self.apply(look));
        }
        changes
    }

    pub fn get(&self, name: &TaskName) -> Option<&RegistryEntry> {
        self.entries.get(name)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&TaskName, &RegistryEntry)> {
        self.entries.iter()
    }

    /// Folders whose names are not valid task names.
    pub fn strays(&self) -> &[Problem] {
        &self.strays
    }

    /// Why the last scan could not list the tasks folder or read all of it. Missing folders may then still exist.
    pub fn scan_problem(&self) -> Option<&Problem> {
        self.scan_problem.as_ref()
    }

    fn list(&mut self) -> io::Result<BTreeSet<TaskName>> {
        let mut found = BTreeSet::new();
        let mut strays = Vec::new();
        for item in fs::read_dir(&self.dir)? {
            let item = item?;
            let file_name = item.file_name();
            let name = file_name.to_string_lossy();
            if !is_task_name(&name) || !could_be_a_folder(&item) {
                continue;
            }
            match TaskName::new(&name) {
                Ok(name) => _ = found.insert(name),
                Err(error) => strays.push(
                    Problem::new(&item.path(), error.to_string())
                        .hint("rename the folder; its name is the task's name"),
                ),
            }
        }
        strays.sort_by(|a, b| a.file.cmp(&b.file));
        self.strays = strays;
        Ok(found)
    }

    fn remove_missing(&mut self, found: &BTreeSet<TaskName>) -> Vec<FolderChange> {
        let gone: Vec<TaskName> = self.entries.keys().filter(|name| !found.contains(name)).cloned().collect();
        gone.into_iter()
            .map(|name| {
                self.entries.remove(&name);
                FolderChange::Removed(name)
            })
            .collect()
    }

    /// Reads the changed folders, in several threads: a cold disk serves parallel reads faster, and most of a start
    /// with ten thousand folders is reading them.
    fn read_changed(&self, names: Vec<TaskName>) -> Vec<ChangedFolder> {
        let look = |names: &[TaskName]| {
            names.iter().filter_map(|name| self.read_if_changed(name)).collect::<Vec<ChangedFolder>>()
        };
        let share = names.len().div_ceil(SCAN_THREADS).max(MIN_FOLDERS_PER_THREAD);
        if names.len() <= share {
            return look(&names);
        }
        thread::scope(|threads| {
            let start = |names| thread::Builder::new().spawn_scoped(threads, move || look(names)).ok();
            let shares: Vec<_> = names.chunks(share).map(|names| (names, start(names))).collect();
            // Folders for which no thread could be started are read here.
            let looks = |(names, looker): (&[TaskName], Option<ScopedJoinHandle<'_, Vec<ChangedFolder>>>)| {
                looker.and_then(|it| it.join().ok()).unwrap_or_else(|| look(names))
            };
            shares.into_iter().flat_map(looks).collect()
        })
    }

    fn read_if_changed(&self, name: &TaskName) -> Option<ChangedFolder> {
        let dir = self.dir.join(name.as_str());
        // Stamps are taken before the read, so that a change in between is seen at the next scan.
        let stamps = stamps(&dir);
        let same = stamps.is_some() && self.entries.get(name).is_some_and(|entry| entry.stamps == stamps);
        (!same).then(|| ChangedFolder { name: name.clone(), stamps, read: self.read(&dir) })
    }

    /// A folder that makes pieme panic counts as broken and does not affect the others.
    fn read(&self, dir: &Path) -> Result<TaskFolder, Problem> {
        catch_unwind(|| (self.reader)(dir)).unwrap_or_else(|_| {
            let problem = Problem::new(dir, "pieme panicked while it read this folder");
            Err(problem
                .hint("this is a bug in pieme, please report it; the last good version of the task stays in use"))
        })
    }

    fn apply(&mut self, ChangedFolder { name, stamps, read }: ChangedFolder) -> Option<FolderChange> {
        let before = self.entries.get(&name);
        let good = before.and_then(|entry| entry.good.clone());
        let with_channels = |folder: TaskFolder| match &self.channels {
            Some(channels) => check_channels(&folder, channels).map(|()| folder),
            None => Ok(folder),
        };
        match read.and_then(with_channels) {
            // Not the folder's fault: it keeps its state and is read again at the next scan.
            Err(problem) if problem.is_shortage => {
                self.scan_problem = Some(problem.hint("tasks that were read before stay in use"));
                if let Some(entry) = self.entries.get_mut(&name) {
                    entry.stamps = None;
                }
                None
            }
            Ok(folder) => {
                // A rewritten file with the same content is no change, unless it repairs a broken one.
                let same = before.is_some_and(|entry| entry.problem.is_none()) && good.as_deref() == Some(&folder);
                let change =
                    if good.is_some() { FolderChange::Edited(name.clone()) } else { FolderChange::Added(name.clone()) };
                self.entries.insert(name, RegistryEntry { good: Some(Arc::new(folder)), problem: None, stamps });
                (!same).then_some(change)
            }
            Err(problem) => {
                let same = before.is_some_and(|entry| entry.problem.as_ref() == Some(&problem));
                self.entries.insert(name.clone(), RegistryEntry { good, problem: Some(problem), stamps });
                (!same).then_some(FolderChange::Broken(name))
            }
        }
    }
}

/// Hidden folders, drafts, backup copies of editors and disabled tasks are not tasks.
fn is_task_name(name: &str) -> bool {
    !name.starts_with(['.', '_']) && !name.ends_with('~') && !name.ends_with(".disabled")
}

/// Includes symbolic links, so that they are reported as refused and not silently ignored.
fn could_be_a_folder(item: &DirEntry) -> bool {
    item.file_type().is_ok_and(|kind| kind.is_dir() || kind.is_symlink())
}

fn stamps(dir: &Path) -> FolderStamps {
    let folder = Folder::open(dir).ok()?;
    Some([TASK_FILE, ROBOT_FILE, TEMPLATE_FILE].map(|name| folder.stamp(name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tasks::FileError;

    /// A registry with one good folder, whose task.toml was just edited.
    fn edited() -> (tempfile::TempDir, TaskRegistry, TaskName) {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let file = scratch.path().join("hotels/task.toml");
        fs::create_dir(scratch.path().join("hotels")).expect("a folder");
        fs::write(&file, "url = \"https://example.org/\"\n").expect("a file");
        let mut registry = TaskRegistry::new(scratch.path());
        let name = TaskName::new("hotels").expect("a name");
        assert_eq!(registry.rescan(), [FolderChange::Added(name.clone())]);
        fs::write(&file, "url = \"https://example.org/list\"\n").expect("a file");
        (scratch, registry, name)
    }

    #[test]
    fn a_folder_that_brings_its_reader_down_keeps_the_version_before() {
        let (_scratch, mut registry, name) = edited();
        registry.reader = |_| panic!("on purpose");
        assert_eq!(registry.rescan(), [FolderChange::Broken(name.clone())]);
        let entry = registry.get(&name).expect("it is known");
        assert!(entry.good.is_some() && entry.problem.as_ref().is_some_and(|it| it.message.contains("panicked")));
    }

    #[test]
    fn a_folder_is_not_broken_by_a_shortage_and_is_read_when_that_is_over() {
        let (_scratch, mut registry, name) = edited();
        registry.reader =
            |dir| Err(FileError::Io { path: dir.to_owned(), source: nix::errno::Errno::EMFILE.into() }.into());
        assert_eq!(registry.rescan(), []);
        assert!(registry.get(&name).is_some_and(|it| it.good.is_some() && it.problem.is_none()));
        assert!(
            registry.scan_problem().is_some_and(|it| it.message.contains("LimitNOFILE")),
            "{:?}",
            registry.scan_problem()
        );
        registry.reader = read;
        assert_eq!(registry.rescan(), [FolderChange::Edited(name)]);
        assert_eq!(registry.scan_problem(), None);
    }
}
