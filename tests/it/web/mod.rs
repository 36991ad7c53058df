//! The dashboard, tested with a real browser and with plain HTTP requests.

mod browser;
mod connection;
mod duplicates;
pub mod gate;
mod label;
mod add;
mod files;
mod frame;
mod looks;
mod marks;
mod numbers;
mod pages;
mod payloads;
mod sheet;
mod touch;
mod walk;

use std::process::{Command, Stdio};

use super::stage::{Said, Stage};
use browser::Browser;

pub const PASSWORD: &str = "practice makes perfect";

/// Starts the stage's daemon with the dashboard and a password; returns its address.
pub fn open(stage: &mut Stage) -> String {
    set_password(stage);
    stage.start_daemon();
    stage.wait_for("the dashboard", || !stage.read("state/web-url").is_empty());
    stage.read("state/web-url").trim().to_owned()
}

fn set_password(stage: &Stage) {
    stage.write("password.txt", &format!("{PASSWORD}\n"));
    let file = std::fs::File::open(stage.path("password.txt")).expect("it was just written");
    let said: Said = Command::new(env!("CARGO_BIN_EXE_pieme"))
        .arg("--config")
        .arg(stage.path("config.toml"))
        .args(["web", "password"])
        .stdin(Stdio::from(file))
        .output()
        .expect("pieme starts")
        .into();
    assert_eq!(said.code, 0, "{}", said.stderr);
}

/// Presses a button of a stepping session: `/next`, `/back`, `/end`; an empty path starts one.
fn press_step(browser: &mut Browser, path: &str) {
    browser.eval("window.isOld = true");
    browser.click(&format!("form[action$='/step{path}'] button"));
    browser.wait_for_load(path);
}

/// Copies a task under another name.
fn copy_task(stage: &Stage, from: &str, to: &str) {
    for file in ["task.toml", "template.json", "labels.toml"] {
        stage.write(&format!("tasks/{to}/{file}"), &stage.read(&format!("tasks/{from}/{file}")));
    }
}

fn log_in(browser: &mut Browser, url: &str) {
    browser.log_in(url, PASSWORD);
}

/// A browser that has logged in.
fn logged_in(url: &str) -> Browser {
    let mut browser = Browser::start();
    log_in(&mut browser, url);
    browser
}

/// With PIEME_SCREENS set to a folder: screenshots of the current page, wide and narrow, light and dark.
fn keep_pictures(browser: &mut Browser, name: &str) {
    let Some(folder) = std::env::var_os("PIEME_SCREENS").map(std::path::PathBuf::from) else { return };
    std::fs::create_dir_all(&folder).expect("a folder");
    for (width, height) in [(1280, 900), (390, 844)] {
        for scheme in ["light", "dark"] {
            browser.size(width, height);
            browser.scheme(scheme);
            let file = folder.join(format!("{name}-{width}-{scheme}.png"));
            std::fs::write(file, browser.picture(width, height)).expect("a picture");
        }
    }
    browser.size(1280, 900);
}

/// The text of a page for a logged-in user.
pub fn page_text(url: &str, path: &str) -> String {
    let mut browser = logged_in(url);
    browser.goto(&format!("{url}{path}"));
    browser.text()
}

/// Waits for the task's first run, then steps through its robot; returns the dashboard's address and all that it
/// showed.
pub fn step_pages(stage: &mut Stage, task: &str, steps: usize) -> (String, String) {
    let url = open(stage);
    stage.wait_for("its first run", || !stage.status(task)["last_run"].is_null());
    let mut browser = logged_in(&url);
    browser.goto(&format!("{url}task/{task}/step"));
    press_step(&mut browser, "");
    let mut seen = String::new();
    for _ in 0..steps {
        press_step(&mut browser, "/next");
        seen.push_str(&browser.text());
        let source = "fetch(document.querySelector('iframe.source')?.src ?? '/').then(it => it.text())";
        seen.push_str(browser.eval(source).as_str().unwrap_or_default());
    }
    press_step(&mut browser, "/end");
    (url, seen)
}
