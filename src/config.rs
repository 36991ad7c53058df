//! EDGE: reads config.toml, the settings for all tasks. Relative paths are relative to the folder of config.toml.

mod listen_address;
pub mod secrets;
pub mod store;

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use url::Url;

use crate::alert::{Channels, Settings, Smtp};
use crate::model::{PostgresTimeouts, StoreAddress, TimeSpan};
use crate::tasks::{MAX_TOML_BYTES, Problem, TomlSource};
use store::StoreTextError;

pub use listen_address::ListenAddress;

const FILE: &str = "config.toml";
/// Chromium is searched for in the usual places.
const AUTO_BROWSER: &str = "auto";
/// A renewal is a write, which may wait for a disk, and there are five renewals in the time of a lease.
const SHORTEST_LEASE: TimeSpan = TimeSpan::seconds(2);
/// A distant or busy server may take this long for its first answer.
const SHORTEST_TIMEOUT: TimeSpan = TimeSpan::seconds(1);
const SYSTEM_FILE: &str = "/etc/pieme/config.toml";

/// The environment variable with the path of config.toml, used without `--config`.
pub const FILE_VARIABLE: &str = "PIEME_CONFIG";

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
}

/// This daemon's membership in a fleet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FleetSettings {
    /// `auto`: the host name with a hash of the state folder's path.
    pub name: String,
    /// A daemon that has not renewed its lease for this long loses its tasks to the others.
    pub lease: TimeSpan,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LogSettings {
    pub format: LogFormat,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Human on a terminal, journal under systemd, JSON elsewhere.
    #[default]
    Auto,
    Human,
    Json,
    Journal,
}

/// The dashboard, and the search page alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebSettings {
    pub at: ListenAddress,
    /// Where the search page alone is served, without a login.
    pub search: ListenAddress,
    /// Host names that requests may use besides loopback: those of a reverse proxy.
    pub hosts: Vec<String>,
    /// The file with the password hash, written by `pieme web password`.
    pub password: PathBuf,
}

/// The table `[dashboard]` of early versions; such files are still read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct LegacyDashboard {
    listen: Option<SocketAddr>,
}

/// How many raw pages are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PageSettings {
    /// Pages of one run.
    pub a_run: u32,
    /// Unpublished runs whose pages are kept; of the published ones the last is.
    pub bad_runs: u32,
}

/// Retention limits. Garbage collection removes the rest once a day, and `pieme gc` at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RetentionSettings {
    /// Runs of a task.
    pub runs: u32,
    pub runs_for: TimeSpan,
    /// Runs of a task whose trace is kept.
    pub traces: u32,
    /// Runs of a task whose quarantined rows are kept.
    pub quarantined: u32,
    /// How long all of this is kept after the task's folder was removed. The published rows stay.
    pub removed_for: TimeSpan,
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
        let bytes = read(path)?;
        let source = TomlSource::new(path.to_owned(), bytes)?;
        let mut file: RawConfig = source.parse()?;
        check(&source, &file)?;
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
                at: file.web.or(file.dashboard.listen.map(ListenAddress::Tcp)).unwrap_or_default().relative_to(folder),
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
            state,
            file: whole,
        })
    }

    /// The lock file of the state folder, held by its daemon.
    pub fn lock(&self) -> PathBuf {
        self.state.join("lock")
    }
}

/// config.toml as written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawConfig {
    tasks: PathBuf,
    state: PathBuf,
    /// Absent: control.sock in the state folder.
    socket: Option<PathBuf>,
    /// Absent: pieme.db in the state folder.
    store: Option<String>,
    secrets: PathBuf,
    browser: String,
    max_running: u32,
    per_host: u32,
    stop_grace: TimeSpan,
    log: LogSettings,
    /// Absent: [`ListenAddress::default`].
    web: Option<ListenAddress>,
    search: ListenAddress,
    web_hosts: Vec<String>,
    /// The public address of the dashboard, for links in alerts.
    web_url: Option<Url>,
    pages: PageSettings,
    keep: RetentionSettings,
    metrics: Option<SocketAddr>,
    alert: Settings,
    smtp: Smtp,
    fleet: FleetSettings,
    postgres: PostgresTimeouts,
    /// The place of `[alert.exec]` in early versions; such files are still read.
    #[serde(skip_serializing)]
    exec: BTreeMap<String, Vec<String>>,
    #[serde(skip_serializing)]
    dashboard: LegacyDashboard,
}

impl Default for RawConfig {
    fn default() -> RawConfig {
        RawConfig {
            tasks: PathBuf::from("tasks"),
            state: PathBuf::from("state"),
            socket: None,
            store: None,
            secrets: PathBuf::from("secrets"),
            browser: AUTO_BROWSER.to_owned(),
            max_running: 4,
            per_host: 1,
            stop_grace: TimeSpan::seconds(30),
            log: LogSettings::default(),
            web: None,
            search: ListenAddress::Off,
            web_hosts: Vec::new(),
            web_url: None,
            pages: PageSettings::default(),
            keep: RetentionSettings::default(),
            metrics: None,
            alert: Settings::default(),
            smtp: Smtp::default(),
            fleet: FleetSettings::default(),
            postgres: PostgresTimeouts::default(),
            exec: BTreeMap::new(),
            dashboard: LegacyDashboard::default(),
        }
    }
}

impl Default for FleetSettings {
    fn default() -> FleetSettings {
        FleetSettings { name: AUTO_BROWSER.to_owned(), lease: TimeSpan::seconds(15) }
    }
}

impl Default for PageSettings {
    fn default() -> PageSettings {
        PageSettings { a_run: 20, bad_runs: 5 }
    }
}

impl Default for RetentionSettings {
    fn default() -> RetentionSettings {
        let days = |days: u64| TimeSpan::seconds(days * 86_400);
        RetentionSettings { runs: 1_000, runs_for: days(400), traces: 20, quarantined: 3, removed_for: days(30) }
    }
}

/// Follows symbolic links, unlike the files of a task folder: config.toml is the administrator's.
fn read(path: &Path) -> Result<Vec<u8>, Problem> {
    let problem = |why: String| Problem::new(path, why);
    let meta = fs::metadata(path).map_err(|error| problem(error.to_string()))?;
    if !meta.is_file() {
        return Err(problem("this is not a regular file".to_owned()));
    }
    if meta.len() > MAX_TOML_BYTES {
        return Err(problem("the file is larger than the limit of 64 kB".to_owned()));
    }
    fs::read(path).map_err(|error| problem(error.to_string()))
}

fn check(source: &TomlSource, file: &RawConfig) -> Result<(), Problem> {
    let is_name = |name: &str| name.len() <= 100 && name.chars().all(|c| c.is_ascii_graphic());
    if file.fleet.name.is_empty() || !is_name(&file.fleet.name) {
        return Err(
            source.problem_at_key(&["fleet", "name"], "a daemon's name has 1 to 100 ASCII characters and no spaces")
        );
    }
    if file.fleet.lease < SHORTEST_LEASE {
        let why =
            format!("the lease must be at least {SHORTEST_LEASE}: with less, a slow disk looks like a dead daemon");
        return Err(source.problem_at_key(&["fleet", "lease"], why));
    }
    let PostgresTimeouts { connect_timeout, answer_timeout, read_timeout, statement_timeout, .. } = file.postgres;
    for (key, timeout) in [
        ("connect_timeout", connect_timeout),
        ("answer_timeout", answer_timeout),
        ("read_timeout", read_timeout),
        ("statement_timeout", statement_timeout),
    ] {
        if timeout < SHORTEST_TIMEOUT {
            let why =
                format!("{key} must be at least {SHORTEST_TIMEOUT}: with less, a busy server looks like a dead one");
            return Err(source.problem_at_key(&["postgres", key], why));
        }
    }
    if file.web_url.as_ref().is_some_and(|url| !matches!(url.scheme(), "http" | "https")) {
        return Err(source
            .problem_at_key(&["web_url"], "web_url must start with http:// or https://")
            .hint("write web_url = \"https://pieme.example.org/\", or leave it out"));
    }
    for (key, number) in [("max_running", file.max_running), ("per_host", file.per_host)] {
        if number == 0 {
            return Err(source.problem_at_key(&[key], format!("with {key} = 0 no task would ever run")));
        }
    }
    for (place, commands) in [(&["alert", "exec"][..], &file.alert.exec), (&["exec"], &file.exec)] {
        if let Some((name, _)) = commands.iter().find(|(_, command)| !is_command(command)) {
            let key: Vec<&str> = place.iter().copied().chain([name.as_str()]).collect();
            return Err(source
                .problem_at_key(&key, "a command must start with the absolute path of its program")
                .hint("write a list: name = [\"/usr/bin/program\", \"argument\"]"));
        }
    }
    if file.alert.signed_with.as_ref().is_some_and(|text| !text.starts_with("${secret:")) {
        return Err(source
            .problem_at_key(&["alert", "signed_with"], "a signing key must not be written in config.toml")
            .hint("write signed_with = \"${secret:hooks}\" and put the key into the file secrets/hooks (mode 0600)"));
    }
    file.smtp.check().map_err(|(key, why, hint)| {
        let problem = source.problem_at_key(&["smtp", key], why).hint(hint);
        if key == "password" { problem.without_snippet() } else { problem }
    })
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

fn is_command(command: &[String]) -> bool {
    command.first().is_some_and(|program| Path::new(program).is_absolute())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_file_that_is_passed_over_is_named() {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let (here, system) = (folder.path().join("config.toml"), folder.path().join("etc.toml"));
        assert_eq!(shadowed_note(&here, &system), None);
        fs::write(&here, "").expect("a file");
        assert_eq!(shadowed_note(&here, &system), None, "there is no choice");
        std::os::unix::fs::symlink(&here, &system).expect("a link");
        assert_eq!(shadowed_note(&here, &system), None, "it is the same file");
        fs::remove_file(&system).expect("a link");
        fs::write(&system, "").expect("a file");
        let note = shadowed_note(&here, &system).unwrap_or_default();
        assert!(note.starts_with(&format!("{} is used, not {}", here.display(), system.display())), "{note}");
    }

    #[test]
    fn the_config_file_we_ship_says_the_defaults() {
        let text = include_str!("../config.toml");
        let shipped: RawConfig = toml::from_str(text).expect("our own file");
        let store = Some("state/pieme.db".to_owned());
        let socket = Some(PathBuf::from("state/control.sock"));
        assert_eq!(shipped, RawConfig { store, socket, web: Some(ListenAddress::default()), ..RawConfig::default() });
        let empty: RawConfig = toml::from_str("").expect("every key has a default");
        assert_eq!(empty, RawConfig::default());
        // Complete: every key that there is stands in it.
        let every = RawConfig {
            store: Some(String::new()),
            socket: Some(PathBuf::new()),
            web: Some(ListenAddress::Off),
            ..RawConfig::default()
        };
        let keys = toml::Table::try_from(every).expect("plain data");
        for (name, value) in &keys {
            let tables = value.as_table().into_iter().flat_map(|table| table.iter());
            let inner = tables.filter(|(_, value)| !value.is_table()).map(|(key, _)| key);
            for key in inner.chain([name].into_iter().filter(|_| !value.is_table())) {
                assert!(text.lines().any(|line| line.starts_with(&format!("{key} = "))), "{name}.{key}");
            }
        }
        assert!(text.contains("\n[alert.exec]\n"));
        for key in ["metrics", "web_url", "signed_with", "link", "port", "username", "password"] {
            assert!(text.contains(&format!("\n# {key} = ")), "{key}, which has no default");
        }
    }

    fn load(toml: &str) -> (tempfile::TempDir, Result<Config, Problem>) {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let file = folder.path().join("config.toml");
        fs::write(&file, toml).expect("a scratch file");
        let config = Config::load(&file);
        (folder, config)
    }

    #[test]
    fn paths_are_relative_to_the_folder_of_the_file() {
        let (folder, config) = load("tasks = \"sites\"\nstate = \"/var/lib/pieme\"\n");
        let config = config.expect("a config");
        assert_eq!(config.tasks, folder.path().join("sites"));
        assert_eq!(config.secrets, folder.path().join("secrets"));
        assert_eq!(config.store, StoreAddress::from(Path::new("/var/lib/pieme/pieme.db")));
        assert_eq!(config.socket, Path::new("/var/lib/pieme/control.sock"));
        let (folder, config) = load("store = \"rows.db\"\n");
        assert_eq!(config.expect("a config").store, StoreAddress::from(&folder.path().join("rows.db")));
    }

    #[test]
    fn what_cannot_work_is_answered_with_a_hint() {
        for (toml, expected) in [
            (
                "store = \"mysql://db/pieme\"\n",
                ":1:9: unknown store mysql://; the store is an SQLite file or a PostgreSQL database
  1 | store = \"mysql://db/pieme\"
    |         ^^^^^^^^^^^^^^^^^^
  write store = \"state/pieme.db\" or store = \"postgres://user@host/database\"",
            ),
            (
                "per_host = 0\n",
                ":1:12: with per_host = 0 no task would ever run\n  1 | per_host = 0\n    |            ^",
            ),
            (
                "[log]\nformat = \"jsn\"\n",
                ":2:10: unknown word `jsn`\n  2 | format = \"jsn\"\n    |          ^^^^^\n  \
                 did you mean `json`? (known here: auto, human, json, journal)",
            ),
            (
                "[alert.exec]\npage = [\"page-me\"]\n",
                ":2:8: a command must start with the absolute path of its program
  2 | page = [\"page-me\"]
    |        ^^^^^^^^^^^
  write a list: name = [\"/usr/bin/program\", \"argument\"]",
            ),
            (
                "[smtp]\nhost = \"mail\"\nfrom = \"a@b.org\"\nusername = \"a\"\npassword = \"hunter2\"\n",
                ":5:12: a password must not be written in config.toml
  write password = \"${secret:smtp}\" and put the password into the file secrets/smtp (mode 0600)",
            ),
        ] {
            let (folder, config) = load(toml);
            let problem = config.expect_err(toml).to_string();
            let file = folder.path().join("config.toml").display().to_string();
            assert_eq!(problem.strip_prefix(&file), Some(expected), "{problem}");
        }
    }

    #[test]
    fn the_password_of_a_database_is_a_secret_and_is_shown_nowhere() {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let file = folder.path().join("config.toml");
        fs::write(&file, "store = 'postgres://me:${secret:db}@db.test/rows'\n").expect("a scratch file");
        let missing = Config::load(&file).expect_err("no such secret").to_string();
        assert!(missing.contains("the secret `db` is missing"), "{missing}");
        fs::create_dir(folder.path().join("secrets")).expect("a folder");
        let secret = folder.path().join("secrets/db");
        fs::write(&secret, "s3:cr@t/\n").expect("a secret");
        fs::set_permissions(&secret, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("our own file");
        let config = Config::load(&file).expect("a config");
        let StoreAddress::Postgres(address) = &config.store else { panic!("an address of PostgreSQL") };
        assert_eq!(address.with_password(), "postgres://me:s3%3Acr%40t%2F@db.test/rows");
        let shown = format!("{config:?} {}", config.store);
        // Not "s3" alone: the name of the scratch folder may have that.
        assert!(!shown.contains("s3:cr") && !shown.contains("s3%3A"), "{shown}");
        fs::write(&file, "store = 'postgres://me:hunter2@db.test/rows'\n").expect("a scratch file");
        let plain = Config::load(&file).expect_err("a password in the file").to_string();
        assert!(plain.contains(":1:9: a password must not be written in config.toml"), "{plain}");
        assert!(!plain.contains("hunter2"), "not even where it is wrong: {plain}");
    }

    #[test]
    fn commands_are_found_where_they_stand_now_and_where_they_stood() {
        let (_folder, config) = load("[exec]\nold = [\"/bin/old\"]\n[alert.exec]\nnew = [\"/bin/new\", \"x\"]\n");
        let names: Vec<String> = config.expect("a config").alert.exec.into_keys().collect();
        assert_eq!(names, ["new", "old"]);
    }

    #[test]
    fn the_file_that_is_named_is_the_one_that_is_read() {
        let (folder, _) = load("max_running = 7\n");
        let file = folder.path().join("config.toml");
        assert_eq!(Config::find(Some(&file)).expect("a config").max_running, 7);
        let error = Config::find(Some(&folder.path().join("other.toml"))).expect_err("there is none");
        assert!(error.file.ends_with("other.toml"), "{error}");
    }
}
