//! `pieme web password`: sets the password of the dashboard.

use std::io::{self, IsTerminal};

use serde_json::json;

use crate::config::Config;
use crate::web::ADDRESS_FILE;
use crate::web::password::{self, PasswordError};

use super::{CliError, VerbResult, exit, output, prompt};

/// Set the password of the dashboard
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    verb: WebVerb,
}

#[derive(clap::Subcommand)]
enum WebVerb {
    Password(SetPasswordArgs),
}

/// Set the password of the dashboard; all sessions are logged out
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pieme web password                       asks twice, without echo
  pieme web password < password.txt        reads the first line of a file

Only a hash (argon2id) is stored, in state/web-password with mode 0600. A running daemon uses the
new password at once.")]
struct SetPasswordArgs {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn run(config: &Config, args: Args) -> VerbResult {
    match args.verb {
        WebVerb::Password(args) => set(config, &args),
    }
}

fn set(config: &Config, args: &SetPasswordArgs) -> VerbResult {
    let unread = |error: io::Error| CliError::usage(format!("cannot read the password: {error}"));
    let password = if io::stdin().is_terminal() {
        let password = prompt::ask_hidden("Password: ").map_err(unread)?;
        if password != prompt::ask_hidden("Repeat password: ").map_err(unread)? {
            return Err(CliError::usage("the passwords differ; nothing was changed"));
        }
        password
    } else {
        prompt::line().map_err(unread)?
    };
    password::set(config, &password).map_err(|error| match error {
        PasswordError::Length => CliError::usage(format!("{error}; nothing was changed")),
        other => CliError::failed(format!("cannot set the password: {other}")),
    })?;
    if args.json {
        output::json(&json!({ "file": config.web.password, "web": config.web.at }));
    } else {
        output::say(format!("The password is set. While the daemon runs, the dashboard is at {}", address(config)));
    }
    Ok(exit::DONE)
}

/// Address that the running daemon wrote, or else the configured one.
fn address(config: &Config) -> String {
    let told = std::fs::read_to_string(config.state.join(ADDRESS_FILE)).ok();
    told.map_or_else(|| format!("http://{}/", config.web.at), |url| url.trim().to_owned())
}
