//! Reads what a person types at a prompt, or what a pipe brings.

use std::io::{self, BufRead, Write};

use nix::sys::termios::{LocalFlags, SetArg, tcgetattr, tcsetattr};

/// Asks without echo.
pub(super) fn ask_hidden(question: &str) -> io::Result<String> {
    let mut stderr = io::stderr();
    write!(stderr, "{question}")?;
    stderr.flush()?;
    let stdin = io::stdin();
    let before = tcgetattr(&stdin)?;
    let mut quiet = before.clone();
    quiet.local_flags.remove(LocalFlags::ECHO);
    tcsetattr(&stdin, SetArg::TCSAFLUSH, &quiet)?;
    let read = line();
    tcsetattr(&stdin, SetArg::TCSAFLUSH, &before)?;
    writeln!(stderr)?;
    read
}

/// Asks a question on stderr.
pub(super) fn ask(question: &str) -> io::Result<String> {
    let mut stderr = io::stderr();
    write!(stderr, "{question}")?;
    stderr.flush()?;
    line()
}

/// The next line of stdin, without its line break.
pub(super) fn line() -> io::Result<String> {
    let mut text = String::new();
    io::stdin().lock().read_line(&mut text)?;
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}
