//! `pieme add`: fetches a page, lets the person choose the list and name its columns, and creates the task.

use std::path::Path;

use url::Url;

use crate::config::Config;
use crate::daemon::lock::StateLock;
use crate::labelling::task::add;
use crate::labelling::task::add::{AddError, NewTask, TaskDraft};
use crate::model::{Failure, Outcome, TaskName};
use crate::tasks::TASK_FILE;

use super::help_args::HelpArgs;
use super::{CliError, VerbResult, exit, label, output, permissions, run};

/// Create a task: fetch a page, choose its list, name the columns
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pieme add https://example.org/hotels                   # asks for the list and the names
  pieme add example.org/hotels --name hotels --every 6h  # with a name and a schedule
  pieme add https://example.org/jobs --yes               # the first candidate, no questions
  pieme add https://example.org/jobs --pick 2 --names title,link,place
  pieme add https://example.org/jobs --max-pages 1       # runs read the first page only

Pages behind a login or a form need a robot.toml: see docs/script.md.")]
pub(super) struct Args {
    /// Address of the page with the list
    url: String,
    /// Name of the task; default: made from the address
    #[arg(long)]
    name: Option<String>,
    /// How often the task runs
    #[arg(long, value_name = "SPAN", default_value = "6h")]
    every: String,
    /// Largest number of pages a run reads (limits.max_pages in task.toml); default: 50
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_pages: Option<u32>,
    /// Fetch pages with Chromium: for lists that are built by JavaScript
    #[arg(long)]
    browser: bool,
    /// Allow an address on this machine or a private network: adds it to [private] of config.toml
    #[arg(long)]
    allow_private: bool,
    /// Ignore the site's robots.txt (fetch.robots_txt in task.toml); ask the site's owner first
    #[arg(long)]
    ignore_robots: bool,
    #[command(flatten)]
    picked: label::PickArgs,
    #[command(flatten)]
    help: HelpArgs,
    /// Print the outcome of the first run as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(config: &Config, args: Args) -> VerbResult {
    let url = add::address(&args.url)?;
    // Before anything is fetched.
    label::can_choose(&args.picked)?;
    let name = match &args.name {
        Some(name) => super::task_name(name)?,
        None => add::free_name(config, &url)?,
    };
    add::check_free(config, &name)?;
    let granted = if args.allow_private { add::grant_private(config, &name, &url)? } else { None };
    if let Some(entry) = &granted {
        output::note(format!("{name}: {entry} is granted in {} ([private])", config.file.display()));
    }
    // Not earlier: config.toml may belong to root.
    let added = permissions::act_as_owner(config).and_then(|()| create(config, args, url, &name));
    if let (Err(_), Some(entry), false) = (&added, &granted, config.tasks.join(name.as_str()).exists()) {
        take_back(config, &name, entry);
    }
    added
}

/// Takes back the grant for a task that was not created.
fn take_back(config: &Config, name: &TaskName, entry: &str) {
    let file = config.file.display();
    output::note(match config.revoke_private(name, entry) {
        Ok(()) => format!("{name}: {entry} is no longer granted in {file}"),
        // A command that root has started is no longer root.
        Err(_) => format!("{name}: {entry} stays granted in {file}: remove it from `{name}` under [private]"),
    });
}

fn create(config: &Config, args: Args, url: Url, name: &TaskName) -> VerbResult {
    let draft = TaskDraft::new(config, &new_task(&args, url, name.clone()))?;
    let shortfall = trial(&draft)?;
    let is_asked = !args.picked.is_complete();
    label::choose(&draft.config, name, args.picked, &args.help)?;
    let mut runs_fail = shortfall.is_some();
    if let (Some(sentence), true) = (&shortfall, is_asked) {
        runs_fail = !confirm_first_page_only(&draft, sentence)?;
    }
    let home = draft.move_into_place()?;
    output::note(format!("{name}: created in {}, runs every {}", home.display(), args.every));

    let verdict = run::run_now(config, name)?;
    if args.json {
        output::json(&serde_json::json!({ "task": name, "folder": home, "run": verdict, "trial": shortfall }));
    } else {
        output::say(run::in_words(name, &verdict));
        output::note(next_step(config, name));
    }
    if runs_fail {
        output::note(first_page_only(&home));
    }
    Ok(exit::code_of(&verdict))
}

fn new_task(args: &Args, url: Url, name: TaskName) -> NewTask {
    NewTask {
        url,
        name,
        every: args.every.clone(),
        browser: args.browser,
        ignore_robots: args.ignore_robots,
        max_pages: args.max_pages,
    }
}

/// Runs the draft on the first pages without publishing. Returns why the second page failed where only the first was
/// read.
fn trial(draft: &TaskDraft) -> Result<Option<String>, CliError> {
    let verdict = run::run_here(&draft.config, draft.trial()?)?;
    let shortfall =
        draft.check(&verdict).map_err(|error| CliError { code: exit::code_of(&verdict), ..error.into() })?;
    if let Some(sentence) = &shortfall {
        output::note(format!("Page 1 was read. Page 2 was not: {}", output::cell(sentence, 2_000)));
    }
    Ok(shortfall)
}

/// Asks whether runs should read page 1 only.
fn confirm_first_page_only(draft: &TaskDraft, sentence: &str) -> Result<bool, CliError> {
    output::say(format!("\nPage 2 cannot be read: {}", output::cell(sentence, 200)));
    let is_wanted = label::confirm("Read page 1 only? [Enter = yes, n = no: runs fail until page 2 can be read] ")?;
    if is_wanted {
        draft.read_first_page_only()?;
    }
    Ok(is_wanted)
}

fn first_page_only(home: &Path) -> String {
    format!(
        "Runs fail until page 2 can be read. To read page 1 only, write `max_pages = 1` under [limits] in \
         {}; `pieme add` writes it with --max-pages 1.",
        home.join(TASK_FILE).display()
    )
}

impl From<AddError> for CliError {
    fn from(error: AddError) -> CliError {
        // With the option or command that solves the problem.
        let (code, hint) = match &error {
            AddError::Address { .. } | AddError::Every { .. } | AddError::Name(_) => (exit::USAGE, ""),
            AddError::Taken(_) => (exit::USAGE, " (--name NAME, `pieme label TASK`)"),
            AddError::Private(_) | AddError::Problem(_) => (exit::CONFIG, ""),
            AddError::Io { .. } => (exit::FAILED, ""),
            AddError::NothingSeen { outcome, .. } => match outcome {
                Outcome::Empty(_) | Outcome::Failed(Failure::Blocked) => (exit::FAILED, " (--browser)"),
                Outcome::Failed(Failure::RobotsTxt) => (exit::FAILED, " (--ignore-robots)"),
                _ => (exit::FAILED, ""),
            },
        };
        CliError::new(code, format!("{error}{hint}"))
    }
}

fn next_step(config: &Config, name: &TaskName) -> String {
    if StateLock::is_taken(&config.lock()) {
        format!("The daemon runs it from now on. See `pieme status {name}` and `pieme records {name}`.")
    } else {
        format!("The daemon is not running: start `pieme-daemon` to run it on schedule. See `pieme records {name}`.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Emptiness, task::NameError};

    /// Every error that adding can end with.
    fn errors() -> Vec<AddError> {
        let text = || "x".to_owned();
        let nothing = |outcome| AddError::NothingSeen { outcome, sentence: text() };
        let mut all = vec![
            AddError::Address { typed: text(), why: text() },
            AddError::Every { typed: text(), why: text() },
            AddError::Name(NameError::TooLong(99)),
            AddError::Taken(TaskName::new("hotels").expect("a name")),
            AddError::Private(text()),
            AddError::Problem(text()),
            AddError::Io { path: "x".into(), source: std::io::Error::other("x") },
            nothing(Outcome::Empty(Emptiness::NoResults)),
            nothing(Outcome::Empty(Emptiness::Unexpected)),
        ];
        all.extend(Failure::ALL.iter().map(|&failure| nothing(Outcome::Failed(failure))));
        all
    }

    /// The options that a text names, and the commands in backticks.
    fn named(text: &str) -> (Vec<&str>, Vec<&str>) {
        let edge = |c: char| !(c.is_ascii_alphanumeric() || c == '-');
        let options = text.split(edge).filter(|word| word.starts_with("--"));
        let commands = text.split('`').skip(1).step_by(2).filter(|it| it.starts_with("pieme "));
        (options.collect(), commands.collect())
    }

    #[test]
    fn every_option_and_command_in_a_hint_exists() {
        use clap::CommandFactory;
        let cli = super::super::Cli::command();
        let known = |verb: &str| cli.find_subcommand(verb).cloned();
        let has = |verb: &str, option: &str| {
            known(verb).is_some_and(|it| it.get_arguments().any(|arg| arg.get_long() == option.strip_prefix("--")))
        };
        let mut texts: Vec<String> = errors().into_iter().map(|error| CliError::from(error).sentence).collect();
        texts.extend([first_page_only(Path::new("tasks/hotels")), label::NO_TERMINAL.to_owned()]);
        let mut seen = 0;
        for text in &texts {
            let (options, commands) = named(text);
            for option in &options {
                assert!(has("add", option), "`pieme add` has no {option}: {text}");
            }
            for command in &commands {
                let words = command.split(' ').map(|word| if word == "TASK" { "hotels" } else { word });
                let words: Vec<&str> = words.collect();
                let is_bare = known(words[1]).is_some() && words.len() == 2;
                assert!(is_bare || cli.clone().try_get_matches_from(&words).is_ok(), "{command}: {text}");
            }
            seen += options.len() + commands.len();
        }
        assert!(seen >= 6, "{texts:#?}");
    }
}
