//! `pieme add`: from an address to a task whose columns have names, in one go.

use crate::config::Config;
use crate::daemon::lock::StateLock;
use crate::model::TaskName;
use crate::supervise::add::{self, AddError, Draft, NewTask};

use super::said::HelpArgs;
use super::{Complaint, Done, exit, label, out, run};

/// Make a task of an address: fetch it, choose the list, name its columns
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pieme add https://example.org/hotels                    asks which list it is and what its columns are called
  pieme add example.org/hotels --name hotels --every 6h   with a name and a schedule of its own
  pieme add https://example.org/jobs --yes                the first candidate as it stands
  pieme add https://example.org/jobs --pick 2 --names title,link,place

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
    /// A real browser fetches the pages: for lists that scripts put together
    #[arg(long)]
    browser: bool,
    /// The address is of this machine or of a private network, and rightly so
    #[arg(long)]
    allow_private: bool,
    #[command(flatten)]
    picked: label::Picked,
    #[command(flatten)]
    help: HelpArgs,
    /// Print the outcome of the first run as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(config: &Config, args: Args) -> Done {
    let url = add::address(&args.url)?;
    // Before anything is fetched.
    label::can_choose(&args.picked)?;
    let name = match &args.name {
        Some(name) => super::task_name(name)?,
        None => add::free_name(config, &url)?,
    };
    let Args { every, browser, allow_private, .. } = args;
    let draft = Draft::new(config, &NewTask { url, name: name.clone(), every: every.clone(), browser, allow_private })?;
    let verdict = run::now(&draft.config, &name)?;
    if let Err(nothing) = draft.check(&verdict) {
        out::note(run::in_words(&name, &verdict));
        return Err(Complaint { code: exit::of(&verdict), ..Complaint::from(nothing) });
    }
    label::choose(&draft.config, &name, args.picked, &args.help)?;
    let home = draft.settle()?;
    out::note(format!("{name}: made in {}, every {every}", home.display()));

    let verdict = run::now(config, &name)?;
    if args.json {
        out::json(&serde_json::json!({ "task": name, "folder": home, "run": verdict }));
    } else {
        out::say(run::in_words(&name, &verdict));
        out::note(next_step(config, &name));
    }
    Ok(exit::of(&verdict))
}

impl From<AddError> for Complaint {
    fn from(error: AddError) -> Complaint {
        let (code, hint) = match &error {
            AddError::Address { .. } | AddError::Every { .. } | AddError::Name(_) => (exit::USAGE, ""),
            AddError::Taken(_) => (exit::USAGE, " (--name NAME, `pieme label TASK`)"),
            AddError::Private(_) => (exit::CONFIG, " (--allow-private)"),
            AddError::Problem(_) => (exit::CONFIG, ""),
            AddError::Io { .. } => (exit::FAILED, ""),
            AddError::NothingSeen(_) => (exit::FAILED, " (--browser)"),
        };
        Complaint::new(code, format!("{error}{hint}"))
    }
}

fn next_step(config: &Config, name: &TaskName) -> String {
    if StateLock::is_taken(&config.lock()) {
        format!("the daemon runs it from now on: `pieme status {name}`, `pieme records {name}`")
    } else {
        format!("no daemon is running: start `pieme-daemon` to keep it fresh; the rows: `pieme records {name}`")
    }
}
