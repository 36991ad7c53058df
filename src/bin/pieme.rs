//! The one program. As `pieme` it does what a person types, as `pieme-daemon` it is the service.

use std::process::ExitCode;

fn main() -> ExitCode {
    pieme::main()
}
