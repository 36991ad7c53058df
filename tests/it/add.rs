//! `pieme add`: creates a task with rows from an address, without editing a file.

use std::fs;

use super::files::{Files, books};
use super::stage::{Said, Stage};
use super::terminal::typed;

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

/// As when the daemon sees the folder of `pieme add` before that asks for the first run.
#[test]
fn a_request_during_the_first_run_of_a_new_folder_is_not_refused() {
    let mut stage = Stage::new();
    stage.start_daemon();
    stage.write_task("slow", "/bad/slow", "[limits]\ntimeout = \"2s\"");
    stage.wait_for_state("slow", "running");
    let said = stage.pieme(&["run", "slow"]);
    assert_eq!(said.code, 124, "{}{}", said.stdout, said.stderr);
    assert!(said.stdout.contains("failed (timeout)"), "{}", said.stdout);
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
            "http://127.0.0.1:1/x is not a public address; to allow it, add `\"127-0-0-1-x\" = [\"127.0.0.1:1\"]` under \
             [private] in config.toml, or type `pieme add http://127.0.0.1:1/x --name 127-0-0-1-x --allow-private`",
        ),
        (vec!["add", &missing, "--yes", "--allow-private"], 1, "no task was made: http"),
        (vec!["add", &no_list, "--yes", "--allow-private"], 1, "the page has no list"),
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

/// A list whose second page is missing, as in a saved copy.
fn saved_list() -> Files {
    Files::serve([("/index.html", books(1, Some("page-2.html")))])
}

#[test]
fn a_list_whose_second_page_is_not_there_becomes_a_task_all_the_same() {
    let (stage, site) = (Stage::new(), saved_list());
    let url = site.url("/index.html");
    let said = stage.pieme(&["add", &url, "--allow-private", "--name", "books", "--yes"]);
    assert_eq!(said.code, 1, "its run fails: {}{}", said.stdout, said.stderr);
    for wanted in ["page-2.html answered with status 404", "--max-pages 1", "`max_pages = 1` under [limits] in"] {
        assert!(said.stderr.contains(wanted), "{wanted}: {}", said.stderr);
    }
    assert_eq!(entries(&stage), ["books"]);
    assert!(stage.path("tasks/books/template.json").is_file() && stage.path("tasks/books/labels.toml").is_file());
    assert_eq!(stage.state("books"), "failed");

    let first = stage.pieme(&["add", &url, "--allow-private", "--name", "first", "--yes", "--max-pages", "1"]);
    assert_eq!(first.code, 0, "{}{}", first.stdout, first.stderr);
    assert!(stage.read("tasks/first/task.toml").contains("[limits]\nmax_pages = 1\n"));
    assert_eq!(rows(&stage, "first"), 20);
    assert_eq!(stage.pieme(&["run", "first"]).code, 0, "and the next run");
}

#[test]
fn who_adds_at_a_terminal_is_offered_the_first_page_only() {
    let (stage, site) = (Stage::new(), saved_list());
    let url = site.url("/index.html");
    let words = ["add", url.as_str(), "--allow-private", "--name", "books"];
    let shown = typed(&stage, &words, &[("> ", "\r"), ("Columns:", "\r"), ("Read page 1 only?", "\r")]);
    assert!(stage.read("tasks/books/task.toml").contains("max_pages = 1"), "{shown}");
    assert_eq!(stage.state("books"), "ok", "{shown}");
    assert_eq!(rows(&stage, "books"), 20);
    assert!(shown.contains("20 rows on this page") && !shown.contains("rows before"), "{shown}");
    assert!(!shown.contains("Runs fail until"), "{shown}");
}

#[test]
fn two_pages_are_read_before_the_question_and_all_of_them_by_the_run() {
    let stage = Stage::new();
    let site = Files::serve([
        ("/page-1.html", books(1, Some("page-2.html"))),
        ("/page-2.html", books(2, Some("page-3.html"))),
        ("/page-3.html", books(3, Some("page-4.html"))),
        ("/page-4.html", books(4, None)),
    ]);
    let url = site.url("/page-1.html");
    let words = ["add", url.as_str(), "--allow-private", "--name", "books"];
    let shown = typed(&stage, &words, &[("> ", "q")]);
    assert!(shown.contains("20 rows on this page") && !shown.contains("rows before"), "there is no before: {shown}");
    assert_eq!(site.asked("/page-"), 2, "{shown}");
    let said = stage.pieme(&[&words[..], &["--yes"]].concat());
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    assert_eq!(rows(&stage, "books"), 80);
    assert_eq!(site.asked("/page-"), 2 + 2 + 4);
}

#[test]
fn robots_txt_can_be_ignored_and_the_refusal_says_how() {
    let stage = Stage::new();
    let site = Files::serve([("/robots.txt", "User-agent: *\nDisallow: /\n".to_owned()), ("/list", books(1, None))]);
    let url = site.url("/list");
    let words = ["add", url.as_str(), "--allow-private", "--name", "books", "--yes"];
    let said = stage.pieme(&words);
    assert_eq!(said.code, 1, "{}", said.stderr);
    assert!(said.stderr.contains("no task was made: the robots.txt of"), "{}", said.stderr);
    assert!(said.stderr.contains("(--ignore-robots)") && !said.stderr.contains("task.toml"), "{}", said.stderr);
    assert_eq!(entries(&stage), Vec::<String>::new());
    let said = stage.pieme(&[&words[..], &["--ignore-robots"]].concat());
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    assert!(stage.read("tasks/books/task.toml").contains("robots_txt = false"));
    assert_eq!(rows(&stage, "books"), 20);
}

#[test]
fn a_task_that_fails_at_its_second_page_can_be_labelled() {
    let (stage, site) = (Stage::new(), saved_list());
    let task = format!("url = \"{}\"\n[fetch]\ndelay = \"0s\"\n", site.url("/index.html"));
    stage.grant_private(&site.url(""));
    stage.write("tasks/books/task.toml", &task);
    assert_eq!(stage.pieme(&["run", "books"]).code, 1);
    let said = stage.pieme(&["label", "books", "--yes", "--no-run"]);
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    stage.write("tasks/books/task.toml", &format!("{}[limits]\nmax_pages = 1\n", stage.read("tasks/books/task.toml")));
    assert_eq!(stage.pieme(&["run", "books"]).code, 0);
    assert_eq!(rows(&stage, "books"), 20);
}
