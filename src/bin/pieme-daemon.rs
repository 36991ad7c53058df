//! The service. It re-executes itself for each run.

use std::process::ExitCode;

fn main() -> ExitCode {
    let first = std::env::args().nth(1);
    if first.as_deref() == Some(pieme::daemon::spawn::RUN_CHILD) {
        pieme::worker::main()
    } else {
        pieme::cli::service::main()
    }
}
