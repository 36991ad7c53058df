//! The process that becomes Chromium: it confines itself, then executes Chromium, which inherits the rules. Without
//! `unsafe` a child cannot be confined between fork and exec, so this program is executed in between.

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

pub use crate::robot::LAUNCH_BROWSER;
use crate::robot::shell_command_of_browser;
use crate::sandbox::browser::{BrowserAccess, confine};

use super::CANNOT_START;

/// The launcher: `launch-browser PORT PROFILE PROGRAM SWITCHES…`.
pub fn main(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let port = args.next().and_then(|port| port.to_str()?.parse::<u16>().ok());
    let (Some(proxy_port), Some(profile), Some(program)) = (port, args.next(), args.next()) else {
        return ExitCode::from(CANNOT_START);
    };
    let (profile, program) = (PathBuf::from(profile), PathBuf::from(program));
    let problem = match confine(&BrowserAccess { program: &program, profile: &profile, proxy_port }) {
        Ok(()) => {
            let (shell, words) = shell_command_of_browser(&program);
            Command::new(shell).args(words).args(args).exec().to_string()
        }
        Err(problem) => format!("the sandbox around it could not be set up: {problem}"),
    };
    // The run's process reads it and says why there is no browser.
    let _ = writeln!(io::stderr(), "FATAL: {problem}");
    ExitCode::from(CANNOT_START)
}
