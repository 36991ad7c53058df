//! Runs `pieme` in a pseudo-terminal and answers its questions as they appear.

use std::io::{Read, Write};
use std::process::{Command, Stdio};

use super::stage::Stage;

/// Pairs of question and answer.
pub type Answers<'a> = &'a [(&'a str, &'a str)];

/// Runs `pieme WORDS` in a terminal of its own. Each answer is typed as soon as its question is shown. Returns all
/// output.
pub fn typed(stage: &Stage, words: &[&str], answers: Answers<'_>) -> String {
    let (program, config) = (env!("CARGO_BIN_EXE_pieme"), stage.path("config.toml"));
    let command = format!("{program} --config {} {}", config.display(), words.join(" "));
    let mut script = Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("script (util-linux) gives us a terminal");
    let (mut keys, mut screen) =
        (script.stdin.take().expect("it is piped"), script.stdout.take().expect("it is piped"));
    let (mut shown, mut seen) = (Vec::new(), 0);
    let mut answers = answers.iter();
    let mut next = answers.next();
    let mut chunk = [0; 4096];
    while let Ok(read @ 1..) = screen.read(&mut chunk) {
        shown.extend_from_slice(&chunk[..read]);
        while let Some((question, answer)) = next
            && let Some(place) = shown[seen..].windows(question.len()).position(|it| it == question.as_bytes())
        {
            seen += place + question.len();
            keys.write_all(answer.as_bytes()).expect("it reads");
            next = answers.next();
        }
    }
    script.wait().expect("it ends");
    let shown = String::from_utf8_lossy(&shown).into_owned();
    assert_eq!(next, None, "nobody asked that: {shown}");
    shown
}
