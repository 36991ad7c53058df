use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(pieme::cli::run())
}
