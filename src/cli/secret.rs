//! `pieme secret`: stores secrets, and says which tasks may use them and where they may be sent.

use std::collections::BTreeSet;
use std::io::{self, IsTerminal, Read};

use serde::Serialize;

use crate::config::secrets::{self, SecretError, SecretSource};
use crate::config::{Config, TaskGlob, edit};
use crate::model::{Origin, OriginError};

use super::{CliError, VerbResult, exit, output, prompt};

/// Store a secret and say which tasks may use it; list or remove secrets
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    verb: SecretVerb,
}

#[derive(clap::Subcommand)]
enum SecretVerb {
    Set(SetSecretArgs),
    List(ListSecretsArgs),
    Rm(RemoveSecretArgs),
}

/// Store the value of ${secret:NAME} and grant it to tasks
///
/// The value is read from stdin, or asked for without echo; it is never an argument. Without a value the stored one
/// stays, and only the grant changes. The value goes into secrets/NAME (mode 0600), the grant into [secret.NAME] of
/// config.toml; tasks and origins are added to those that are there.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pieme secret set shop --task shop --origin https://shop.example       asks for the value
  pieme secret set shop --task 'shop-*' --origin https://shop.example < key.txt
  pieme secret set bot --task shop --origin https://api.telegram.org    a Telegram bot's token
  pieme secret set shop < key.txt                                       a new value, the grant stays

A secret is sent to its origins only: scheme, host and port must be the same.")]
struct SetSecretArgs {
    /// The name, as in ${secret:NAME}
    name: String,
    /// A task that may use it; `*` stands for any characters; repeatable
    #[arg(long, value_name = "TASK", requires = "origin")]
    task: Vec<String>,
    /// Where it may be sent: https://host or https://host:port; repeatable
    #[arg(long, value_name = "ORIGIN", requires = "task")]
    origin: Vec<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// List the secrets: who may use them, where they may be sent, and whether one is missing
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  pieme secret list\n  pieme secret list --json\n\nNo value is ever shown.")]
struct ListSecretsArgs {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Remove a secret and its grant
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  pieme secret rm shop         asks first\n  pieme secret rm shop --yes")]
struct RemoveSecretArgs {
    /// The name, as in ${secret:NAME}
    name: String,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn run(config: &Config, args: Args) -> VerbResult {
    match args.verb {
        SecretVerb::Set(args) => set(config, &args),
        SecretVerb::List(args) => list(config, &args),
        SecretVerb::Rm(args) => remove(config, &args),
    }
}

fn usage(error: impl ToString) -> CliError {
    CliError::new(exit::USAGE, error.to_string())
}

fn set(config: &Config, args: &SetSecretArgs) -> VerbResult {
    let name = &args.name;
    secrets::check_name(name).map_err(usage)?;
    let globs: Vec<TaskGlob> =
        args.task.iter().map(|text| TaskGlob::new(text)).collect::<Result<_, _>>().map_err(usage)?;
    let origins: Vec<Origin> = args
        .origin
        .iter()
        .map(|text| Origin::parse(text))
        .collect::<Result<_, _>>()
        .map_err(|error| usage(format!("{error}; {}", OriginError::HINT)))?;
    let is_reserved = config.grants.current().secret.is_reserved(name);
    if is_reserved && !globs.is_empty() {
        let sentence = format!("config.toml uses the secret `{name}` itself, so it is never given to a task");
        return Err(usage(format!("{sentence}: leave out --task and --origin, or choose another name")));
    }
    if globs.is_empty() && !is_reserved && config.grants.current().secret.get(name).is_none() {
        return Err(usage("say which task may use it and where it may be sent: --task TASK --origin https://host"));
    }
    let value = read_value(config, name)?;
    if !globs.is_empty() {
        let origins: Vec<String> = origins.iter().map(Origin::to_string).collect();
        edit::edit(&config.file, |document| {
            edit::extend_list(document, &["secret", name], "tasks", &args.task);
            edit::extend_list(document, &["secret", name], "origins", &origins);
        })?;
    }
    if let Some(value) = &value {
        secrets::store(config, name, value).map_err(|error| CliError::new(exit::FAILED, error.to_string()))?;
    }
    tell_set(config, args, value.is_some())
}

fn tell_set(config: &Config, args: &SetSecretArgs, is_new: bool) -> VerbResult {
    let config = Config::load(&config.file)?;
    let line = line(&config, &args.name);
    if args.json {
        output::json(&line);
        return Ok(exit::DONE);
    }
    if is_new {
        output::say(format!("Stored in {}.", config.secrets.join(&args.name).display()));
    }
    if !line.tasks.is_empty() {
        let (tasks, origins) = (line.tasks.join(", "), line.origins.join(", "));
        output::say(format!("Tasks that may use it: {tasks}\nSent only to: {origins}"));
    }
    if is_new && secrets::are_copied_at_start() {
        output::say("The service reads secrets when it starts: sudo systemctl restart pieme-daemon");
    }
    Ok(exit::DONE)
}

/// The new value; `None` where the stored one stays.
fn read_value(config: &Config, name: &str) -> Result<Option<String>, CliError> {
    let unread = |error: io::Error| usage(format!("cannot read the value: {error}"));
    let has_value = secrets::source(config, name).is_ok_and(|source| source.is_some());
    let text = if io::stdin().is_terminal() {
        let stays = if has_value { "; empty: the stored one stays" } else { "" };
        prompt::ask_hidden(&format!("Value of `{name}` (not shown{stays}): ")).map_err(unread)?
    } else {
        let mut text = String::new();
        io::stdin().take(secrets::MAX_SECRET_BYTES + 1).read_to_string(&mut text).map_err(unread)?;
        text.trim_end_matches(['\r', '\n']).to_owned()
    };
    if text.len() as u64 > secrets::MAX_SECRET_BYTES {
        return Err(usage("a secret has at most 64 kB"));
    }
    match (text.is_empty(), has_value) {
        (false, _) => Ok(Some(text)),
        (true, true) => Ok(None),
        (true, false) => Err(usage("there is no value on stdin, and none is stored; nothing was changed")),
    }
}

/// A secret as it is listed. Its value is not in it.
#[derive(Serialize)]
struct SecretLine {
    name: String,
    tasks: Vec<String>,
    origins: Vec<String>,
    /// credentials, file or environment
    source: Option<&'static str>,
    missing: bool,
    /// config.toml uses it itself.
    config: bool,
    /// Why it cannot be read.
    trouble: Option<String>,
}

fn line(config: &Config, name: &str) -> SecretLine {
    let grant = config.grants.current().secret.get(name).cloned().unwrap_or_default();
    let source = secrets::source(config, name);
    SecretLine {
        name: name.to_owned(),
        tasks: grant.tasks.iter().map(TaskGlob::to_string).collect(),
        origins: grant.origins.iter().map(Origin::to_string).collect(),
        missing: matches!(source, Ok(None)),
        source: source.as_ref().ok().copied().flatten().map(SecretSource::word),
        config: config.grants.current().secret.is_reserved(name),
        trouble: source.err().map(|error: SecretError| error.to_string()),
    }
}

fn list(config: &Config, args: &ListSecretsArgs) -> VerbResult {
    let mut names: BTreeSet<String> = config.grants.current().secret.names().cloned().collect();
    names.extend(config.grants.current().secret.reserved().cloned());
    names.extend(secrets::stored_names(config));
    let lines: Vec<SecretLine> = names.iter().map(|name| line(config, name)).collect();
    if args.json {
        output::json(&serde_json::json!({ "secrets": lines }));
        return Ok(exit::DONE);
    }
    if lines.is_empty() {
        output::say("No secrets yet: pieme secret set NAME --task TASK --origin https://host");
        return Ok(exit::DONE);
    }
    let rows = lines.into_iter().map(|line| {
        let tasks = if line.config { "(config.toml itself)".to_owned() } else { line.tasks.join(" ") };
        let value = line.trouble.unwrap_or_else(|| line.source.unwrap_or("missing").to_owned());
        let none = |text: String| if text.is_empty() { "none".to_owned() } else { text };
        [line.name, none(tasks), none(line.origins.join(" ")), output::cell(&value, 120)]
    });
    output::say(output::table(&["NAME", "TASKS", "ORIGINS", "VALUE"], rows));
    Ok(exit::DONE)
}

fn remove(config: &Config, args: &RemoveSecretArgs) -> VerbResult {
    let name = &args.name;
    secrets::check_name(name).map_err(usage)?;
    if config.grants.current().secret.is_reserved(name) {
        return Err(usage(format!("config.toml uses the secret `{name}` itself: change that first")));
    }
    let has_file = config.secrets.join(name).symlink_metadata().is_ok();
    let has_grant = config.grants.current().secret.get(name).is_some();
    if !has_file && !has_grant {
        return Err(usage(format!("there is no secret `{name}`; `pieme secret list` lists them")));
    }
    if !args.yes {
        let is_meant = io::stdin().is_terminal()
            && prompt::ask(&format!("Remove the secret `{name}` and its grant? [y/N] "))
                .is_ok_and(|answer| answer.eq_ignore_ascii_case("y"));
        if !is_meant {
            return Err(usage("nothing was removed; say --yes to remove it without a question"));
        }
    }
    if has_grant {
        edit::edit(&config.file, |document| _ = edit::remove(document, &["secret", name]))?;
    }
    secrets::remove(config, name).map_err(|error| CliError::new(exit::FAILED, error.to_string()))?;
    if args.json {
        output::json(&serde_json::json!({ "name": name, "file": has_file, "grant": has_grant }));
    } else {
        let what = [(has_file, "value"), (has_grant, "grant")];
        let what: Vec<&str> = what.into_iter().filter(|(had, _)| *had).map(|(_, word)| word).collect();
        output::say(format!("Removed the {} of `{name}`.", what.join(" and the ")));
    }
    Ok(exit::DONE)
}
