//! The dashboard, as a browser and as a stranger meet it.

mod browser;
mod duplicates;
pub mod gate;
mod label;
mod add;
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

const PASSWORD: &str = "practice makes perfect";

/// A stage whose daemon serves the dashboard, with a password.
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

/// Presses a button of a walk through a robot: none begins it, `/next`, `/back`, `/end`.
fn press_step(browser: &mut Browser, path: &str) {
    browser.eval("window.isOld = true");
    browser.click(&format!("form[action$='/step{path}'] button"));
    browser.wait_for_load(path);
}

/// The same task once more, under another name.
fn copy_task(stage: &Stage, from: &str, to: &str) {
    for file in ["task.toml", "template.json", "labels.toml"] {
        stage.write(&format!("tasks/{to}/{file}"), &stage.read(&format!("tasks/{from}/{file}")));
    }
}

fn log_in(browser: &mut Browser, url: &str) {
    browser.log_in(url, PASSWORD);
}
