//! What the documents promise.

use std::fs;
use std::path::PathBuf;

use pieme::cli::demo;

fn project() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_task_folders_that_come_with_pieme_are_the_ones_in_tasks() {
    let mut files = Vec::new();
    let mut folders = vec![project().join("tasks")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("tasks can be read") {
            let path = entry.expect("an entry of tasks").path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    let mut known: Vec<PathBuf> = demo::FILES.iter().map(|(name, _)| project().join("tasks").join(name)).collect();
    files.sort();
    known.sort();
    assert_eq!(files, known);
}

#[test]
fn the_task_folders_in_tasks_are_sound() {
    for name in ["practice-shop", "practice-orders"] {
        let folder =
            pieme::tasks::read(&project().join("tasks").join(name)).unwrap_or_else(|problem| panic!("{problem}"));
        assert!(folder.template.is_some(), "{name} comes with its template");
    }
}

#[test]
fn every_script_in_the_documents_is_a_good_one() {
    let text = fs::read_to_string(project().join("docs/script.md")).expect("docs/script.md");
    let task = "url = 'https://shop.example/'\nfetch.engine = 'browser'";
    let task: pieme::model::Task = toml::from_str(task).expect("a task");
    let blocks = text.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
    let scripts: Vec<String> = blocks
        .flat_map(|block| match block.contains("[[step]]") {
            true => vec![block.to_owned()],
            false => block.lines().map(|line| format!("[[step]]\nget = \"/\"\n[[step]]\n{line}")).collect(),
        })
        .collect();
    assert!(scripts.len() > 5, "the document has scripts");
    for script in scripts {
        let read: pieme::model::Script = toml::from_str(&script).unwrap_or_else(|error| panic!("{error}\n{script}"));
        assert_eq!(pieme::tasks::check_script(&task, &read), [], "{script}");
    }
}

#[test]
fn the_settings_in_the_document_on_alerts_are_good_ones() {
    let text = fs::read_to_string(project().join("docs/alerts.md")).expect("docs/alerts.md");
    let blocks: Vec<&str> = text.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    let folder = tempfile::tempdir().expect("a scratch folder");
    let [task, config] = blocks[..] else { panic!("a task's settings and the program's: {blocks:?}") };
    let task: pieme::model::Task = toml::from_str(task).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(task.alert.urls.iter().filter(|url| pieme::alert::check(url, None).is_ok()).count(), 2);
    fs::write(folder.path().join("config.toml"), config).expect("a scratch file");
    let config = pieme::config::Config::load(&folder.path().join("config.toml"));
    let config = config.unwrap_or_else(|problem| panic!("{problem}"));
    assert_eq!((config.smtp.port(), config.alert.exec.len()), (587, 1));
}

#[test]
fn the_readme_prints_the_commands_that_are_tested() {
    let readme = fs::read_to_string(project().join("README.md")).expect("README.md");
    for command in ["cargo build --release && target/release/pieme demo", "bash tests/all.sh"] {
        assert!(readme.contains(command), "{command}");
    }
    let ci = fs::read_to_string(project().join(".ci/run")).expect(".ci/run");
    assert!(ci.contains("bash tests/all.sh"), "CI runs the command of the README");
}
