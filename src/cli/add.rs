//! `pieme add`: from an address to a task whose columns have names, in one go.
//!
//! The folder is made ready out of sight and appears in `tasks/` whole: who gives up half-way leaves nothing behind.

use std::fs;
use std::path::Path;

use url::Url;

use crate::config::Config;
use crate::daemon::lock::StateLock;
use crate::model::{Outcome, Span, StoreAddress, TaskName};
use crate::taskdir;

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
    let url = address(&args.url)?;
    // Before anything is fetched.
    label::can_choose(&args.picked)?;
    let name = match &args.name {
        Some(name) => super::task_name(name)?,
        None => free_name(config, &url)?,
    };
    let home = config.tasks.join(name.as_str());
    if home.exists() {
        let sentence = format!("there is a task `{name}` already: give another --name, or `pieme label {name}`");
        return Err(Complaint::new(exit::USAGE, sentence));
    }
    let text = task_toml(&url, &args)?;
    let failed =
        |error: &dyn std::fmt::Display| Complaint::new(exit::FAILED, format!("{}: {error}", config.tasks.display()));
    fs::create_dir_all(&config.tasks).map_err(|error| failed(&error))?;
    // Beside its place, so that it can be moved there in one step; what begins with a dot is no task.
    let scratch =
        tempfile::Builder::new().prefix(".adding-").tempdir_in(&config.tasks).map_err(|error| failed(&error))?;
    let aside = out_of_sight(config, scratch.path());
    let made = aside.tasks.join(name.as_str());
    fs::create_dir_all(&made).map_err(|error| failed(&error))?;
    fs::write(made.join("task.toml"), text).map_err(|error| failed(&error))?;

    // Where the file is wrong is said of a file that nobody has seen.
    taskdir::read(&made).map_err(|problem| {
        let message = problem.message.replace("`fetch.allow_private = true` in task.toml", "--allow-private");
        Complaint::new(exit::CONFIG, message)
    })?;
    let verdict = run::now(&aside, &name)?;
    if !matches!(verdict.outcome, Outcome::Published(_) | Outcome::Quarantined(_)) {
        out::note(run::in_words(&name, &verdict));
        return Err(Complaint::new(exit::of(&verdict), format!("no task was made: {}", advice(&verdict.outcome))));
    }
    label::choose(&aside, &name, args.picked, &args.help)?;
    fs::rename(&made, &home).map_err(|error| failed(&error))?;
    out::note(format!("{name}: made in {}, every {}", home.display(), args.every));

    let verdict = run::now(config, &name)?;
    if args.json {
        out::json(&serde_json::json!({ "task": name, "folder": home, "run": verdict }));
    } else {
        out::say(run::in_words(&name, &verdict));
        out::note(next_step(config, &name));
    }
    Ok(exit::of(&verdict))
}

/// Everything as configured, but for what is written.
fn out_of_sight(config: &Config, scratch: &Path) -> Config {
    let state = scratch.join("state");
    Config {
        tasks: scratch.join("tasks"),
        store: StoreAddress::Sqlite(state.join("pieme.db")),
        state,
        ..config.clone()
    }
}

fn next_step(config: &Config, name: &TaskName) -> String {
    if StateLock::is_taken(&config.lock()) {
        format!("the daemon runs it from now on: `pieme status {name}`, `pieme records {name}`")
    } else {
        format!("no daemon is running: start `pieme-daemon` to keep it fresh; the rows: `pieme records {name}`")
    }
}

fn advice(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Empty(_) => "there is no list on that page; one that scripts put together comes with --browser",
        _ => "mend what is said above and add it again; a page behind a log-in wants a robot.toml",
    }
}

/// What people type has no scheme more often than not.
fn address(typed: &str) -> Result<Url, Complaint> {
    let with_scheme = if typed.contains("://") { typed.to_owned() } else { format!("https://{typed}") };
    let refused = |why: String| Complaint::new(exit::USAGE, format!("`{typed}` is no address of a page: {why}"));
    let url = Url::parse(&with_scheme).map_err(|error| refused(error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(refused("it must begin with http:// or https://".to_owned()));
    }
    Ok(url)
}

fn task_toml(url: &Url, args: &Args) -> Result<String, Complaint> {
    if let Err(error) = args.every.parse::<Span>() {
        return Err(Complaint::new(exit::USAGE, format!("--every {}: {error}; write 30m, 6h or 1d", args.every)));
    }
    let mut text =
        format!("url = {}\n\n[schedule]\nevery = \"{}\"\n", toml::Value::String(url.to_string()), args.every);
    let fetch = [(args.browser, "engine = \"browser\"\n"), (args.allow_private, "allow_private = true\n")];
    if fetch.iter().any(|(wanted, _)| *wanted) {
        text.push_str("\n[fetch]\n");
        fetch.iter().filter(|(wanted, _)| *wanted).for_each(|(_, line)| text.push_str(line));
    }
    Ok(text)
}

/// Longer names are cut: they head the columns of tables.
const MAX_NAME: usize = 40;

/// `https://www.example.org/hotels/list.html` as `example-hotels-list`, with a number where that is taken.
fn free_name(config: &Config, url: &Url) -> Result<TaskName, Complaint> {
    let base = name_of(url);
    let numbered = (2..).map(|n| format!("{base}-{n}"));
    let free = std::iter::once(base.clone()).chain(numbered).find(|it| !config.tasks.join(it).exists());
    let name = free.ok_or_else(|| Complaint::new(exit::USAGE, "give it a --name"))?;
    super::task_name(&name)
}

fn name_of(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let host = host.strip_prefix("www.").unwrap_or(host);
    // An address in numbers has no part that says nothing.
    let is_named = matches!(url.host(), Some(url::Host::Domain(_)));
    let site = if is_named { host.rsplit_once('.').map_or(host, |(site, _)| site) } else { host };
    let last = url.path_segments().and_then(|mut parts| parts.rfind(|part| !part.is_empty())).unwrap_or_default();
    let page = last.rsplit_once('.').map_or(last, |(page, _)| page);
    let mut name = String::new();
    for c in format!("{site}-{page}").chars().map(|c| c.to_ascii_lowercase()) {
        let c = if c.is_ascii_alphanumeric() { c } else { '-' };
        if c != '-' || !name.ends_with('-') && !name.is_empty() {
            name.push(c);
        }
    }
    name.truncate(MAX_NAME);
    let name = name.trim_end_matches('-');
    if name.is_empty() { "list".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_made_of_the_address() {
        for (url, name) in [
            ("https://www.example.org/hotels/list.html?page=1", "example-list"),
            ("https://example.co.uk/", "example-co"),
            ("http://127.0.0.1:8080/hotels", "127-0-0-1-hotels"),
            ("http://[::1]/", "1"),
            ("https://xn--bcher-kva.example/B%C3%BCcher", "xn-bcher-kva-b-c3-bccher"),
        ] {
            let made = name_of(&Url::parse(url).expect("an address"));
            assert_eq!(made, name);
            assert!(TaskName::new(&made).is_ok(), "{made} can be a task's name");
        }
    }

    #[test]
    fn an_address_needs_no_scheme() {
        let read = |typed: &str| address(typed).map(|url| url.to_string()).ok();
        assert_eq!(read("example.org/hotels").as_deref(), Some("https://example.org/hotels"));
        assert_eq!(read("http://example.org").as_deref(), Some("http://example.org/"));
        assert_eq!(read("file:///etc/passwd"), None);
        assert_eq!(read("ftp://example.org/x"), None);
    }
}
