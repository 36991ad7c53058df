//! Synchronisation of task folders through the store.

use std::fs;
use std::path::{Path, PathBuf};

use chrono::Utc;
use pieme::daemon::fleet::folder_sync::FolderSync;
use pieme::store::Store;

use crate::postgres::{self, Schema};

/// A daemon's folders, and its memory of the last sync.
struct Side {
    folder: tempfile::TempDir,
    store: Store,
    folders: FolderSync,
}

impl Side {
    fn new(schema: &Schema) -> Side {
        let folder = tempfile::tempdir().expect("a scratch folder");
        fs::create_dir(folder.path().join("tasks")).expect("a folder");
        let store = Store::open(schema.address()).expect("a store");
        let folders = Side::open(folder.path());
        Side { folder, store, folders }
    }

    fn open(folder: &Path) -> FolderSync {
        FolderSync::open(&folder.join("tasks"), &folder.join("folders.json"))
    }

    /// A restart: only what is on the disk is kept.
    fn restart(&mut self) {
        self.folders = Side::open(self.folder.path());
    }

    fn path(&self, inside: &str) -> PathBuf {
        self.folder.path().join("tasks").join(inside)
    }

    fn write(&self, inside: &str, text: &str) {
        let path = self.path(inside);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    fn read(&self, inside: &str) -> Option<String> {
        fs::read_to_string(self.path(inside)).ok()
    }

    fn sync(&mut self) {
        self.folders.sync(&mut self.store, Utc::now()).expect("the same on both sides");
    }
}

fn pair() -> (Schema, Side, Side) {
    let schema = postgres::shared().schema();
    let (a, b) = (Side::new(&schema), Side::new(&schema));
    (schema, a, b)
}

#[test]
fn a_folder_dropped_at_one_daemon_is_at_all_of_them() {
    let (_schema, mut a, mut b) = pair();
    a.write("hotels/task.toml", "url = 1");
    a.write("hotels/samples/1.html", "<p>");
    a.write("hotels/.state/cookies.json", "[]");
    a.write("hotels/.state/page-00.zst", "only here");
    a.sync();
    b.sync();
    assert_eq!(b.read("hotels/task.toml").as_deref(), Some("url = 1"));
    assert_eq!(b.read("hotels/samples/1.html").as_deref(), Some("<p>"));
    assert_eq!(b.read("hotels/.state/cookies.json").as_deref(), Some("[]"));
    assert_eq!(b.read("hotels/.state/page-00.zst"), None);
}

#[test]
fn edits_of_different_files_both_stay_and_of_one_file_the_last_wins() {
    let (_schema, mut a, mut b) = pair();
    a.write("hotels/task.toml", "first");
    a.write("hotels/labels.toml", "one");
    a.sync();
    b.sync();
    a.write("hotels/task.toml", "by a");
    b.write("hotels/template.json", "by b");
    b.write("hotels/task.toml", "by b, later");
    fs::remove_file(b.path("hotels/labels.toml")).expect("a file");
    a.sync();
    b.sync();
    a.sync();
    for side in [&a, &b] {
        assert_eq!(side.read("hotels/task.toml").as_deref(), Some("by b, later"));
        assert_eq!(side.read("hotels/template.json").as_deref(), Some("by b"));
        assert_eq!(side.read("hotels/labels.toml"), None, "a deleted file is gone everywhere");
    }
}

#[test]
fn a_deleted_folder_is_gone_everywhere_and_can_come_back() {
    let (_schema, mut a, mut b) = pair();
    a.write("hotels/task.toml", "x");
    a.write("flats/task.toml", "x");
    a.sync();
    b.sync();
    // Also when it was deleted while no daemon ran.
    fs::remove_dir_all(b.path("hotels")).expect("a folder");
    b.restart();
    b.sync();
    a.sync();
    assert!(!a.path("hotels").exists() && a.path("flats").exists());
    a.write("hotels/task.toml", "again");
    a.sync();
    b.sync();
    assert_eq!(b.read("hotels/task.toml").as_deref(), Some("again"));
}

#[test]
fn an_empty_tasks_folder_is_filled_and_never_copied() {
    let (_schema, mut a, mut b) = pair();
    a.write("hotels/task.toml", "x");
    a.sync();
    b.sync();
    // A disk that was not mounted, or a folder that was emptied.
    fs::remove_dir_all(b.path("hotels")).expect("a folder");
    b.sync();
    a.sync();
    for side in [&a, &b] {
        assert_eq!(side.read("hotels/task.toml").as_deref(), Some("x"));
    }
}

#[test]
fn folders_that_meet_for_the_first_time_lose_nothing() {
    let (_schema, mut a, mut b) = pair();
    a.write("hotels/task.toml", "of a");
    a.write("hotels/robot.toml", "only a");
    b.write("hotels/labels.toml", "only b");
    a.sync();
    b.write("hotels/task.toml", "of b, newer");
    b.sync();
    a.sync();
    for side in [&a, &b] {
        assert_eq!(side.read("hotels/task.toml").as_deref(), Some("of b, newer"));
        assert_eq!(side.read("hotels/robot.toml").as_deref(), Some("only a"));
        assert_eq!(side.read("hotels/labels.toml").as_deref(), Some("only b"));
    }
    // For a daemon that has lost its memory the folders are new as well.
    fs::remove_file(b.folder.path().join("folders.json")).expect("a file");
    b.restart();
    b.sync();
    assert_eq!(a.read("hotels/labels.toml").as_deref(), Some("only b"));
}

#[test]
fn what_was_half_written_when_the_daemon_was_killed_is_made_whole() {
    let (_schema, mut a, mut b) = pair();
    for file in ["task.toml", "robot.toml", "template.json"] {
        a.write(&format!("hotels/{file}"), "old");
    }
    a.sync();
    b.sync();
    for file in ["task.toml", "robot.toml", "template.json"] {
        a.write(&format!("hotels/{file}"), "new");
    }
    a.sync();
    // Killed after the first of the three: its memory has none of them.
    b.write("hotels/template.json", "new");
    b.restart();
    b.sync();
    a.sync();
    for side in [&a, &b] {
        for file in ["task.toml", "robot.toml", "template.json"] {
            assert_eq!(side.read(&format!("hotels/{file}")).as_deref(), Some("new"), "{file}");
        }
    }
}

#[test]
fn folders_that_another_store_knew_are_shared_with_a_new_one() {
    let (_schema, mut a, _b) = pair();
    a.write("hotels/task.toml", "url = 1");
    a.sync();
    let other = postgres::shared().schema();
    a.store = Store::open(other.address()).expect("a new store");
    a.restart();
    a.sync();
    let mut b = Side::new(&other);
    b.sync();
    assert_eq!(b.read("hotels/task.toml").as_deref(), Some("url = 1"));
}

#[test]
fn what_is_fetched_comes_from_the_store_and_nothing_goes_there() {
    let (schema, mut a, mut b) = pair();
    a.write("hotels/task.toml", "url = 1");
    a.write("flats/task.toml", "url = 2");
    a.sync();
    b.sync();
    b.write("flats/task.toml", "url = 3");
    b.write("only-here/task.toml", "url = 4");
    a.write("hotels/task.toml", "url = 5");
    a.write("new/task.toml", "url = 6");
    a.sync();
    let versions = || schema.psql("SELECT task, version FROM _folder ORDER BY task");
    let before = versions();
    b.restart();
    assert_eq!(b.folders.fetch(&b.store).expect("fetched"), 2);
    let found = ["hotels", "flats", "only-here", "new"].map(|task| b.read(&format!("{task}/task.toml")));
    assert_eq!(found.map(|it| it.unwrap_or_default()), ["url = 5", "url = 3", "url = 4", "url = 6"]);
    assert_eq!(versions(), before);
    assert_eq!(b.folders.fetch(&b.store).expect("fetched"), 0);
}
