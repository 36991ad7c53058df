//! EDGE: reads config.toml, the settings for all tasks. Relative paths are relative to the folder of config.toml.

mod ceiling;
pub mod edit;
mod file;
mod grants;
mod listen_address;
mod live_grants;
mod private_grants;
mod secret_grants;
pub mod secret_use;
pub mod secrets;
mod settings;
mod state_folder;
pub mod store;
mod task_glob;

use std::env;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use crate::alert::{Channels, Settings, Smtp};
use crate::model::private_grant::private_line;
use crate::model::{PostgresTimeouts, StoreAddress, TaskName, TimeSpan};
use crate::tasks::{Problem, TaskFolder, TomlSource};
use file::{AUTO_BROWSER, RawConfig, read};
use live_grants::ConfigStamp;
use store::StoreTextError;

pub use ceiling::Ceiling;
pub use grants::Grants;
pub use listen_address::ListenAddress;
pub use live_grants::LiveGrants;
pub use secret_grants::{GrantError, SecretGrant, SecretGrants};
pub use settings::{FleetSettings, LogFormat, LogSettings, PageSettings, RetentionSettings, WebSettings};
pub use task_glob::{TaskGlob, TaskGlobError};

const FILE: &str = "config.toml";
const SYSTEM_FILE: &str = "/etc/pieme/config.toml";

/// The environment variable with the path of config.toml, used without `--config`.
pub(crate) const FILE_VARIABLE: &str = "PIEME_CONFIG";

/// The settings of config.toml, with absolute paths.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The path of config.toml itself.
    pub file: PathBuf,
    pub tasks: PathBuf,
    /// The daemon's state folder.
    pub state: PathBuf,
    /// The control socket.
    pub socket: PathBuf,
    /// The database.
    pub store: StoreAddress,
    pub secrets: PathBuf,
    /// The Chromium program, for tasks with `engine = "browser"`; `None`: it is searched for.
    pub browser: Option<PathBuf>,
    pub max_running: u32,
    pub per_host: u32,
    /// How long runs may go on after SIGTERM.
    pub stop_grace: TimeSpan,
    pub log: LogSettings,
    pub web: WebSettings,
    pub pages: PageSettings,
    pub keep: RetentionSettings,
    /// Where `/metrics` and `/healthz` are served; `None`: nowhere.
    pub metrics: Option<SocketAddr>,
    pub alert: Settings,
    pub smtp: Smtp,
    pub fleet: FleetSettings,
    /// Timeouts for PostgreSQL; the store's address contains them too.
    pub postgres: PostgresTimeouts,
    /// What tasks may use besides the public web; all copies of a configuration share it.
    pub grants: LiveGrants,
}

impl Config {
    /// What alerts can use: commands and mail.
    pub fn channels(&self) -> Channels {
        let commands = self.alert.exec.keys().cloned().collect();
        Channels { commands, has_mail_server: !self.smtp.host.is_empty() }
    }

    /// Finds and reads config.toml: `explicit`, else `PIEME_CONFIG`, else ./config.toml, else /etc/pieme/config.toml.
    pub fn find(explicit: Option<&Path>) -> Result<Config, Problem> {
        let found = || [FILE, SYSTEM_FILE].into_iter().map(PathBuf::from).find(|file| file.exists());
        match explicit_file(explicit).or_else(found) {
            Some(file) => Config::load(&file),
            None => Err(Problem::new(Path::new(FILE), "there is no config.toml in this folder and none in /etc/pieme")
                .hint("change to its folder, or name the file: --config FILE, or PIEME_CONFIG=FILE")),
        }
    }

    /// A note when no file was named and two exist: which one is used.
    pub fn shadowed_file_note(explicit: Option<&Path>) -> Option<String> {
        match explicit_file(explicit) {
            Some(_) => None,
            None => shadowed_note(Path::new(FILE), Path::new(SYSTEM_FILE)),
        }
    }

    pub fn load(path: &Path) -> Result<Config, Problem> {
        let stamp = ConfigStamp::of(path);
        let bytes = read(path)?;
        let source = TomlSource::new(path.to_owned(), bytes)?;
        let mut file = RawConfig::parse(&source)?;
        file.alert.exec.append(&mut file.exec);
        file.alert.dashboard = file.web_url.take();
        // `config.toml` alone has an empty parent, which is the current folder.
        let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let folder = whole.parent().unwrap_or(Path::new("/"));
        let state = folder.join(&file.state);
        let secrets = folder.join(&file.secrets);
        let store = match &file.store {
            None => StoreAddress::Sqlite(state.join("pieme.db")),
            Some(text) => store::read(text, folder, &secrets).map_err(|error| store_problem(&source, &error))?,
        };
        let store = store.with_timeouts(PostgresTimeouts { idle_in_transaction: file.fleet.lease, ..file.postgres });
        let grants = LiveGrants::new(&whole, stamp, file.grants(&source)?);
        let metrics = file.metrics.map(ListenAddress::Tcp).unwrap_or(ListenAddress::Off);
        let web = file.web.or(file.dashboard.listen.map(ListenAddress::Tcp)).unwrap_or_default();
        for listen in [&web, &file.search, &metrics] {
            listen.port().into_iter().for_each(|port| grants.add_daemon_port(port));
        }
        Ok(Config {
            tasks: folder.join(&file.tasks),
            socket: folder.join(file.socket.unwrap_or_else(|| state.join("control.sock"))),
            store,
            secrets,
            browser: (file.browser != AUTO_BROWSER).then(|| folder.join(&file.browser)),
            max_running: file.max_running,
            per_host: file.per_host,
            stop_grace: file.stop_grace,
            log: file.log,
            web: WebSettings {
                at: web.relative_to(folder),
                search: file.search.relative_to(folder),
                hosts: file.web_hosts,
                password: state.join("web-password"),
            },
            pages: file.pages,
            keep: file.keep,
            metrics: file.metrics,
            alert: file.alert,
            smtp: file.smtp,
            fleet: file.fleet,
            postgres: file.postgres,
            grants,
            state,
            file: whole,
        })
    }

    /// Writes `"task" = ["host:port"]` under `[private]` of config.toml.
    pub fn grant_private(&self, task: &TaskName, entry: &str) -> Result<(), Problem> {
        let (table, entries) = (private_grants::TABLE, [entry.to_owned()]);
        let written = edit::edit(&self.file, |document| {
            edit::extend_list(document, &[table], task.as_str(), &entries);
        });
        written.map_err(|problem| {
            let lines = format!("the lines to add are [{table}] and {}", private_line(task.as_str(), &entries));
            let hint = problem.hint.as_ref().map_or(lines.clone(), |hint| format!("{hint}; {lines}"));
            problem.hint(hint)
        })
    }

    /// Takes back what [`Config::grant_private`] has written.
    pub fn revoke_private(&self, task: &TaskName, entry: &str) -> Result<(), Problem> {
        edit::edit(&self.file, |document| {
            edit::remove_from_list(document, &[private_grants::TABLE], task.as_str(), entry);
        })
    }

    /// What the folder needs and is not granted: addresses, limits over the ceiling, secrets. A run would end with it.
    pub fn ungranted(&self, folder: &TaskFolder) -> Vec<Problem> {
        let others = self.grants.current().check(folder).err().map(Problem::into_all).unwrap_or_default();
        others.into_iter().chain(secret_use::problems(self, folder)).collect()
    }

    /// The lock file of the state folder, held by its daemon.
    pub fn lock(&self) -> PathBuf {
        self.state.join("lock")
    }
}

/// The file that a person has named, by option or environment variable.
fn explicit_file(explicit: Option<&Path>) -> Option<PathBuf> {
    explicit.map(Path::to_owned).or_else(|| env::var_os(FILE_VARIABLE).map(PathBuf::from))
}

fn shadowed_note(here: &Path, system: &Path) -> Option<String> {
    let is_another = || here.canonicalize().ok() != system.canonicalize().ok();
    let whole = std::path::absolute(here).unwrap_or_else(|_| here.to_owned());
    (here.exists() && system.exists() && is_another()).then(|| {
        format!("{} is used, not {}; choose with --config FILE or {FILE_VARIABLE}", whole.display(), system.display())
    })
}

/// Points at the `store` key; a password is not shown.
fn store_problem(source: &TomlSource, error: &StoreTextError) -> Problem {
    let problem = source.problem_at_key(&["store"], error.to_string());
    let problem = if matches!(error, StoreTextError::Password) { problem.without_snippet() } else { problem };
    match error.hint() {
        Some(hint) => problem.hint(hint),
        None => problem,
    }
}

#[cfg(test)]
mod tests;
