//! The grants of config.toml, read again when the file has changed: a grant takes effect at the next run, without a
//! restart.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::tasks::{Problem, TomlSource};

use super::file::{RawConfig, read};
use super::grants::Grants;

/// The grants of a configuration, shared by all its copies.
#[derive(Clone, Debug)]
pub struct LiveGrants(Arc<Mutex<LoadedGrants>>);

#[derive(Debug)]
struct LoadedGrants {
    file: PathBuf,
    stamp: Option<ConfigStamp>,
    grants: Grants,
}

/// Differs when the file was edited or replaced.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ConfigStamp {
    file: (u64, u64),
    size: u64,
    modified: (i64, i64),
    /// Also changes when a copy keeps the old modification time.
    changed: (i64, i64),
}

impl ConfigStamp {
    pub(super) fn of(file: &Path) -> Option<ConfigStamp> {
        let meta = fs::metadata(file).ok()?;
        Some(ConfigStamp {
            file: (meta.dev(), meta.ino()),
            size: meta.size(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        })
    }
}

impl LiveGrants {
    /// `stamp` is of before the file was read, so that a change in between is seen.
    pub(super) fn new(file: &Path, stamp: Option<ConfigStamp>, grants: Grants) -> LiveGrants {
        LiveGrants(Arc::new(Mutex::new(LoadedGrants { file: file.to_owned(), stamp, grants })))
    }

    /// The grants as config.toml has them now. If it is broken or gone, those before stay in force.
    pub fn current(&self) -> Grants {
        let mut loaded = self.lock();
        let stamp = ConfigStamp::of(&loaded.file);
        if stamp != loaded.stamp {
            // Also where it is broken: it is reported once.
            loaded.stamp = stamp;
            match load(&loaded.file) {
                Ok(grants) => {
                    let daemon_ports = std::mem::take(&mut loaded.grants.daemon_ports);
                    loaded.grants = Grants { daemon_ports, ..grants };
                    tracing::info!("config.toml has changed; its grants are in force");
                }
                Err(problem) => tracing::warn!("config.toml has changed; the grants before stay in force: {problem}"),
            }
        }
        loaded.grants.clone()
    }

    /// A port on which the daemon listens from now on.
    pub fn add_daemon_port(&self, port: u16) {
        self.lock().grants.daemon_ports.insert(port);
    }

    /// For values that config.toml cannot have.
    #[cfg(test)]
    pub fn replace(&self, grants: Grants) {
        self.lock().grants = grants;
    }

    fn lock(&self) -> MutexGuard<'_, LoadedGrants> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PartialEq for LiveGrants {
    fn eq(&self, other: &LiveGrants) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.current() == other.current()
    }
}

fn load(file: &Path) -> Result<Grants, Problem> {
    let source = TomlSource::new(file.to_owned(), read(file)?)?;
    RawConfig::parse(&source)?.grants(&source)
}
