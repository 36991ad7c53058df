//! Everything a person does.

use std::process::ExitCode;

fn main() -> ExitCode {
    pieme::cli::main()
}
