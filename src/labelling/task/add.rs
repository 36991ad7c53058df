//! Adds a task from an address. The folder is prepared in a hidden scratch folder and appears in `tasks/` by one
//! rename: an abandoned attempt leaves nothing behind.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tempfile::TempDir;
use url::Url;

use crate::config::Config;
use crate::model::private_grant::{PRIVATE_TABLE, PrivateGrant};
use crate::model::task::NameError;
use crate::model::{Failure, Outcome, StoreAddress, TaskName, TimeSpan, Verdict};
use crate::tasks;
use crate::tasks::{Problem, TaskFolder};

/// Prefix of the scratch folder. Folders that begin with a dot are not tasks.
const PREFIX: &str = ".adding-";
/// Age from which a scratch folder was left behind by a killed process; nobody takes longer to choose.
const ABANDONED_AFTER: Duration = Duration::from_secs(24 * 3600);
/// Maximum length of a generated name; the status table shows it.
const MAX_NAME: usize = 40;
/// Pages of the trial run before a person is asked: the list, and whether it continues. The first run reads all pages.
const TRIAL_PAGES: u32 = 2;

/// The options of a new task.
pub struct NewTask {
    pub url: Url,
    pub name: TaskName,
    /// How often it runs.
    pub every: String,
    /// Fetch the pages with a browser (`fetch.engine`).
    pub browser: bool,
    /// Ignore the site's robots.txt.
    pub ignore_robots: bool,
    /// Maximum pages of a run; `None`: the default of a task.
    pub max_pages: Option<u32>,
}

#[derive(Debug, thiserror::Error)]
pub enum AddError {
    #[error("`{typed}` is not a web address: {why}")]
    Address { typed: String, why: String },
    #[error("`{typed}` is not a time span: {why}; write 30m, 6h or 1d")]
    Every { typed: String, why: String },
    #[error(transparent)]
    Name(#[from] NameError),
    #[error("there is a task `{0}` already: choose another name, or type `pieme label {0}`")]
    Taken(TaskName),
    /// The address is private, and config.toml does not grant it to the task. The sentence names the line to add.
    #[error("{0}")]
    Private(String),
    #[error("{0}")]
    Problem(String),
    #[error("{path}: {source}", path = .path.display())]
    Io { path: PathBuf, source: io::Error },
    /// The trial run found no list; `sentence` is that of the run.
    #[error("no task was made: {sentence}; {advice}", advice = advice(.outcome))]
    NothingSeen { outcome: Outcome, sentence: String },
}

/// Parses what a person typed; a missing scheme means https.
pub fn address(typed: &str) -> Result<Url, AddError> {
    let typed = typed.trim();
    let with_scheme = if typed.contains("://") { typed.to_owned() } else { format!("https://{typed}") };
    let refused = |why: String| AddError::Address { typed: typed.chars().take(200).collect(), why };
    let url = Url::parse(&with_scheme).map_err(|error| refused(error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(refused("it must begin with http:// or https://".to_owned()));
    }
    Ok(url)
}

/// A task name for an address, `example-list` for `https://www.example.org/hotels/list.html`; numbered if it is taken.
pub fn free_name(config: &Config, url: &Url) -> Result<TaskName, AddError> {
    let base = name_of(url);
    let numbered = (2..).map(|n| format!("{base}-{n}"));
    let free = std::iter::once(base.clone()).chain(numbered).find(|it| !config.tasks.join(it).exists());
    Ok(TaskName::new(&free.unwrap_or(base))?)
}

/// Fails if there is a task of this name.
pub fn check_free(config: &Config, name: &TaskName) -> Result<(), AddError> {
    if config.tasks.join(name.as_str()).exists() { Err(AddError::Taken(name.clone())) } else { Ok(()) }
}

/// Writes the grant for a private address into config.toml, unless there is one. Returns what was written.
pub fn grant_private(config: &Config, name: &TaskName, url: &Url) -> Result<Option<String>, Problem> {
    let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else { return Ok(None) };
    let entry = format!("{host}:{port}");
    let granted = config.grants.current().addresses_of(name).granted;
    if entry.parse::<PrivateGrant>().is_ok_and(|entry| granted.contains(&entry)) {
        return Ok(None);
    }
    config.grant_private(name, &entry)?;
    Ok(Some(entry))
}

/// A task in a scratch folder on the same file system as `tasks/`, so that one rename moves it into place.
pub struct TaskDraft {
    pub name: TaskName,
    url: Url,
    /// The configuration, with all written paths in the scratch folder.
    pub config: Config,
    home: PathBuf,
    made: PathBuf,
    /// Deleted when the draft is dropped.
    _scratch: TempDir,
}

impl TaskDraft {
    pub fn new(config: &Config, new: &NewTask) -> Result<TaskDraft, AddError> {
        check_free(config, &new.name)?;
        let home = config.tasks.join(new.name.as_str());
        let text = task_toml(new)?;
        let failed = |source| AddError::Io { path: config.tasks.clone(), source };
        fs::create_dir_all(&config.tasks).map_err(failed)?;
        let scratch = tempfile::Builder::new().prefix(PREFIX).tempdir_in(&config.tasks).map_err(failed)?;
        let aside = trial_config(config, scratch.path());
        let made = aside.tasks.join(new.name.as_str());
        fs::create_dir_all(&made).map_err(failed)?;
        fs::write(made.join(tasks::TASK_FILE), text).map_err(failed)?;
        let (name, url) = (new.name.clone(), new.url.clone());
        let draft = TaskDraft { name, url, config: aside, home, made, _scratch: scratch };
        // Only the message: the position refers to a file that nobody has seen.
        let folder = draft.folder().map_err(|problem| AddError::Problem(problem.message))?;
        config.grants.current().check(&folder).map_err(|problem| {
            let hint = problem.hint.map(|hint| format!("; {hint}")).unwrap_or_default();
            draft.refusal(format!("{}{hint}", problem.message))
        })?;
        Ok(draft)
    }

    pub fn folder(&self) -> Result<TaskFolder, Problem> {
        tasks::read(&self.made)
    }

    /// The folder of the trial run, limited to the first pages.
    pub fn trial(&self) -> Result<TaskFolder, Problem> {
        let mut folder = self.folder()?;
        folder.task.limits.max_pages = folder.task.limits.max_pages.min(TRIAL_PAGES);
        Ok(folder)
    }

    /// Did the trial run find a list? If it failed after the first page, returns why.
    pub fn check(&self, verdict: &Verdict) -> Result<Option<String>, AddError> {
        match verdict.outcome {
            Outcome::Published(_) | Outcome::Quarantined(_) => Ok(None),
            // The second page is fetched only if the first had rows.
            Outcome::Failed(_) if verdict.pages > 0 => Ok(Some(without_task_toml(&verdict.sentence).to_owned())),
            Outcome::Empty(_) | Outcome::Failed(_) if verdict.sentence.contains(PRIVATE_TABLE) => {
                Err(self.refusal(verdict.sentence.clone()))
            }
            outcome @ (Outcome::Empty(_) | Outcome::Failed(_)) => {
                Err(AddError::NothingSeen { outcome, sentence: without_task_toml(&verdict.sentence).to_owned() })
            }
        }
    }

    fn refusal(&self, sentence: String) -> AddError {
        if !sentence.ends_with(PRIVATE_TABLE) {
            return AddError::Problem(sentence);
        }
        let (url, name) = (&self.url, &self.name);
        AddError::Private(format!("{sentence}, or type `pieme add {url} --name {name} --allow-private`"))
    }

    /// Limits the task to the first page.
    pub fn read_first_page_only(&self) -> Result<(), AddError> {
        tasks::set_max_pages(&self.made, 1).map_err(|problem| AddError::Problem(problem.to_string()))
    }

    /// Moves the folder into `tasks/`.
    pub fn move_into_place(self) -> Result<PathBuf, AddError> {
        if self.home.exists() {
            return Err(AddError::Taken(self.name));
        }
        fs::rename(&self.made, &self.home).map_err(|source| AddError::Io { path: self.home.clone(), source })?;
        Ok(self.home)
    }
}

/// Removes scratch folders left behind by killed processes.
pub fn remove_abandoned(tasks: &Path, now: SystemTime) {
    let entries = fs::read_dir(tasks).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX)) {
        let age = entry.metadata().and_then(|meta| meta.modified()).ok().and_then(|at| now.duration_since(at).ok());
        if age.is_some_and(|age| age > ABANDONED_AFTER) && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            // A folder that cannot be removed is harmless.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn trial_config(config: &Config, scratch: &Path) -> Config {
    let state = scratch.join("state");
    Config {
        tasks: scratch.join("tasks"),
        store: StoreAddress::Sqlite(state.join("pieme.db")),
        socket: state.join("control.sock"),
        state,
        ..config.clone()
    }
}

/// The run's sentence without advice about task.toml, which does not exist yet.
fn without_task_toml(sentence: &str) -> &str {
    match sentence.rfind("; ") {
        Some(cut) if sentence[cut..].contains("in task.toml") => &sentence[..cut],
        _ => sentence,
    }
}

fn advice(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Empty(_) => "the page has no list; if scripts build it, fetch it with a browser",
        Outcome::Failed(Failure::RobotsTxt) => "ignore robots.txt only if the site's owner allows it",
        Outcome::Failed(Failure::Login) => "a page behind a login needs a robot.toml: see docs/script.md",
        Outcome::Failed(Failure::Blocked) => "a site that blocks robots may accept a browser",
        Outcome::Failed(Failure::Network | Failure::Tls | Failure::Http) => "check the address, or try again later",
        _ => "write the task folder by hand and raise its limits: see docs/reference/task.md",
    }
}

fn task_toml(new: &NewTask) -> Result<String, AddError> {
    if let Err(error) = new.every.parse::<TimeSpan>() {
        return Err(AddError::Every { typed: new.every.chars().take(40).collect(), why: error.to_string() });
    }
    let mut text =
        format!("url = {}\n\n[schedule]\nevery = \"{}\"\n", toml::Value::String(new.url.to_string()), new.every.trim());
    if let Some(pages) = new.max_pages {
        text.push_str(&format!("\n[limits]\nmax_pages = {pages}\n"));
    }
    let fetch = [(new.browser, "engine = \"browser\"\n"), (new.ignore_robots, "robots_txt = false\n")];
    if fetch.iter().any(|(wanted, _)| *wanted) {
        text.push_str("\n[fetch]\n");
        fetch.iter().filter(|(wanted, _)| *wanted).for_each(|(_, line)| text.push_str(line));
    }
    Ok(text)
}

fn name_of(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let host = host.strip_prefix("www.").unwrap_or(host);
    // An IP address has no top-level domain to remove.
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

    #[test]
    fn advice_about_a_file_that_is_not_there_yet_is_left_out() {
        for (sentence, left) in [
            (
                "robots.txt keeps us away: x; set `fetch.robots_txt = false` in task.toml if that may be",
                "robots.txt keeps us away: x",
            ),
            (
                "https://example.org/ is too large; raise `limits.max_page_bytes` in task.toml",
                "https://example.org/ is too large",
            ),
            (
                "https://example.org/ answered with status 503; try later",
                "https://example.org/ answered with status 503; try later",
            ),
        ] {
            assert_eq!(without_task_toml(sentence), left);
        }
    }

    #[test]
    fn only_what_was_left_behind_long_ago_is_swept() {
        let tasks = tempfile::tempdir().expect("a scratch folder");
        for name in [".adding-x", "hotels"] {
            fs::create_dir(tasks.path().join(name)).expect("a folder");
        }
        remove_abandoned(tasks.path(), SystemTime::now());
        assert!(tasks.path().join(".adding-x").exists(), "somebody may be choosing");
        remove_abandoned(tasks.path(), SystemTime::now() + 2 * ABANDONED_AFTER);
        assert!(!tasks.path().join(".adding-x").exists() && tasks.path().join("hotels").exists());
    }
}
