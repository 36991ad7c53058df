//! The files of a task folder that a fleet shares: task.toml, robot.toml, templates, labels, samples, item files, and
//! from `.state/` the session, the proposals and what a label replaced. Cached pages and robots.txt files are not
//! shared: they only save a fetch.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::TASK_FILE;
use super::folder::{FileError, FileStamp, Folder, PRIVATE_FILE, PRIVATE_FOLDER, PUBLIC_FILE, PUBLIC_FOLDER};
use super::state::STATE;
use crate::model::TaskName;

/// The size limit of a sample, the largest file that pieme writes.
const MAX_FILE_BYTES: u64 = 64 << 20;
/// Files of one folder that are shared; no task has more.
const MAX_FILES: usize = 2_000;
/// The depth of `.state/before/template.json`.
const MAX_DEPTH: usize = 3;

/// A file, by its path relative to the task folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StampedFile {
    pub path: String,
    pub stamp: FileStamp,
}

/// The names of the task folders in tasks/.
pub fn names(tasks: &Path) -> io::Result<Vec<TaskName>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(tasks)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_off = name.ends_with(".disabled");
        if let (Ok(name), true) = (TaskName::new(&name), entry.file_type()?.is_dir() && !is_off) {
            names.push(name);
        }
    }
    Ok(names)
}

/// The shared files, sorted by path.
pub fn files(dir: &Path) -> Result<Vec<StampedFile>, FileError> {
    let mut found = Vec::new();
    walk(&Folder::open(dir)?, "", 1, &mut found)?;
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

fn walk(folder: &Folder, prefix: &str, depth: usize, found: &mut Vec<StampedFile>) -> Result<(), FileError> {
    let io_error = |source| FileError::Io { path: folder.path().to_owned(), source };
    for entry in fs::read_dir(folder.path()).map_err(io_error)? {
        let entry = entry.map_err(io_error)?;
        // Symbolic links and names that are not UTF-8 are ignored.
        let (Ok(kind), Ok(name)) = (entry.file_type(), entry.file_name().into_string()) else { continue };
        let path = format!("{prefix}{name}");
        if kind.is_dir() && depth < MAX_DEPTH && (path == STATE || !name.starts_with('.')) {
            if let Some(inner) = folder.subfolder(&name)? {
                walk(&inner, &format!("{path}/"), depth + 1, found)?;
            }
        } else if kind.is_file() && is_shared(&path, &name) && found.len() < MAX_FILES {
            found.extend(folder.stamp(&name).map(|stamp| StampedFile { path, stamp }));
        }
    }
    Ok(())
}

fn is_shared(path: &str, name: &str) -> bool {
    let stays_here = path.strip_prefix(".state/").is_some_and(|it| it.starts_with("page") || it.starts_with("robots"));
    !name.starts_with('.') && !name.ends_with('~') && !stays_here
}

/// A file's bytes and modification time; `None` if it was removed meanwhile.
pub fn read_file(dir: &Path, path: &str) -> Result<Option<(Vec<u8>, SystemTime)>, FileError> {
    let Some((folder, name)) = inside(dir, path, false)? else { return Ok(None) };
    let modified = folder.path().join(&name).symlink_metadata().and_then(|meta| meta.modified());
    let bytes = folder.read(&name, MAX_FILE_BYTES)?;
    Ok(bytes.zip(modified.ok()))
}

/// Replaces a file atomically, or deletes it.
pub fn write_file(dir: &Path, path: &str, body: Option<&[u8]>) -> Result<(), FileError> {
    let mode = if path.starts_with(".state/") { PRIVATE_FILE } else { PUBLIC_FILE };
    match (inside(dir, path, body.is_some())?, body) {
        (Some((folder, name)), Some(body)) => folder.replace(&name, body, mode),
        (Some((folder, name)), None) => folder.remove(&name),
        (None, _) => Ok(()),
    }
}

/// The folder and name of a file. The path comes from the store and is not trusted.
fn inside(dir: &Path, path: &str, make: bool) -> Result<Option<(Folder, String)>, FileError> {
    let parts: Vec<&str> = path.split('/').collect();
    let is_plain = |part: &&str| !part.is_empty() && (!part.starts_with('.') || *part == STATE);
    if parts.len() > MAX_DEPTH || !parts.iter().all(is_plain) {
        return Err(FileError::Refused {
            path: dir.join(TASK_FILE),
            what: "the path of a shared file leads out of the folder",
        });
    }
    let mut folder = Folder::open(dir)?;
    for part in &parts[..parts.len() - 1] {
        let mode = if parts[0] == STATE { PRIVATE_FOLDER } else { PUBLIC_FOLDER };
        let inner = if make { Some(folder.make_subfolder(part, mode)?) } else { folder.subfolder(part)? };
        let Some(inner) = inner else { return Ok(None) };
        folder = inner;
    }
    Ok(Some((folder, parts[parts.len() - 1].to_owned())))
}

/// Creates an empty task folder.
pub fn make_folder(dir: &Path) -> Result<(), FileError> {
    fs::create_dir(dir).map_err(|source| FileError::Io { path: dir.to_owned(), source })
}

/// Removes a folder. It is renamed first, so that a half-removed folder is never taken for an edit.
pub fn remove_folder(tasks: &Path, name: &TaskName) -> Result<(), FileError> {
    let (dir, away): (PathBuf, PathBuf) = (tasks.join(name.as_str()), tasks.join(format!(".{name}.removed")));
    let io_error = |source| FileError::Io { path: dir.clone(), source };
    if away.exists() {
        fs::remove_dir_all(&away).map_err(io_error)?;
    }
    fs::rename(&dir, &away).and_then(|()| fs::remove_dir_all(&away)).map_err(io_error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_a_task_is_shared_and_what_only_saves_a_fetch_is_not() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let dir = scratch.path();
        for path in ["task.toml", "samples/1.html", ".state/cookies.json", ".state/before/template.json", "cities.csv"]
        {
            write_file(dir, path, Some(b"x")).expect("written");
        }
        for path in [".state/pages.json", ".state/page-01.zst", ".state/robots.json", "task.toml~", ".task.toml.1.new"]
        {
            fs::write(dir.join(path), "x").expect("a file");
        }
        std::os::unix::fs::symlink("/etc/passwd", dir.join("passwd")).expect("a link");
        let found: Vec<String> = files(dir).expect("files").into_iter().map(|file| file.path).collect();
        let shared =
            [".state/before/template.json", ".state/cookies.json", "cities.csv", "samples/1.html", "task.toml"];
        assert_eq!(found, shared);
        assert_eq!(read_file(dir, "samples/1.html").expect("read").expect("there").0, b"x");
        write_file(dir, "samples/1.html", None).expect("deleted");
        assert_eq!(read_file(dir, "samples/1.html").expect("read"), None);
    }

    #[test]
    fn a_shared_file_leads_nowhere_else() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        for path in ["../x", "/etc/x", "a/../../x", "", ".ssh/x", "a/b/c/d", "a//b"] {
            assert!(write_file(scratch.path(), path, Some(b"x")).is_err(), "{path}");
        }
    }
}
