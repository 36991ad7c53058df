//! Safe access to the files of one folder: symbolic links are not followed, pipes and devices are not waited for, and
//! nothing is read beyond a size limit. Writes replace a file atomically.
//!
//! A folder that is group-writable and has the setgid bit is shared by that group (the service and its users): files
//! made in it are readable and writable for the group. So are subfolders, unless the umask forbids it.

use std::fs::{File, Permissions};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, open, openat, renameat};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat, fstatat, mkdirat};
use nix::unistd::{UnlinkatFlags, unlinkat};

use crate::model::shortage;

pub(super) const PUBLIC_FILE: Mode = Mode::from_bits_truncate(0o644);
pub const PRIVATE_FILE: Mode = Mode::from_bits_truncate(0o600);
pub(super) const PUBLIC_FOLDER: Mode = Mode::from_bits_truncate(0o755);
pub(super) const PRIVATE_FOLDER: Mode = Mode::from_bits_truncate(0o700);

/// Whether a folder with this mode is shared: the group may write, and new files belong to the group.
pub fn is_shared(mode: u32) -> bool {
    let shared = Mode::S_ISGID.union(Mode::S_IWGRP).bits();
    mode & shared == shared
}

const FOLDER_FLAGS: OFlag = OFlag::O_RDONLY.union(OFlag::O_DIRECTORY).union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);
const READ_FLAGS: OFlag =
    OFlag::O_RDONLY.union(OFlag::O_NOFOLLOW).union(OFlag::O_NONBLOCK).union(OFlag::O_NOCTTY).union(OFlag::O_CLOEXEC);
const CREATE_FLAGS: OFlag =
    OFlag::O_WRONLY.union(OFlag::O_CREAT).union(OFlag::O_EXCL).union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);

#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("{}: {what}", path.display())]
    Refused { path: PathBuf, what: &'static str },
    #[error("{}: larger than the limit of {cap} bytes", path.display())]
    TooBig { path: PathBuf, cap: u64 },
    #[error("{}: {}", path.display(), shortage::in_words(source))]
    Io { path: PathBuf, source: io::Error },
}

impl FileError {
    pub fn path(&self) -> &Path {
        match self {
            FileError::Refused { path, .. } | FileError::TooBig { path, .. } | FileError::Io { path, .. } => path,
        }
    }

    /// What is wrong, without the path.
    pub fn reason(&self) -> String {
        match self {
            FileError::Refused { what, .. } => (*what).to_owned(),
            FileError::TooBig { cap, .. } => format!("the file is larger than the limit of {} kB", cap >> 10),
            FileError::Io { source, .. } => shortage::in_words(source),
        }
    }

    /// Whether the error is a shortage of descriptors or memory, and not a fault of the file.
    pub fn is_shortage(&self) -> bool {
        matches!(self, FileError::Io { source, .. } if shortage::shortage(source).is_some())
    }

    pub fn hint(&self) -> Option<&'static str> {
        match self {
            FileError::Refused { what: WRITABLE_BY_ALL, .. } => Some("chmod o-w"),
            FileError::Refused { what: SYMLINK, .. } => Some("put the file or folder itself here"),
            FileError::Refused { .. } | FileError::TooBig { .. } | FileError::Io { .. } => None,
        }
    }
}

const SYMLINK: &str = "a symbolic link is refused: it could lead out of the folder";
const NOT_A_FILE: &str = "not a regular file";
const NOT_A_FOLDER: &str = "not a folder";
const WRITABLE_BY_ALL: &str = "refused, because any user of this machine may write here";

/// Detects a changed file without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStamp {
    modified_ns: (i64, i64),
    /// Also changes when a copy keeps the old modification time.
    changed_ns: (i64, i64),
    size: i64,
    inode: u64,
}

/// An open folder.
#[derive(Debug)]
pub struct Folder {
    fd: OwnedFd,
    path: PathBuf,
    /// The group that shares the folder, if it is shared.
    group: Option<u32>,
}

impl Folder {
    pub fn open(path: &Path) -> Result<Folder, FileError> {
        let fd = open(path, FOLDER_FLAGS, Mode::empty()).map_err(|errno| folder_error(path.to_owned(), errno))?;
        Ok(Folder::new(fd, path.to_owned()))
    }

    fn new(fd: OwnedFd, path: PathBuf) -> Folder {
        let group = fstat(&fd).ok().filter(|stat| is_shared(stat.st_mode)).map(|stat| stat.st_gid);
        Folder { fd, path, group }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A subfolder; `None` if it does not exist.
    pub(super) fn subfolder(&self, name: &str) -> Result<Option<Folder>, FileError> {
        let path = self.path.join(name);
        match openat(&self.fd, name, FOLDER_FLAGS, Mode::empty()) {
            Ok(fd) => Ok(Some(Folder::new(fd, path))),
            Err(Errno::ENOENT) => Ok(None),
            Err(errno) => Err(folder_error(path, errno)),
        }
    }

    /// A subfolder, created if it does not exist.
    pub(super) fn make_subfolder(&self, name: &str, mode: Mode) -> Result<Folder, FileError> {
        // The setgid bit is inherited; the service's unit forbids setting it.
        match mkdirat(&self.fd, name, self.group_mode(mode).unwrap_or(mode)) {
            Ok(()) | Err(Errno::EEXIST) => {}
            Err(errno) => return Err(self.io(name, errno.into())),
        }
        self.subfolder(name)?.ok_or_else(|| self.io(name, Errno::ENOENT.into()))
    }

    /// The mode of new files in a shared folder: the group gets the owner's permissions.
    fn group_mode(&self, mode: Mode) -> Option<Mode> {
        self.group.map(|_| mode | Mode::from_bits_truncate((mode & Mode::S_IRWXU).bits() >> 3))
    }

    /// A file's bytes; `None` if it does not exist.
    pub fn read(&self, name: &str, cap: u64) -> Result<Option<Vec<u8>>, FileError> {
        let Some((file, _)) = self.open_file(name)? else { return Ok(None) };
        self.read_all(file, name, cap).map(Some)
    }

    /// As `read`, for a file that only its owner may access, the owner being this user or root; in a shared folder, for
    /// one that only the group may access.
    pub fn read_private(&self, name: &str, cap: u64) -> Result<Option<Vec<u8>>, FileError> {
        let Some((file, stat)) = self.open_file(name)? else { return Ok(None) };
        let is_shared = self.group == Some(stat.st_gid);
        if stat.st_mode & if is_shared { 0o007 } else { 0o077 } != 0 {
            return Err(self.refused(name, "others may read or write this file; its mode must be 0600"));
        }
        if !is_shared && stat.st_uid != 0 && stat.st_uid != nix::unistd::geteuid().as_raw() {
            return Err(self.refused(name, "this file belongs to another user"));
        }
        self.read_all(file, name, cap).map(Some)
    }

    /// Refuses a world-writable folder.
    pub(super) fn refuse_writable_by_all(&self, path: &Path) -> Result<(), FileError> {
        let stat = fstat(&self.fd).map_err(|errno| FileError::Io { path: path.to_owned(), source: errno.into() })?;
        if stat.st_mode & 0o002 != 0 && stat.st_mode & 0o1000 == 0 {
            return Err(FileError::Refused { path: path.to_owned(), what: WRITABLE_BY_ALL });
        }
        Ok(())
    }

    /// The stamp of a file; `None` if it does not exist or cannot be inspected.
    pub fn stamp(&self, name: &str) -> Option<FileStamp> {
        fstatat(&self.fd, name, AtFlags::AT_SYMLINK_NOFOLLOW).ok().map(|stat| FileStamp {
            modified_ns: (stat.st_mtime, stat.st_mtime_nsec),
            changed_ns: (stat.st_ctime, stat.st_ctime_nsec),
            size: stat.st_size,
            inode: stat.st_ino,
        })
    }

    /// Replaces a file atomically: a reader, or a power cut, finds the old bytes or the new ones. An existing file
    /// keeps its mode, unless the new one must be private.
    pub fn replace(&self, name: &str, bytes: &[u8], mode: Mode) -> Result<(), FileError> {
        static SERIAL: AtomicU64 = AtomicU64::new(0);
        let existing = fstatat(&self.fd, name, AtFlags::AT_SYMLINK_NOFOLLOW).ok().filter(is_file);
        let kept = existing.filter(|_| mode != PRIVATE_FILE).map(|stat| stat.st_mode & 0o777);
        let kept = self.group_mode(mode).map(|mode| mode.bits() | kept.unwrap_or_default()).or(kept);
        let temporary = format!(".{name}.{}.{}.new", std::process::id(), SERIAL.fetch_add(1, Ordering::Relaxed));
        let written = self.write_new(&temporary, bytes, mode, kept).and_then(|()| {
            renameat(&self.fd, temporary.as_str(), &self.fd, name).map_err(|errno| self.io(name, errno.into()))
        });
        if written.is_err() {
            // The first error is reported; a left-over temporary file does no harm.
            let _ = self.remove(&temporary);
        }
        written?;
        nix::unistd::fsync(&self.fd).map_err(|errno| self.io(name, errno.into()))
    }

    pub fn remove(&self, name: &str) -> Result<(), FileError> {
        match unlinkat(&self.fd, name, UnlinkatFlags::NoRemoveDir) {
            Ok(()) | Err(Errno::ENOENT) => Ok(()),
            Err(errno) => Err(self.io(name, errno.into())),
        }
    }

    /// `kept` is a mode that is set regardless of the umask.
    fn write_new(&self, name: &str, bytes: &[u8], mode: Mode, kept: Option<u32>) -> Result<(), FileError> {
        let fd = openat(&self.fd, name, CREATE_FLAGS, mode).map_err(|errno| self.io(name, errno.into()))?;
        let mut file = File::from(fd);
        kept.map_or(Ok(()), |mode| file.set_permissions(Permissions::from_mode(mode)))
            .and_then(|()| file.write_all(bytes))
            .and_then(|()| file.sync_all())
            .map_err(|error| self.io(name, error))
    }

    fn open_file(&self, name: &str) -> Result<Option<(File, FileStat)>, FileError> {
        let fd = match openat(&self.fd, name, READ_FLAGS, Mode::empty()) {
            Ok(fd) => fd,
            Err(Errno::ENOENT) => return Ok(None),
            Err(Errno::ELOOP) => return Err(self.refused(name, SYMLINK)),
            Err(Errno::ENXIO) => return Err(self.refused(name, NOT_A_FILE)),
            Err(errno) => return Err(self.io(name, errno.into())),
        };
        let stat = fstat(&fd).map_err(|errno| self.io(name, errno.into()))?;
        if !is_file(&stat) {
            return Err(self.refused(name, NOT_A_FILE));
        }
        if stat.st_mode & 0o002 != 0 {
            return Err(self.refused(name, WRITABLE_BY_ALL));
        }
        Ok(Some((File::from(fd), stat)))
    }

    fn read_all(&self, file: File, name: &str, cap: u64) -> Result<Vec<u8>, FileError> {
        let mut bytes = Vec::new();
        file.take(cap + 1).read_to_end(&mut bytes).map_err(|error| self.io(name, error))?;
        if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > cap {
            return Err(FileError::TooBig { path: self.path.join(name), cap });
        }
        Ok(bytes)
    }

    fn refused(&self, name: &str, what: &'static str) -> FileError {
        FileError::Refused { path: self.path.join(name), what }
    }

    fn io(&self, name: &str, source: io::Error) -> FileError {
        FileError::Io { path: self.path.join(name), source }
    }
}

fn is_file(stat: &FileStat) -> bool {
    SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT == SFlag::S_IFREG
}

fn folder_error(path: PathBuf, errno: Errno) -> FileError {
    // With O_DIRECTORY the kernel returns ENOTDIR for a symbolic link as well, so the path is inspected again.
    let is_link = path.symlink_metadata().is_ok_and(|meta| meta.file_type().is_symlink());
    match errno {
        Errno::ELOOP | Errno::ENOTDIR if is_link => FileError::Refused { path, what: SYMLINK },
        Errno::ENOTDIR => FileError::Refused { path, what: NOT_A_FOLDER },
        errno => FileError::Io { path, source: errno.into() },
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn folder(mode: u32) -> (tempfile::TempDir, Folder) {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        fs::set_permissions(scratch.path(), Permissions::from_mode(mode)).expect("our own folder");
        let folder = Folder::open(scratch.path()).expect("our own folder");
        (scratch, folder)
    }

    fn mode_of(scratch: &tempfile::TempDir, name: &str) -> u32 {
        scratch.path().join(name).metadata().expect("it is there").permissions().mode() & 0o777
    }

    #[test]
    fn what_is_private_in_a_folder_of_a_group_is_the_groups() {
        for (mode, private, public) in [(0o700, 0o600, 0o644), (0o2750, 0o600, 0o644), (0o2770, 0o660, 0o664)] {
            let (scratch, folder) = folder(mode);
            folder.replace("cookies", b"x", PRIVATE_FILE).expect("written");
            folder.replace("template", b"x", PUBLIC_FILE).expect("written");
            assert_eq!(mode_of(&scratch, "cookies"), private, "in {mode:o}");
            // A mask may take bits away, but not in a shared folder.
            assert_eq!(mode_of(&scratch, "template") & !public, 0, "in {mode:o}");
            assert_eq!(folder.read_private("cookies", 9).expect("read"), Some(b"x".to_vec()), "in {mode:o}");
        }
    }

    #[test]
    fn what_anybody_may_read_is_not_private_in_a_folder_of_a_group_either() {
        let (scratch, folder) = folder(0o2770);
        fs::write(scratch.path().join("cookies"), "x").expect("written");
        fs::set_permissions(scratch.path().join("cookies"), Permissions::from_mode(0o664)).expect("our own file");
        assert!(folder.read_private("cookies", 9).is_err());
    }
}
