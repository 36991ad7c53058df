//! The program. Called as `pieme` it runs a command, called as `pieme-daemon` it is the service. With the argument
//! `run-child` it is the child process of one run, with `launch-browser` it becomes a confined Chromium, and with
//! `write-files` it writes for a sandboxed command.

use std::ffi::OsStr;
use std::path::Path;
use std::process::ExitCode;

use pieme::cli::file_writer::{self, WRITE_FILES};
use pieme::cli::service::DAEMON_NAME;
use pieme::daemon::child::spawn::RUN_CHILD;
use pieme::worker::browser_launcher::{self, LAUNCH_BROWSER};

fn main() -> ExitCode {
    let mut args = std::env::args_os();
    let called = args.next().unwrap_or_default();
    let first = args.next();
    if first.as_deref() == Some(OsStr::new(RUN_CHILD)) {
        pieme::worker::main()
    } else if first.as_deref() == Some(OsStr::new(LAUNCH_BROWSER)) {
        browser_launcher::main(args)
    } else if first.as_deref() == Some(OsStr::new(WRITE_FILES)) {
        file_writer::main(args)
    } else if Path::new(&called).file_name() == Some(OsStr::new(DAEMON_NAME)) {
        pieme::cli::service::main()
    } else {
        pieme::cli::main()
    }
}
