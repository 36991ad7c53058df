//! The task registry: folders that are added, edited, broken and removed.

use super::*;
use pieme::model::TaskName;
use pieme::tasks::{FolderChange, TaskRegistry};

fn name(text: &str) -> TaskName {
    TaskName::new(text).expect("a good name")
}

/// The changes of a scan: `+a` added, `~a` edited, `!a` broken, `-a` removed.
fn scan(registry: &mut TaskRegistry) -> Vec<String> {
    let word = |change| match change {
        FolderChange::Added(name) => format!("+{name}"),
        FolderChange::Edited(name) => format!("~{name}"),
        FolderChange::Broken(name) => format!("!{name}"),
        FolderChange::Removed(name) => format!("-{name}"),
    };
    registry.rescan().into_iter().map(word).collect()
}

#[test]
fn folders_are_added_edited_broken_mended_and_removed() {
    let scene = Scene::new();
    let mut registry = TaskRegistry::new(scene.tasks.path());
    assert_eq!(scan(&mut registry), [""; 0]);
    scene.write("b", "task.toml", SMALLEST);
    scene.write("a", "task.toml", SMALLEST);
    fs::create_dir(scene.dir("c")).expect("a folder");
    assert_eq!(scan(&mut registry), ["+a", "+b", "!c"]);
    assert_eq!(scan(&mut registry), [""; 0]);
    scene.write("a", "robot.toml", "[[step]]\nget = \"/x\"\n");
    scene.write("c", "task.toml", SMALLEST);
    assert_eq!(scan(&mut registry), ["~a", "+c"]);
    scene.write("a", "template.json", super::TEMPLATE);
    assert_eq!(scan(&mut registry), ["~a"]);
    fs::rename(scene.dir("b"), scene.dir("d")).expect("a folder");
    fs::remove_dir_all(scene.dir("c")).expect("a folder");
    assert_eq!(scan(&mut registry), ["-b", "-c", "+d"]);
    fs::rename(scene.dir("d"), scene.dir("d.disabled")).expect("a folder");
    assert_eq!(scan(&mut registry), ["-d"]);
}

#[test]
fn a_broken_edit_keeps_the_version_before_it() {
    let scene = Scene::new();
    scene.write("a", "task.toml", SMALLEST);
    let mut registry = TaskRegistry::new(scene.tasks.path());
    scan(&mut registry);
    scene.write("a", "task.toml", "url = ");
    assert_eq!(scan(&mut registry), ["!a"]);
    assert_eq!(scan(&mut registry), [""; 0]);
    let entry = registry.get(&name("a")).expect("an entry");
    assert!(entry.problem.as_ref().is_some_and(|problem| problem.line == Some(1)));
    assert_eq!(
        entry.good.as_ref().and_then(|good| good.task.url.clone()).map(String::from).as_deref(),
        Some("https://example.org/list")
    );
    fs::remove_file(scene.dir("a").join("task.toml")).expect("a file");
    assert_eq!(scan(&mut registry), ["!a"]);
    assert!(registry.get(&name("a")).is_some_and(|entry| entry.good.is_some()));
    scene.write("a", "task.toml", SMALLEST);
    assert_eq!(scan(&mut registry), ["~a"]);
    assert!(registry.get(&name("a")).is_some_and(|entry| entry.problem.is_none()));
}

#[test]
fn a_file_written_anew_with_the_same_words_is_no_news() {
    let scene = Scene::new();
    scene.write("a", "task.toml", SMALLEST);
    let mut registry = TaskRegistry::new(scene.tasks.path());
    scan(&mut registry);
    scene.write("a", "task.toml.new", format!("{SMALLEST}\n# a comment\n"));
    fs::rename(scene.dir("a").join("task.toml.new"), scene.dir("a").join("task.toml")).expect("a file");
    assert_eq!(scan(&mut registry), [""; 0]);
}

#[test]
fn what_is_not_a_task_is_passed_over_and_what_cannot_be_one_is_named() {
    let scene = Scene::new();
    for name in [".git", "_draft", "old~", "off.disabled", "Upper", "good"] {
        scene.write(name, "task.toml", SMALLEST);
    }
    fs::write(scene.dir("README.md"), "words").expect("a file");
    std::os::unix::fs::symlink(scene.dir("good"), scene.dir("link")).expect("a link");
    let mut registry = TaskRegistry::new(scene.tasks.path());
    assert_eq!(scan(&mut registry), ["+good", "!link"]);
    assert_eq!(registry.iter().count(), 2);
    let strays: Vec<&str> = registry.strays().iter().map(|problem| problem.message.as_str()).collect();
    assert_eq!(strays.len(), 1);
    assert!(strays[0].starts_with("`Upper` cannot be a task's name"), "{strays:?}");
}

#[test]
fn a_tasks_folder_that_cannot_be_listed_removes_nothing() {
    let scene = Scene::new();
    let tasks = scene.dir("tasks");
    fs::create_dir_all(tasks.join("a")).expect("a folder");
    fs::write(tasks.join("a").join("task.toml"), SMALLEST).expect("a file");
    let mut registry = TaskRegistry::new(&tasks);
    assert_eq!(scan(&mut registry), ["+a"]);
    fs::rename(&tasks, scene.dir("elsewhere")).expect("a folder");
    assert_eq!(scan(&mut registry), [""; 0]);
    assert!(registry.scan_problem().is_some() && registry.get(&name("a")).is_some());
    fs::rename(scene.dir("elsewhere"), &tasks).expect("a folder");
    assert_eq!(scan(&mut registry), [""; 0]);
    assert!(registry.scan_problem().is_none());
}
