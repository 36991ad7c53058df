//! `pieme add`: from an address to a task whose columns have names, in one go.

use std::path::Path;

use url::Url;

use crate::config::Config;
use crate::daemon::lock::StateLock;
use crate::labelling::task::add;
use crate::labelling::task::add::{AddError, NewTask, TaskDraft};
use crate::model::{Failure, Outcome, TaskName};
use crate::tasks::TASK_FILE;

use super::help_args::HelpArgs;
use super::{CliError, VerbResult, exit, label, output, run};

/// Make a task of an address: fetch it, choose the list, name its columns
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pieme add https://example.org/hotels                   # asks which list it is, and for names
  pieme add example.org/hotels --name hotels --every 6h  # a name and a schedule of its own
  pieme add https://example.org/jobs --yes               # the first candidate as it stands
  pieme add https://example.org/jobs --pick 2 --names title,link,place
  pieme add https://example.org/jobs --max-pages 1       # runs read the first page only

Pages behind a log-in or a form want a robot.toml: see docs/script.md.")]
pub struct Args {
    /// Where the list is
    url: String,
    /// The task's name; default: made of the address
    #[arg(long)]
    name: Option<String>,
    /// How often it runs
    #[arg(long, value_name = "SPAN", default_value = "6h")]
    every: String,
    /// Pages that a run reads at most (limits.max_pages in task.toml); default: 50
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_pages: Option<u32>,
    /// A real browser fetches the pages: for lists that scripts put together
    #[arg(long)]
    browser: bool,
    /// Allow an address on this machine or in a private network
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

pub fn run(config: &Config, args: Args) -> VerbResult {
    let url = add::address(&args.url)?;
    // Before anything is fetched.
    label::can_choose(&args.picked)?;
    let name = match &args.name {
        Some(name) => super::task_name(name)?,
        None => add::free_name(config, &url)?,
    };
    let draft = TaskDraft::new(config, &new_task(&args, url, name.clone()))?;
    let shortfall = trial(&draft)?;
    let is_asked = !args.picked.is_complete();
    label::choose(&draft.config, &name, args.picked, &args.help)?;
    let mut runs_fail = shortfall.is_some();
    if let (Some(sentence), true) = (&shortfall, is_asked) {
        runs_fail = !confirm_first_page_only(&draft, sentence)?;
    }
    let home = draft.move_into_place()?;
    output::note(format!("{name}: made in {}, every {}", home.display(), args.every));

    let verdict = run::run_now(config, &name)?;
    if args.json {
        output::json(&serde_json::json!({ "task": name, "folder": home, "run": verdict, "trial": shortfall }));
    } else {
        output::say(run::in_words(&name, &verdict));
        output::note(next_step(config, &name));
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
        allow_private: args.allow_private,
        ignore_robots: args.ignore_robots,
        max_pages: args.max_pages,
    }
}

/// Reads the first pages, out of sight; says so where the first can be read and the next cannot.
fn trial(draft: &TaskDraft) -> Result<Option<String>, CliError> {
    let verdict = run::run_here(&draft.config, draft.trial()?)?;
    let shortfall =
        draft.check(&verdict).map_err(|error| CliError { code: exit::code_of(&verdict), ..error.into() })?;
    if let Some(sentence) = &shortfall {
        output::note(format!("Page 1 was read. The page after it was not: {}", output::cell(sentence, 2_000)));
    }
    Ok(shortfall)
}

/// Asks whether runs are to leave out what cannot be read.
fn confirm_first_page_only(draft: &TaskDraft, sentence: &str) -> Result<bool, CliError> {
    output::say(format!("\nThe page after page 1 cannot be read: {}", output::cell(sentence, 200)));
    let is_wanted = label::confirm("Read page 1 only? [Enter = yes, n = no: runs fail until that page answers] ")?;
    if is_wanted {
        draft.read_first_page_only()?;
    }
    Ok(is_wanted)
}

fn first_page_only(home: &Path) -> String {
    format!(
        "Runs fail until the page after page 1 answers. To read page 1 only, write `max_pages = 1` under [limits] in \
         {}; `pieme add` writes it with --max-pages 1.",
        home.join(TASK_FILE).display()
    )
}

impl From<AddError> for CliError {
    fn from(error: AddError) -> CliError {
        let code = match &error {
            AddError::Address { .. } | AddError::Every { .. } | AddError::Name(_) | AddError::Taken(_) => exit::USAGE,
            AddError::Private(_) | AddError::Problem(_) => exit::CONFIG,
            AddError::Io { .. } | AddError::NothingSeen { .. } => exit::FAILED,
        };
        CliError::new(code, format!("{error}{}", hint(&error)))
    }
}

/// The option or command that helps.
fn hint(error: &AddError) -> &'static str {
    match error {
        AddError::Taken(_) => " (--name NAME, `pieme label TASK`)",
        AddError::Private(_) => " (--allow-private)",
        AddError::NothingSeen { outcome, .. } => match outcome {
            Outcome::Empty(_) | Outcome::Failed(Failure::Blocked) => " (--browser)",
            Outcome::Failed(Failure::RobotsTxt) => " (--ignore-robots)",
            _ => "",
        },
        AddError::Address { .. }
        | AddError::Every { .. }
        | AddError::Name(_)
        | AddError::Problem(_)
        | AddError::Io { .. } => "",
    }
}

fn next_step(config: &Config, name: &TaskName) -> String {
    if StateLock::is_taken(&config.lock()) {
        format!("the daemon runs it from now on: `pieme status {name}`, `pieme records {name}`")
    } else {
        format!("no daemon is running: start `pieme-daemon` to keep it fresh; the rows: `pieme records {name}`")
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
