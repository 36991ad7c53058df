//! `pieme web`: the dashboard's password.

use std::io::{self, BufRead, IsTerminal, Write};

use nix::sys::termios::{LocalFlags, SetArg, tcgetattr, tcsetattr};
use serde_json::json;

use crate::config::Config;
use crate::web::ADDRESS_FILE;
use crate::web::password::{self, PasswordError};

use super::{CliError, VerbResult, exit, output};

/// The dashboard: set its password
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    verb: WebVerb,
}

#[derive(clap::Subcommand)]
enum WebVerb {
    Password(SetPasswordArgs),
}

/// Set the dashboard's password; whoever is logged in is logged out
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pieme web password                       asks twice, without showing it
  pieme web password < password.txt        the first line of a file

Only what it is compared with (argon2id) is kept, in state/web-password with mode 0600. A running daemon takes the new one at once.")]
struct SetPasswordArgs {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub fn run(config: &Config, args: Args) -> VerbResult {
    match args.verb {
        WebVerb::Password(args) => set(config, &args),
    }
}

fn set(config: &Config, args: &SetPasswordArgs) -> VerbResult {
    let unread = |error: io::Error| CliError::new(exit::USAGE, format!("no password could be read: {error}"));
    let password = if io::stdin().is_terminal() {
        let password = ask("Password: ").map_err(unread)?;
        if password != ask("Once more: ").map_err(unread)? {
            return Err(CliError::new(exit::USAGE, "the two are not the same; nothing was changed"));
        }
        password
    } else {
        line().map_err(unread)?
    };
    password::set(config, &password).map_err(|error| match error {
        PasswordError::Length => CliError::new(exit::USAGE, format!("{error}; nothing was changed")),
        other => CliError::new(exit::FAILED, format!("the password was not set: {other}")),
    })?;
    if args.json {
        output::json(&json!({ "file": config.web.password, "web": config.web.at }));
    } else {
        output::say(format!("The password is set. The dashboard is at {} while the daemon runs.", address(config)));
    }
    Ok(exit::DONE)
}

/// Where the daemon says that it is, or will be.
fn address(config: &Config) -> String {
    let told = std::fs::read_to_string(config.state.join(ADDRESS_FILE)).ok();
    told.map_or_else(|| format!("http://{}/", config.web.at), |url| url.trim().to_owned())
}

/// What is typed is not shown.
fn ask(question: &str) -> io::Result<String> {
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

fn line() -> io::Result<String> {
    let mut text = String::new();
    io::stdin().lock().read_line(&mut text)?;
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}
