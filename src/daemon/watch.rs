//! Watches tasks/. An event is only a hint to look: notify loses files (safety.md finding 3), a full rescan is the truth.

use std::path::{Component, Path};

use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc;

use super::Event;

/// Hints come for as long as the watcher is held. What is dropped from a full inbox is no loss: a rescan sees all.
pub fn watch(tasks: &Path, events: mpsc::Sender<Event>) -> notify::Result<RecommendedWatcher> {
    let root = tasks.to_owned();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let worth_a_look = match event {
            Ok(event) => event.need_rescan() || (!event.kind.is_access() && concerns_a_task(&root, &event.paths)),
            Err(_) => true,
        };
        if worth_a_look {
            let _ = events.try_send(Event::FolderHint);
        }
    })?;
    watcher.watch(tasks, RecursiveMode::Recursive)?;
    Ok(watcher)
}

/// What pieme itself writes under `.state/` and `samples/` after each run is no news.
fn concerns_a_task(root: &Path, paths: &[std::path::PathBuf]) -> bool {
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
            assert_eq!(concerns_a_task(root, &[path.into()]), news, "{path}");
        }
    }
}
