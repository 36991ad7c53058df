//! A person at a terminal.

use std::io::Write;
use std::process::{Command, Stdio};

use super::stage::Stage;

/// Types keys into `pieme WORDS` at a terminal of its own; what it showed.
pub fn typed(stage: &Stage, words: &[&str], keys: &str) -> String {
    let (program, config) = (env!("CARGO_BIN_EXE_pieme"), stage.path("config.toml"));
    let command = format!("{program} --config {} {}", config.display(), words.join(" "));
    let mut script = Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("script (util-linux) gives us a terminal");
    script.stdin.take().expect("it is piped").write_all(keys.as_bytes()).expect("it reads");
    String::from_utf8_lossy(&script.wait_with_output().expect("it ends").stdout).into_owned()
}
