//! The program. Called as `pieme` it runs a command, called as `pieme-daemon` it is the service, and with the argument
//! `run-child` it is the child process of one run.

use std::ffi::OsStr;
use std::path::Path;
use std::process::ExitCode;

use pieme::cli::service::DAEMON_NAME;
use pieme::daemon::child::spawn::RUN_CHILD;

fn main() -> ExitCode {
    let mut args = std::env::args_os();
    let called = args.next().unwrap_or_default();
    if args.next().as_deref() == Some(OsStr::new(RUN_CHILD)) {
        pieme::worker::main()
    } else if Path::new(&called).file_name() == Some(OsStr::new(DAEMON_NAME)) {
        pieme::cli::service::main()
    } else {
        pieme::cli::main()
    }
}
