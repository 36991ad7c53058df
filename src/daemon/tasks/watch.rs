//! Watches tasks/. An event is only a hint to rescan, since notify loses files (docs/design/safety.md 1.3).
//!
//! inotify watches inodes, not paths. Every second the path is compared with the inode that is watched: tasks/ may have
//! been moved, swapped, mounted over, or be a symlink with another target.

use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::{Instant, interval};

use crate::daemon::Event;

/// A new folder must take effect within two seconds.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// When watching failed, it is retried after this long.
const RETRY_AFTER: Duration = Duration::from_secs(2);

/// Watches until dropped.
pub struct FolderWatch(AbortHandle);

impl Drop for FolderWatch {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Sends hints for whatever folder is at the path. A hint dropped by a full inbox is no loss: a rescan sees everything.
pub fn watch(tasks: &Path, events: mpsc::Sender<Event>) -> notify::Result<FolderWatch> {
    let seen = folder_identity(tasks);
    let watcher = start_watcher(tasks, &events)?;
    let follow = FolderWatcher {
        tasks: tasks.to_owned(),
        events,
        watched: seen,
        watcher: Some(watcher),
        retry_at: Instant::now(),
    };
    Ok(FolderWatch(tokio::spawn(follow.run()).abort_handle()))
}

/// The watched folder and its path.
struct FolderWatcher {
    tasks: PathBuf,
    events: mpsc::Sender<Event>,
    /// Device and inode of the watched folder.
    watched: Option<(u64, u64)>,
    watcher: Option<RecommendedWatcher>,
    retry_at: Instant,
}

impl FolderWatcher {
    async fn run(mut self) {
        let mut looks = interval(CHECK_INTERVAL);
        loop {
            looks.tick().await;
            let found = folder_identity(&self.tasks);
            let is_unwatched = found.is_some() && self.watcher.is_none() && Instant::now() >= self.retry_at;
            if found != self.watched || is_unwatched {
                self.switch_to(found);
                let _ = self.events.try_send(Event::FolderHint);
            }
        }
    }

    fn switch_to(&mut self, found: Option<(u64, u64)>) {
        if found != self.watched {
            tracing::info!("{} was replaced or moved; rescanning", self.tasks.display());
        }
        // First stop watching the old folder.
        self.watcher = None;
        self.watched = found;
        self.retry_at = Instant::now() + RETRY_AFTER;
        if found.is_some() {
            match start_watcher(&self.tasks, &self.events) {
                Ok(watcher) => self.watcher = Some(watcher),
                Err(error) => tracing::warn!("watching {} failed: {error}; retrying", self.tasks.display()),
            }
        }
    }
}

/// Device and inode of the folder at a path.
fn folder_identity(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().map(|it| (it.dev(), it.ino()))
}

fn start_watcher(tasks: &Path, events: &mpsc::Sender<Event>) -> notify::Result<RecommendedWatcher> {
    let (root, events) = (tasks.to_owned(), events.clone());
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let worth_a_look = match event {
            Ok(event) => event.need_rescan() || (!event.kind.is_access() && is_task_change(&root, &event.paths)),
            Err(_) => true,
        };
        if worth_a_look {
            let _ = events.try_send(Event::FolderHint);
        }
    })?;
    watcher.watch(tasks, RecursiveMode::Recursive)?;
    Ok(watcher)
}

/// Ignores what pieme itself writes under `.state/` and `samples/` after each run.
fn is_task_change(root: &Path, paths: &[std::path::PathBuf]) -> bool {
    paths.is_empty()
        || paths.iter().any(|path| {
            let inside = path.strip_prefix(root).unwrap_or(path);
            !inside.components().skip(1).any(|part| match part {
                Component::Normal(name) => name == ".state" || name == "samples",
                _ => false,
            })
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_cookies_are_no_reason_to_rescan() {
        let root = Path::new("/srv/tasks");
        for (path, news) in [
            ("/srv/tasks/hotels/task.toml", true),
            ("/srv/tasks/hotels", true),
            ("/srv/tasks/hotels/.state/cookies.json", false),
            ("/srv/tasks/hotels/samples/page-1.html", false),
        ] {
            assert_eq!(is_task_change(root, &[path.into()]), news, "{path}");
        }
    }
}
