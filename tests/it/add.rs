//! `pieme add`: from an address to a task with rows, without a file being edited.

use std::fs;

use super::stage::{Said, Stage};

fn add(stage: &Stage, more: &[&str]) -> Said {
    let url = stage.url("/products");
    let mut words = vec!["add", url.as_str(), "--allow-private"];
    words.extend_from_slice(more);
    stage.pieme(&words)
}

fn entries(stage: &Stage) -> Vec<String> {
    let found = fs::read_dir(stage.path("tasks")).expect("the tasks folder");
    found.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
}

fn rows(stage: &Stage, task: &str) -> usize {
    stage.pieme(&["records", task, "--json"]).json()["records"].as_array().map_or(0, Vec::len)
}

#[test]
fn an_address_becomes_a_task_with_rows() {
    let stage = Stage::new();
    let said = add(&stage, &["--name", "shop", "--every", "30m", "--yes", "--json"]);
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    let made = said.json();
    assert_eq!(made["task"], "shop");
    assert_eq!(made["run"]["outcome"], "published");
    assert_eq!(entries(&stage), ["shop"], "nothing else is left");
    assert!(stage.read("tasks/shop/task.toml").contains("every = \"30m\""));
    assert!(stage.path("tasks/shop/template.json").is_file() && stage.path("tasks/shop/labels.toml").is_file());
    assert!(rows(&stage, "shop") > 0);
    assert_eq!(stage.state("shop"), "ok", "nobody is asked again");

    let again = add(&stage, &["--name", "shop", "--yes"]);
    assert_eq!(again.code, 2);
    assert!(again.stderr.contains("there is a task `shop` already"), "{}", again.stderr);
}

#[test]
fn a_daemon_takes_it_over_at_once() {
    let mut stage = Stage::new();
    stage.start_daemon();
    let said = add(&stage, &["--yes", "--json"]);
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    let name = said.json()["task"].as_str().expect("a name made of the address").to_owned();
    assert_eq!(name, "127-0-0-1-products");
    assert!(rows(&stage, &name) > 0);
}

#[test]
fn who_gives_up_leaves_nothing_behind() {
    let stage = Stage::new();
    let (missing, no_list) = (stage.url("/bad/404"), stage.url("/bad/nolist"));
    for (words, code, sentence) in [
        (vec!["add", "ftp://example.org/"], 2, "must begin with http"),
        (
            vec!["add", "http://127.0.0.1:1/x", "--yes"],
            78,
            "allow private addresses if that is meant (--allow-private)",
        ),
        (vec!["add", &missing, "--yes", "--allow-private"], 1, "no task was made"),
        (vec!["add", &no_list, "--yes", "--allow-private"], 1, "there is no list on that page"),
        (vec!["add", "http://127.0.0.1:1/x", "--yes", "--every", "often"], 2, "write 30m, 6h or 1d"),
        (vec!["add", &missing, "--allow-private"], 2, "there is no terminal to ask at"),
    ] {
        let said = stage.pieme(&words);
        assert_eq!(said.code, code, "{words:?}: {}{}", said.stdout, said.stderr);
        assert!(said.stderr.contains(sentence), "{words:?}: {}", said.stderr);
    }
    let skipped = add(&stage, &["--pick", "99"]);
    assert_eq!(skipped.code, 2, "{}{}", skipped.stdout, skipped.stderr);
    assert_eq!(entries(&stage), Vec::<String>::new());
}
