//! Task folders: reading, error messages, and edits that keep a person's text.

mod every;
mod registry;
mod texts;
mod writers;

use std::fs;
use std::path::{Path, PathBuf};

use pieme::tasks;
use pieme::tasks::{Problem, TaskFolder};
use tempfile::TempDir;

/// Any template will do here, but it must be one.
pub const TEMPLATE: &str = include_str!("../../tasks/practice-shop/template.json");

/// A tasks folder with one task in it.
struct Scene {
    tasks: TempDir,
}

const SMALLEST: &str = "url = \"https://example.org/list\"\n";

impl Scene {
    fn new() -> Scene {
        Scene { tasks: tempfile::tempdir().expect("a scratch folder") }
    }

    fn with(task_toml: &str) -> Scene {
        let scene = Scene::new();
        scene.write("hotels", "task.toml", task_toml);
        scene
    }

    fn dir(&self, task: &str) -> PathBuf {
        self.tasks.path().join(task)
    }

    fn write(&self, task: &str, file: &str, bytes: impl AsRef<[u8]>) {
        fs::create_dir_all(self.dir(task)).expect("a scratch folder");
        fs::write(self.dir(task).join(file), bytes).expect("a scratch file");
    }

    fn text(&self, file: &str) -> String {
        fs::read_to_string(self.dir("hotels").join(file)).expect("a file of the task")
    }

    fn read(&self) -> Result<TaskFolder, Problem> {
        tasks::read(&self.dir("hotels"))
    }

    /// The whole problem as a person sees it, with the scratch folder left out.
    fn problem(&self) -> String {
        let problem = self.read().expect_err("a problem");
        problem.to_string().replace(&format!("{}/", self.tasks.path().display()), "")
    }
}

#[test]
fn the_smallest_task_is_one_line() {
    let folder = Scene::with(SMALLEST).read().expect("a task");
    assert_eq!(folder.name.as_str(), "hotels");
    assert_eq!(folder.task.url.as_ref().map(|url| url.as_str()), Some("https://example.org/list"));
    assert!(folder.script.steps.is_empty() && folder.template.is_none() && folder.notes.is_empty());
}

#[test]
fn the_example_of_the_manual_is_a_task() {
    let scene = Scene::with(include_str!("tasks/every-key.toml"));
    scene.write("hotels", "robot.toml", "[[step]]\nget = \"https://example.org/login\"\n[[step]]\npaginate = {}\n");
    scene.write("hotels", "template.json", TEMPLATE);
    let folder = scene.read().unwrap_or_else(|problem| panic!("{problem}"));
    assert_eq!(folder.script.steps.len(), 2);
    assert_eq!(folder.template.map(|it| it.text()).as_deref(), Some(TEMPLATE));
    assert_eq!(folder.notes, [""; 0]);
    let scene = Scene::with("url = \"https://example.org/list\"\n[data]\nhistory = \"30d\"\n");
    let folder = scene.read().expect("a task");
    assert!(folder.notes[0].starts_with("data.history without data.key: a record with a changed value"));
}

#[test]
fn a_task_without_an_address_needs_a_robot_that_names_one() {
    let scene = Scene::with("title = \"no address\"\n");
    assert!(scene.problem().starts_with("hotels/task.toml: there is no `url` to start from\n"));
    scene.write("hotels", "robot.toml", "[[step]]\nget = \"/list\"\n");
    assert!(scene.problem().starts_with("hotels/robot.toml:2:7: relative URL without a base\n"));
    scene.write("hotels", "robot.toml", "[[step]]\nget = \"https://example.org/\"\n");
    scene.read().expect("a task");
}

#[test]
fn nothing_in_a_folder_leads_out_of_it_or_blocks() {
    let outside = tempfile::tempdir().expect("a scratch folder");
    fs::write(outside.path().join("task.toml"), SMALLEST).expect("a file");
    let target = outside.path().join("task.toml");
    type Trap<'a> = &'a dyn Fn(&Path);
    let traps: [(&str, Trap<'_>); 4] = [
        ("symbolic link is refused", &|file| std::os::unix::fs::symlink(&target, file).expect("a link")),
        ("not a regular file", &|file| {
            nix::unistd::mkfifo(file, nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
        }),
        ("not a regular file", &|file| fs::create_dir(file).expect("a folder")),
        ("not a regular file", &|file| {
            drop(std::os::unix::net::UnixListener::bind(file).expect("a socket"));
        }),
    ];
    for name in ["task.toml", "robot.toml", "template.json"] {
        for (expected, trap) in &traps {
            let scene = Scene::new();
            fs::create_dir(scene.dir("hotels")).expect("a folder");
            if name != "task.toml" {
                scene.write("hotels", "task.toml", SMALLEST);
            }
            trap(&scene.dir("hotels").join(name));
            assert!(scene.problem().contains(expected), "{name}: {}", scene.problem());
        }
    }
    let scene = Scene::new();
    std::os::unix::fs::symlink(outside.path(), scene.dir("hotels")).expect("a link");
    assert!(scene.problem().contains("symbolic link is refused"), "{}", scene.problem());
}

#[test]
fn a_file_that_anyone_may_write_is_not_believed() {
    use std::os::unix::fs::PermissionsExt;
    let scene = Scene::with(SMALLEST);
    let file = scene.dir("hotels").join("task.toml");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).expect("our own file");
    assert_eq!(
        scene.problem(),
        "hotels/task.toml: refused, because any user of this machine may write here\n  chmod o-w"
    );
    fs::set_permissions(&file, fs::Permissions::from_mode(0o664)).expect("our own file");
    scene.read().expect("a group may");
}

#[test]
fn a_file_beyond_its_limit_is_refused_unread() {
    let scene = Scene::with(&format!("{SMALLEST}# {}\n", "x".repeat(70_000)));
    assert_eq!(scene.problem(), "hotels/task.toml: the file is larger than the limit of 64 kB");
    scene.write("hotels", "task.toml", SMALLEST);
    scene.write("hotels", "template.json", vec![b' '; (4 << 20) + 1]);
    assert_eq!(scene.problem(), "hotels/template.json: the file is larger than the limit of 4096 kB");
}

#[test]
fn a_folder_with_a_name_that_is_no_tasks_is_refused() {
    let scene = Scene::new();
    for name in ["Hotels", "höfe", "a b", "-x"] {
        scene.write(name, "task.toml", SMALLEST);
        let problem = tasks::read(&scene.dir(name)).expect_err("no name for a task");
        assert!(problem.message.contains("cannot be a task's name"), "{problem}");
    }
}
