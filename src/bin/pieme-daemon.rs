//! `pieme-daemon` in cargo's build folder: executes `pieme` under this name, as the link of an installation does.
//! Contains no code of the library, so that the library is linked and stored once.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let pieme = std::env::current_exe().unwrap_or_default().with_file_name("pieme");
    let error = Command::new(&pieme).arg0("pieme-daemon").args(std::env::args_os().skip(1)).exec();
    // Best effort: stderr may be closed.
    let _ = writeln!(io::stderr(), "pieme-daemon: cannot start {}: {error}", pieme.display());
    ExitCode::FAILURE
}
